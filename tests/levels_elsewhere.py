"""Every level of verification is green on another processor, where rounding is amplified.

Another instruction set stands in for the processor. The study's defaults are its smallest scale
here, and the reference is made from them, so that all of it is computed for real.

A test file of each such study has its name as `STUDY` and takes everything here, so that the
studies are computed side by side.
"""

import shutil
from typing import Any

import pandas as pd
import pytest
import yaml
from conftest import ROOT, STUDIES, Project

from replication.base.strict import read_yaml
from replication.plan.configuration import configure, merge

__all__ = ["elsewhere", "kept", "test_all_of_it", "test_one_seed"]

SETS = [
    {"ATEN_CPU_CAPABILITY": "default"},
    {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "COMPATIBLE"},
]
SPANNING = {"gradient_heterogeneity": {"figures/one_step.csv", "figures/differences.csv"}}
"""Tables that at the smallest scale have numbers of which three seeds do not tell how far another
processor's may be: the best rate of a hardly trained network, which spans orders of magnitude, and
intervals of the difference of two losses that are equal but for a thousandth."""
WITHIN = "within the tolerance across processors"


class Small(Project):
    """One whose metrics are known."""

    metrics: list[str]


@pytest.fixture(scope="module")
def kept(request, tmp_path_factory) -> tuple[Small, str]:
    """A project with a small study, and the reference of it."""
    name = request.module.STUDY
    study = STUDIES[name]
    project = Small(tmp_path_factory.mktemp(name))
    overlay = study.call_optional(
        "smallest", configure({}, {name: study}).section(name), project.folder
    )
    _have_spread(overlay)
    config = project.folder / study.folder.relative_to(ROOT) / "config.yaml"
    config.write_text(yaml.safe_dump(merge(read_yaml(study.folder / "config.yaml"), overlay)))
    project.run("reference", "--config", f"study={name}", quick=False)
    made = (project.folder / f"results/{name}/metrics").rglob("*.parquet")
    project.metrics = [str(path.relative_to(project.folder)) for path in made]
    return project, name


def _have_spread(settings: dict[str, Any]) -> None:
    """Three seeds where there is one: of one alone nobody knows how far others are."""
    for key, value in settings.items():
        if key == "seeds" and isinstance(value, list) and len(value) == 1:
            settings[key] = [value[0] + more for more in range(3)]
        elif isinstance(value, dict):
            _have_spread(value)


@pytest.fixture
def elsewhere(request, kept, monkeypatch) -> tuple[Small, list[str]]:
    """The project where nothing is computed yet, on another processor; what names the study."""
    project, name = kept
    for key, value in request.param.items():
        monkeypatch.setitem(project.environment, key, value)
    for path in (project.folder / "results").iterdir():
        if path.name != "reference":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.rmtree(project.folder / "figures", ignore_errors=True)
    shutil.rmtree(project.folder / ".snakemake", ignore_errors=True)
    return project, ["--study", name]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("elsewhere", "options"),
    [(SETS[0], ("--draw", "1")), (SETS[1], ("--draw", "2"))],
    ids=["one set", "another set"], indirect=["elsewhere"],
)  # fmt: skip
def test_one_seed(elsewhere, options):
    """Fewer seeds than the reference has."""
    project, study = elsewhere
    assert WITHIN in project.verify(*study, "--level", "seed", *options)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("elsewhere", "levels"),
    [(SETS[0], ["full"]), (SETS[1], ["hash"])],
    ids=["from nothing", "from metrics"], indirect=["elsewhere"],
)  # fmt: skip
def test_all_of_it(elsewhere, levels):
    """Everything: the verification computes it, or it is computed beforehand."""
    project, study = elsewhere
    if "full" not in levels:
        project.run(*project.metrics, quick=False)
    for level in levels:
        try:
            assert WITHIN in project.verify(*study, "--level", level)
        except AssertionError:
            differences = pd.read_csv(project.folder / "results/differences.csv")
            assert {*differences["place"]} <= SPANNING.get(study[1], set()), differences
