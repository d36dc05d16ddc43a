"""Puzzles of every size: one solution, as other solvers see it, and what their seed decides."""

from collections import Counter
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sudoku import (
    RANGES,
    SEVENTEEN,
    breaks_rules,
    enumerated_once,
    exact_cover,
    job_of,
    of_four,
    transformed,
    written,
)

from replication.base.errors import InputError
from transformer_dynamics.recurrent_attention.data.boards import sample
from transformer_dynamics.recurrent_attention.data.puzzles import (
    draw_numbers_of_givens,
    relabel_digits,
)
from transformer_dynamics.recurrent_attention.settings.boards import SPLITS, Givens


@pytest.fixture(scope="module", autouse=True)
def all_there_is_is_enumerated_once():
    with enumerated_once():
        yield


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Puzzles of every size, with what made them."""
    path = tmp_path_factory.mktemp("list") / "sudoku17.txt"
    digest = written(path, transformed(SEVENTEEN, 60))
    jobs = {
        "4x4": (job_of("4x4"), []),
        "6x6": (job_of("6x6"), []),
        "9x9": (job_of("9x9", list_sha256=digest), [path]),
    }
    return {size: (job, sources, sample(job, [], sources)) for size, (job, sources) in jobs.items()}


SIZES = pytest.mark.parametrize("size", RANGES)


@SIZES
def test_puzzles_have_the_form_and_the_numbers_of_givens_that_are_asked_for(drawn, size):
    job, _, arrays = drawn[size]
    assert {*arrays} == {f"{split}_{name}" for split in SPLITS for name in ("solutions", "given")}
    for split in job.splits:
        digits, mask = arrays[f"{split.name}_solutions"], arrays[f"{split.name}_given"]
        assert (digits.dtype, mask.dtype) == (np.uint8, np.bool_)
        assert digits.shape == mask.shape == (split.puzzles, job.cells)
        assert not any(breaks_rules(grid) for grid in digits)
        counts = Counter(mask.sum(axis=1).tolist())
        assert {*counts} <= {*range(split.givens.least, split.givens.most + 1)}
        assert len({(digits * mask)[row].tobytes() for row in range(len(mask))}) == len(mask)
    assert [split.puzzles for split in job.splits] == [60, 24, 24, 24, 24]
    assert [split.givens.least for split in job.splits] == [RANGES[size][0], *RANGES[size][::2] * 2]


@SIZES
def test_every_puzzle_has_one_solution_as_another_solver_finds(drawn, size):
    _, _, arrays = drawn[size]
    solve = of_four if size == "4x4" else exact_cover
    for split in SPLITS:
        digits, mask = arrays[f"{split}_solutions"], arrays[f"{split}_given"]
        for solution, puzzle in zip(digits.tolist(), (digits * mask).tolist(), strict=True):
            assert list(islice(solve(puzzle), 2)) == [solution]


@SIZES
def test_the_seed_alone_decides(drawn, size):
    job, sources, arrays = drawn[size]
    again = sample(job, [5], sources)
    assert all(again[name].tobytes() == array.tobytes() for name, array in arrays.items())
    other = sample(job.model_copy(update={"seed": 1}), [], sources)
    assert all(other[name].tobytes() != array.tobytes() for name, array in arrays.items())


@SIZES
def test_more_training_puzzles_leave_validation_and_test_as_they_are(drawn, size):
    job, sources, arrays = drawn[size]
    more = sample(job.model_copy(update={"train": 70}), [], sources)
    assert len(more["train_given"]) == 70
    same = [name for name in arrays if not name.startswith("train")]
    assert all(more[name].tobytes() == arrays[name].tobytes() for name in same)


@given(st.integers(1, 300), st.integers(4, 20), st.integers(0, 20), st.integers(0, 99))
def test_each_number_of_givens_is_as_frequent_as_any_other(puzzles, least, more, seed):
    givens = Givens(least=least, most=least + more)
    numbers = draw_numbers_of_givens(np.random.default_rng(seed), puzzles, givens)
    counts = np.bincount(numbers, minlength=least + more + 1)
    assert len(numbers) == counts[least:].sum() == puzzles
    assert np.ptp(counts[least:]) <= 1


def test_numbers_of_givens_come_in_no_order():
    """Metrics take the first boards of a split, which must be like the others."""
    numbers = [
        draw_numbers_of_givens(np.random.default_rng(seed), 203, Givens(least=7, most=10))
        for seed in range(40)
    ]
    # Of 40 x 50 numbers from 7 to 10: five standard deviations of their mean.
    assert abs(np.mean([each[:50] for each in numbers]) - 8.5) < 0.125
    assert {each[0] for each in numbers} == {7, 8, 9, 10}
    # 203 numbers of four kinds: which kind there is one less of is drawn, too.
    rare = {int(np.bincount(each)[7:].argmin()) + 7 for each in numbers}
    assert rare == {7, 8, 9, 10}


@given(st.integers(1, 9), st.integers(1, 5), st.integers(0, 99))
def test_renaming_is_one_to_one_in_each_grid(digits, grids, seed):
    random = np.random.default_rng(seed)
    before = random.integers(1, digits + 1, size=(grids, 20), dtype=np.uint8)
    after = relabel_digits(random, before, digits)
    assert after.dtype == np.uint8
    assert after.min() >= 1
    assert after.max() <= digits
    same = before[:, :, None] == before[:, None]
    assert np.array_equal(same, after[:, :, None] == after[:, None])


def test_renaming_makes_all_names_equally_likely():
    after = relabel_digits(np.random.default_rng(0), np.full((6000, 1), 2, np.uint8), digits=6)
    # Each is binomial with mean 1000 and standard deviation 29.
    assert np.abs(np.bincount(after[:, 0], minlength=7)[1:] - 1000).max() < 150


@pytest.mark.parametrize(
    ("size", "changes", "message"),
    [
        (
            "4x4",
            {"out_of_distribution": {"least": 3, "most": 5}},
            r"out_of_distribution > least \(3\) must be at least 4: no 4x4 puzzle",
        ),
        (
            "6x6",
            {"in_distribution": {"least": 20, "most": 36}},
            r"in_distribution > most \(36\) must be below 36",
        ),
        ("9x9", {}, "give list_sha256 for 9x9 and for no other size"),
        ("6x6", {"list_sha256": "0" * 64}, "give list_sha256 for 9x9 and for no other size"),
        ("4x4", {"held_out": None}, "give held_out for 4x4 and 9x9, and null for 6x6"),
        ("6x6", {"held_out": {"valid": 1, "test": 1}}, "give held_out for 4x4 and 9x9"),
        (
            "4x4",
            {"held_out": {"valid": 34, "test": 254}},
            "held_out: valid and test together must be below 288, as training needs some, too",
        ),
        ("4x4", {"in_distribution": {"least": 9, "most": 8}}, r"least \(9\) must not be above"),
    ],
)
def test_settings_without_puzzles_are_refused(size, changes, message):
    with pytest.raises(InputError, match=message):
        job_of(size, **changes)
