"""Settings of the boards: size, number of puzzles, givens."""

from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from replication.base.strict import Count, Strict
from replication.study.seeds import Seed

Size = Literal["4x4", "6x6", "9x9"]
SPLITS = ("train", "valid_in", "valid_out", "test_in", "test_out")
"""Splits: training; validation and test, in distribution and out of it."""
FEWEST_GIVENS: dict[Size, int] = {"4x4": 4, "6x6": 8, "9x9": 17}
"""Fewest givens of a puzzle with one solution."""
POOL_SIZES: dict[Size, int] = {"4x4": 288, "9x9": 49_151}
"""Grids of 4x4, and puzzles of the list that those of 9x9 are made of."""
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Givens(Strict):
    """Range of the number of given cells, which is drawn uniformly."""

    least: int = Field(ge=0)
    """Fewest given cells."""
    most: int
    """Most given cells."""

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.most < self.least:
            raise ValueError(f"least ({self.least}) must not be above most ({self.most})")
        return self


class HeldOut(Strict):
    """Numbers of grids or listed puzzles that are kept from training."""

    valid: Count
    """Number for validation."""
    test: Count
    """Number for the test."""


class Split(NamedTuple):
    """Contents of one split."""

    name: str
    """Name of the split, one of `SPLITS`."""
    part: str
    """Part of the grids or listed puzzles: `train`, `valid` or `test`; parts share no puzzle."""
    puzzles: int
    givens: Givens
    key: str
    """Key of the settings that has this range."""


class BoardJob(Strict):
    """Puzzles of one size, each with one solution."""

    size: Size
    """Number of rows and columns."""
    train: int = Field(ge=1)
    """Number of training puzzles."""
    valid: int = Field(ge=1)
    """Number of validation puzzles in distribution, and of those out of it."""
    test: int = Field(ge=1)
    """Number of test puzzles in distribution, and of those out of it."""
    in_distribution: Givens
    """Givens of training, validation and test."""
    out_of_distribution: Givens
    """Fewer givens, of validation and test."""
    held_out: HeldOut | None = None
    """Numbers of grids of 4x4, or of listed puzzles of 9x9, that training does not see. Every
    puzzle of 6x6 has a grid of its own."""
    seed: Seed = 0
    """Seed of the draw, the same for all runs."""
    list_sha256: Sha256 | None = None
    """Digest of the list of puzzles that those of 9x9 are made of; the other sizes have none."""

    @model_validator(mode="after")
    def _check_givens(self) -> Self:
        for key in ("in_distribution", "out_of_distribution"):
            givens: Givens = getattr(self, key)
            fewest = FEWEST_GIVENS[self.size]
            if givens.least < fewest:
                raise ValueError(
                    f"{key} > least ({givens.least}) must be at least {fewest}: no"
                    f" {self.size} puzzle with fewer givens has one solution"
                )
            if givens.most >= self.cells:
                raise ValueError(
                    f"{key} > most ({givens.most}) must be below {self.cells}, the number of"
                    f" cells of {self.size}: a puzzle has a blank"
                )
        if (self.size == "9x9") != (self.list_sha256 is not None):
            raise ValueError("give list_sha256 for 9x9 and for no other size")
        if (self.size in POOL_SIZES) != (self.held_out is not None):
            raise ValueError("give held_out for 4x4 and 9x9, and null for 6x6")
        if self.held_out and sum(dict(self.held_out).values()) >= POOL_SIZES[self.size]:
            raise ValueError(
                f"held_out: valid and test together must be below {POOL_SIZES[self.size]:,}, as"
                " training needs some, too"
            )
        return self

    @property
    def digits(self) -> int:
        """Number n of digits, rows and columns."""
        return int(self.size[0])

    @property
    def cells(self) -> int:
        """Number S of cells, which is that of tokens."""
        return self.digits**2

    def parts(self, number: int) -> dict[str, int]:
        """Return the number of grids or listed puzzles of each part, in a pool of `number`.

        In a pool of another size than `POOL_SIZES`, parts are in proportion, one at least.
        """
        held_out = dict(self.held_out or ())
        sizes = {
            part: max(1, round(number * size / POOL_SIZES[self.size]))
            for part, size in held_out.items()
        }
        return {"train": number - sum(sizes.values())} | sizes

    @property
    def splits(self) -> list[Split]:
        """Splits in the order of `SPLITS`."""
        counts = {"train": self.train, "valid": self.valid, "test": self.test}
        found: list[Split] = []
        for name in SPLITS:
            part = name.partition("_")[0]
            key = "out_of_distribution" if name.endswith("_out") else "in_distribution"
            found.append(Split(name, part, counts[part], getattr(self, key), key))
        return found

    @property
    def sources(self) -> tuple[str, ...]:
        """Paths of the files that puzzles are made from."""
        return ("results/datasets/sudoku17/sudoku17.txt",) if self.size == "9x9" else ()
