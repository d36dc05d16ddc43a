"""The registry of a paper: its claims and its abstract, texts of figures, and methods."""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args

from pydantic import Field, field_validator, model_validator

from replication.base.errors import InputError
from replication.base.strict import Name, Strict, read_yaml, refuse_repeated, shorten, unknown_key
from replication.study.claims import (
    BEYOND,
    ERRATA,
    NUMBER,
    SHOWN,
    Claim,
    Number,
    OwnClaim,
    Statistical,
    Text,
)

LEFT_OUT = "The configuration leaves it out."
"""Reason why there is no test of a claim that an overlay sets to `null`."""


class FigureText(Strict):
    """Texts of a kind of figure; description and caption cite their numbers, see `templates`."""

    label: Text
    title: Text
    drawn: Text
    """Description of the picture, for readers who do not see it."""
    caption: Text
    """Explanation that a reader of the figure needs."""


SCORECARD: Literal["scorecard"] = "scorecard"
"""Kind of the figure that sums up the abstract, which every paper with an abstract has."""
SCORECARD_TEXT = FigureText(
    label="Scorecard",
    title="The abstract, sentence by sentence",
    drawn="""{% set shown = table[table["mark"] != "no empirical statement"] %}
    {% set shown = shown.drop_duplicates("sentence") %}A row for each of
    {{ shown | length | words }} sentences of the abstract that experiments or proofs can decide:
    {% for mark, rows in shown.groupby("mark", sort=False) %}{{ mark }}
    {{ rows | length }}{{ ", " if not loop.last }}{% endfor %}. Below each stand the claims that
    decide it, a line each, with their comparisons on a common axis.""",
    caption="""Sentences of the abstract that experiments or proofs can decide, with their marks.
    Below a sentence stand the claims that decide it. A point is a comparison: a filled circle
    holds, a hollow square is open, a triangle is too small to count, a hollow triangle is less
    than claimed, a cross is the opposite or outside the range. Its bar is the interval that
    decides. The shaded range is needed. Distances from its end are in units of the smallest
    effect that counts, so that no effect at all lies at the dotted line, or of half the width
    of a range with an upper and a lower end. Beyond two units the axis is logarithmic. Claims
    without such a unit, and computed statements of the theory, have no place on the axis: the
    values found stand there, and the one that is needed. A claim that was declared after its
    seeds had been seen is marked as late. The counts are comparisons that hold, of all that
    count, and seeds behind each.""",
)
"""Texts of the scorecard."""


class Method(Strict):
    """A choice that a re-implementation needs, that of the paper, and the reason for another one.

    `settings` are those of the study's section that hold the choice, such as `training.updates`;
    `*` stands for any name, and a setting for all settings below it. `figures` depend on the
    choice; none if all do.
    """

    text: Text
    settings: list[Text] = []
    paper: Text = "not stated"
    why: Text
    figures: list[str] = []


Unjudged = Literal["not tested", "no empirical statement"]
UNJUDGED: tuple[Unjudged, ...] = get_args(Unjudged)
"""Marks of a sentence that no claim decides."""
Mark = Literal["holds", "in part", "does not hold", "open", Unjudged]
"""Verdict on a sentence of an abstract."""


def without_latex(words: str) -> str:
    """Return the words of a sentence without the marks of LaTeX around some of them."""
    return re.sub(r"\\(?:emph|url){([^{}]*)}", r"\1", words)


class Sentence(Strict):
    """A sentence or clause of an abstract, and what decides it.

    That are `claims`, or the paper's other `study`, or nothing: then it has a `mark`, and `why`
    says the reason, and may name claims. `why` may tell the limit of a verdict, too. `plain` is
    the finding in at most 12 words, a template that cites verdicts. `errata` touch the sentence and
    do not decide it. `departs` has the reason why the sentence does not depend on a setting, by
    setting of `PaperSettings.regime` from which the runs of its claims depart.
    """

    words: Text
    claims: list[Number] = []
    study: Name | None = None
    mark: Unjudged | None = None
    why: Text | None = None
    plain: Text | None = None
    errata: list[Number] = []
    departs: dict[Text, Text] = {}

    @model_validator(mode="after")
    def _check_decided(self) -> Self:
        has_claims = bool(self.claims) and self.mark != "no empirical statement"
        decided = [has_claims, self.study is not None, self.mark is not None]
        if sum(decided) != 1 or bool(self.mark) > bool(self.why) or (self.study and self.why):
            raise ValueError(
                "a sentence of an abstract names the claims that decide it, or the study that does,"
                f" or has a mark and says why: {self.words}"
            )
        return self

    @property
    def cited(self) -> list[str]:
        """Numbers of the claims whose verdicts the plain line cites."""
        return re.findall(rf"""\bverdict\(\s*["']({NUMBER})["']\s*\)""", self.plain or "")

    def repeats(self, other: Self) -> bool:
        """Say whether another version's sentence has the same words and is decided by the same."""
        decided_by = (self.claims, self.study) == (other.claims, other.study)
        return decided_by and without_latex(self.words) == without_latex(other.words)


