"""A claim of a paper: the statement, its number, its data and the test that judges it."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from replication.base.strict import Strict

Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


def _number(text: str) -> str:
    if not re.fullmatch(NUMBER, text):
        raise ValueError(
            "a claim's number is a capital letter, digits if any, and one more letter if need be,"
            " such as T22a"
        )
    return text


NUMBER = r"[A-Z][0-9]*[a-z]?"
Number = Annotated[
    str, AfterValidator(_number), Field(json_schema_extra={"pattern": f"^{NUMBER}$"})
]
"""Of a claim, a letter first."""
LONGEST_QUOTE = 25
"""Words."""
LATE = "Declared after its seeds had been seen."
"""Of a claim with `declared_late`."""
GROUPS = SHOWN, THEORY, ERRATA, BEYOND, OWN = (
    "the paper's claims about its figures and training",
    "the paper's theory",
    "errata of the paper",
    "further statements, tried here",
    "a user's own claims",
)
"""What claims are about; the last two are statements that the paper does not make."""


class Statistical(Strict):
    """A test over seeds."""

    level: Annotated[float, Field(gt=0, le=0.1)] = 0.05
    """Probability of a wrong answer to one question (does it hold, is it the opposite, is there no
    effect, is it less than claimed) among the claims that are corrected together."""


class Range(Strict):
    """Where values are claimed to lie."""

    lower: float | None = None
    """Least value."""
    upper: float | None = None
    """Largest value."""

    @model_validator(mode="after")
    def _check_bounds(self) -> Self:
        if self.lower is None and self.upper is None:
            raise ValueError("lower or upper is needed")
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise ValueError(f"lower ({self.lower:g}) must not be above upper ({self.upper:g})")
        return self


class Bounds(Range):
    """Every value of a deterministic computation lies in a range.

    Evidence: cell, value.
    """

    kind: Literal["bounds"]
    """Which test."""


class Published(Strict):
    """Every value equals the paper's own for the same seeds, to the precision of print.

    Evidence: cell, value, published.
    """

    kind: Literal["published"]
    """Which test."""
    tolerance: Annotated[float, Field(gt=0)]
    """Largest allowed difference."""


class Interval(Statistical, Range):
    """The mean over seeds lies in a range (t tests), or the median does (sign tests).

    A value is a contrast of one seed: a difference, or the change along an axis, see `contrasts`.

    Evidence: cell, seed, value.
    """

    kind: Literal["interval"]
    """Which test."""
    center: Literal["mean", "median"] = "mean"
    """Of the seeds: the mean by t tests, or the median by sign tests, which are declared where the
    spread over seeds is skewed."""
    smallest_effect: Annotated[float, Field(gt=0)] | None = None
    """Least distance from the only bound that matters, in the unit of the value. A mean that is
    further inside supports the claim, one that is further outside contradicts it, and one that is
    nearer than this on either side is no effect worth the name."""

    @model_validator(mode="after")
    def _check_effect(self) -> Self:
        if self.smallest_effect and self.lower is not None and self.upper is not None:
            raise ValueError("smallest_effect is for a range with one bound; two say it themselves")
        if self.lower is not None and self.lower == self.upper:
            raise ValueError("no mean of seeds lies in a range whose bounds are equal")
        return self


class Equivalence(Statistical):
    """The mean of our seeds equals that of the paper's, within a margin (Welch TOST).

    Evidence: cell, sample (`paper` or `ours`), seed, value.
    """

    kind: Literal["equivalence"]
    """Which test."""
    margin: Annotated[float, Field(gt=0)]
    """Largest difference that counts as equal, in pooled standard deviations of one seed."""


Test = Annotated[Bounds | Published | Interval | Equivalence, Field(discriminator="kind")]


class Data(Strict):
    """A table that a claim is judged by."""

    experiment: Text
    """Name of an experiment; `kernels_*` means all whose names begin so, one table each."""
    metric: Text
    """Name of a metric."""


class Quote(Strict):
    """The paper's own words; formulas are written out in plain letters."""

    words: Text
    """What it says, in 25 words at most."""
    place: Text
    """Where, in the version that the registry's `venue` names."""

    @model_validator(mode="after")
    def _check_length(self) -> Self:
        if len(self.words.split()) > LONGEST_QUOTE:
            raise ValueError(f"a quote has at most {LONGEST_QUOTE} words: {self.words}")
        return self


