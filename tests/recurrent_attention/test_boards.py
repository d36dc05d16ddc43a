"""Puzzles of every size: one solution each, as other solvers see it, and no grid in two splits."""

import hashlib
from collections import Counter
from functools import cache
from itertools import islice, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replication.errors import InputError
from transformer_dynamics.recurrent_attention.boards import six
from transformer_dynamics.recurrent_attention.boards.draws import numbers_of_givens, relabelled
from transformer_dynamics.recurrent_attention.boards.four import GRIDS, MASKS, unique_masks
from transformer_dynamics.recurrent_attention.boards.grids import all_grids, classes, solutions
from transformer_dynamics.recurrent_attention.boards.nine import parts_of
from transformer_dynamics.recurrent_attention.boards.program import sample
from transformer_dynamics.recurrent_attention.boards.settings import SPLITS, BoardJob, Givens
from transformer_dynamics.recurrent_attention.boards.six import emptied

STEADY = settings(deadline=None, derandomize=True)
SHAPES = {4: (2, 2), 6: (2, 3), 9: (3, 3)}
SEVENTEEN = "000000010400000000020000000000050407008000300001090000300400200050100000000806000"
RANGES = {"4x4": (7, 10, 4, 5), "6x6": (16, 20, 9, 11), "9x9": (31, 42, 17, 34)}


# --- Oracles -------------------------------------------------------------------------------------


def brute_force_grids():
    """All 4x4 grids: every four rows, those kept that break no rule."""
    rows = list(permutations((1, 2, 3, 4)))
    return np.array(
        [
            sum(grid, ())
            for grid in product(rows, repeat=4)
            if all(len({*column}) == 4 for column in zip(*grid, strict=True))
            and all(
                len({*grid[row][column : column + 2], *grid[row + 1][column : column + 2]}) == 4
                for row, column in product((0, 2), repeat=2)
            )
        ]
    )


ALL_FOUR = brute_force_grids()


def exact_cover(puzzle):
    """Solved grids of a puzzle by Knuth's algorithm X: (cell, digit) covers four conditions."""
    size = int(len(puzzle) ** 0.5)
    height, width = SHAPES[size]
    choices = {}
    for row, column, digit in product(range(size), range(size), range(1, size + 1)):
        block = row // height, column // width
        choices[row * size + column, digit] = [
            ("cell", row, column),
            ("row", row, digit),
            ("column", column, digit),
            ("block", block, digit),
        ]
    open_conditions = {condition: set() for covered in choices.values() for condition in covered}
    for choice, covered in choices.items():
        for condition in covered:
            open_conditions[condition].add(choice)
    chosen = [(cell, int(digit)) for cell, digit in enumerate(puzzle) if digit]
    for choice in chosen:
        if any(condition not in open_conditions for condition in choices[choice]):
            return
        cover(open_conditions, choices, choice)
    for found in cover_the_rest(open_conditions, choices, chosen):
        yield [digit for _, digit in sorted(found)]


def cover(open_conditions, choices, choice):
    removed = []
    for condition in choices[choice]:
        for other in open_conditions[condition]:
            for elsewhere in choices[other]:
                if elsewhere != condition:
                    open_conditions[elsewhere].discard(other)
        removed.append((condition, open_conditions.pop(condition)))
    return removed


def uncover(open_conditions, choices, removed):
    for condition, others in reversed(removed):
        open_conditions[condition] = others
        for other in others:
            for elsewhere in choices[other]:
                if elsewhere != condition:
                    open_conditions[elsewhere].add(other)


def cover_the_rest(open_conditions, choices, chosen):
    if not open_conditions:
        yield list(chosen)
        return
    tightest = min(open_conditions, key=lambda condition: len(open_conditions[condition]))
    for choice in sorted(open_conditions[tightest]):
        removed = cover(open_conditions, choices, choice)
        yield from cover_the_rest(open_conditions, choices, [*chosen, choice])
        uncover(open_conditions, choices, removed)


def of_four(puzzle):
    """The 4x4 grids that agree with a puzzle."""
    puzzle = np.asarray(puzzle)
    return ALL_FOUR[((puzzle == ALL_FOUR) | (puzzle == 0)).all(axis=1)].tolist()


