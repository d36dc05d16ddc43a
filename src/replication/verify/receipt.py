"""Receipts: findings and machine of a verification, small enough to send in.

A receipt does not tell whose machine it was, except for a name that its owner gives.
"""

import json
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, AwareDatetime, Field, model_validator

from replication.base.errors import InputError
from replication.base.provenance import digest
from replication.base.storage import write_text
from replication.base.strict import Name, Strict, shorten
from replication.judge.verdicts import Verdict
from replication.study.seeds import format_seeds, parse_seeds
from replication.verify.differences import Tolerance
from replication.verify.receipt_texts import Package, Part, Text, Variable, Version, Word
from replication.verify.reference_summary import (
    MOST_COUNTED,
    Amount,
    Bits,
    Claim,
    Digest,
    Experiment,
    VerdictInShort,
    to_json,
)

FORMAT = 1
"""Format of receipts; receipts of another format are refused."""
CHECKSUM_KEY = "checksum"
"""Key of a file under which the digest of all others stands."""
MOST_BYTES = 1_000_000
"""Largest size of a file in bytes; the largest study needs a tenth of it."""
MOST_LISTED = 50
"""Largest number of differences that a receipt lists; it counts all."""
MOST_SEEDS = 1_000_000
"""Largest number of seeds of an experiment."""
MOST_NAMES = 10_000
"""Largest number of claims, experiments, packages or variables of one receipt."""
LARGEST_ESTIMATE = 1e300
"""Largest absolute value of an estimate, so that three digits of it are a number."""
EARLIEST_DATE = datetime(2026, 1, 1, tzinfo=UTC)
"""Earliest date of a receipt."""
LATEST_DATE = datetime(2100, 1, 1, tzinfo=UTC)
"""End of the dates of receipts; `replication.verify.reproductions` refuses those of the future."""
SEED_RANGE = r"[0-9]{1,10}(-[0-9]{1,10})?"
"""Pattern of a range of seeds, or of a single seed."""
REMEDY = "write it anew with `python -m replication verify --receipt`"


def _refuse_too_many_seeds(text: str) -> str:
    # A receipt comes from strangers, and a range can be long: it is not written out here.
    ranges = re.findall(r"(\d+)-(\d+)", text)
    if sum(int(last) - int(first) for first, last in ranges) > MOST_SEEDS:
        raise ValueError(f"more than {MOST_SEEDS} seeds")
    try:
        parse_seeds(text.replace("-", ","))
    except InputError as error:
        raise ValueError(error.message) from None
    return text


def _refuse_other_years(date: datetime) -> datetime:
    if not EARLIEST_DATE <= date < LATEST_DATE:
        raise ValueError(f"must be of the years {EARLIEST_DATE.year} to {LATEST_DATE.year - 1}")
    return date


Estimate = Annotated[float, Field(ge=-LARGEST_ESTIMATE, le=LARGEST_ESTIMATE)]
Level = Literal["hash", "figure", "seed", "full"]
Agreement = Literal["bit for bit", "within tolerance", "differ"]


class Signature(Strict):
    """Signature of the person who verified."""

    by: Word | None
    """Name, ORCID or URL."""


class Code(Strict):
    """The state of the code, as git knows it."""

    commit: str = Field(pattern="^[0-9a-f]{40}$")
    """Hash of the commit."""
    dirty: bool
    """True if files that git knows were changed after the commit."""


class Machine(Strict):
    """Machine that computed the results."""

    processor: Annotated[Part, Field(min_length=1)]
    """Name and model of the processor: processors with the same text compute the same bits."""
    emulated: dict[Variable, Part] = Field(max_length=MOST_NAMES)
    """Emulated processor, by the environment variable that sets it."""
    cores: int = Field(ge=1, le=MOST_COUNTED)
    """Number of logical cores that the operating system sees."""
    system: Annotated[Part, Field(min_length=1)]
    """Name of the operating system and of its C library."""
    gpu: Part | None
    """GPU that trained; none if the processor did."""


class Judgement(VerdictInShort):
    """A verdict in short, and whether it is the reference's."""

    lowest: Estimate | None
    """Least estimate of a comparison; none if the claim could not be measured."""
    highest: Estimate | None
    """Largest estimate of a comparison."""
    agrees: Annotated[bool, Field(strict=True)]
    """True if verdict, seeds and the decision of each comparison are the reference's."""

    @model_validator(mode="after")
    def _check_range(self) -> Self:
        lowest, highest = self.lowest, self.highest
        measured = {lowest is not None, highest is not None, self.comparisons > 0}
        if len(measured) > 1:
            raise ValueError("a claim that was measured, and no other, has two ends of estimates")
        if lowest is not None and highest is not None and lowest > highest:
            raise ValueError(f"the least estimate, {lowest}, is above the largest, {highest}")
        return self

    @classmethod
    def of_found(cls, verdict: Verdict, reference: VerdictInShort | None) -> "Judgement":
        """Return a verdict in short.

        Args:
            verdict: the verdict that was found.
            reference: the expected verdict; none if the reference has none.
        """
        estimates = [
            min(max(item.estimate, -LARGEST_ESTIMATE), LARGEST_ESTIMATE)
            for item in verdict.comparisons
        ]
        short = VerdictInShort.of(verdict)
        return cls(
            **short.model_dump(),
            lowest=min(estimates, default=None),
            highest=max(estimates, default=None),
            agrees=short == reference,
        )

    def matches(self, verdict: VerdictInShort) -> bool:
        """Say whether a verdict, its seeds and the decision of each comparison are the same."""
        return self.model_dump(include={*VerdictInShort.model_fields}) == verdict.model_dump()


