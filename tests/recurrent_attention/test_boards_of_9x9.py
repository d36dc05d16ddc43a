"""Puzzles of 9x9, which are made of a list; and lists that are refused."""

import numpy as np
import pytest
from sudoku import SEVENTEEN, breaks_rules, exact_cover, job_of, transformed, written
from tables import STUDY

from replication.base.errors import InputError
from replication.base.strict import read_yaml
from transformer_dynamics.recurrent_attention.data.boards import sample
from transformer_dynamics.recurrent_attention.data.grids import find_solutions
from transformer_dynamics.recurrent_attention.data.puzzles_9x9 import split_rows


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
    job = job_of("9x9", list_sha256="0" * 64)
    paper = read_yaml(STUDY.folder / "paper_scale.yaml")[STUDY.name]["boards"]["held_out"]
    assert dict(job.held_out) == paper
    parts = split_rows(np.arange(49_151)[::-1], job.parts(49_151))
    assert {part: len(rows) for part, rows in parts.items()} == {
        "train": 38_151,
        "valid": 1_000,
        "test": 10_000,
    }
    assert sorted(np.concatenate([*parts.values()])) == list(range(49_151))
    assert [len(rows) for rows in split_rows(np.arange(3), job.parts(3)).values()] == [1, 1, 1]


def test_a_second_solution_appears_when_any_clue_of_seventeen_is_removed():
    puzzle = [int(digit) for digit in SEVENTEEN]
    assert len(find_solutions("9x9", puzzle)) == len(list(exact_cover(puzzle))) == 1
    for cell in np.flatnonzero(puzzle):
        fewer = [*puzzle[:cell], 0, *puzzle[cell + 1 :]]
        first, second = find_solutions("9x9", fewer)
        assert first != second
        assert all(not breaks_rules(grid) for grid in (first, second))
        assert all(digit in {0, grid[place]} for grid in (first, second)
                   for place, digit in enumerate(fewer))  # fmt: skip


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
