"""All grids of 6x6 but for names, and puzzles that are emptied until every clue counts."""

from functools import cache
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sudoku import breaks_rules, enumerated_once, exact_cover, grids_of, job_of

from replication.base.errors import InputError
from transformer_dynamics.recurrent_attention.data import puzzles_6x6 as six
from transformer_dynamics.recurrent_attention.data.boards import sample
from transformer_dynamics.recurrent_attention.data.grids import find_solutions, grid_classes
from transformer_dynamics.recurrent_attention.data.puzzles_6x6 import empty_cells


@pytest.fixture(scope="module", autouse=True)
def all_there_is_is_enumerated_once():
    with enumerated_once():
        yield


@cache
def six_classes():
    return grid_classes("6x6")


@pytest.mark.thorough
def test_there_are_28200960_grids():
    named = six_classes()
    assert len(np.unique(named, axis=0)) * 720 == 28_200_960
    assert not any(map(breaks_rules, named[::97]))


def named_by_first_row(grid):
    names = {digit: place for place, digit in enumerate(grid[:6])}
    return tuple(names[digit] for digit in grid)


def test_no_two_puzzles_of_6x6_share_a_grid_even_renamed():
    drawn = sample(job_of("6x6"), [], [])
    grids = [named_by_first_row(grid) for grid in grids_of(drawn, "").tolist()]
    assert len({*grids}) == len(grids) == 156


@given(st.lists(st.integers(0, 6), min_size=36, max_size=36), st.randoms(use_true_random=False))
def test_all_solutions_of_6x6_are_found_and_no_others(digits, random):
    # Of a solved grid, about 12 givens, one of which may be wrong.
    grid = random.choice(six_classes()).tolist()
    puzzle = [digit if random.random() < 1 / 3 else 0 for digit in grid]
    cell = random.randrange(36)
    puzzle[cell] = digits[cell]
    few = list(islice(exact_cover(puzzle), 200))
    if len(few) < 200:
        assert sorted(find_solutions("6x6", puzzle, most=999)) == sorted(few)
    else:
        assert len(find_solutions("6x6", puzzle, most=200)) == 200


@given(st.integers(0, 39_167), st.permutations(range(36)))
def test_emptying_ends_where_every_given_is_needed(row, order):
    grid = six_classes()[row].tolist()
    mask = empty_cells(order, grid, 0)
    puzzle = [digit * here for digit, here in zip(grid, mask, strict=True)]
    assert list(islice(exact_cover(puzzle), 2)) == [grid]
    for cell in np.flatnonzero(mask):
        fewer = [*puzzle[:cell], 0, *puzzle[cell + 1 :]]
        assert len(list(islice(exact_cover(fewer), 2))) == 2
    # It stops as soon as it may.
    assert sum(empty_cells(order, grid, 30)) == 30


def test_more_puzzles_of_6x6_than_grids_are_refused():
    with pytest.raises(InputError, match=r"39,264 puzzles need as many grids.*lower train"):
        sample(job_of("6x6", train=39_168), [], [])


def test_givens_that_hardly_any_puzzle_has_are_refused(monkeypatch):
    monkeypatch.setattr(six, "ATTEMPTS", 20)
    job = job_of("6x6", others=1000, out_of_distribution={"least": 8, "most": 8})
    with pytest.raises(InputError, match="out_of_distribution > least: no 6x6 puzzle with 8 giv"):
        sample(job, [], [])
