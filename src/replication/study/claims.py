"""A claim of a paper: the statement, its number, its data, its evidence and its test."""

import ast
import re
from string import Formatter
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticKnownError

from replication.base.strict import Strict, unknown_key

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


FUNCTIONS = ("abs", "exp", "largest", "ln", "measured", "smallest")
"""Functions of expressions; the largest and the smallest are of a whole column."""
PARTS = (
    ast.Expression, ast.Constant, ast.List, ast.Name, ast.expr_context, ast.Call, ast.UnaryOp,
    ast.BinOp, ast.BoolOp, ast.Compare, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub,
    ast.And, ast.Or, ast.Not, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In,
    ast.NotIn,
)  # fmt: skip
"""Parts of the syntax of Python that an expression may have."""


def _check_expression(text: str) -> str:
    try:
        nodes = [*ast.walk(ast.parse(text, mode="eval"))]
    except SyntaxError as error:
        raise ValueError(f"'{text}' is no expression: {error.msg}") from None
    for node in nodes:
        called = getattr(node.func, "id", "") if isinstance(node, ast.Call) else FUNCTIONS[0]
        if called not in FUNCTIONS:
            raise ValueError(unknown_key(called, [*FUNCTIONS], "function"))
        if not isinstance(node, PARTS) or len(getattr(node, "comparators", [0])) > 1:
            raise ValueError(f"'{text}' has a {type(node).__name__}, which no expression may have")
    return text


Expression = Annotated[Text, AfterValidator(_check_expression)]
"""Arithmetic, comparisons and functions of columns, in Python's words: `ln(norm / start_norm)`."""
MODULE_AND_FUNCTION = r"^\w+\.\w+$"
Function = Annotated[str, Field(pattern=MODULE_AND_FUNCTION)]
"""A function of the study's folder `claims`, as module.function."""
Pair = Annotated[list[Any], Field(min_length=2, max_length=2)]
"""Two levels, or lists of levels, of a column."""
CONTRASTS = (
    "difference", "across", "slope", "along", "last_over_first", "mean", "largest", "smallest",
    "rank_correlation",
)  # fmt: skip


class Row(Strict):
    """Evidence of a claim: a function, or a contrast within every seed, or both.

    table             function that makes the table from those of the claim; without it they stand
                      one below the other. Without a `value` its table is the evidence.
    with              arguments of the function, by name
    where, value      condition for rows, and the value that is compared: expressions of columns
    by                columns that tell comparisons apart
    mean_over         columns over which the mean of values is taken before they are compared
    cell              name of a comparison, as `{task}, rate {rate:g}`; a difference has `{of}` and
                      `{minus}`, too
    difference        the value at one level of a column minus that at another one, of several ones,
                      or of all `others`; of several columns one after the other
    across            expression of values at levels of a column, by their names, `first` and `last`
    slope             slope of the value's line of least squares over a column
    along             change of the value along the line over the logarithm of a column
    last_over_first   the last value along a column over the first
    mean, largest, smallest   of the values along a column
    rank_correlation  that of the value and another column along a column
    """

    model_config = ConfigDict(serialize_by_alias=True)
    table: Function | None = None
    given: dict[str, Any] = Field({}, alias="with")
    where: Expression | None = None
    value: Expression | None = None
    by: list[Text] = []
    mean_over: list[Text] = []
    cell: Text | None = None
    difference: Annotated[dict[Text, Pair], Field(min_length=1)] | None = None
    across: Annotated[dict[Text, Expression], Field(min_length=1, max_length=1)] | None = None
    slope: Expression | None = None
    along: Expression | None = None
    last_over_first: Expression | None = None
    mean: Expression | None = None
    largest: Expression | None = None
    smallest: Expression | None = None
    rank_correlation: Annotated[dict[Text, Text], Field(min_length=1, max_length=1)] | None = None

    @property
    def contrast(self) -> tuple[str, Any]:
        """Word of the contrast and its columns; empty if values are compared as they are."""
        found = [(word, getattr(self, word)) for word in CONTRASTS if getattr(self, word)]
        return found[0] if found else ("", {})

    @model_validator(mode="after")
    def _check_words(self) -> Self:
        found = [word for word in CONTRASTS if getattr(self, word) is not None]
        if len(found) > 1 or (not self.value and (found or not self.table)):
            raise ValueError(
                f"needs a table, or a value with at most one contrast; it has {len(found)}"
            )
        for _, name, _, _ in Formatter().parse(self.cell or ""):
            known = [*self.by, *(["of", "minus"] if self.difference else [])]
            if name is not None and name not in known:
                raise ValueError(f"cell: {unknown_key(name, known)}")
        return self

    def __str__(self) -> str:
        """Return the function alone, or the words of the row."""
        words = self.model_dump(mode="json", exclude_unset=True)
        alone = len(words) == 1 and self.table
        return alone or "; ".join(f"{word}: {found}" for word, found in words.items())


def _as_row(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    if not re.search(MODULE_AND_FUNCTION, given):
        raise PydanticKnownError("string_pattern_mismatch", {"pattern": MODULE_AND_FUNCTION})
    return {"table": given}


Evidence = Annotated[Row, BeforeValidator(_as_row, json_schema_input_type=str | Row)]
"""A row, or the name of its function alone."""


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
    evidence: Evidence | None = None
    """Evidence in the words of `Row`, or as a function of the study's folder `claims`."""
    data: list[Data] = []
    """Tables that the evidence is made of; none if it is computed from the theory."""
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
