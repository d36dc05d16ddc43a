"""A receipt: what a verification found, on which machine, small enough to send in.

It holds nothing that tells whose machine it was, but for what its owner says of themselves.
"""

import json
import re
import unicodedata
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, AwareDatetime, Field, model_validator

from replication.base.errors import InputError
from replication.base.process import ARITHMETIC
from replication.base.provenance import digest
from replication.base.storage import write_text
from replication.base.strict import Name, Strict, shown
from replication.judge.judgement import Verdict
from replication.study.seeds import format_seeds, parse_seeds
from replication.verify.differences import Tolerance
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
"""Of receipts; one of another format is refused."""
CHECKSUM_KEY = "checksum"
"""Key of a file under which the digest of all others stands."""
MOST_BYTES = 1_000_000
"""Bytes of a file; the largest study needs a tenth of that."""
MOST_LISTED = 50
"""Differences that a receipt lists; it counts all."""
LONGEST_TEXT = 300
"""Letters of a text."""
LONGEST_PART = 150
"""Letters of the name of a machine's part."""
MOST_SEEDS = 1_000_000
"""Of an experiment."""
MOST_NAMES = 10_000
"""Claims, experiments, packages or variables of one receipt."""
MOST_MARKS = 3
"""Marks, such as accents, that one letter has; scripts that stack them have no more."""
LARGEST_ESTIMATE = 1e300
"""Estimates are no further from 0, so that three digits of one are a number."""
EARLIEST_DATE = datetime(2026, 1, 1, tzinfo=UTC)
"""No receipt is older."""
LATEST_DATE = datetime(2100, 1, 1, tzinfo=UTC)
"""None is younger; whether one is of the future, `replication.verify.reproductions` looks at."""
INVISIBLE_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters that leave a place empty, though they count as printable."""
SEED_RANGE = r"[0-9]{1,10}(-[0-9]{1,10})?"
"""Of seeds, or a single one."""
REMEDY = "write it anew with `python -m replication verify --receipt`"
WEB_ADDRESS = re.compile(r"https?://\S*")
FOLDER_NAME = re.compile(r"(?<![\w./~])(?://?[^/\s]+/|~[\w.-]*/|\.\./)|:[/\\]|\\\\\w")
"""Where the name of a folder outside the project begins, in a text without addresses."""
MARKUP_LETTERS = frozenset(r"<>[]{}|`\&*$")
"""What HTML and Markdown are written with."""
PLAIN_LETTERS = "A-Za-z0-9 ()+.,/:;@'=!_-"
"""Of names of a machine's parts."""


def names_folder(text: str) -> bool:
    """Whether a text names a folder outside the project."""
    return bool(FOLDER_NAME.search(WEB_ADDRESS.sub("", text)))


def _refuse_folder(text: str) -> str:
    if names_folder(text):
        raise ValueError("a receipt must not name a folder of the machine")
    return text


def is_plain(text: str) -> bool:
    """Whether a text is one line of letters as they are read: none is hidden or a tower of marks.

    Marks that direct or hide what follows are not printable.
    """
    marks = "".join("m" if unicodedata.category(letter)[0] == "M" else " " for letter in text)
    is_seen = text.isprintable() and not INVISIBLE_LETTERS.intersection(text)
    return is_seen and "m" * (MOST_MARKS + 1) not in marks


def _refuse_unreadable(text: str) -> str:
    if not is_plain(text):
        raise ValueError("must be one line of printable letters, each with few accents")
    return text


def _refuse_markup(text: str) -> str:
    if found := sorted(MARKUP_LETTERS.intersection(text)):
        raise ValueError(f"must be without {' '.join(found)}")
    return text


def _refuse_outer_spaces(text: str) -> str:
    if text.strip() != text:
        raise ValueError("must have no spaces around it")
    return text


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


def _refuse_other_variable(name: str) -> str:
    if name not in ARITHMETIC:
        raise ValueError("is no variable that changes arithmetic")
    return name


def _refuse_other_years(date: datetime) -> datetime:
    if not EARLIEST_DATE <= date < LATEST_DATE:
        raise ValueError(f"must be of the years {EARLIEST_DATE.year} to {LATEST_DATE.year - 1}")
    return date


