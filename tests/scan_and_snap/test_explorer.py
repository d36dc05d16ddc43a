"""The explorer of the study's page in a real browser: numbers against Python's, controls."""

import re
from dataclasses import replace
from itertools import product
from urllib.parse import parse_qs

import numpy as np
import pytest
import yaml
from conftest import DEFAULTS, JOBS
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
from tiers import quick_first

from replication.plan.configuration import configure
from replication.study.seeds import seed_list
from replication.study.studies import find_studies
from transformer_dynamics.scan_and_snap.metrics.attention import entropy_on_distinct
from transformer_dynamics.scan_and_snap.settings.training import Mixture
from transformer_dynamics.scan_and_snap.study import experiments
from transformer_dynamics.scan_and_snap.theory.attention_flow import attention_flow
from transformer_dynamics.scan_and_snap.theory.growth import (
    exponent,
    phase_times,
    theorem4_drive,
    theorem4_setting,
)
from transformer_dynamics.scan_and_snap.theory.population import population_flow
from transformer_dynamics.scan_and_snap.theory.sequence_classes import sequence_classes

STUDY = "scan_and_snap"
SETTINGS = DEFAULTS.section(STUDY)
TABLE = """eta_y,eta_z,source,quantity,t,value_mean,value_std
0.2,0.2,training,exponent,0,0,0
0.2,0.2,training,exponent,100,2.5,0.1
0.2,0.2,training,exponent,300,3.8,0.1
0.2,0.2,training,relative_gain,300,1.5,0.1
0.2,0.2,Eq. 10,exponent,300,5.5,
"""
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="300pt" height="99pt"><path d="M0 0h9"/></svg>'
TEXT = {"label": "L", "title": "Title", "drawn": "A curve.", "caption": "Of training."}
ATTENTION_TOLERANCE, EXPONENT_TOLERANCE = 1e-4, 1e-3
"""Of the browser against `population_flow`: of attention relative to it, of B_n absolute."""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The page with one figure, which has training's numbers."""
    folder = tmp_path_factory.mktemp("explorer")
    name = "theory_vs_training"
    settings = SETTINGS.model_copy(update={"figures": {name: SETTINGS.figures[name]}})
    registry = registry_of_page({name: TEXT})
    study = replace(JOBS.studies[STUDY], settings=settings, registry=registry)
    table = folder / study.table(name)
    for picture in (table.with_suffix(".svg"), folder / STUDY / f"{name}.svg"):
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_text(SVG)
    table.write_text(TABLE)
    return write_page(folder, study).as_uri()


def mixture(num_last, per_query, common, distinct):
    return {
        "num_last": num_last, "next_tokens_per_query": per_query,
        "common_weights": common, "distinct_weights": distinct,
    }  # fmt: skip


def tenths(count):
    return np.linspace(0.1, 1, count).round(4).tolist()


EXPLORED = {
    "the paper's, Y as fast as Z": (mixture(1, 2, [1.0] * 10, tenths(10)), 0.2, 0.2, 500),
    "the paper's, one class per query": (mixture(2, 1, [1.0] * 10, tenths(10)), 1, 0.1, 300),
    "the paper's, ten classes": (mixture(5, 2, [1.0] * 10, tenths(10)), 0.6, 3, 300),
    "high rates, for long": (mixture(1, 2, [1.0] * 10, tenths(10)), 10, 10, 20_000),
    "Z a thousand times faster": (mixture(1, 2, [1.0] * 10, tenths(10)), 0.01, 10, 2000),
    "Y a thousand times faster": (mixture(1, 2, [1.0] * 10, tenths(10)), 10, 0.01, 2000),
    "one token of each kind": (mixture(3, 4, [1.0], [1.0]), 3, 10, 1000),
    "unequal common tokens, large M": (mixture(4, 3, [0.5, 2.0, 3.5], tenths(25)), 2, 0.5, 400),
}
QUICK = {"the paper's, Y as fast as Z", "unequal common tokens, large M"}


