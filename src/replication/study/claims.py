"""A claim of a paper: the statement, its number, its data and the test that judges it."""

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from replication.base.strict import Strict

Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
NUMBER = r"[A-Z][0-9]*[a-z]?"
"""Pattern of the number of a claim: a capital letter, digits, and one more letter, as in T22a."""
Number = Annotated[str, Field(pattern=f"^{NUMBER}$")]
LATE_LEVEL = 0.025
"""Largest level of the test of a claim of the paper that was declared late: half the usual one,
because the first look at the seeds has spent the other half."""
GROUPS = SHOWN, THEORY, ERRATA, BEYOND, OWN = (
    "the paper's claims about its figures and training",
    "the paper's theory",
    "errata of the paper",
    "further statements, tried here",
    "a user's own claims",
)
"""Subjects of claims; the last two are of statements that the paper does not make."""


class Statistical(Strict):
    """A test over seeds."""

    level: Annotated[float, Field(gt=0, le=0.1)] = 0.05
    """Probability of a wrong answer to one question (does it hold, is it the opposite, is there no
    effect, is it less than claimed) among the claims that are corrected together."""


class Range(Strict):
    """The range of values that a claim states."""

    lower: float | None = None
    upper: float | None = None

    @model_validator(mode="after")
    def _check_bounds(self) -> Self:
        bounds = [bound for bound in (self.lower, self.upper) if bound is not None]
        if not bounds or bounds != sorted(bounds):
            raise ValueError("lower or upper is needed, and lower must not be above upper")
        return self


class Bounds(Range):
    """Every value of a deterministic computation lies in a range.

    Evidence: cell, value.
    """

    kind: Literal["bounds"]


class Published(Strict):
    """Every value equals the paper's own for the same seeds, to the precision of print.

    Evidence: cell, value, published.
    """

    kind: Literal["published"]
    tolerance: Annotated[float, Field(gt=0)]
    """Largest allowed difference."""


class Interval(Statistical, Range):
    """The mean over seeds lies in a range (t tests), or the median does (sign tests).

    A value is a contrast of one seed: a difference, or the change along an axis, see `contrasts`.

    Evidence: cell, seed, value.
    """

    kind: Literal["interval"]
    center: Literal["mean", "median"] = "mean"
    """Center of the seeds: the mean by t tests, or the median by sign tests, which are declared
    if the spread over seeds is skewed."""
    smallest_effect: Annotated[float, Field(gt=0)] | None = None
    """Least distance from the only bound that matters, in the unit of the value. A mean that is
    further inside supports the claim, one that is further outside contradicts it, and one that is
    nearer than this on either side is no effect worth the name."""

    @model_validator(mode="after")
    def _check_effect(self) -> Self:
        has_both = self.lower is not None and self.upper is not None
        if has_both and (self.smallest_effect or self.lower == self.upper):
            raise ValueError("two bounds must differ, and have no smallest_effect beside them")
        return self


class Equivalence(Statistical):
    """The mean of our seeds equals that of the paper's, within a margin (Welch TOST).

    Evidence: cell, sample (`paper` or `ours`), seed, value.
    """

    kind: Literal["equivalence"]
    margin: Annotated[float, Field(gt=0)]
    """Largest difference that counts as equal, in pooled standard deviations of one seed."""


Test = Annotated[Bounds | Published | Interval | Equivalence, Field(discriminator="kind")]


class Data(Strict):
    """A table that a claim is judged by."""

    experiment: Text
    """Name of an experiment; `kernels_*` means all whose names begin so, one table each."""
    metric: Text


class Quote(Strict):
    """The paper's own words, 25 at most; formulas are written out in plain letters."""

    words: Annotated[Text, Field(pattern=r"^(\S+\s*){1,25}$")]
    place: Text
    """Place in the version that the registry's `venue` names."""


