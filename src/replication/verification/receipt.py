"""A receipt: what a verification found, on which machine, small enough to send in.

It holds nothing that tells whose machine it was, but for what its owner says of themselves.
"""

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pandas as pd
from pydantic import AfterValidator, AwareDatetime, Field, model_validator

from replication.errors import InputError
from replication.provenance import digest
from replication.seeds import format_seeds, parse_seeds
from replication.storage import write_text
from replication.strict import Strict
from replication.verification.differences import Tolerance
from replication.verification.judgement import Outcome, Verdict
from replication.verification.reference import MANIFEST, Manifest

FORMAT = 1
"""Of receipts; one of another format is refused."""
CHECKSUM = "checksum"
"""Key of a file under which the digest of all others stands."""
LISTED = 50
"""Differences that a receipt lists; it counts all."""
LONGEST = 300
"""Letters of a text."""
MOST_SEEDS = 1_000_000
"""Of an experiment."""
REMEDY = "write it anew with `python -m replication.verify --receipt`"
FOLDER_NAME = re.compile(r"(?<![\w.:/~])(?:/[^/\s]+/|~[\w.-]*/|\.\./)")
"""Where the name of a folder outside the project begins."""


def _without_folder(text: str) -> str:
    if FOLDER_NAME.search(text):
        raise ValueError("a receipt must not name a folder of the machine")
    return text


def _printable(text: str) -> str:
    if text.strip() != text or not text.isprintable():
        raise ValueError("must be one line of printable letters without spaces around it")
    return text


def _seeds(text: str) -> str:
    # Before a range is written out: a receipt comes from strangers.
    ranges = re.findall(r"(\d{1,10})-(\d{1,10})", text)
    if sum(int(last) - int(first) for first, last in ranges) > MOST_SEEDS:
        raise ValueError(f"more than {MOST_SEEDS} seeds")
    try:
        parse_seeds(text)
    except InputError as error:
        raise ValueError(error.message) from None
    return text


Text = Annotated[str, Field(max_length=LONGEST), AfterValidator(_without_folder)]
Word = Annotated[
    Text, Field(min_length=1, pattern=r"^[^<>\[\]|`\\&]*$"), AfterValidator(_printable)
]
"""What is shown where people read it, so without marks of HTML and Markdown."""
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Level = Literal["hash", "figure", "seed", "full"]
Agreement = Literal["bit for bit", "within tolerance", "differ"]


class Signature(Strict):
    """What whoever verified says of themselves."""

    by: Word | None
    """Name, ORCID or URL."""


class Code(Strict):
    """The state of the code, as git knows it."""

    commit: str = Field(pattern="^[0-9a-f]{40}$")
    """The commit."""
    dirty: bool
    """Whether files that git knows were changed after it."""


class Machine(Strict):
    """What computed."""

    processor: Word
    """Its name and model: two with the same one compute the same bits."""
    emulated: dict[Word, Word]
    """What it was told to compute as, by environment variable."""
    cores: int = Field(ge=1)
    """Logical ones that the operating system sees."""
    system: Word
    """The operating system and its C library."""
    gpu: Word | None
    """What trained, unless the processor did."""


class Judgement(Strict):
    """A verdict in short."""

    verdict: Outcome
    """The verdict."""
    seeds: int
    """Number of seeds behind each comparison."""
    comparisons: int
    """Number of comparisons."""
    holding: int
    """How many of them hold."""
    decisions: Digest
    """Of what each comparison says, by its cell."""
    lowest: float | None
    """The least estimate of a comparison; none if the claim could not be measured."""
    highest: float | None
    """The largest."""
    agrees: Annotated[bool, Field(strict=True)]
    """Whether the verdict, its seeds and what each comparison says are the reference's."""

    @classmethod
    def of(cls, verdict: Verdict, reference: Verdict | None) -> "Judgement":
        """A verdict in short.

        Args:
            verdict: what was found.
            reference: what it should be; none if there is no such verdict.
        """
        estimates = [item.estimate for item in verdict.comparisons]
        short = _in_short(verdict)
        return cls(
            **short,
            lowest=min(estimates, default=None),
            highest=max(estimates, default=None),
            agrees=reference is not None and short == _in_short(reference),
        )

    def is_that_of(self, verdict: Verdict) -> bool:
        """Whether a verdict, its seeds and what each comparison says are the same."""
        short = _in_short(verdict)
        return self.model_dump(include={*short}) == short