@pytest.mark.parametrize("name", quick_first(EXPLORED, QUICK))
def test_curves_are_those_of_python(visit, name):
    given, eta_y, eta_z, until = EXPLORED[name]
    times = np.linspace(0, until, 61)
    found = visit().evaluate(
        """([mixture, etaY, etaZ, times]) => {
            const { marks, flow, lemma4, theorem4 } = scanAndSnap.solve(mixture, etaY, etaZ, times);
            const plain = (curve) => curve.map((point) => ({ ...point, c: [...(point.c ?? [])] }));
            return { marks, flow: plain(flow), lemma4: plain(lemma4), theorem4: plain(theorem4) };
        }""",
        [given, eta_y, eta_z, times.tolist()],
    )

    def of(curve, key):
        return np.array([point[key] for point in found[curve]])

    classes = sequence_classes(Mixture.parse(given, "mixture"))
    num_classes = len(classes.support)
    flow = population_flow(classes, eta_y, eta_z, times)
    for n in (0, num_classes - 1):  # all classes are alike
        c = flow.attention[:, n]
        np.testing.assert_allclose(of("flow", "c"), c, rtol=ATTENTION_TOLERANCE)
    np.testing.assert_allclose(
        of("flow", "exponent"), flow.exponents[:, 0], atol=EXPONENT_TOLERANCE
    )
    rate = eta_z / num_classes * flow.drive[:, 0]
    np.testing.assert_allclose(of("flow", "rate"), rate, atol=1e-3 * rate.max())
    entropy = entropy_on_distinct(classes, flow.attention_logits)
    np.testing.assert_allclose(of("flow", "entropy"), entropy, atol=1e-4)

    lemma4 = attention_flow(classes, eta_y, eta_z, times, sampled=True)
    np.testing.assert_allclose(
        of("lemma4", "exponent"), lemma4.exponents[:, 0], atol=EXPONENT_TOLERANCE
    )
    setting = theorem4_setting(classes, eta_y, eta_z)
    np.testing.assert_allclose(
        of("theorem4", "exponent"), exponent(setting, times), atol=EXPONENT_TOLERANCE
    )
    rate = eta_z * theorem4_drive(setting, times)
    np.testing.assert_allclose(of("theorem4", "rate"), rate, atol=1e-3 * rate.max())
    np.testing.assert_allclose(found["marks"], phase_times(setting), rtol=1e-9)


def values(page):
    names = ("eta_Y", "eta_Z", "until", "K", "C", "D")
    return {name: page.locator(f"#x-{name}-value").inner_text() for name in names}


def test_it_starts_where_training_can_be_compared(visit):
    page = visit()
    assert values(page) == {
        "eta_Y": "0.2", "eta_Z": "0.2", "until": "500", "K": "2", "C": "10", "D": "10",
    }  # fmt: skip
    assert page.locator("#x-mixture").input_value() == "syn_medium_1"
    assert page.locator("#x-curves .training").count() == 2
    assert page.locator("#x-bars rect.common").count() == 2 * 10
    assert page.locator("#x-bars rect.distinct").count() == 2 * 10
    assert not page.locator("#explorer .still").is_visible()
    page.locator("#x-eta_Z").press("ArrowRight")
    assert page.locator("#x-curves .training").count() == 0
    assert not page.locator("#x-trained").is_visible()


def test_it_works_by_keyboard_and_the_address_keeps_it(visit):
    page = visit("#q=entropy")
    assert_tab_reaches(page, "time", "eta_Y", "eta_Z", "until", "K", "C", "D", "mixture")
    page.locator("#x-eta_Y").press("ArrowRight")
    page.locator("#x-K").press("ArrowRight")
    page.locator("#x-C").press("Home")
    page.locator("#x-time").press("End")
    assert page.locator("#x-time-value").inner_text() == "500 updates"
    state = {"eta_Y": "0.3", "eta_Z": "0.2", "K": "4", "C": "1", "D": "10", "until": "500"}
    fragment = settled(page, **state, t="500", q="entropy")
    again = visit(fragment)
    assert values(again) == values(page)
    assert values(page) | state == values(page)
    assert again.locator("#x-mixture").input_value() == ""
    assert again.locator("#x-time-value").inner_text() == "500 updates"
    assert again.locator("#x-bars").inner_html() == page.locator("#x-bars").inner_html()
    again.locator("#x-mixture").select_option("syn_small")
    fragment = settled(again, mixture="syn_small", eta_Y="0.3")
    assert "K" not in parse_qs(fragment[1:])
    assert visit(fragment).locator("#x-mixture").input_value() == "syn_small"