def breaks_rules(grid):
    size = int(len(grid) ** 0.5)
    height, width = SHAPES[size]
    square = np.reshape(grid, (size, size))
    blocks = square.reshape(size // height, height, size // width, width).swapaxes(1, 2)
    units = [*square, *square.T, *blocks.reshape(size, size)]
    return any(sorted(unit) != list(range(1, size + 1)) for unit in units)


# --- Samples -------------------------------------------------------------------------------------


def job_of(size, train=60, others=24, **changes):
    least, most, fewer, few = RANGES[size]
    fields = {
        "size": size,
        "train": train,
        "valid": others,
        "test": others,
        "in_distribution": {"least": least, "most": most},
        "out_of_distribution": {"least": fewer, "most": few},
    }
    return BoardJob.parse(fields | changes, "job")


def moved(puzzle, random):
    """The puzzle with rows, columns, bands and stacks in another order, perhaps transposed."""
    square = np.reshape(puzzle, (9, 9))
    for _ in range(2):
        order = [3 * band + row for band in random.permutation(3) for row in random.permutation(3)]
        square = square[order].T
    return (square.T if random.integers(2) else square).reshape(-1)


def written(path, puzzles):
    """Write a list as it is published; its digest."""
    lines = ["A heading, con?gurations", *("".join(map(str, puzzle)) for puzzle in puzzles)]
    path.write_text("\n".join(lines) + "\n")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def transformed(puzzle, count):
    random = np.random.default_rng(0)
    return [moved([int(digit) for digit in puzzle], random) for _ in range(count)]


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


def grids_of(arrays, part):
    names = [name for name in arrays if name.startswith(part) and name.endswith("_solutions")]
    return np.concatenate([arrays[name] for name in names])


def test_parts_share_no_grid_of_4x4(drawn):
    parts = [{grid.tobytes() for grid in grids_of(drawn["4x4"][2], part)} for part in GRIDS]
    assert sum(map(len, parts)) == len(set.union(*parts))
    # A large sample uses all that it may.
    large = sample(job_of("4x4", train=20_000, others=500), [], [])
    used = {part: {grid.tobytes() for grid in grids_of(large, part)} for part in GRIDS}
    assert {part: len(grids) for part, grids in used.items()} == GRIDS
    assert len(set.union(*used.values())) == sum(GRIDS.values()) == len(ALL_FOUR)


def named_by_first_row(grid):
    names = {digit: place for place, digit in enumerate(grid[:6])}
    return tuple(names[digit] for digit in grid)


def test_no_two_puzzles_of_6x6_share_a_grid_even_renamed(drawn):
    grids = [named_by_first_row(grid) for grid in grids_of(drawn["6x6"][2], "").tolist()]
    assert len({*grids}) == len(grids) == 156


def test_parts_share_no_puzzle_of_the_list(tmp_path):
    # The listed puzzle of a drawn one: without more givens than 17, up to the names of digits.
    listed = transformed(SEVENTEEN, 60)
    path = tmp_path / "list.txt"
    job = job_of(
        "9x9",
        in_distribution={"least": 17, "most": 17},
        list_sha256=written(path, listed),
    )
    arrays = sample(job, [], [path])
    known = {tuple(np.flatnonzero(puzzle)): row for row, puzzle in enumerate(listed)}
    assert len(known) == 60
    rows = {}
    for split in job.splits:
        mask = arrays[f"{split.name}_given"]
        seventeen = mask[mask.sum(axis=1) == 17]
        assert len(seventeen)
        found = {known[tuple(np.flatnonzero(given))] for given in seventeen}
        rows[split.part] = rows.get(split.part, set()) | found
    assert sum(map(len, rows.values())) == len(set.union(*rows.values()))


def test_the_whole_list_is_cut_as_the_published_recipe_does():
    parts = parts_of(np.arange(49_151)[::-1])
    assert {part: len(rows) for part, rows in parts.items()} == {
        "train": 38_151,
        "valid": 1_000,
        "test": 10_000,
    }
    assert sorted(np.concatenate([*parts.values()])) == list(range(49_151))
    assert [len(rows) for rows in parts_of(np.arange(3)).values()] == [1, 1, 1]


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


@cache
def unique_of_all():
    return unique_masks(ALL_FOUR)


@cache
def six_classes():
    return classes("6x6")


# --- Counts --------------------------------------------------------------------------------------


def test_there_are_288_grids_of_4x4_and_28200960_of_6x6():
    found = all_grids("4x4")
    assert {*map(tuple, found.tolist())} == {*map(tuple, ALL_FOUR.tolist())}
    assert len(found) == 288
    named = six_classes()
    assert len(np.unique(named, axis=0)) * 720 == 28_200_960
    assert not any(map(breaks_rules, named[::97]))


def test_masks_with_one_solution_are_as_many_as_the_two_kinds_of_grids_have():
    # 12 of 1,820 and so on are those of one kind, which 96 grids have; 192 have the other.
    unique = unique_of_all()
    counts = {
        givens: Counter(unique[:, MASKS.sum(axis=1) == givens].sum(axis=1).tolist())
        for givens in (3, 4, 5, 7, 16)
    }
    assert counts == {
        3: {0: 288},
        4: {12: 96, 128: 192},
        5: {400: 96, 1280: 192},
        7: {5760: 96, 8272: 192},
        16: {1: 288},
    }


@STEADY
@given(st.integers(0, 287), st.integers(0, (1 << 16) - 1))
def test_masks_are_those_that_no_other_grid_agrees_with(grid, mask):
    unique = unique_of_all()[grid, mask]
    assert unique == (len(of_four(ALL_FOUR[grid] * MASKS[mask])) == 1)


# --- The solver ----------------------------------------------------------------------------------


@STEADY
@given(st.lists(st.sampled_from([0, 0, 0, 0, 1, 2, 3, 4]), min_size=16, max_size=16))
def test_all_solutions_of_4x4_are_found_and_no_others(puzzle):
    assert sorted(solutions("4x4", puzzle, most=999)) == sorted(of_four(puzzle))


@settings(STEADY, max_examples=40)
@given(st.lists(st.integers(0, 6), min_size=36, max_size=36), st.randoms(use_true_random=False))
def test_all_solutions_of_6x6_are_found_and_no_others(digits, random):
    # Of a solved grid, about 12 givens, one of which may be wrong.
    grid = random.choice(six_classes()).tolist()
    puzzle = [digit if random.random() < 1 / 3 else 0 for digit in grid]
    cell = random.randrange(36)
    puzzle[cell] = digits[cell]
    few = list(islice(exact_cover(puzzle), 200))
    if len(few) < 200:
        assert sorted(solutions("6x6", puzzle, most=999)) == sorted(few)
    else:
        assert len(solutions("6x6", puzzle, most=200)) == 200


def test_a_second_solution_appears_when_any_clue_of_seventeen_is_removed():
    puzzle = [int(digit) for digit in SEVENTEEN]
    assert len(solutions("9x9", puzzle)) == len(list(exact_cover(puzzle))) == 1
    for cell in np.flatnonzero(puzzle):
        fewer = [*puzzle[:cell], 0, *puzzle[cell + 1 :]]
        first, second = solutions("9x9", fewer)
        assert first != second
        assert all(not breaks_rules(grid) for grid in (first, second))
        assert all(digit in {0, grid[place]} for grid in (first, second)
                   for place, digit in enumerate(fewer))  # fmt: skip


@settings(STEADY, max_examples=20)
@given(st.integers(0, 39_167), st.permutations(range(36)))
def test_emptying_ends_where_every_given_is_needed(row, order):
    grid = six_classes()[row].tolist()
    mask = emptied(order, grid, 0)
    puzzle = [digit * here for digit, here in zip(grid, mask, strict=True)]
    assert list(islice(exact_cover(puzzle), 2)) == [grid]
    for cell in np.flatnonzero(mask):
        fewer = [*puzzle[:cell], 0, *puzzle[cell + 1 :]]
        assert len(list(islice(exact_cover(fewer), 2))) == 2
    # It stops as soon as it may.
    assert sum(emptied(order, grid, 30)) == 30


# --- Draws ---------------------------------------------------------------------------------------


@STEADY
@given(st.integers(1, 300), st.integers(4, 20), st.integers(0, 20), st.integers(0, 99))
def test_each_number_of_givens_is_as_frequent_as_any_other(puzzles, least, more, seed):
    givens = Givens(least=least, most=least + more)
    numbers = numbers_of_givens(np.random.default_rng(seed), puzzles, givens)
    counts = np.bincount(numbers, minlength=least + more + 1)
    assert len(numbers) == counts[least:].sum() == puzzles
    assert np.ptp(counts[least:]) <= 1


@STEADY
@given(st.integers(1, 9), st.integers(1, 5), st.integers(0, 99))
def test_renaming_is_one_to_one_in_each_grid(digits, grids, seed):
    random = np.random.default_rng(seed)
    before = random.integers(1, digits + 1, size=(grids, 20), dtype=np.uint8)
    after = relabelled(random, before, digits)
    assert after.dtype == np.uint8
    assert after.min() >= 1
    assert after.max() <= digits
    same = before[:, :, None] == before[:, None]
    assert np.array_equal(same, after[:, :, None] == after[:, None])


def test_renaming_makes_all_names_equally_likely():
    after = relabelled(np.random.default_rng(0), np.full((6000, 1), 2, np.uint8), digits=6)
    # Each is binomial with mean 1000 and standard deviation 29.
    assert np.abs(np.bincount(after[:, 0], minlength=7)[1:] - 1000).max() < 150


# --- What is refused -----------------------------------------------------------------------------


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
        ("4x4", {"in_distribution": {"least": 9, "most": 8}}, r"least \(9\) must not be above"),
    ],
)
def test_settings_without_puzzles_are_refused(size, changes, message):
    with pytest.raises(InputError, match=message):
        job_of(size, **changes)