class Runs(Strict):
    """The fingerprints of an experiment's runs in short."""

    seeds: Annotated[str, Field(max_length=10_000), AfterValidator(_seeds)]
    """Those that were run, as `1-10,12`."""
    number: int = Field(ge=1)
    """How many runs: of a seed there can be several."""
    digest: Digest
    """Of the seed and the digest of every run."""
    agreement: Agreement
    """With the same runs of the reference."""

    @classmethod
    def of(cls, runs: pd.DataFrame, agreement: Agreement) -> "Runs":
        """The fingerprints of some runs in short.

        Args:
            runs: columns seed and digest.
            agreement: with the reference.
        """
        seeds = format_seeds(sorted({int(seed) for seed in runs["seed"]}))
        return cls(seeds=seeds, number=len(runs), digest=_runs_digest(runs), agreement=agreement)

    def are_those_of(self, runs: pd.DataFrame) -> bool:
        """Whether an experiment's fingerprints have these seeds, with the same bits."""
        seeds = parse_seeds(self.seeds)
        same = runs[runs["seed"].isin(seeds)]
        known = len(same) == self.number and same["seed"].nunique() == len(seeds)
        return known and self.digest == _runs_digest(same)


class Listed(Strict):
    """One difference; see `Difference`."""

    place: Text
    """What the table is called."""
    quantity: Text
    """Which value of it."""
    reference: Text
    """As it should be."""
    found: Text
    """As it is."""
    difference: float | None
    """How far a number is from where it should be."""
    tolerance: Tolerance
    """The class of comparison."""


class Receipt(Strict):
    """What a verification of one study found."""

    format: Literal[1] = 1
    """See `FORMAT`."""
    study: Word
    """Name of the study."""
    date: AwareDatetime
    """When, to the second."""
    by: Word | None
    """See `Signature`."""
    code: Code | None
    """The state of the code, if git knows it."""
    machine: Machine
    """What computed."""
    packages: dict[Word, Word]
    """Version of Python and of every package that a number or a drawing depends on."""
    reference: Digest
    """Of the files of the reference that was compared with."""
    level: Level
    """How much was computed for it, see `replication.verify`."""
    settings: Literal["default"] | Digest
    """The default configuration, or the digest of the settings that differ from it."""
    verdicts: dict[Word, Judgement]
    """Those that were computed, by number of the claim."""
    runs: dict[Word, Runs]
    """Those that were computed, by experiment."""
    differences: int = Field(ge=0)
    """How many there are."""
    listed: list[Listed] = Field(max_length=LISTED)
    """The first of them."""

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        if not self.verdicts and not self.runs:
            raise ValueError("it has neither a verdict nor a run")
        # A verdict by other seeds, or by what is compared so, need not agree.
        differs = any(runs.agreement == "differ" for runs in self.runs.values())
        if len(self.listed) != min(self.differences, LISTED) or (differs and not self.listed):
            raise ValueError("it does not list the differences that it has")
        return self


def reference_digest(folder: Path) -> str:
    """Digest of all files of a reference but its manifest; new code alone does not change it.

    Raises:
        InputError: if it has no manifest, or a damaged one.
    """
    path = folder / MANIFEST
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    return digest(Manifest.parse_json(text, str(path)).files)


def write_receipt(path: Path, receipt: Receipt) -> None:
    """Write a receipt with its checksum."""
    data = receipt.model_dump(mode="json")
    write_text(path, _lines({**data, CHECKSUM: digest(data)}) + "\n")


def read_receipt(path: Path) -> Receipt:
    """Read what `write_receipt` wrote.

    Raises:
        InputError: one sentence, if it is damaged, was changed or is of another format.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        checksum = data.pop(CHECKSUM)
    except (OSError, ValueError, RecursionError, AttributeError, TypeError, KeyError) as error:
        raise InputError(
            f"{path}: is no whole receipt ({type(error).__name__}: {error}); {REMEDY}"
        ) from error
    if checksum != digest(data):
        raise InputError(f"{path}: was changed after it was written; {REMEDY}")
    try:
        return Receipt.parse(data, str(path))
    except InputError as error:
        first, *_ = error.message.splitlines()
        raise InputError(f"{first}; {REMEDY}") from None


def _in_short(verdict: Verdict) -> dict[str, Any]:
    """What must be the same on every processor."""
    decisions = sorted((item.cell, item.decision) for item in verdict.comparisons)
    return {
        "verdict": verdict.verdict,
        "seeds": verdict.seeds,
        "comparisons": len(decisions),
        "holding": sum(decision == "holds" for _, decision in decisions),
        "decisions": digest(decisions),
    }


def _runs_digest(runs: pd.DataFrame) -> str:
    pairs = zip(runs["seed"], runs["digest"], strict=True)
    return digest(sorted((int(seed), str(bits)) for seed, bits in pairs))


def _lines(data: Any, depth: int = 0) -> str:
    """JSON with a line per claim, experiment and difference."""
    if depth == 2 or not data or not isinstance(data, dict | list):
        return json.dumps(data, ensure_ascii=False)
    below = " " * (depth + 1)
    if isinstance(data, dict):
        begin, end = "{}"
        items = [f"{json.dumps(key)}: {_lines(value, depth + 1)}" for key, value in data.items()]
    else:
        begin, end = "[]"
        items = [_lines(value, depth + 1) for value in data]
    inner = ",\n".join(below + item for item in items)
    return f"{begin}\n{inner}\n{' ' * depth}{end}"