Text = Annotated[
    str,
    Field(max_length=LONGEST_TEXT),
    AfterValidator(_refuse_unreadable),
    AfterValidator(_refuse_folder),
]
Word = Annotated[
    Text, Field(min_length=1), AfterValidator(_refuse_markup), AfterValidator(_refuse_outer_spaces)
]
"""What people write of themselves: in any script, without marks of HTML and Markdown."""
Part = Annotated[Text, Field(max_length=LONGEST_PART, pattern=f"^[{PLAIN_LETTERS}]*$")]
"""Of a machine. In plain letters, and shown as code, it is no markup anywhere."""
Variable = Annotated[str, AfterValidator(_refuse_other_variable)]
"""Name of an environment variable by which libraries compute as another processor would."""
Package = Annotated[str, Field(max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
"""Name of a package."""
Version = Annotated[str, Field(max_length=60, pattern=r"^[A-Za-z0-9][A-Za-z0-9.!+_-]*$")]
"""Of a package, or `missing`."""
Estimate = Annotated[float, Field(ge=-LARGEST_ESTIMATE, le=LARGEST_ESTIMATE)]
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

    processor: Annotated[Part, Field(min_length=1)]
    """Its name and model: two with the same one compute the same bits."""
    emulated: dict[Variable, Part] = Field(max_length=MOST_NAMES)
    """What it was told to compute as, by environment variable."""
    cores: int = Field(ge=1, le=MOST_COUNTED)
    """Logical ones that the operating system sees."""
    system: Annotated[Part, Field(min_length=1)]
    """The operating system and its C library."""
    gpu: Part | None
    """What trained, unless the processor did."""


class Judgement(VerdictInShort):
    """A verdict in short, and whether it is the reference's."""

    lowest: Estimate | None
    """The least estimate of a comparison; none if the claim could not be measured."""
    highest: Estimate | None
    """The largest."""
    agrees: Annotated[bool, Field(strict=True)]
    """Whether the verdict, its seeds and what each comparison says are the reference's."""

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
    def found(cls, verdict: Verdict, reference: VerdictInShort | None) -> "Judgement":
        """A verdict in short.

        Args:
            verdict: what was found.
            reference: what it should be; none if there is no such verdict.
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

    def is_that_of(self, verdict: VerdictInShort) -> bool:
        """Whether a verdict, its seeds and what each comparison says are the same."""
        return self.model_dump(include={*VerdictInShort.model_fields}) == verdict.model_dump()


class Runs(Strict):
    """The fingerprints of an experiment's runs in short."""

    seeds: Annotated[
        str,
        Field(max_length=10_000, pattern=f"^{SEED_RANGE}(,{SEED_RANGE})*$"),
        AfterValidator(_refuse_too_many_seeds),
    ]
    """Those that were run, as `1-10,12`."""
    number: int = Field(ge=1, le=MOST_COUNTED)
    """How many runs: of a seed there can be several."""
    digest: Digest
    """Of the seed and the digest of every run."""
    agreement: Agreement
    """With the same runs of the reference."""

    @classmethod
    def of(cls, bits: Bits, agreement: Agreement) -> "Runs":
        """The fingerprints of some runs in short.

        Args:
            bits: digests by seed.
            agreement: with the reference.
        """
        return cls(
            seeds=format_seeds(sorted(bits)),
            number=sum(map(len, bits.values())),
            digest=_runs_digest(bits),
            agreement=agreement,
        )

    def same_of(self, bits: Bits) -> Bits:
        """The digests, of those of an experiment, whose seeds were run; none if one has none."""
        # Counted before they are written out: there may be many more of them.
        ranges = re.findall(r"(\d+)-(\d+)", self.seeds)
        if sum(int(last) - int(first) for first, last in ranges) > len(bits):
            return {}
        seeds = parse_seeds(self.seeds)
        return {seed: bits[seed] for seed in seeds} if bits.keys() >= {*seeds} else {}

    def are_those_of(self, bits: Bits) -> bool:
        """Whether an experiment's fingerprints have these seeds, with the same bits."""
        same = self.same_of(bits)
        return self.number == sum(map(len, same.values())) and self.digest == _runs_digest(same)


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
    study: Annotated[Name, Field(max_length=100)]
    """Name of the study."""
    date: Annotated[AwareDatetime, AfterValidator(_refuse_other_years)]
    """When, to the second."""
    by: Word | None
    """See `Signature`."""
    code: Code | None
    """The state of the code, if git knows it."""
    machine: Machine
    """What computed."""
    packages: dict[Package, Version] = Field(max_length=MOST_NAMES)
    """Version of Python and of every package that a number or a drawing depends on."""
    reference: Digest
    """Of the files of the reference that was compared with."""
    level: Level
    """How much was computed for it, see `replication.verify.levels`."""
    settings: Literal["default"] | Digest
    """The default configuration, or the digest of the settings that differ from it."""
    verdicts: dict[Claim, Judgement] = Field(max_length=MOST_NAMES)
    """Those that were computed, by number of the claim."""
    runs: dict[Experiment, Runs] = Field(max_length=MOST_NAMES)
    """Those that were computed, by experiment."""
    differences: Amount
    """How many there are."""
    listed: list[Listed] = Field(max_length=MOST_LISTED)
    """The first of them."""

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        if not self.verdicts and not self.runs:
            raise ValueError("it has neither a verdict nor a run")
        # A verdict by other seeds, or by what is compared so, need not agree.
        differs = any(runs.agreement == "differ" for runs in self.runs.values())
        if len(self.listed) != min(self.differences, MOST_LISTED) or (differs and not self.listed):
            raise ValueError("it does not list the differences that it has")
        return self


def write_receipt(path: Path, receipt: Receipt) -> None:
    """Write a receipt with its checksum."""
    data = receipt.model_dump(mode="json")
    write_text(path, to_json({**data, CHECKSUM_KEY: digest(data)}) + "\n")


def read_receipt(path: Path) -> Receipt:
    """Read what `write_receipt` wrote.

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
    """The text of a file, as long as one of a receipt can be."""
    with path.open("rb") as stream:
        content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"more than {MOST_BYTES:,} bytes")
    return content.decode()


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A mapping of which every key stands once: other readers take another one."""
    found = dict(pairs)
    if len(found) < len(pairs):
        ((repeated, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key '{shown(repeated)}' stands twice")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _runs_digest(bits: Bits) -> str:
    return digest(sorted((seed, each) for seed, runs in bits.items() for each in runs))
