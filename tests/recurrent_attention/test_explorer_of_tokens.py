"""The explorer of two tokens: its page, and in a real browser its numbers and controls."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from explorers import (
    assert_fits,
    assert_makes_sense,
    assert_tab_reaches,
    assert_without_scripts,
    played,
    registry_of_page,
    settled,
    write_page,
)
from report_folder import made_up_settings
from tiers import quick_first

from replication.plan.study_jobs import StudyJobs
from replication.report import explorer
from replication.study.contract import StudySettings
from replication.study.studies import Study
from transformer_dynamics.recurrent_attention.explorer import data
from transformer_dynamics.recurrent_attention.theory.energy import (
    Attention,
    State,
    counterexample_k1,
    integrate_flow,
    symmetric_part,
)

STUDY = "recurrent_attention"
FOLDER = Path(data.__file__).parents[1]
TOLERANCE = 1e-7
"""Of the browser against `flow`, relative to the largest value."""


class Settings(StudySettings):
    """A section without figures."""

    figures: dict[str, object] = {}


def page_in(folder, name):
    """A page without figures, of a study of which only the explorer matters."""
    package = f"transformer_dynamics.{name}"
    module = SimpleNamespace(
        __name__=f"{package}.study", __file__=str(FOLDER.parent / name / "study.py"),
        Settings=Settings,
    )  # fmt: skip
    study = Study(name, module)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explorer, "find_studies", lambda: {name: study})
        jobs = StudyJobs(study, made_up_settings({}), {}, {}, registry_of_page())
        return write_page(folder, jobs)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page as a file."""
    return page_in(tmp_path_factory.mktemp("explorer"), STUDY)


@pytest.fixture(scope="module")
def address(page):
    """Where a browser finds it."""
    return page.as_uri()


def test_it_says_without_scripts_how_the_energy_runs(page):
    told = page.read_text()
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', told)
    cells = {name: re.findall("<td>(.*?)</td>", row) for name, row in rows}
    assert cells["start"] == ["0", "\u22124.3606", "0.27"]
    assert cells["highest energy"][:2] == ["1.683", "\u22124.1747"]
    assert cells["end"][:2] == ["6", "\u22124.2438"]
    assert "With scripts switched on" in told


def test_explorers_share_a_style_and_a_script_that_come_before_their_own(page, tmp_path):
    told, without = page.read_text(), page_in(tmp_path, "no_such_study").read_text()
    for path, own in ((explorer.STYLE, "style.css"), (explorer.SCRIPT, "flow.js")):
        shared = path.read_text()
        assert told.count(shared + (FOLDER / "explorer" / own).read_text()) == 1
        assert shared not in without
    assert "explorer" not in re.sub("<script>.*?</script>", "", without, flags=re.DOTALL)


def test_it_starts_at_k1():
    start = data.data(StudySettings(), {})["explored"]
    entries = np.array([start["start"][f"a{i}{j}"] for i in (1, 2) for j in (1, 2)])
    np.testing.assert_array_equal(entries.reshape(1, 2, 2), counterexample_k1().attention.scores)
    np.testing.assert_array_equal(
        np.reshape(start["value"], (1, 2, 2)), counterexample_k1().attention.values
    )
    angles = np.radians([start["start"][f"theta{i}"] for i in (1, 2)])
    found = np.column_stack([np.cos(angles), np.sin(angles)])
    np.testing.assert_allclose(found, counterexample_k1().tokens, atol=1e-6)


K1_VALUE = [0, 0.5, 0.5, 0]
EXPLORED = {
    "K1": ([0, 2, -1, 0], K1_VALUE, [180, 36.8699]),
    "a turning A": ([0, 3, -3, 0], [0, 0, 0, 0], [10, 130]),
    "large entries": ([3, 3, -3, 3], [3, 0, 0, 3], [10, 200]),
    "W^V of its own": ([3, -3, 3, -3], K1_VALUE, [10, 200]),
    "alike": ([1, -2, 0.5, -1], [1, -0.75, -0.75, -1], [77, 77]),
}


