"""All grids and puzzles of 4x4, against every four rows that break no rule."""

from collections import Counter
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sudoku import ALL_FOUR, enumerated_once, grids_of, job_of, of_four
from tables import SETTINGS, STUDY
from tiers import quick_first

from replication.study.registry import read_registry
from transformer_dynamics.recurrent_attention.data.boards import sample
from transformer_dynamics.recurrent_attention.data.grids import all_grids, find_solutions
from transformer_dynamics.recurrent_attention.data.puzzles_4x4 import MASKS, unique_masks


@cache
def unique_of_all():
    return unique_masks(ALL_FOUR)


@pytest.mark.parametrize(("valid", "test"), quick_first([(34, 34), (20, 60)]))
def test_parts_share_no_grid(valid, test):
    """As many grids are held out as the settings say, and a large sample uses all that it may."""
    parts, held_out = ("train", "valid", "test"), {"valid": valid, "test": test}
    with enumerated_once():
        small = sample(job_of("4x4", held_out=held_out), [], [])
        large = sample(job_of("4x4", train=20_000, others=700, held_out=held_out), [], [])
    for drawn in (small, large):
        used = {part: {grid.tobytes() for grid in grids_of(drawn, part)} for part in parts}
        assert sum(map(len, used.values())) == len(set.union(*used.values()))
    counts = {part: len(grids) for part, grids in used.items()}
    assert counts == held_out | {"train": len(ALL_FOUR) - valid - test}


def test_boards_that_are_the_same_but_for_names_are_as_many_as_is_said():
    """Of the default configuration: a board of one part is one of another with digits renamed."""
    drawn = sample(SETTINGS.boards, [], [])

    def nameless(split):
        for digits, mask in zip(
            drawn[f"{split}_solutions"].tolist(), drawn[f"{split}_given"].tolist(), strict=True
        ):
            names = {}
            yield tuple(
                names.setdefault(digit, len(names) + 1) if shown else 0
                for digit, shown in zip(digits, mask, strict=True)
            )

    def shared(split, other):
        known = {*nameless(other)}
        return sum(board in known for board in nameless(split))

    count = SETTINGS.boards.test
    said = (
        f"{shared('test_in', 'train')} of {count} test boards in distribution and"
        f" {shared('test_out', 'train')} of {count} out of it equal a training board with renamed"
        f" digits; {shared('test_out', 'valid_out')} of the latter equal a validation board with"
        " renamed digits."
    )
    registry = read_registry(STUDY.folder / "registry.yaml")
    assert sum(said in each.text for each in registry.methods) == 1


def test_there_are_288_grids():
    found = all_grids("4x4")
    assert {*map(tuple, found.tolist())} == {*map(tuple, ALL_FOUR.tolist())}
    assert len(found) == 288


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


@given(st.integers(0, 287), st.integers(0, (1 << 16) - 1))
def test_masks_are_those_that_no_other_grid_agrees_with(grid, mask):
    unique = unique_of_all()[grid, mask]
    assert unique == (len(of_four(ALL_FOUR[grid] * MASKS[mask])) == 1)


@given(st.lists(st.sampled_from([0, 0, 0, 0, 1, 2, 3, 4]), min_size=16, max_size=16))
def test_all_solutions_of_4x4_are_found_and_no_others(puzzle):
    assert sorted(find_solutions("4x4", puzzle, most=999)) == sorted(of_four(puzzle))