class Span(Strict):
    """The values of a setting in a paper, from a least to a largest one."""

    at_least: float
    at_most: float


PaperValues = Span | bool | int | float | str | list[bool | int | float | str]
"""Values of a setting in a paper: a range, one value, or several."""


class PaperSettings(Strict):
    """The settings of a paper's runs, by setting of a job, such as `training.momentum`.

    A result can depend in kind on those of the `regime`: momentum, rates, start, horizon, number of
    loops, optimiser. A sentence whose claims depart from one says why it does not depend on it.
    `scale` has the sizes of model and data, and numbers of updates.
    """

    regime: dict[Text, PaperValues] = {}
    scale: dict[Text, PaperValues] = {}


class Departure(NamedTuple):
    """A setting of the jobs behind a claim that the paper's runs do not have."""

    setting: str
    ours: tuple[str, ...]
    """Values of the jobs that are not the paper's."""
    papers: str
    is_regime: bool
    """True if the setting stands in `PaperSettings.regime`."""

    def __str__(self) -> str:
        ours = shorten(", ".join(self.ours), 50)
        return f"{self.setting}: {ours} instead of {self.papers}"


def merge_departures(departures: Iterable[Departure]) -> list[Departure]:
    """Return one departure for each setting, with all values."""
    found: dict[str, Departure] = {}
    for each in departures:
        known = found.setdefault(each.setting, each)
        ours = tuple(dict.fromkeys((*known.ours, *each.ours)))
        found[each.setting] = known._replace(ours=ours)
    return [*found.values()]


Departures = dict[Number, list[Departure]]
"""Departures of the jobs behind claims from the paper's settings, by number of the claim."""


class Abstract(Strict):
    """The abstract of a version of a paper, such as arXiv 2305.16380v4, whole and in order."""

    version: Text
    sentences: Annotated[list[Sentence], Field(min_length=1)]

    @property
    def text(self) -> str:
        """Text of the whole abstract; spaces separate its sentences."""
        return " ".join(sentence.words for sentence in self.sentences)


class Robustness(Strict):
    """Comparisons with a text in their name, which are shown and do not count for a verdict.

    `why` is the rule that leaves them out, which must not depend on outcomes.
    """

    cells: Text
    why: Text