class Statement(Strict):
    """What is stated, and how it is judged."""

    where: Text
    """Where the paper states it."""
    figure: Text | None = None
    """Figure that shows it; the claims of a figure are one family of tests."""
    statement: Text
    """What it says."""
    quote: Quote | None = None
    """Where the paper says so in its own words; a claim without it goes beyond the paper."""
    quantity: Text | None = None
    """What is measured, with its unit."""
    expected: Text | None = None
    """Value or direction that the claim states."""
    published: Text | None = None
    """The paper's own value, if it is known."""
    measure: Annotated[str, Field(pattern=r"^\w+\.\w+$")] | None = None
    """Function that measures it, as module.function of the study's folder `claims`."""
    data: list[Data] = []
    """The tables that it takes; none if it is computed from the theory."""
    uses: list[str] = []
    """Keys of the study's section of the configuration that it takes by name."""
    published_table: Text | None = None
    """Table of published values that it takes, too: a file of the study's folder `published`."""
    test: Test | None = None
    """How it is judged."""
    why: Text | None = None
    """Why the test's range, margin or smallest effect is what the claim is about."""
    not_tested: Text | None = None
    """Why it is not judged."""
    note: Text | None = None
    """What a reader should know to understand the verdict."""
    scale: Text | None = None
    """At which scale it is judged, if that is not the one of all claims about training, see
    `Registry.scale`."""
    answer: Text | None = None
    """What the paper's authors say of the verdict."""

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        if wrong := self._wrong():
            raise ValueError(wrong)
        return self

    def _wrong(self) -> str:
        """What it lacks; empty if it is whole."""
        parts = (self.quantity, self.expected, self.measure, self.test)
        missing = [part is None for part in parts]
        if any(missing) if self.not_tested is None else not all(missing):
            return "a claim has quantity, expected, measure and test, or says why it is not_tested"
        if self.test and not self.why:
            return "a test needs a reason for its range or margin: why"
        if isinstance(self.test, Statistical) and not self.data:
            return "a test over seeds needs data"
        return ""


class OwnClaim(Statement):
    """One that a user adds by an overlay."""

    where: Text = "not in the paper"
    """Where the paper states it, if it does."""


class Claim(Statement):
    """One statement of the paper, or about it."""

    id: Number
    """Its number here."""
    kind: Literal["claim", "erratum", "finding", "own"] = "claim"
    """Whether the paper claims it, or it is about what the paper prints, or goes beyond it; one of
    an overlay is `own`, see `OwnClaim`."""
    headline: Text | None = None
    """In plain words, if it is one of the few that stand at the head of a summary."""
    declared_late: bool = False
    """Whether it was declared, or restated, after the seeds that judge it had been seen."""
    sensitivity: bool = False
    """Whether it is also judged under every variant of the experiments."""
    checked_by: list[Annotated[str, Field(pattern=r"^test_\w+\.test_\w+$")]] = []
    """Tests that hold the code behind it, as file.function."""

    def _wrong(self) -> str:
        wrong = super()._wrong()
        if self.headline and not self.test:
            wrong = "a headline is for a claim with a test"
        return wrong and f"{self.id}: {wrong}"

    @property
    def remarks(self) -> str:
        """Its note, when it was declared if that was late, and what the authors say."""
        answer = f"The authors: {self.answer}" if self.answer else ""
        return " ".join(filter(None, [self.note, LATE * self.declared_late, answer]))

    @property
    def group(self) -> str:
        """What it is about, one of `GROUPS`, as verdicts on them mean something else."""
        if self.kind == "own":
            return OWN
        if self.kind == "erratum":
            return ERRATA
        if self.kind == "finding" or not self.quote:
            return BEYOND
        # A lemma that a figure illustrates is a lemma all the same.
        shown = self.data if self.test else self.figure
        return SHOWN if shown else THEORY

    @property
    def family(self) -> str:
        """Claims of one family share the correction for many tests.

        These are the paper's claims of a figure about a direction or a size. Agreement with the
        paper's own numbers is a question of its own. Statements that the paper does not make, and
        those of a user, have families of their own and change no verdict on the paper's.
        """
        if self.figure and isinstance(self.test, Interval):
            before = {SHOWN: "", THEORY: "", OWN: "own-"}.get(self.group, "beyond-")
            return f"{before}{self.figure}"
        return self.id