@pytest.mark.parametrize("name", quick_first(EXPLORED, {"W^V of its own"}))
def test_flow_is_that_of_python(visit, name):
    a, value, degrees = EXPLORED[name]
    angles = np.radians(degrees)
    found = visit().evaluate(
        """([a, value, angles]) =>
            twoTokens.solve({ a, value, beta: Math.SQRT1_2 }, angles, 6)""",
        [a, value, angles.tolist()],
    )
    scores, values = (np.array(each, float).reshape(1, 2, 2) for each in (a, value))
    tokens = np.column_stack([np.cos(angles), np.sin(angles)])
    path = integrate_flow(State(tokens, Attention(scores, values, 2**-0.5, on_sphere=True)), 6)
    for key, expected in path._asdict().items():
        scale = max(1, np.abs(expected).max())
        np.testing.assert_allclose(found[key], expected, rtol=0, atol=TOLERANCE * scale)


def test_symmetric_part_is_that_of_python(visit):
    found = visit().evaluate("twoTokens.symmetric([1, 2, -3, 4])")
    np.testing.assert_array_equal(
        np.reshape(found, (2, 2)), symmetric_part(np.array([[1, 2], [-3, 4]]))
    )


def verdict(page):
    return page.locator("#x-verdict").inner_text()


def test_it_says_whether_the_energy_rises(visit):
    page = visit()
    assert verdict(page) == (
        "The energy rises from \u22124.3606 at the start to \u22124.1747 at t = 1.683."
        " Its largest rate is 0.2727, at t = 0."
    )
    assert page.locator("#x-time-value").inner_text() == "t = 1.683"
    assert page.locator("#x-condition").inner_text().endswith("A is not symmetric.")
    assert page.locator("#x-curves .rising").first.get_attribute("d")
    assert not page.locator("#explorer .still").is_visible()
    page.get_by_role("button", name="Make A symmetric").click()
    assert verdict(page).startswith("The energy never rises: it goes from \u22124.0218")
    assert "is true here" in page.locator("#x-condition").inner_text()
    assert page.locator("#x-curves .rising").first.get_attribute("d") == ""
    page.locator("#x-a11").press("ArrowRight")
    page.locator("#x-value").select_option("K1")
    assert "says nothing of this case" in page.locator("#x-condition").inner_text()
    page.get_by_role("button", name="Back to K1").click()
    assert verdict(page).startswith("The energy rises from \u22124.3606")


def test_it_works_by_keyboard_and_the_address_keeps_it(visit):
    page = visit("#q=entropy")
    names = ("time", "a11", "a12", "theta1", "a21", "a22", "theta2", "value", "even", "reset")
    assert_tab_reaches(page, *names)
    page.locator("#x-a12").press("ArrowLeft")
    page.locator("#x-theta1").press("ArrowRight")
    page.locator("#x-time").press("End")
    expected = {"a12": "1.95", "theta1": "181", "theta2": "36.8699", "t": "6", "q": "entropy"}
    fragment = settled(page, **expected)
    again = visit(fragment)
    assert verdict(again) == verdict(page)
    assert again.locator("#x-circle").inner_html() == page.locator("#x-circle").inner_html()
    assert again.locator("#x-time-value").inner_text() == "t = 6"


@pytest.mark.parametrize(
    "fragment",
    quick_first(["#a11=9&a12=x&theta1=1e9&t=99&value=nope", "#%zz&a11=",
                 "#a11=0&a12=0&a21=0&a22=0", "#a11=NaN&theta2=-5&t=-1"]),
)  # fmt: skip
def test_an_address_that_says_nonsense_does_no_harm(visit, fragment):
    page = visit(fragment)
    assert_makes_sense(page)
    assert float(page.locator("#x-a11").input_value()) <= 3


def test_what_is_not_finite_is_not_a_number(visit):
    assert verdict(visit("#a11=-Infinity&theta2=1e999&t=Infinity")) == verdict(visit())


def test_it_plays_and_pauses(visit):
    where = "document.querySelector('#x-circle .token').getAttribute('cy')"
    before, after = played(visit("#a11=0&t=0"), where)
    assert before != after


def test_without_scripts_it_is_a_picture_and_a_table(visit):
    assert_without_scripts(visit(java_script_enabled=False), pictures=3)


@pytest.mark.parametrize("width", quick_first([320, 390, 800, 1440]))
def test_it_fits_every_screen(visit, width):
    assert_fits(visit(viewport={"width": width, "height": 800}))
