"""The page in a real browser, on screens of every size, and printed."""

# ruff: noqa: RUF001 - the page has real minus signs

import re

import pytest
from in_browser import EVERY, address, motion, shown, unfold  # noqa: F401


@pytest.mark.thorough
def test_a_figure_opens_as_large_as_the_window_and_larger(visit):
    page = visit()
    button = page.get_by_role("button", name="Open large: Figure 6")
    small = page.locator("#figure-fig6 img").bounding_box()["width"]
    button.focus()
    page.keyboard.press("Enter")
    picture = page.locator("dialog img")
    whole, window = picture.bounding_box(), page.viewport_size
    assert whole["width"] > 1.5 * small
    assert 0 <= whole["x"] < whole["x"] + whole["width"] <= window["width"]
    assert 0 <= whole["y"] < whole["y"] + whole["height"] <= window["height"]
    page.get_by_role("button", name="Larger").press("Enter")
    larger = picture.bounding_box()
    assert larger["width"] == pytest.approx(1.4 * whole["width"], abs=1)
    assert larger["height"] / larger["width"] == pytest.approx(
        whole["height"] / whole["width"], 0.01
    )
    page.keyboard.press("Escape")
    assert not picture.is_visible()
    assert button.evaluate("e => e === document.activeElement")
    page.locator("#figure-fig1 img").click()
    assert page.locator("dialog img").get_attribute("alt").startswith("Figure 1.")


@pytest.mark.thorough
def test_the_whole_list_is_on_a_phone(visit):
    """No box scrolls within the page, and each count stands within the screen, with its name."""
    page = visit(viewport={"width": 390, "height": 800})
    assert not page.locator("#list").is_visible()
    page.get_by_text("All claims in a table").click()
    rows = page.locator("#list")
    assert rows.evaluate("e => e.scrollHeight <= e.parentElement.clientHeight + 1")
    for count in page.locator(".counts .count").all():
        box = count.bounding_box()
        assert 0 <= box["x"] < box["x"] + box["width"] <= 390
        named = count.evaluate("e => getComputedStyle(e.parentElement, '::after').content")
        assert count.get_attribute("data-verdict") in named


@pytest.mark.thorough
def test_contents_are_reached_at_once_on_a_phone(visit):
    page = visit(viewport={"width": 390, "height": 800})
    box = page.locator(".contents").bounding_box()
    assert box["y"] + box["height"] < 800
    page.get_by_role("link", name="Claims", exact=True).click()
    assert page.locator("#claims-title").bounding_box()["y"] < 100


@pytest.mark.thorough
@pytest.mark.parametrize("width", [320, 360, 800, 1440])
def test_page_fits_every_screen(visit, width):
    page = visit(viewport={"width": width, "height": 800})
    unfold(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.wait_for_timeout(50)
    unreachable = page.evaluate(
        """() => [...document.querySelectorAll(".scroll, .plate")].filter(e =>
            e.checkVisibility() && e.scrollWidth > e.clientWidth && e.tabIndex < 0).length"""
    )
    assert unreachable == 0


@pytest.mark.thorough
@pytest.mark.parametrize("width", [390, 1280])
def test_estimates_and_whole_figures_are_on_every_screen(visit, width):
    page = visit(viewport={"width": width, "height": 800})
    unfold(page)
    for picture in page.locator(".plate img").all():
        assert picture.bounding_box()["width"] <= width
    estimates = page.locator("#claim-T2b").get_by_text("−0.75 (−0.8 to −0.7)")
    seen = [e for e in estimates.all() if e.is_visible()]
    assert len(seen) == 1
    box = seen[0].bounding_box()
    assert 0 <= box["x"] < box["x"] + box["width"] <= width


@pytest.mark.thorough
def test_print_shows_a_summary_and_the_figures(visit):
    page = visit("#verdict=does%20not%20hold")
    page.emulate_media(media="print")
    assert shown(page) == [name for name in EVERY if name != "T1"]
    for selector in ("#filter", ".copy", ".contents", ".skip", ".site", "details:not(.listing)"):
        assert not page.locator(selector).first.is_visible()
    assert page.locator("#figure-fig6 img").is_visible()
    assert page.locator(".counts").is_visible()
    printed = page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= 3
    assert b"/Subtype /Image" in printed
    page.emulate_media(media="screen")
    assert shown(page) == ["E1", "T2b", "B"]