@pytest.mark.parametrize(
    "fragment",
    quick_first(["#eta_Y=1e9&eta_Z=-3&until=NaN&t=1e99", "#eta_Y=0.2&mixture=no&K=7&C=x&D=0",
     "#%zz&eta_Y=", "#eta_Y=1&K=1&C=99&D=1e9", "#eta_Y=1&mixture=constructor"]),
)  # fmt: skip
def test_an_address_that_says_nonsense_does_no_harm(visit, fragment):
    page = visit(fragment)
    assert_makes_sense(page)
    assert float(values(page)["eta_Y"]) <= 10


@pytest.mark.parametrize(
    ("fragment", "told"),
    quick_first(
        [("#eta_Y=0x10", "0.2"), ("#eta_Y=2abc", "0.2"), ("#eta_Y=0", "0.01"), ("#eta_Y=.5", "0.5")]
    ),
)
def test_an_address_says_what_is_shown(visit, fragment, told):
    page = visit(fragment)
    assert values(page)["eta_Y"] == told
    settled(page, eta_Y=told)


@pytest.mark.thorough
def test_training_can_be_found(visit):
    page = visit("#eta_Y=3&mixture=syn_small")
    page.get_by_role("button", name="syn_medium_1, η_Y = 0.2, η_Z = 0.2").press("Enter")
    assert page.locator("#x-curves .training").count() == 2
    assert values(page)["eta_Y"] == "0.2"
    page.mouse.move(0, 0)
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page).response["violations"]
    assert [item["id"] for item in found if item["impact"] in {"serious", "critical"}] == []


def test_what_is_said_of_a_time_agrees_with_its_numbers(visit):
    page = visit("#eta_Y=0.2&eta_Z=0.2&mixture=syn_medium_1&until=500")
    stage = page.locator("#x-stage").inner_text()
    (start,) = re.findall(r"snapping, since t₀\s=\s(\S+)$", stage)
    assert page.locator("#x-time-value").inner_text() == f"{start} updates"
    shares = page.locator("#x-curves .value").all_text_contents()
    percent = re.search(r"grow at ([\d.]+) % of the peak", page.locator("#x-numbers").inner_text())
    assert float(shares[1]) == pytest.approx(float(percent[1]) / 100, rel=0.01)
    assert visit("#eta_Y=1&t=1").locator("#x-time-value").inner_text() == "1 update"


@pytest.mark.thorough
def test_a_link_elsewhere_leaves_it_alone(visit):
    page = visit()
    page.locator("#x-eta_Y").press("ArrowRight")
    page.evaluate("location.hash = '#figures'")
    page.wait_for_timeout(300)
    assert values(page)["eta_Y"] == "0.3"


def test_it_plays_and_pauses(visit):
    tall = "Number(document.querySelectorAll('#x-bars rect')[19].getAttribute('height'))"
    before, after = played(visit("#eta_Y=1&t=0"), tall)
    assert after > before


@pytest.mark.parametrize(
    "fragment",
    quick_first(
        ["#eta_Y=0.6&eta_Z=0.2&K=40&C=3&D=1&until=20000", "", "#eta_Y=10&mixture=syn_small"]
    ),
)
def test_the_overlay_that_is_copied_trains_the_same(visit, fragment):
    page = visit(fragment)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_text("The same with real training").click()
    page.get_by_role("button", name="Copy the overlay").click()
    page.wait_for_function("() => document.getElementById('x-copy').textContent === 'Copied'")
    text = page.evaluate("navigator.clipboard.readText()")
    assert text.startswith("# snakemake figures/explored.pdf --configfile explored.yaml\n")
    settings = configure(yaml.safe_load(text), find_studies()).section(STUDY)
    told, experiment = values(page), settings.experiments["explored"]
    explored = settings.mixtures["explored"]
    assert explored.num_classes == int(told["K"])
    assert len(explored.common_weights) == int(told["C"])
    assert len(explored.distinct_weights) == int(told["D"])
    ((eta_z, ratio),) = experiment.training.cells
    assert eta_z == float(told["eta_Z"])
    assert eta_z * ratio == pytest.approx(float(told["eta_Y"]))
    assert experiment.sampling.steps == int(told["until"].replace(",", ""))
    assert (experiment.training.momentum, experiment.training.initialization) == (0, "zero")
    assert settings.figures["explored"].experiment == "explored"


