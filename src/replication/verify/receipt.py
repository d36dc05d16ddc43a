"""Receipts: findings and machine of a verification, small enough to send in.

A receipt does not tell whose machine it was, except for a name that its owner gives. Strangers send
receipts in. Each of their texts is one line of limited length; texts that documents show consist of
plain letters, and pages escape the others. Nothing proves that somebody computed a receipt.
"""

import unicodedata
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, Field

from replication.base.errors import InputError
from replication.base.provenance import digest
from replication.base.storage import write_text
from replication.base.strict import Name, Strict
from replication.judge.verdicts import Outcome, Verdict
from replication.verify.differences import Tolerance

MOST_BYTES = 1_000_000
"""Largest size of a file in bytes; the largest study needs a tenth of it."""
MOST_COUNTED = 10_000_000
"""Largest count; a reference that git keeps has far less of everything."""
LARGEST_ESTIMATE = 1e300
"""Largest absolute value of an estimate, so that three digits of it are a number."""
LONGEST_TEXT = 300
"""Largest number of letters of a text."""
MOST_MARKS = 3
"""Largest number of marks, such as accents, on one letter: no script stacks more."""
PLAIN_LETTERS = "A-Za-z0-9 ()+.,/:;@'=!_-"
"""Letters of the names of a machine's parts, as a character class."""
REMEDY = "write it anew with `python -m replication verify --receipt`"


def refuse_unreadable(text: str) -> str:
    """Return a text; refuse one of several lines, with hidden letters or with a tower of marks."""
    marks = "".join("m" if unicodedata.category(letter)[0] == "M" else " " for letter in text)
    if not text.isprintable() or "m" * (MOST_MARKS + 1) in marks:
        raise ValueError("must be one line of printable letters, each with few accents")
    return text


Line = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(refuse_unreadable)]
Plain = Annotated[str, Field(max_length=LONGEST_TEXT, pattern=f"^[{PLAIN_LETTERS}]*$")]
"""Plain letters, which, shown as code, are no markup anywhere."""
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Amount = Annotated[int, Field(ge=0, le=MOST_COUNTED)]
Estimate = Annotated[float, Field(ge=-LARGEST_ESTIMATE, le=LARGEST_ESTIMATE)]
Level = Literal["hash", "figure", "seed", "full"]
Agreement = Literal["bit for bit", "within tolerance", "differ"]


class Signature(Strict):
    """Name, ORCID or URL of the person who verified, if the receipt may have it."""

    by: Annotated[Line, Field(min_length=1)] | None


class Code(Strict):
    """Commit of the code, and whether files that git knows were changed after it."""

    commit: str = Field(pattern="^[0-9a-f]{40}$")
    dirty: bool


class Machine(Strict):
    """Machine that computed: processors with the same text compute the same bits."""

    processor: Annotated[Plain, Field(min_length=1)]
    emulated: dict[Plain, Plain]
    """Emulated processor, by the environment variable that sets it."""
    cores: int = Field(ge=1)
    system: Annotated[Plain, Field(min_length=1)]
    """Name of the operating system and of its C library."""
    gpu: Plain | None
    """GPU that trained; none if the processor did."""


class Judgement(Strict):
    """A verdict in short: the parts that must be the same on every processor, and two estimates."""

    verdict: Literal[Outcome, "contradicted", "no effect", "inconclusive"]
    """The verdict, or one by the rules of earlier references."""
    seeds: Amount
    comparisons: Amount
    """Number of comparisons that count."""
    holding: Amount
    decisions: Digest
    """Digest of the decisions of all comparisons, by name."""
    lowest: Estimate | None
    """Least estimate of a comparison; none if the claim could not be measured."""
    highest: Estimate | None
    agrees: bool
    """True if all except the estimates is as in the reference that was compared with."""

    @classmethod
    def of(cls, verdict: Verdict, reference: Verdict | None) -> "Judgement":
        """Return a verdict in short, compared with that of the reference, if it has one."""
        bound = LARGEST_ESTIMATE
        estimates = [min(max(item.estimate, -bound), bound) for item in verdict.comparisons]
        short = cls(
            verdict=verdict.verdict,
            seeds=verdict.seeds,
            comparisons=len(verdict.counted),
            holding=verdict.holding,
            decisions=digest(sorted((item.cell, item.decision) for item in verdict.comparisons)),
            lowest=min(estimates, default=None),
            highest=max(estimates, default=None),
            agrees=False,
        )
        agrees = reference is not None and short.is_same(cls.of(reference, None))
        return short.model_copy(update={"agrees": agrees})

    def is_same(self, other: "Judgement") -> bool:
        """Say whether verdict, seeds and the decision of each comparison are the same."""
        estimates = {"lowest", "highest", "agrees"}
        return self.model_dump(exclude=estimates) == other.model_dump(exclude=estimates)


class Runs(Strict):
    """Runs of an experiment: seeds as `1-10,12`, number, agreement with those of the reference."""

    seeds: str = Field(max_length=10_000, pattern="^[0-9,-]+$")
    number: Amount
    digest: Digest
    """Digest of the seed and the digest of every run."""
    agreement: Agreement


class Listed(Strict):
    """One difference, see `Difference`; a distance that is not finite is left out."""

    place: Line
    quantity: Line
    reference: Line
    found: Line
    difference: float | None
    tolerance: Tolerance


class Receipt(Strict):
    """Findings of a verification of one study; receipts of another format are refused."""

    format: Literal[1] = 1
    study: Name
    date: AwareDatetime
    by: Line | None
    """Name, ORCID or URL of the person who verified, see `Signature`."""
    code: Code | None
    """State of the code, if git knows it."""
    machine: Machine
    packages: dict[Plain, Plain]
    """Version of Python and of every package that a number or a figure depends on."""
    reference: Digest
    """Digest of the files of the reference that was compared with."""
    level: Level
    """Level of the verification, see `replication.verify.levels`."""
    settings: Literal["default"] | Digest
    """The word `default`, or the digest of settings that are not all the default ones."""
    verdicts: dict[Line, Judgement]
    """Computed verdicts, by number of the claim."""
    runs: dict[Line, Runs]
    """Computed runs, by experiment."""
    differences: Amount
    """Number of differences; the first ones are listed."""
    listed: list[Listed]
    checksum: Digest | None = Field(default=None, exclude=True)
    """Digest in receipts of earlier versions; nothing depends on it."""


def write_receipt(path: Path, receipt: Receipt) -> None:
    """Write a receipt."""
    write_text(path, receipt.model_dump_json(indent=1) + "\n")


def read_receipt(path: Path) -> Receipt:
    """Read a receipt.

    Raises:
        InputError: one sentence, if it is damaged, a link, too large or of another format.
    """
    try:
        if path.is_symlink():
            raise ValueError("a link; put the file itself there")
        with path.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES:,} bytes")
        return Receipt.parse_json(content.decode(), str(path))
    except InputError as error:
        wrong, *_ = error.message.splitlines()
    except (OSError, ValueError) as error:
        wrong = f"{path}: cannot be read ({error})"
    raise InputError(f"{wrong}; {REMEDY}")