class Registry(Strict):
    """The claims, abstract, figures and methods of a paper.

    abstracts           of each version that makes other claims
    authors             their names: `Ada Lovelace, Alan Turing and Emmy Noether`
    venue               conference or journal
    figures             texts of figures by kind; one that shares its kind with others may have
                        texts of its own, by its name
    scale               scale of claims about training, if it is smaller than the paper's: models,
                        data and updates, and after a semicolon those of the paper
    seeds_share         things that all seeds of an experiment share, such as a split: intervals
                        over seeds do not generalise over them; none if seeds draw everything anew
    cells               explanation of the names of comparisons, for readers of a verdict
    synonyms            words that a search takes for one another, such as calibration and ECE
    compared_as_counts  figures and claims whose numbers jump as counts do: on another processor
                        they may differ more from the reference
    amplifies_rounding  true if training amplifies rounding errors until a run on another processor
                        differs from the reference as much as a run of another seed does
    departures          those of the jobs behind claims; the plan sets them, not the file
    at_paper_scale      verdicts of a run at the paper's scale in words, by number of the claim or
                        words of the sentence; the plan sets them, not the file
    """

    abstracts: list[Abstract] = []
    title: Text
    authors: Text
    venue: Text
    url: Text | None = None
    figures: dict[str, FigureText]
    claims: list[Claim]
    methods: list[Method]
    scale: Text | None = None
    seeds_share: Text | None = None
    paper_settings: PaperSettings = PaperSettings()
    robustness: list[Robustness] = []
    cells: Text | None = None
    synonyms: list[Annotated[list[Text], Field(min_length=2)]] = []
    compared_as_counts: list[str] = []
    amplifies_rounding: bool = False
    departures: Departures = {}
    at_paper_scale: dict[str, str] = {}

    @field_validator("figures")
    @classmethod
    def _add_scorecard(cls, figures: dict[str, FigureText]) -> dict[str, FigureText]:
        return {SCORECARD: SCORECARD_TEXT, **figures}

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        groups = {claim.id: claim.group for claim in self.claims}
        refuse_repeated([claim.id for claim in self.claims])
        refuse_repeated([abstract.version for abstract in self.abstracts])
        for claim in self.claims:
            # A user's own claim may be about a figure of their own, which the plan checks.
            if claim.figure and claim.kind != "own" and claim.figure not in self.figures:
                raise ValueError(f"{claim.id}: {unknown_key(claim.figure, list(self.figures))}")
        for sentence in (each for abstract in self.abstracts for each in abstract.sentences):
            place = f"abstracts: '{sentence.words}'"
            for name in (*sentence.claims, *sentence.errata, *sentence.cited):
                if name not in groups:
                    raise ValueError(f"{place}: {unknown_key(name, [*groups])}")
            wrong = [name for name in sentence.claims if groups[name] == BEYOND]
            wrong += [name for name in sentence.errata if groups[name] != ERRATA]
            if wrong:
                raise ValueError(
                    f"{place}: {wrong[0]} stands in the wrong list; errata has errata alone, and"
                    " only claims with a quote decide a sentence"
                )
        return self

    def text_key(self, figure: str, kind: str) -> str:
        """Return the key of a figure's texts: its name, or else its kind."""
        return figure if figure in self.figures else kind

    def figure_text(self, figure: str, kind: str) -> FigureText:
        """Return the texts of a figure of a kind; an `InputError` if there are none."""
        key = self.text_key(figure, kind)
        if key not in self.figures:
            raise InputError(
                f"the registry says nothing of the kind '{kind}' of figure {figure}; add it under"
                " figures"
            )
        return self.figures[key]

    @property
    def new_sentences(self) -> dict[str, list[Sentence]]:
        """Sentences of each version of the abstract that no earlier version has.

        Where a version repeats sentences, its name here says so.
        """
        parts: dict[str, list[Sentence]] = {}
        earlier: list[Sentence] = []
        for abstract in self.abstracts:
            new = [each for each in abstract.sentences if not any(map(each.repeats, earlier))]
            differs = ", where its words are others" if len(new) < len(abstract.sentences) else ""
            parts[abstract.version + differs] = new
            earlier += abstract.sentences
        return parts

    @property
    def sentences_with_marks(self) -> list[Sentence]:
        """Sentences, each once, that this study judges, or could judge and does not."""
        found = (each for sentences in self.new_sentences.values() for each in sentences)
        return [each for each in found if not each.study and each.mark != "no empirical statement"]

    @property
    def robustness_cells(self) -> list[str]:
        """Texts in the names of comparisons that do not count for a verdict."""
        return [each.cells for each in self.robustness]

    @property
    def rules_of_robustness(self) -> list[str]:
        """Explanation of the comparisons for robustness, a paragraph for each rule."""
        rules = {
            why: [each.cells for each in self.robustness if each.why == why]
            for why in dict.fromkeys(each.why for each in self.robustness)
        }
        return [
            f"For robustness, not counted: comparisons with {' or '.join(cells)} in their name."
            f" {why}"
            for why, cells in rules.items()
        ]

    def scale_of(self, claim: Claim, seeds: int) -> str:
        """Return the scale at which a claim was judged on some seeds; empty without training."""
        if not claim.scale and claim.group != SHOWN and not isinstance(claim.test, Statistical):
            return ""
        ours = (claim.scale or self.scale or "the paper's own").rstrip(".").split("; ")[0]
        return f"{ours}, {seeds} seeds" if seeds and "seeds" not in ours else ours

    @property
    def scale_of_paper(self) -> str:
        """Scale of the paper as a sentence; empty if claims are judged at that scale."""
        return (self.scale or "").partition("; ")[2]

    @property
    def limit_of_intervals(self) -> str:
        """Things over which intervals do not generalise, in words; empty if there are none."""
        if not self.seeds_share:
            return ""
        shared = self.seeds_share.rstrip(".")
        return f"Seeds share, so that intervals do not generalise over it: {shared}."

    def departures_of(self, sentence: Sentence) -> list[Departure]:
        """Return the departures of the claims that decide a sentence, one for each setting."""
        deciding = [] if sentence.mark else sentence.claims
        return merge_departures(each for name in deciding for each in self.departures.get(name, ()))

    def with_own(
        self, claims: Mapping[str, OwnClaim | None], counted: Collection[str] = ()
    ) -> "Registry":
        """Return the registry with a user's claims after its own.

        A number with None leaves out the registry's claim. `counted` are the `cells` of rules of
        robustness that do not apply.
        """
        untested = dict.fromkeys(("quantity", "expected", "evidence", "test", "why", "headline"))
        left_out: dict[str, Any] = {**untested, "data": [], "uses": [], "not_tested": LEFT_OUT}
        listed = [
            each.model_copy(update=left_out) if claims.get(each.id, each) is None else each
            for each in self.claims
        ]
        listed += [
            Claim(id=number, kind="own", **dict(claim)) for number, claim in claims.items() if claim
        ]
        rules = [each for each in self.robustness if each.cells not in counted]
        return self.model_copy(update={"claims": listed, "robustness": rules})


@cache
def read_registry(path: Path) -> Registry:
    """Return a registry that is read from YAML; an `InputError` names a mistake."""
    return Registry.parse(read_yaml(path), str(path))
