"""What an edit of this study reruns, and what a wrong one does to its verdicts."""

import re
import shutil

import pandas as pd
import pytest
from conftest import ROOT, Project, counted

FIGURE = "figures/fig6.pdf"
PACKAGE = "src/transformer_dynamics/scan_and_snap"
MEASURES = {"metrics": 1, "table": 1, "figure": 1}
TRAINS = {"runs": 2, **MEASURES}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Figure 6, small; a test that edits the project must undo the edit."""
    project = Project(tmp_path_factory.mktemp("drawn"))
    project.run(FIGURE)
    return project


@pytest.mark.parametrize(
    ("path", "old", "new", "planned", "named"),
    [
        pytest.param(
            "model.py", "        norm = v.norm", "        # a remark\n        norm = v.norm",
            {}, None, id="comment",
        ),
        pytest.param(
            "training.py", "(0.9, 0.999), 1e-8", "(0.9, 0.999), 1e-9", TRAINS,
            "scan_and_snap.training@", id="constant of training",
        ),
        pytest.param(
            "metrics.py", "axis=-1).mean(axis=-1))", "axis=-1).mean(axis=-1) + 1e-9)", MEASURES,
            "scan_and_snap.metrics@", id="constant of a metric",
        ),
        pytest.param(
            "measure_settings.py", '"fingerprint"', '"fingerprint", "speed"', MEASURES,
            "scan_and_snap.measure_settings@", id="name of a new metric trains nothing",
        ),
        pytest.param(
            "figures/fig6.py", 'color="black", linestyle="--"', 'color="grey", linestyle="--"',
            {"table": 1, "figure": 1}, "scan_and_snap.figures.fig6@", id="colour",
        ),
        pytest.param(
            "published/fig6.csv", "1,0.5,1,1.971,0.028", "1,0.5,1,1.972,0.028", {"figure": 1},
            "published/fig6.csv", id="published value",
        ),
        pytest.param(
            "../../../requirements.lock", "torch==2.13.0", "torch==2.12.0", TRAINS, "torch==2.12.0",
            id="torch",
        ),
    ],
)  # fmt: skip
def test_an_edit_reruns_what_it_reaches(drawn: Project, path, old, new, planned, named):
    drawn.edit(f"{PACKAGE}/{path}", old, new)
    try:
        output = drawn.run(FIGURE, "--dry-run")
    finally:
        drawn.edit(f"{PACKAGE}/{path}", new, old)
    assert counted(output) == planned
    if named:
        reasons = re.findall("Reason: (.*)", output)
        assert any(named in reason for reason in reasons), reasons


def test_a_changed_setting_reruns_what_depends_on_it(drawn: Project):
    path = "config/quick.yaml"
    drawn.edit(path, "eta_z: [0.5, 3]", "eta_z: [0.5, 2]")
    try:
        assert drawn.planned(FIGURE) == TRAINS
    finally:
        drawn.edit(path, "eta_z: [0.5, 2]", "eta_z: [0.5, 3]")


def test_a_mixture_without_the_authors_weights_is_refused(project: Project):
    overlay = "scan_and_snap: {mixtures: {syn_medium_1: {common_weights: [1, 2]}}}"
    (project.folder / "config/quick.yaml").write_text(overlay)
    output = project.run(FIGURE, succeed=False)
    assert "stream 'authors' is not defined for mixture 'syn_medium_1'" in output
    assert "Traceback" not in output
    assert not (project.folder / "results").exists()


def test_entropy_in_bits_fails_verification_from_end_to_end(project: Project):
    reference = "results/reference/scan_and_snap"
    shutil.copytree(ROOT / reference, project.folder / reference)
    assert "T22d  reproduced    64 of 64 hold" in project.verify("--study", "scan_and_snap")
    project.edit(
        f"{PACKAGE}/metrics.py",
        "c * np.log(np.where(c > 0, c, 1))",
        "c * np.log2(np.where(c > 0, c, 1))",
    )
    project.run("results/scan_and_snap/verdicts/T22d.json", quick=False)
    output = project.verify("--study", "scan_and_snap", succeed=False)
    assert "results: verdict on T22d is contradicted (" in output
    listed = pd.read_csv(project.folder / "results/differences.csv")
    code = listed.loc[listed["place"] == "code", "quantity"]
    assert code.tolist() == ["transformer_dynamics.scan_and_snap.metrics"]
