"""The registry of a paper: its claims and its abstract, texts of figures, and methods."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

from pydantic import AfterValidator, Field, model_validator

from replication.base.strict import Name, Strict, distinct, unknown_key
from replication.base.yaml_files import read_yaml
from replication.study.claims import BEYOND, SHOWN, Claim, Number, OwnClaim, Statistical, Text

AT_SCALE = "Verdicts on training are verdicts at this scale:"
"""Before what `Registry.scale` says."""
PAPERS_OWN = "the paper's own"
"""The scale of claims if no other is told."""


class FigureText(Strict):
    """What is said of a drawing; its description and its caption cite numbers, see `citation`."""

    label: Text
    """What to call it."""
    title: Text
    """What it is about."""
    drawn: Text
    """What is to be seen, for those who do not see it."""
    caption: Text
    """What one must know to read it."""


class Method(Strict):
    """A choice that a re-implementation needs."""

    text: Text
    """The choice."""
    settings: list[Text] = []
    """Those of the study's section of the configuration that hold it, such as `training.updates`;
    `*` stands for any name, and a setting for all below it."""
    paper: Text = "not stated"
    """What the paper has."""
    why: Text
    """What it rests on, where it is not the paper's."""
    figures: list[str] = []
    """Figures that rest on it; none if it is general."""


class Checklist(Strict):
    """What the Machine Learning Reproducibility Checklist asks of a study and no setting says.

    Files are those of the study's folder.
    """

    model: Text
    """File that defines the model."""
    data: Text
    """File that draws the data, or says where they come from."""
    preprocessing: Text
    """File that makes of the data what is trained on."""
    training: Text
    """File that trains."""
    evaluation: Text
    """File that measures."""
    splits: Text
    """How data are split for training, validation and test."""
    excluded: Text
    """Which data were left out."""
    selection: Text
    """How hyper-parameters were chosen."""
    run: Text
    """What has one fingerprint."""


def _authors(text: str) -> str:
    if not all(any(map(str.isalpha, name)) for name in _names(text)):
        raise ValueError("a name is missing; write names, and a comma or 'and' between two of them")
    return text


def _names(authors: str) -> list[str]:
    return [name.strip() for name in re.split(r",\s*and\b|,|\band\b", authors)]


Unjudged = Literal["not tested", "no empirical statement"]
UNJUDGED: tuple[Unjudged, ...] = get_args(Unjudged)
"""Marks of a sentence that no claim decides."""
Mark = Literal["holds", "in part", "does not hold", "open", Unjudged]
"""Whether a sentence of an abstract holds."""


class Sentence(Strict):
    """A sentence or clause of an abstract, and what decides it."""

    words: Text
    """As published."""
    claims: list[Number] = []
    """The claims that decide it."""
    study: Name | None = None
    """The paper's other study, which decides it."""
    mark: Unjudged | None = None
    """What it is if no claim decides it."""
    why: Text | None = None
    """Why no claim decides it."""

    @model_validator(mode="after")
    def _check_decided(self) -> Self:
        given = [bool(self.claims), self.study is not None, self.mark is not None]
        if sum(given) != 1 or (self.mark is None) != (self.why is None):
            raise ValueError(
                "a sentence of an abstract names the claims that decide it, or the study that does,"
                f" or has a mark and says why: {self.words}"
            )
        distinct(self.claims)
        return self


class Abstract(Strict):
    """The abstract of a paper, whole and in order."""

    version: Text
    """Of the paper, such as arXiv 2305.16380v4."""
    sentences: Annotated[list[Sentence], Field(min_length=1)]
    """One after the other, separated by spaces."""

    @property
    def text(self) -> str:
        """The whole."""
        return " ".join(sentence.words for sentence in self.sentences)


class Robustness(Strict):
    """Comparisons that are shown beside a claim and do not count for its verdict."""

    cells: Text
    """What stands in the names of their cells."""
    why: Text
    """The rule that leaves them out, which must not look at outcomes."""