@pytest.mark.thorough
def test_the_workflow_takes_every_overlay(visit):
    page = visit()
    ends = ("0", "1e9")  # beyond those of every slider
    corners = [
        f"eta_Y={low}&eta_Z={high}&until={until}&K={K}&C={C}&D={D}"
        for low, high in (ends, ends[::-1])
        for until, K, C, D in product(ends, repeat=4)
    ]
    texts = page.evaluate(
        """async (fragments) => {
            const texts = [];
            for (const fragment of fragments) {
                location.hash = fragment;
                await new Promise((done) => addEventListener("hashchange", done, { once: true }));
                texts.push(document.getElementById("x-copy").dataset.copy);
            }
            return texts;
        }""",
        corners,
    )
    assert len(set(texts)) == len(corners)
    for text in texts:
        configuration = configure(yaml.safe_load(text), find_studies())
        settings = configuration.section(STUDY)
        runs = experiments(settings, configuration.computation)["explored"].runs
        explored = settings.experiments["explored"]
        assert [seed for job in runs.values() for seed in job.seeds] == seed_list(explored.seeds)
        assert max(explored.training.recorded) == explored.sampling.steps


def test_without_scripts_it_is_a_picture_and_a_table(visit):
    page = visit(java_script_enabled=False)
    assert_without_scripts(page, pictures=4)
    rows = page.locator("#explorer .still tbody tr").all_inner_texts()
    assert [row.split("\t")[1] for row in rows] == ["0", "35", "102", "500"]


@pytest.mark.thorough
def test_print_has_the_picture(visit):
    page = visit()
    page.emulate_media(media="print")
    assert page.locator("#explorer .still table").is_visible()
    assert not page.locator("#explorer .live").is_visible()


@pytest.mark.parametrize("width", quick_first([320, 390, 800, 1440]))
def test_it_fits_every_screen(visit, width):
    assert_fits(visit("#eta_Y=1&K=40&C=20&D=60", viewport={"width": width, "height": 800}))


@pytest.mark.parametrize("sizes", quick_first(["C=20&D=1", "C=10&D=10", "C=1&D=1", "C=1&D=60"]))
def test_names_of_bars_end_within_a_phone(visit, sizes):
    page = visit(f"#eta_Y=1&K=2&{sizes}", viewport={"width": 320, "height": 800})
    ends = page.evaluate(
        """() => {
            const { left, right } = document.getElementById("x-bars").getBoundingClientRect();
            return [...document.querySelectorAll("#x-bars text")].map(e => {
                const own = e.getBoundingClientRect();
                return [own.left - left, right - own.right];
            });
        }"""
    )
    assert len(ends) > 4
    assert min(map(min, ends)) > -1


@pytest.mark.parametrize("until", quick_first([500, 20_000]))
def test_the_peak_does_not_depend_on_where_time_ends(visit, until):
    page = visit(f"#eta_Y=2&eta_Z=0.2&mixture=syn_medium_1&until={until}")
    told = page.locator("#x-numbers").inner_text()
    peak = float(re.search(r"near update ([\d.]+)\.$", told)[1])
    classes = sequence_classes(SETTINGS.mixtures["syn_medium_1"])
    times = np.linspace(0, 60, 601)
    rates = np.gradient(population_flow(classes, 2.0, 0.2, times).exponents[:, 0], times)
    assert peak == pytest.approx(times[rates.argmax()], rel=0.1)
