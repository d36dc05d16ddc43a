"""Published values are shown, and judged, only beside the settings that they are of."""

import shutil

import pytest
from matplotlib.figure import Figure as Drawing

from replication.figures.style import write_note
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.study.studies import find_studies

SLOWER = {"training": {"learning_rate": 0.02}}


def jobs(changes: dict, **others: object) -> Jobs:
    studies = {"example": find_studies()["example"]}
    return Jobs.of(configure({"example": changes, **others}, studies), studies)


def published(found: Jobs) -> dict[str, str | None]:
    return {
        name: figure.published for name, figure in found.studies["example"].settings.figures.items()
    }


def test_published_values_stand_beside_the_default_settings():
    for found in (jobs({}), jobs({}, computation={"seeds_per_job": 2, "device": "cuda"})):
        assert published(found) == {"fig1": "fig1.csv", "fig2": None}
        assert [*found.steps["figures/example/fig1"].of_role("published")]
        assert found.studies["example"].unlike_published == {}
    other = jobs({"experiments": {"replication": SLOWER}})
    assert published(other)["fig1"] == "fig1.csv", "it draws another experiment"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (SLOWER, "training.learning_rate: 0.02 instead of 0.05"),
        ({"seeds": {"count": 6}}, "seeds: 1-6 instead of 1-5"),
    ],
)
def test_other_settings_are_told_instead(changes, told):
    found = jobs({"experiments": {"printed": changes}})
    assert published(found)["fig1"] is None
    drawn = found.steps["figures/example/fig1"]
    assert not [*drawn.of_role("published")]
    assert drawn.settings["unlike_published"] == told
    measured = found.steps["results/example/evidence/C1.parquet"]
    assert measured.settings["unlike_published"] == told
    assert "unlike_published" not in found.steps["results/example/evidence/C2.parquet"].settings


def test_another_figure_with_the_published_table_is_of_other_settings_too():
    figure = {"kind": "fig1", "experiment": "replication", "published": "fig1.csv"}
    found = jobs({"figures": {"mine": figure}})
    assert published(found) == {"fig1": "fig1.csv", "fig2": None, "mine": None}
    told = found.steps["figures/example/mine"].settings["unlike_published"]
    assert told == "seeds: 101-110 instead of 1-5"


def test_a_table_that_no_default_figure_has_is_taken_as_it_is(tmp_path):
    own = tmp_path / "mine.csv"
    shutil.copy(find_studies()["example"].folder / "published/fig1.csv", own)
    figure = {"kind": "fig1", "experiment": "replication", "published": str(own)}
    assert published(jobs({"figures": {"mine": figure}}))["mine"] == str(own)


def test_what_is_told_is_short():
    problem = {"variances": [0.5, 0.25], "samples": 7, "noise": 0.5}
    training = {"problem": problem, "learning_rate": 0.02, "updates": 9}
    found = jobs({"experiments": {"printed": {"training": training}}})
    told = found.studies["example"].unlike_published["figure fig1"]
    assert told.endswith("; and 2 more")
    assert "training.problem.variances: [0.5, 0.25] instead of [1.0, 0.5, 0.25, 0.125]" in told


def test_a_note_stands_below_the_picture():
    drawing = Drawing()
    write_note(drawing, "seeds: 1-6 instead of 1-5")
    (text,) = drawing.texts
    assert (text.get_text(), text.get_va()) == ("seeds: 1-6 instead of 1-5", "top")
