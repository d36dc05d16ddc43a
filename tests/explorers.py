"""What tests of explorers share: a page that has one, and what every one does in a browser."""

import pytest
from report_folder import ORIGIN

from replication.base.storage import read_csv
from replication.bundle.bundle import Bundle, figure_path
from replication.report.page import render
from replication.report.site import Site
from replication.report.views import Shown
from replication.study.registry import Registry

PARTS = {
    "title": "A paper", "authors": "A. Author", "venue": "Somewhere 2025", "claims": [],
    "methods": [],
}  # fmt: skip


def registry_of_page(texts=None):
    """A registry without claims, and the texts of some figures."""
    return Registry.parse(PARTS | {"figures": texts or {}}, "registry")


def write_page(folder, study):
    """A study's page; the folder has its figures."""
    tables = {figure_path(name): read_csv(folder / study.table(name), ()) for name in study.figures}
    shown = Shown(study, Bundle(tables, {}, {"machine": {}}), folder)
    page = folder / f"{study.study.name}.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        page.write_text(render(shown, "", Site(), ORIGIN, folder))
    return page


def settled(page, **expected):
    """The address, once it says what is expected."""
    page.wait_for_function(
        """expected => Object.entries(expected).every(([key, value]) =>
            new URLSearchParams(location.hash.slice(1)).get(key) === value)""",
        arg=expected,
    )
    return page.evaluate("location.hash")


def assert_tab_reaches(page, *names):
    """The controls by name, from the button that plays."""
    page.locator("#x-play").focus()
    reached = []
    for _ in names:
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id"))
    assert reached == [f"x-{name}" for name in names]


def assert_makes_sense(page):
    told = page.locator("#explorer").inner_html()
    assert [word for word in ("NaN", "undefined", "Infinity") if word in told] == []


def played(page, quantity):
    """An expression of the page's script, before and after the page has played for a while."""
    before = page.evaluate(quantity)
    page.locator("#x-play").press("Enter")
    assert page.locator("#x-play").inner_text() == "Pause"
    page.wait_for_function("() => Number(document.getElementById('x-time').value) > 20")
    page.locator("#x-play").press("Space")
    stopped = page.locator("#x-time").input_value()
    after = page.evaluate(quantity)
    page.wait_for_timeout(100)
    assert page.locator("#x-time").input_value() == stopped
    assert page.locator("#x-play").inner_text() == "Play"
    return before, after


def assert_without_scripts(page, pictures):
    """It has pictures that stand still."""
    assert page.locator("#explorer-title").is_visible()
    assert not page.locator("#explorer .live").is_visible()
    assert page.locator("#explorer .still svg").count() == pictures


def assert_fits(page):
    """Nothing is wider than the screen, and no picture is wider than its place."""
    page.eval_on_selector_all("details", "all => all.forEach(e => { e.open = true })")
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    beyond = page.evaluate(
        """() => [...document.querySelectorAll("#explorer svg[id] *")].filter(e => {
            const own = e.getBoundingClientRect();
            const svg = e.ownerSVGElement.getBoundingClientRect();
            return own.right > svg.right + 6 || own.left < svg.left - 6;
        }).map(e => e.outerHTML)"""
    )
    assert beyond == []
