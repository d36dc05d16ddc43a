"""The Machine Learning Reproducibility Checklist (Pineau et al., version 2.0), answered as data.

Its questions stand in `checklist.jinja`. Numbers in an answer come from the settings, the
registries and the references, and change with them. Registries also have the answers that only
people know. `codecheck.yml` is made from the same data.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import yaml
from jinja2 import Environment, StrictUndefined

from replication.base.errors import InputError
from replication.base.places import SOURCE
from replication.bundle.bundle import FINGERPRINTS, Bundle, reference_folder
from replication.judge.verdicts import Verdict
from replication.plan.study_jobs import StudyJobs
from replication.study.registry import Checklist

JsonObject = dict[str, Any]
TEMPLATE = Path(__file__).with_suffix(".jinja")
CODECHECK = "https://codecheck.org.uk/spec/config/1.0/"


def study_page(study: str, name: str) -> str:
    """Return the path of a generated page of a study, from the project's folder."""
    return f"docs/{study}/{name}.md"


class StudyResults(NamedTuple):
    """One study and its results."""

    jobs: StudyJobs
    """Jobs of the study."""
    reference: Bundle | None
    """Results of the study, if they are kept."""

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.jobs.study.name

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """Verdicts that are kept, by number of the claim."""
        return self.reference.verdicts if self.reference else {}

    @property
    def checklist(self) -> Checklist:
        """Answers of the study's registry.

        Raises:
            InputError: if the registry has none.
        """
        if self.jobs.registry.checklist is None:
            raise InputError(
                f"{self.jobs.study.folder / 'registry.yaml'}: has no checklist; add it"
            )
        return self.jobs.registry.checklist

    @property
    def folder(self) -> Path:
        """Folder of the study, relative to that of the project."""
        return Path(SOURCE.name) / self.jobs.study.folder.relative_to(SOURCE)


def checklist(studies: Sequence[StudyResults]) -> JsonObject:
    """Return all answers for the studies of one paper."""
    kept = {told.name: told.reference for told in studies if told.reference}
    claims = [claim for told in studies for claim in told.jobs.registry.claims]
    template = Environment(undefined=StrictUndefined, finalize=json.dumps).from_string(
        TEMPLATE.read_text(encoding="utf-8")
    )
    answers = template.render(
        paper=studies[0].jobs.registry.title,
        files=lambda part: [str(told.folder / getattr(told.checklist, part)) for told in studies],
        said=lambda part: {told.name: getattr(told.checklist, part) for told in studies},
        kept=lambda file: [str(reference_folder(Path(), name) / file) for name in kept],
        pages=lambda name: [study_page(told.name, name) for told in studies],
        settings=[str(told.folder / "config.yaml") for told in studies],
        data={told.name: told.jobs.study.datasets(told.jobs.settings) for told in studies},
        ranges={told.name: _lists_of_settings(told.jobs.settings) for told in studies},
        methods=sum(len(told.jobs.registry.methods) for told in studies),
        claims=len(claims),
        claims_of_the_theory=sum(bool(claim.test and not claim.data) for claim in claims),
        tests=sorted({claim.test.kind for claim in claims if claim.test}),
        runs={
            name: Counter(found.tables[FINGERPRINTS]["experiment"]) for name, found in kept.items()
        },
        verdicts={
            name: Counter(sorted(verdict.verdict for verdict in found.verdicts.values()))
            for name, found in kept.items()
        },
        machine={name: found.depends["machine"] for name, found in kept.items()},
    )
    return yaml.safe_load(answers)  # type: ignore[no-any-return]


def codecheck(studies: Sequence[StudyJobs]) -> JsonObject:
    """Return the contents of `codecheck.yml`: the files that a check makes again."""
    paper = studies[0].registry
    targets = " ".join(study.study.name for study in studies)
    return {
        "version": CODECHECK,
        "source": f"An independent replication; `snakemake {targets}` makes all files.",
        "manifest": [item for study in studies for item in _manifest_items(study)],
        "paper": {
            "title": paper.title,
            "authors": [{"name": name} for name in paper.author_names],
            **({"reference": paper.url} if paper.url else {}),
        },
    }


def _manifest_items(study: StudyJobs) -> Iterator[JsonObject]:
    for name, figure in study.figures.items():
        label = study.registry.figure_text(name, figure.kind).label
        table = study.table(name)
        yield {"file": f"{table.removesuffix('.csv')}.pdf", "comment": f"{label}, drawn"}
        yield {"file": table, "comment": f"{label}, the numbers that are drawn"}
    verdicts = study.study.scorecard
    yield {"file": verdicts, "comment": f"Verdicts on {study.registry.title}"}


def _lists_of_settings(settings: Any) -> JsonObject:
    """Return every list among the settings of the experiments, by experiment and path of keys."""
    experiments = settings.model_dump(mode="json").get("experiments", {})
    flat = {name: pd.json_normalize(each).iloc[0] for name, each in experiments.items()}
    return {
        name: {key: value for key, value in values.items() if isinstance(value, list) and value}
        for name, values in flat.items()
    }
