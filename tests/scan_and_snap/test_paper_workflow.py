"""The whole workflow of this study: its figures, the paper's own numbers, edits."""

import re
import shutil
from contextlib import chdir
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import JOBS, ROOT, Project, counted
from settings_of_the_paper import PAPER, STUDY
from tiers import quick_first

from replication.base.errors import InputError
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.run.program import main
from replication.testing.conformance import Small
from transformer_dynamics.scan_and_snap.data import sequences
from transformer_dynamics.scan_and_snap.data.sequences import Sequences
from transformer_dynamics.scan_and_snap.training import loop

FIGURE = "figures/fig6.pdf"
PACKAGE = "src/transformer_dynamics/scan_and_snap"
MEASURES = {"metrics": 1, "table": 1, "figure": 1}
TRAINS = {"runs": 2, **MEASURES}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Figure 6, small; a test that edits the project must undo the edit."""
    project = Project(tmp_path_factory.mktemp("drawn")).one_seed_per_job()
    project.run(FIGURE)
    return project


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("path", "old", "new", "planned", "named"),
    [
        pytest.param(
            "training/optimizer.py", "(gradient, 1 - adam", "(gradient, 2 - adam", TRAINS,
            "the code transformer_dynamics.scan_and_snap.training.optimizer changed",
            id="constant of training",
        ),
        pytest.param(
            "settings/metrics.py", '"fingerprint"', '"fingerprint", "speed"', MEASURES,
            "the code transformer_dynamics.scan_and_snap.settings.metrics changed",
            id="name of a new metric trains nothing",
        ),
        pytest.param(
            "../../replication/base/code_digest.py", 'version(package).split("+")[0]',
            'version(package).split("+")[0] + ".1" * (package == "torch")', TRAINS,
            "the packages torch changed", id="another torch is installed",
        ),
    ],
)  # fmt: skip
def test_an_edit_reruns_what_it_reaches(drawn: Project, path, old, new, planned, named):
    drawn.edit(f"{PACKAGE}/{path}", old, new)
    try:
        output = drawn.run(FIGURE, "--dry-run", "--printshellcmds")
    finally:
        drawn.edit(f"{PACKAGE}/{path}", new, old)
    assert counted(output) == planned
    reasons = [line for line in output.splitlines() if " made anew, such as " in line]
    assert any(named in reason for reason in reasons), reasons


@pytest.mark.thorough
def test_every_figure_is_planned(drawn: Project):
    """`check_study` draws them; by the rules it takes a quarter of an hour."""
    assert drawn.planned("figures", "--forceall")["figure"] == len(JOBS.studies[STUDY.name].figures)


def test_divergence_is_named():
    job = PAPER.train_job("syn_medium", "cpu")
    training = job.training.model_copy(update={"eta_z": [0.5, 1e38]})
    sampling = job.sampling.model_copy(update={"steps": 10})
    away = job.model_copy(update={"training": training, "sampling": sampling})
    drawn = sequences.sample(away.sample_job, [1], [])
    told = r"training diverged: mixture 'syn_medium_1', seed 1, eta_z 1e\+38"
    with pytest.raises(InputError, match=told):
        loop.train(away, [1], [drawn], None)


def test_an_own_experiment_runs_to_its_own_figure(project: Project):
    (project.folder / "config/quick.yaml").write_text(
        """
scan_and_snap:
  mixtures:
    own:
      num_last: 2
      next_tokens_per_query: 3
      common_weights: [3, 1]
      distinct_weights: [1, 2, 4]
  experiments:
    own:
      mixtures: [own]
      seeds: {first: 5, count: 2}
      sampling: {stream: independent, steps: 5, batch_size: 16, sequence_length: 20}
      training: {optimizer: sgd, eta_z: [1], ratio: [1, 2], initialization: uniform, residual: true}
  figures:
    own: {kind: fig6, experiment: own, next_tokens_per_query: 3}
"""
    )
    project.run("figures/own.pdf")
    table = pd.read_csv(project.folder / "figures/own.csv")
    assert table["num_last"].tolist() == [2, 2]
    assert table["stream"].tolist() == ["independent"] * 2
    with np.load(project.folder / "results/scan_and_snap/data/own/5-6.npz") as archive:
        assert {f"own/{field}" for field in Sequences._fields} < set(archive.files)


@pytest.mark.numerical
@pytest.mark.parametrize(
    "mixtures",
    quick_first([["syn_medium_1"], PAPER.experiments["syn_medium"].mixtures]),
    ids=["one panel", "all panels"],
)
def test_published_values_are_reproduced(mixtures: list[str], tmp_path: Path):
    """Figure 6 in the paper's own setting from nothing: seeds 1-10, 100 updates, every cell.

    The jobs are those of the workflow, without Snakemake.
    """
    changes = {STUDY.name: {"experiments": {"syn_medium": {"mixtures": mixtures}}}}
    studies = {STUDY.name: STUDY}
    small = Small(STUDY, tmp_path, changes, Jobs.of(configure(changes, studies), studies))
    made, missing = [], ["figures/fig6.csv"]
    while missing:
        made += missing
        missing = [file for path in missing for file in small.jobs.steps[path].reads]
    with chdir(tmp_path):
        for path in dict.fromkeys(reversed(made)):
            main.main(small.arguments(path), standalone_mode=False)
    found = pd.read_csv(tmp_path / "figures/fig6.csv")
    printed = pd.read_csv(STUDY.folder / "published/fig6.csv")
    sizes = [PAPER.mixtures[name].num_last for name in mixtures]
    published = printed[printed["num_last"].isin(sizes)]
    both = published.merge(found, on=["num_last", "eta_z", "ratio"], suffixes=("_published", ""))
    assert len(found) == len(both) == len(published) == 16 * len(mixtures)
    assert set(both["n_seeds"]) == {10}
    for column in ("entropy_mean", "entropy_std"):
        worst = (both[column] - both[f"{column}_published"]).abs().max()
        assert worst <= 0.0006, f"{column} differs by {worst}"


@pytest.fixture(scope="module")
def at_scale(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Figure 6 in the paper's own setting from nothing, and the reference."""
    project = Project(tmp_path_factory.mktemp("at_scale"))
    reference = "results/reference/scan_and_snap"
    shutil.copytree(ROOT / reference, project.folder / reference)
    project.run("figures/fig6.csv", "results/scan_and_snap/verdicts/T22d.json", quick=False)
    return project


@pytest.mark.numerical
@pytest.mark.thorough
def test_entropy_in_bits_fails_verification_from_end_to_end(at_scale: Project):
    verified = at_scale.verify("--study", "scan_and_snap")
    assert re.search(r"T22d  reproduced    (\d+) of \1 hold", verified)
    at_scale.edit(
        f"{PACKAGE}/metrics/attention.py",
        "c * np.log(np.where(c > 0, c, 1))",
        "c * np.log2(np.where(c > 0, c, 1))",
    )
    at_scale.run("results/scan_and_snap/verdicts/T22d.json", quick=False)
    output = at_scale.verify("--study", "scan_and_snap", succeed=False)
    assert re.search(r"verdict on T22d.* does not hold", output)
    listed = pd.read_csv(at_scale.folder / "results/differences.csv")
    code = listed.loc[listed["place"] == "code", "quantity"]
    assert code.tolist() == ["transformer_dynamics.scan_and_snap.metrics.attention"]