class Registry(Strict):
    """One paper."""

    abstracts: list[Abstract] = []
    """Its abstract; several if its versions make different claims."""
    title: Text
    """Its title."""
    authors: Annotated[Text, AfterValidator(_authors)]
    """Its authors."""
    venue: Text
    """Where it appeared."""
    url: Text | None = None
    """Its address."""
    checklist: Checklist | None = None
    """What is said of it where a checklist asks."""
    figures: dict[str, FigureText]
    """Its figures and ours, by drawing."""
    claims: list[Claim]
    """Its statements."""
    methods: list[Method]
    """Choices, those that the paper leaves open among them."""
    scale: Text | None = None
    """At which scale claims about training are judged, if it is smaller than the paper's: models,
    data and updates, and after a semicolon those of the paper."""
    robustness: list[Robustness] = []
    """Comparisons over seeds that do not count for verdicts."""
    cells: Text | None = None
    """What stands in the names of cells, for those who read what came of a claim."""
    compared_as_counts: list[str] = []
    """Drawings and claims whose numbers jump as counts do: on another processor the comparison with
    the reference allows them more."""
    amplifies_rounding: bool = False
    """Whether training does, until a run on another processor is as far from the reference as that
    of another seed, and is compared so."""

    @model_validator(mode="after")
    def _check_ids(self) -> Self:
        ids = [claim.id for claim in self.claims]
        distinct(ids)
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
        distinct([abstract.version for abstract in self.abstracts])
        groups = {claim.id: claim.group for claim in self.claims}
        for sentence in (each for abstract in self.abstracts for each in abstract.sentences):
            for name in sentence.claims:
                if name not in groups:
                    raise ValueError(f"abstracts: {unknown_key(name, list(groups))}")
                if groups[name] == BEYOND:
                    raise ValueError(
                        f"abstracts: {name} is a finding or has no quote; only what the paper says"
                        f" decides a sentence of its abstract: {sentence.words}"
                    )
        return self

    @property
    def rules_of_robustness(self) -> list[str]:
        """What a reader has to know of these, a paragraph for each rule."""
        cells: dict[str, list[str]] = {}
        for each in self.robustness:
            cells.setdefault(each.why, []).append(each.cells)
        told = "For robustness, not counted: comparisons with {} in their name. {}"
        return [told.format(" or ".join(named), why) for why, named in cells.items()]

    @property
    def beside(self) -> list[str]:
        """Texts in the names of cells that are shown beside a claim and do not count."""
        return [each.cells for each in self.robustness]

    def scale_of(self, claim: Claim, seeds: int) -> str:
        """Return the scale at which a claim was judged; empty if it is not about training.

        Args:
            claim: the claim.
            seeds: behind its verdict.
        """
        if not claim.scale and claim.group != SHOWN and not isinstance(claim.test, Statistical):
            return ""
        ours, *_ = (claim.scale or self.scale or PAPERS_OWN).rstrip(".").split("; ")
        own = f"{seeds} seeds" if seeds and "seeds" not in ours else ""
        return ", ".join(filter(None, [ours, own]))

    @property
    def scale_of_paper(self) -> str:
        """That of the paper, as a sentence; empty if claims are judged at it."""
        return (self.scale or "").partition("; ")[2]

    @property
    def author_names(self) -> list[str]:
        """Its authors, one by one."""
        return _names(self.authors)

    def with_own(self, claims: Mapping[str, OwnClaim]) -> "Registry":
        """The same with a user's claims after the others.

        Args:
            claims: by number, none of which the registry has.
        """
        own = [Claim(id=number, kind="own", **dict(claim)) for number, claim in claims.items()]
        return self.model_copy(update={"claims": [*self.claims, *own]})


@cache
def read_registry(path: Path) -> Registry:
    """Read a registry from YAML.

    Raises:
        InputError: if it cannot be read, or names what is wrong in it.
    """
    return Registry.parse(read_yaml(path), str(path))
