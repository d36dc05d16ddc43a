"""The Machine Learning Reproducibility Checklist (Pineau et al., version 2.0), answered as data.

The questions are the checklist's. Numbers in an answer come from the settings, the registries and
the references, so that they change with these; what only people know stands in a registry, too.
`codecheck.yml` is made of the same.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from replication.digest import SOURCE
from replication.errors import InputError
from replication.jobs import StudyJobs
from replication.registry import Checklist, Claim
from replication.verification.reference import (
    FINGERPRINTS,
    MANIFEST,
    Reference,
    reference_folder,
)

Data = dict[str, Any]
CHECKLIST = "https://www.cs.mcgill.ca/~jpineau/ReproducibilityChecklist-v2.0.pdf"
CODECHECK = "https://codecheck.org.uk/spec/config/1.0/"


class Told(NamedTuple):
    """One study, and what is known of its results."""

    jobs: StudyJobs
    """The study."""
    reference: Reference | None
    """Its results, if they are kept."""

    @property
    def name(self) -> str:
        """Of the study."""
        return self.jobs.study.name

    @property
    def says(self) -> Checklist:
        """What its registry answers.

        Raises:
            InputError: if it answers nothing.
        """
        if self.jobs.registry.checklist is None:
            raise InputError(
                f"{self.jobs.study.folder / 'registry.yaml'}: has no checklist; add it"
            )
        return self.jobs.registry.checklist

    @property
    def claims(self) -> list[Claim]:
        """What it claims."""
        return self.jobs.registry.claims

    @property
    def place(self) -> Path:
        """Its folder, from that of the project."""
        return Path(SOURCE.name) / self.jobs.study.folder.relative_to(SOURCE)

    def kept(self, file: str) -> str:
        """Where a file of its reference stands."""
        return str(reference_folder(Path(), self.name) / file)


def checklist(studies: Sequence[Told]) -> Data:
    """All answers for the studies of one paper."""
    return {
        "checklist": CHECKLIST,
        "version": "2.0",
        "paper": studies[0].jobs.registry.title,
        "models and algorithms": _models(studies),
        "theoretical claims": _theory(studies),
        "datasets": _datasets(studies),
        "shared code": _code(studies),
        "experimental results": _results(studies),
    }


def codecheck(studies: Sequence[StudyJobs]) -> Data:
    """What `codecheck.yml` says of a paper: which files a check makes again."""
    paper = studies[0].registry
    targets = " ".join(study.study.name for study in studies)
    return {
        "version": CODECHECK,
        "source": f"An independent replication; `snakemake {targets}` makes all files.",
        "manifest": [
            {"file": path, "comment": comment}
            for study in studies
            for path, comment in _manifest(study)
        ],
        "paper": {
            "title": paper.title,
            "authors": [{"name": name.strip()} for name in paper.authors.split(",")],
            **({"reference": paper.url} if paper.url else {}),
        },
    }


def _manifest(study: StudyJobs) -> Iterator[tuple[str, str]]:
    for name, figure in study.figures.items():
        label, table = study.registry.figures[figure.drawing].label, study.table(name)
        yield f"{table.removesuffix('.csv')}.pdf", f"{label}, drawn"
        yield table, f"{label}, the numbers that are drawn"
    yield f"results/{study.study.name}/verdicts.md", f"Verdicts on {study.registry.title}"


def _answer(item: str, answer: str, where: str | list[str], **evidence: Any) -> Data:
    """One answer, where it can be read, and what it rests on."""
    return {"item": item, "answer": answer, "where": where, **evidence}


def _files(studies: Iterable[Told], part: str) -> list[str]:
    """The files of the studies that a part of their answers names."""
    return [str(told.place / getattr(told.says, part)) for told in studies]


def _said(studies: Iterable[Told], part: str) -> Data:
    """By study, what a part of their answers says."""
    return {told.name: getattr(told.says, part) for told in studies}


def _models(studies: Sequence[Told]) -> list[Data]:
    return [
        _answer(
            "A clear description of the mathematical setting, algorithm, and/or model.",
            "yes",
            _files(studies, "model"),
        ),
        _answer(
            "A clear explanation of any assumptions.",
            "yes",
            "docs/claims.md",
            assumptions=sum(len(told.jobs.registry.assumptions) for told in studies),
        ),
        _answer(
            "An analysis of the complexity (time, space, sample size) of any algorithm.",
            "yes",
            "docs/speed.md",
        ),
    ]


def _theory(studies: Sequence[Told]) -> list[Data]:
    claims = [claim for told in studies for claim in told.claims]
    computed = [claim for claim in claims if claim.test and not claim.data]
    return [
        _answer(
            "A clear statement of the claim.",
            "yes",
            "docs/claims.md",
            claims=len(claims),
            claims_of_the_theory=len(computed),
        ),
        _answer(
            "A complete proof of the claim.",
            "not applicable",
            "docs/claims.md",
            reason="The proofs are the paper's; here its statements are computed and judged.",
        ),
    ]


def _datasets(studies: Sequence[Told]) -> list[Data]:
    settings = [str(told.place / "config.yaml") for told in studies]
    return [
        _answer(
            "The relevant statistics, such as number of examples.",
            "yes",
            settings,
            data={told.name: told.jobs.study.datasets(told.jobs.settings) for told in studies},
        ),
        _answer(
            "The details of train / validation / test splits.",
            "yes",
            settings,
            splits=_said(studies, "splits"),
        ),
        _answer(
            "An explanation of any data that were excluded, and all pre-processing step.",
            "yes",
            _files(studies, "preprocessing"),
            excluded=_said(studies, "excluded"),
        ),
        _answer(
            "A link to a downloadable version of the dataset or simulation environment.",
            "yes",
            _files(studies, "data"),
        ),
        _answer(
            "For new data collected, a complete description of the data collection process.",
            "not applicable",
            settings,
            reason="No data were collected.",
        ),
    ]


def _code(studies: Sequence[Told]) -> list[Data]:
    return [
        _answer("Specification of dependencies.", "yes", "requirements.lock"),
        _answer("Training code.", "yes", _files(studies, "training")),
        _answer("Evaluation code.", "yes", _files(studies, "evaluation")),
        _answer(
            "(Pre-)trained model(s).",
            "no",
            [told.kept(FINGERPRINTS) for told in studies if told.reference],
            reason="Every run is made again by its command; a fingerprint of each is kept.",
        ),
        _answer(
            "README file includes table of results accompanied by precise command to run to"
            " produce those results.",
            "yes",
            "README.md",
        ),
    ]


def _results(studies: Sequence[Told]) -> list[Data]:
    tests = sorted({claim.test.kind for told in studies for claim in told.claims if claim.test})
    kept = {told.name: told.reference for told in studies if told.reference}
    return [
        _answer(
            "The range of hyper-parameters considered, method to select the best hyper-parameter"
            " configuration, and specification of all hyper-parameters used to generate results.",
            "yes",
            "docs/configuration.md",
            ranges={told.name: _ranges(told.jobs.settings) for told in studies},
            selection=_said(studies, "selection"),
        ),
        _answer(
            "The exact number of training and evaluation runs.",
            "yes",
            [told.kept(FINGERPRINTS) for told in studies if told.reference],
            one_run_is=_said(studies, "run"),
            runs={name: _runs(reference) for name, reference in kept.items()},
        ),
        _answer(
            "A clear definition of the specific measure or statistics used to report results.",
            "yes",
            "docs/claims.md",
            tests=tests,
        ),
        _answer(
            "A description of results with central tendency (e.g. mean) & variation (e.g. error"
            " bars).",
            "yes",
            "README.md",
            verdicts={name: _verdicts(reference) for name, reference in kept.items()},
        ),
        _answer(
            "The average runtime for each result, or estimated energy cost.", "yes", "docs/speed.md"
        ),
        _answer(
            "A description of the computing infrastructure used.",
            "yes",
            [told.kept(MANIFEST) for told in studies if told.reference],
            machine={name: reference.depends["machine"] for name, reference in kept.items()},
        ),
    ]


def _ranges(settings: Any) -> Data:
    """Every list among the settings of the experiments, by its path of keys."""
    data = settings.model_dump(mode="json")
    return {
        name: dict(_lists(experiment)) for name, experiment in data.get("experiments", {}).items()
    }


def _lists(data: Data, prefix: str = "") -> Iterator[tuple[str, list[Any]]]:
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _lists(value, f"{prefix}{key}.")
        elif isinstance(value, list) and value:
            yield f"{prefix}{key}", value


def _runs(reference: Reference) -> dict[str, int]:
    """Number of fingerprints by experiment."""
    return dict(Counter(reference.tables[FINGERPRINTS]["experiment"]))


def _verdicts(reference: Reference) -> dict[str, int]:
    words = Counter(str(verdict.verdict) for verdict in reference.verdicts.values())
    return dict(sorted(words.items()))