class OwnClaim(Strict):
    """A claim that a user adds by an overlay: a statement and its test."""

    where: Text = "not in the paper"
    """Place of the statement in the paper, if it is there."""
    figure: Text | None = None
    """Figure that shows the statement; the claims of a figure are one family of tests."""
    statement: Text
    quote: Quote | None = None
    """Statement in the paper's own words; a claim without a quote goes beyond the paper."""
    quantity: Text | None = None
    """Measured quantity, with its unit."""
    expected: Text | None = None
    """Value or direction that the claim states."""
    published: Text | None = None
    """The paper's own value, if it is known."""
    evidence: Annotated[str, Field(pattern=r"^\w+\.\w+$")] | None = None
    """Function that returns the evidence, as module.function of the study's folder `claims`."""
    data: list[Data] = []
    """Tables that the function takes; none if it computes from the theory."""
    uses: list[str] = []
    """Keys of the study's section of the configuration that the function takes by name."""
    published_table: Text | None = None
    """Table of published values that the function takes, too: a file of the folder `published`."""
    test: Test | None = None
    why: Text | None = None
    """Reason for the test's range, margin or smallest effect."""
    not_tested: Text | None = None
    """Reason why there is no test."""
    note: Text | None = None
    """Note that a reader needs to understand the verdict."""
    scale: Text | None = None
    """Scale of the experiments, if it differs from `Registry.scale`."""
    answer: Text | None = None
    """Answer of the paper's authors to the verdict."""

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        parts = (self.quantity, self.expected, self.evidence, self.test, self.why)
        if any((part is None) != bool(self.not_tested) for part in parts):
            raise ValueError(
                "a claim has quantity, expected, evidence, test and why, or says why it is"
                f" not_tested: {self.statement}"
            )
        return self


class Claim(OwnClaim):
    """One statement of the paper, or about it."""

    where: Text
    id: Number
    kind: Literal["claim", "erratum", "finding", "own"] = "claim"
    """Kind of statement: a claim of the paper, an error in its print, or a finding beyond it; `own`
    stands for claims of an overlay, see `OwnClaim`."""
    headline: Text | None = None
    """Statement in plain words, for the few claims at the head of a summary."""
    declared_late: bool = False
    """True if the claim was declared, or restated, after its seeds had been seen."""
    sensitivity: bool = False
    """True if the claim is also judged under every variant of the experiments."""
    checked_by: list[Annotated[str, Field(pattern=r"^test_\w+\.test_\w+$")]] = []
    """Tests of the code behind the claim, as file.function."""

    @model_validator(mode="after")
    def _check_level(self) -> Self:
        level = self.test.level if isinstance(self.test, Statistical) else 0
        if self.declared_late and self.kind == "claim" and level > LATE_LEVEL:
            raise ValueError(
                f"{self.id} was declared late; write `level: {LATE_LEVEL}`, half the usual one, in"
                " its test"
            )
        return self

    @property
    def remarks(self) -> str:
        """Note on the claim, a remark if it was declared late, and the authors' answer."""
        late = "Declared after its seeds had been seen." if self.declared_late else ""
        answer = f"The authors: {self.answer}" if self.answer else ""
        return " ".join(filter(None, [self.note, late, answer]))

    @property
    def group(self) -> str:
        """Subject of the claim, one of `GROUPS`, whose verdicts differ in meaning."""
        kinds = {"own": OWN, "erratum": ERRATA, "finding": BEYOND}
        if self.kind in kinds or not self.quote:
            return kinds.get(self.kind, BEYOND)
        # A lemma that a figure illustrates is still a lemma.
        return SHOWN if (self.data if self.test else self.figure) else THEORY

    @property
    def family(self) -> str:
        """Name of the claim's family; a family shares the correction for many tests.

        A family consists of the paper's claims of a figure about a direction or a size. Agreement
        with the paper's own numbers is a separate question. Statements that the paper does not
        make, and those of a user, have families of their own and change no verdict on the paper's.
        """
        if self.figure and isinstance(self.test, Interval):
            before = {SHOWN: "", THEORY: "", OWN: "own-"}.get(self.group, "beyond-")
            return f"{before}{self.figure}"
        return self.id