class Runs(Strict):
    """The fingerprints of an experiment's runs in short."""

    seeds: Annotated[
        str,
        Field(max_length=10_000, pattern=f"^{SEED_RANGE}(,{SEED_RANGE})*$"),
        AfterValidator(_refuse_too_many_seeds),
    ]
    """Seeds that were run, as `1-10,12`."""
    number: int = Field(ge=1, le=MOST_COUNTED)
    """Number of runs: a seed can have several."""
    digest: Digest
    """Digest of the seed and the digest of every run."""
    agreement: Agreement
    """Agreement with the same runs of the reference."""

    @classmethod
    def of(cls, bits: Bits, agreement: Agreement) -> "Runs":
        """Return the fingerprints of some runs in short.

        Args:
            bits: digests by seed.
            agreement: agreement with the reference.
        """
        return cls(
            seeds=format_seeds(sorted(bits)),
            number=sum(map(len, bits.values())),
            digest=_runs_digest(bits),
            agreement=agreement,
        )

    def bits_of_seeds(self, bits: Bits) -> Bits:
        """Return the digests of the seeds that were run; none if the experiment lacks a seed.

        Args:
            bits: digests of all runs of the experiment, by seed.
        """
        # Count before the ranges are written out: a receipt of a stranger may name far too many.
        ranges = re.findall(r"(\d+)-(\d+)", self.seeds)
        if sum(int(last) - int(first) for first, last in ranges) > len(bits):
            return {}
        seeds = parse_seeds(self.seeds)
        return {seed: bits[seed] for seed in seeds} if bits.keys() >= {*seeds} else {}

    def match(self, bits: Bits) -> bool:
        """Say whether an experiment's fingerprints have these seeds, with the same bits."""
        same = self.bits_of_seeds(bits)
        return self.number == sum(map(len, same.values())) and self.digest == _runs_digest(same)


class Listed(Strict):
    """One difference; see `Difference`."""

    place: Text
    """Name of the table."""
    quantity: Text
    """Name of the value in the table."""
    reference: Text
    """Expected value."""
    found: Text
    """Found value."""
    difference: float | None
    """Distance of a number from the expected one; none if it is not finite."""
    tolerance: Tolerance
    """Name of the class of comparison."""


class Receipt(Strict):
    """Findings of a verification of one study."""

    format: Literal[1] = 1
    """Number of the receipt's format, see `FORMAT`."""
    study: Annotated[Name, Field(max_length=100)]
    """Name of the study."""
    date: Annotated[AwareDatetime, AfterValidator(_refuse_other_years)]
    """Time of the verification, to the second."""
    by: Word | None
    """Name, ORCID or URL of the person who verified, see `Signature`."""
    code: Code | None
    """State of the code, if git knows it."""
    machine: Machine
    """Machine that computed."""
    packages: dict[Package, Version] = Field(max_length=MOST_NAMES)
    """Version of Python and of every package that a number or a figure depends on."""
    reference: Digest
    """Digest of the files of the reference that was compared with."""
    level: Level
    """Level of the verification, see `replication.verify.levels`."""
    settings: Literal["default"] | Digest
    """The word `default`, or the digest of the settings that differ from the default
    configuration."""
    verdicts: dict[Claim, Judgement] = Field(max_length=MOST_NAMES)
    """Computed verdicts, by number of the claim."""
    runs: dict[Experiment, Runs] = Field(max_length=MOST_NAMES)
    """Computed runs, by experiment."""
    differences: Amount
    """Number of differences."""
    listed: list[Listed] = Field(max_length=MOST_LISTED)
    """First differences."""

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        if not self.verdicts and not self.runs:
            raise ValueError("it has neither a verdict nor a run")
        # A verdict that does not agree may be within the tolerances: no difference is listed.
        differs = any(runs.agreement == "differ" for runs in self.runs.values())
        if len(self.listed) != min(self.differences, MOST_LISTED) or (differs and not self.listed):
            raise ValueError("it does not list the differences that it has")
        return self


def write_receipt(path: Path, receipt: Receipt) -> None:
    """Write a receipt with its checksum."""
    data = receipt.model_dump(mode="json")
    write_text(path, to_json({**data, CHECKSUM_KEY: digest(data)}) + "\n")


def read_receipt(path: Path) -> Receipt:
    """Read a receipt that `write_receipt` wrote.

    Raises:
        InputError: one sentence, if it is damaged, was changed, is too large or is of another
            format.
    """
    try:
        data = json.loads(
            _read_limited(path),
            object_pairs_hook=_refuse_repeated_keys,
            parse_constant=_refuse_constant,
        )
        checksum = data.pop(CHECKSUM_KEY)
        if checksum != digest(data):
            raise InputError(f"{path}: was changed after it was written")
        return Receipt.parse(data, str(path))
    except InputError as error:
        first, *_ = error.message.splitlines()
        raise InputError(f"{first}; {REMEDY}") from None
    except (OSError, ValueError, RecursionError, AttributeError, TypeError, KeyError) as error:
        raise InputError(
            f"{path}: is no whole receipt ({type(error).__name__}: {error}); {REMEDY}"
        ) from error


def _read_limited(path: Path) -> str:
    """Return the text of a file that is not longer than a receipt can be."""
    with path.open("rb") as stream:
        content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"more than {MOST_BYTES:,} bytes")
    return content.decode()


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a mapping; refuse a key that stands twice, as readers take different values of it."""
    found = dict(pairs)
    if len(found) < len(pairs):
        ((repeated, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key '{shorten(repeated)}' stands twice")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _runs_digest(bits: Bits) -> str:
    return digest(sorted((seed, each) for seed, runs in bits.items() for each in runs))
