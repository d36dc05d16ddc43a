"""The registry of a paper: its claims and its abstract, texts of figures, and methods."""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple, Self, get_args

from pydantic import (
    AfterValidator,
    Field,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from replication.base.errors import InputError
from replication.base.strict import Name, Strict, refuse_repeated, shorten, unknown_key
from replication.base.yaml_files import read_yaml
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

AT_SCALE = "Verdicts on training are verdicts at this scale:"
"""Words before `Registry.scale`."""
LONGEST_VALUES = 50
"""Largest number of characters by which a sentence tells values of a setting."""
SHARED = "Seeds share, so that intervals do not generalise over it:"
"""Words before `Registry.seeds_share`."""
LEFT_OUT = "The configuration leaves it out."
"""Reason why there is no test of a claim that an overlay sets to `null`."""
PAPERS_OWN = "the paper's own"
"""Scale of claims if the registry names none."""


class FigureText(Strict):
    """The texts of a kind of figure; description and caption cite their numbers, see `citation`."""

    label: Text
    """Name of the figure."""
    title: Text
    """Subject of the figure."""
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
    of a range with an upper and a lower end. An arrow names distances beyond the axis. Claims
    without such a unit, and computed statements of the theory, have no place on the axis: the
    values found stand there, and the one that is needed. A claim that was declared after its
    seeds had been seen is marked as late. The counts are comparisons that hold, of all that
    count, and seeds behind each.""",
)
"""Texts of the scorecard."""


class Method(Strict):
    """A choice that a re-implementation needs."""

    text: Text
    """Choice in words."""
    settings: list[Text] = []
    """Settings of the study's section that hold the choice, such as `training.updates`; `*` stands
    for any name, and a setting for all settings below it."""
    paper: Text = "not stated"
    """Choice of the paper."""
    why: Text
    """Reason for the choice, if it is not the paper's."""
    figures: list[str] = []
    """Figures that depend on the choice; none if all do."""


def _check_authors(text: str) -> str:
    if not all(any(map(str.isalpha, name)) for name in _split_names(text)):
        raise ValueError("a name is missing; write names, and a comma or 'and' between two of them")
    return text


def _split_names(authors: str) -> list[str]:
    return [name.strip() for name in re.split(r",\s*and\b|,|\band\b", authors)]


Unjudged = Literal["not tested", "no empirical statement"]
WORDS_DIFFER = ", where its words are others"
"""Text after the name of a version that shows only the sentences that no earlier version has."""
UNJUDGED: tuple[Unjudged, ...] = get_args(Unjudged)
"""Marks of a sentence that no claim decides."""
Mark = Literal["holds", "in part", "does not hold", "open", Unjudged]
"""Verdict on a sentence of an abstract."""


def without_latex(words: str) -> str:
    """Return the words of a sentence without the marks of LaTeX around some of them."""
    return re.sub(r"\\(?:emph|url){([^{}]*)}", r"\1", words)


class Sentence(Strict):
    """A sentence or clause of an abstract, and what decides it."""

    words: Text
    """Published words."""
    claims: list[Number] = []
    """Numbers of the claims that decide the sentence, or that the reason of its mark names."""
    study: Name | None = None
    """Name of the paper's other study, if that decides the sentence."""
    mark: Unjudged | None = None
    """Mark of a sentence that no claim decides."""
    why: Text | None = None
    """Reason why no claim decides the sentence, or the limit of what its claims can tell."""
    plain: Text | None = None
    """Finding in at most 12 words, shown beside the mark; a template that cites verdicts."""
    errata: list[Number] = []
    """Numbers of the errata that touch the sentence and do not decide it."""
    departs: dict[Text, Text] = {}
    """Reason why the sentence does not depend on a setting, by setting of `PaperSettings.regime`
    from which the runs of its claims depart."""

    @model_validator(mode="after")
    def _check_decided(self) -> Self:
        has_claims = bool(self.claims) and self.mark != "no empirical statement"
        given = [has_claims, self.study is not None, self.mark is not None]
        lacks_reason = self.mark is not None and self.why is None
        if sum(given) != 1 or lacks_reason or (self.study and self.why):
            raise ValueError(
                "a sentence of an abstract names the claims that decide it, or the study that does,"
                f" or has a mark and says why: {self.words}"
            )
        if self.plain and (self.study or self.mark == "no empirical statement"):
            raise ValueError(f"plain: only a sentence that is judged here has one: {self.words}")
        refuse_repeated([*self.claims, *self.errata])
        return self

    @property
    def cited(self) -> list[str]:
        """Numbers of the claims whose verdicts the plain line cites."""
        return re.findall(rf"""\bverdict\(\s*["']({NUMBER})["']\s*\)""", self.plain or "")

    def repeats(self, other: Self) -> bool:
        """Say whether another version's sentence has the same words and is decided by the same.

        Marks of LaTeX, and the reason of a mark, make no other sentence.
        """
        decided_by = (self.claims, self.study) == (other.claims, other.study)
        return decided_by and without_latex(self.words) == without_latex(other.words)


class Range(Strict):
    """The values of a setting in a paper, from a least to a largest one."""

    at_least: float
    at_most: float


Setting = bool | int | float | str
"""Value of a setting."""
PaperValues = Range | Setting | list[Setting]
"""Values of a setting in a paper: a range, one value, or several."""


class PaperSettings(Strict):
    """The settings of a paper's runs, by setting of a job, such as `training.momentum`."""

    regime: dict[Text, PaperValues] = {}
    """Settings on which a result can depend in kind: momentum, rates, start, horizon, number of
    loops, optimiser. A sentence whose claims depart from one says why it does not depend on it."""
    scale: dict[Text, PaperValues] = {}
    """Settings of size: model, data, number of updates. `Registry.scale` tells departures."""


class Departure(NamedTuple):
    """A setting of the jobs behind a claim that the paper's runs do not have."""

    setting: str
    """Setting of a job, such as `training.momentum`."""
    ours: tuple[str, ...]
    """Values of the jobs that are not the paper's."""
    papers: str
    """Values of the paper."""
    is_regime: bool
    """True if the setting stands in `PaperSettings.regime`."""

    def __str__(self) -> str:
        ours = shorten(", ".join(self.ours), LONGEST_VALUES)
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
    """The abstract of a paper, whole and in order."""

    version: Text
    """Version of the paper, such as arXiv 2305.16380v4."""
    sentences: Annotated[list[Sentence], Field(min_length=1)]
    """Sentences in order."""

    @property
    def text(self) -> str:
        """Text of the whole abstract; spaces separate its sentences."""
        return " ".join(sentence.words for sentence in self.sentences)


class Robustness(Strict):
    """Comparisons that are shown beside a claim and do not count for its verdict."""

    cells: Text
    """Text in the names of these comparisons."""
    why: Text
    """Rule that leaves them out, which must not depend on outcomes."""


class Registry(Strict):
    """The claims, abstract, figures and methods of a paper."""

    abstracts: list[Abstract] = []
    """Abstract of the paper; several if its versions make different claims."""
    title: Text
    """Title of the paper."""
    authors: Annotated[Text, AfterValidator(_check_authors)]
    """Names of the authors."""
    venue: Text
    """Conference or journal."""
    url: Text | None = None
    """Address of the paper."""
    figures: dict[str, FigureText]
    """Texts of the figures, the paper's and ours, by kind. A figure that shares its kind with
    others may have texts of its own, by its name."""
    claims: list[Claim]
    """Claims of the paper, and statements about it."""
    methods: list[Method]
    """Choices, including those that the paper leaves open."""
    scale: Text | None = None
    """Scale of claims about training, if it is smaller than the paper's: models, data and updates,
    and after a semicolon those of the paper."""
    seeds_share: Text | None = None
    """Things that all seeds of an experiment share, such as a split or a set of test boards:
    intervals over seeds do not generalise over them. None if seeds draw everything anew."""
    paper_settings: PaperSettings = PaperSettings()
    """Settings of the paper's runs, with which those behind the abstract's marks are compared."""
    robustness: list[Robustness] = []
    """Comparisons over seeds that do not count for verdicts."""
    cells: Text | None = None
    """Explanation of the names of comparisons, for readers of a verdict."""
    synonyms: list[Annotated[list[Text], Field(min_length=2)]] = []
    """Words that a search takes for one another, such as calibration and ECE."""
    compared_as_counts: list[str] = []
    """Figures and claims whose numbers jump as counts do; on another processor, the comparison
    with the reference allows larger differences for these."""
    amplifies_rounding: bool = False
    """True if training amplifies rounding errors until a run on another processor differs from the
    reference as much as a run of another seed, and is compared as such."""
    _departures: Departures = PrivateAttr({})
    _at_paper_scale: Mapping[str, str] = PrivateAttr({})

    @field_validator("figures")
    @classmethod
    def _add_scorecard(
        cls, figures: dict[str, FigureText], info: ValidationInfo
    ) -> dict[str, FigureText]:
        """Add the texts of the scorecard to those of a paper that has an abstract."""
        return {SCORECARD: SCORECARD_TEXT, **figures} if info.data.get("abstracts") else figures

    @model_validator(mode="after")
    def _check_ids(self) -> Self:
        ids = [claim.id for claim in self.claims]
        refuse_repeated(ids)
        for name in self.compared_as_counts:
            if name not in {*ids, *self.figures}:
                known = unknown_key(name, [*ids, *self.figures])
                raise ValueError(f"compared_as_counts: {known}")
        for claim in self.claims:
            if claim.figure and claim.figure not in self.figures:
                raise ValueError(f"{claim.id}: {unknown_key(claim.figure, list(self.figures))}")
            if claim.kind == "own":
                raise ValueError(f"{claim.id}: claims of kind own stand in an overlay")
        return self

    @model_validator(mode="after")
    def _check_abstracts(self) -> Self:
        refuse_repeated([abstract.version for abstract in self.abstracts])
        groups = {claim.id: claim.group for claim in self.claims}
        for sentence in (each for abstract in self.abstracts for each in abstract.sentences):
            for name in (*sentence.claims, *sentence.errata, *sentence.cited):
                if name not in groups:
                    raise ValueError(
                        f"abstracts: '{sentence.words}': {unknown_key(name, [*groups])}"
                    )
                if name in sentence.errata and groups[name] != ERRATA:
                    raise ValueError(
                        f"abstracts: {name} is no erratum, name it under claims: {sentence.words}"
                    )
                if name in sentence.claims and groups[name] == BEYOND:
                    raise ValueError(
                        f"abstracts: {name} is a finding or has no quote; only what the paper says"
                        f" decides a sentence of its abstract: {sentence.words}"
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
            sentences = abstract.sentences
            new = [each for each in sentences if not any(map(each.repeats, earlier))]
            parts[abstract.version + WORDS_DIFFER * (len(new) < len(sentences))] = new
            earlier += sentences
        return parts

    @property
    def rules_of_robustness(self) -> list[str]:
        """Explanation of the comparisons for robustness, a paragraph for each rule."""
        cells: dict[str, list[str]] = {}
        for each in self.robustness:
            cells.setdefault(each.why, []).append(each.cells)
        told = "For robustness, not counted: comparisons with {} in their name. {}"
        return [told.format(" or ".join(named), why) for why, named in cells.items()]

    @property
    def beside(self) -> list[str]:
        """Texts in the names of comparisons that do not count for a verdict."""
        return [each.cells for each in self.robustness]

    def scale_of(self, claim: Claim, seeds: int) -> str:
        """Return the scale at which a claim was judged on some seeds; empty without training."""
        if not claim.scale and claim.group != SHOWN and not isinstance(claim.test, Statistical):
            return ""
        ours, *_ = (claim.scale or self.scale or PAPERS_OWN).rstrip(".").split("; ")
        own = f"{seeds} seeds" if seeds and "seeds" not in ours else ""
        return ", ".join(filter(None, [ours, own]))

    @property
    def scale_of_paper(self) -> str:
        """Scale of the paper as a sentence; empty if claims are judged at that scale."""
        return (self.scale or "").partition("; ")[2]

    @property
    def departures(self) -> Departures:
        """Departures of the jobs behind claims, see `with_added`."""
        return self._departures

    @property
    def at_paper_scale(self) -> Mapping[str, str]:
        """Verdicts of a run at the paper's scale, see `with_added`; empty if none are kept."""
        return self._at_paper_scale

    @property
    def limit_of_intervals(self) -> str:
        """Things over which intervals do not generalise, in words; empty if there are none."""
        return f"{SHARED} {self.seeds_share.rstrip('.')}." if self.seeds_share else ""

    @property
    def sentences_with_marks(self) -> list[Sentence]:
        """Sentences, each once, that this study judges, or could judge and does not."""
        found = (each for sentences in self.new_sentences.values() for each in sentences)
        return [each for each in found if not each.study and each.mark != "no empirical statement"]

    def departures_of(self, sentence: Sentence) -> list[Departure]:
        """Return the departures of the claims that decide a sentence, one for each setting."""
        deciding = () if sentence.mark else sentence.claims
        return merge_departures(
            each for name in deciding for each in self._departures.get(name, ())
        )

    @property
    def author_names(self) -> list[str]:
        """Names of the authors in a list."""
        return _split_names(self.authors)

    def with_added(
        self,
        claims: Mapping[str, OwnClaim | None],
        departures: Departures,
        counted: Collection[str] = (),
        at_paper_scale: Mapping[str, str] = MappingProxyType({}),
    ) -> "Registry":
        """Return the registry with a user's claims after its own, departures, and other verdicts.

        A number with None leaves out the registry's claim. Departures are those of the jobs from
        `paper_settings`, `counted` the `cells` of rules of robustness that do not apply,
        `at_paper_scale` verdicts and marks in words, by number of the claim or words of the
        sentence.
        """
        kept = [
            _without_test(each) if each.id in claims and not claims[each.id] else each
            for each in self.claims
        ]
        own = [
            Claim(id=number, kind="own", **dict(claim)) for number, claim in claims.items() if claim
        ]
        rules = [each for each in self.robustness if each.cells not in counted]
        added = self.model_copy(update={"claims": [*kept, *own], "robustness": rules})
        added._departures, added._at_paper_scale = departures, at_paper_scale
        return added


def _without_test(claim: Claim) -> Claim:
    """Return a claim that the configuration leaves out."""
    untested = dict.fromkeys(("quantity", "expected", "evidence", "test", "why", "headline"))
    return claim.model_copy(update={**untested, "data": [], "uses": [], "not_tested": LEFT_OUT})


@cache
def read_registry(path: Path) -> Registry:
    """Return a registry that is read from YAML.

    Raises:
        InputError: if the file cannot be read, or has a mistake, which it names.
    """
    return Registry.parse(read_yaml(path), str(path))