def test_more_puzzles_of_6x6_than_grids_are_refused():
    with pytest.raises(InputError, match=r"39,264 puzzles need as many grids.*lower train"):
        sample(job_of("6x6", train=39_168), [], [])


def test_givens_that_hardly_any_puzzle_has_are_refused(monkeypatch):
    monkeypatch.setattr(six, "ATTEMPTS", 20)
    job = job_of("6x6", others=1000, out_of_distribution={"least": 8, "most": 8})
    with pytest.raises(InputError, match="out_of_distribution > least: no 6x6 puzzle with 8 giv"):
        sample(job, [], [])


def replaced(puzzle, **digits):
    """The puzzle with other digits in some cells, called c0 to c80."""
    return [digits.get(f"c{cell}", digit) for cell, digit in enumerate(puzzle)]


def first(count=12):
    return transformed(SEVENTEEN, count)


DAMAGES = {
    "a digit is missing": (
        lambda: [*first(), [1, 2, 3]],
        "line 14 is no puzzle: expected 81 digits, of which 17 are not 0, got '123'",
    ),
    "a clue is missing": (
        lambda: [*first(), [0] * 81],
        "line 14 is no puzzle: expected 81 digits, of which 17 are not 0, got '0000",
    ),
    "a letter": (
        lambda: [first()[0], ["x", *first()[1][1:]]],
        "line 3 is no puzzle",
    ),
    "a puzzle twice": (lambda: [*first(), first()[3]], "lines 5 and 14 are the same puzzle"),
    "too few": (lambda: first(2), "has 2 puzzles after its heading, too few"),
    # A second 1 in the first row; a clue in another place.
    "no solution": (
        lambda: transformed(replaced(map(int, SEVENTEEN), c0=1, c9=0), 12),
        r"line \d+ has no solution, expected one; use another list",
    ),
    "several solutions": (
        lambda: transformed(replaced(map(int, SEVENTEEN), c0=6, c7=0), 12),
        r"line \d+ has several solutions, expected one; use another list",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_list_is_named(tmp_path, damage):
    make, message = DAMAGES[damage]
    path = tmp_path / "list.txt"
    job = job_of("9x9", list_sha256=written(path, make()))
    with pytest.raises(InputError, match=f"list.txt: {message}"):
        sample(job, [], [path])


def test_another_list_and_none_are_refused(tmp_path):
    path = tmp_path / "list.txt"
    job = job_of("9x9", list_sha256="0" * 64)
    with pytest.raises(InputError, match=r"list.txt: cannot be read \(No such file"):
        sample(job, [], [path])
    digest = written(path, first())
    with pytest.raises(InputError, match=f"list.txt: its sha256 is {digest}, expected 0000"):
        sample(job, [], [path])
