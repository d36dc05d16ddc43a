"""The page in a browser by keyboard, to screen readers, in the dark, without scripts."""

import re
from itertools import pairwise

import pytest
from in_browser import EVERY, address, motion, serious_violations, shown, unfold  # noqa: F401

from replication.judge.verdicts import OUTCOMES


@pytest.mark.thorough
def test_everything_works_by_keyboard(visit):
    page = visit()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the claims"
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.verdict") == "verified":
            break
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"
    page.keyboard.press("Enter")
    assert shown(page) == ["T1"]
    page.keyboard.press("Space")
    assert shown(page) == EVERY
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "search":
            break
    page.keyboard.type("T2c")
    assert shown(page) == ["T2c"]
    page.keyboard.press("Enter")
    assert shown(page) == ["T2c"]
    for place in ("[aria-labelledby=group-fig6] > .more", "#claim-T2c details >> nth=0"):
        page.locator(place).locator("summary").first.focus()
        page.keyboard.press("Enter")
    assert page.locator("#claim-T2c table.numbers").is_visible()


@pytest.mark.thorough
def test_structure_is_told_to_a_screen_reader(visit):
    page = visit()
    assert page.evaluate("document.documentElement.lang") == "en"
    levels = page.eval_on_selector_all("h1,h2,h3,h4,h5", "all => all.map(e => +e.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = page.eval_on_selector_all("[id]", "all => all.map(e => e.id)")
    assert len(ids) == len(set(ids))
    named = page.evaluate(
        """() => [...document.querySelectorAll("[aria-labelledby], [aria-describedby]")].every(e =>
            [e.getAttribute("aria-labelledby"), e.getAttribute("aria-describedby")]
            .filter(Boolean).every(id => document.getElementById(id)?.textContent.trim()))"""
    )
    assert named
    pictures = page.locator("img, svg[role=img], [role=img]")
    assert pictures.count() == 2 + 2
    bare = page.evaluate(
        """() => [...document.querySelectorAll("img, svg, [role=img]")].filter(e =>
            !(e.alt || e.ariaLabel || e.getAttribute("aria-labelledby")
              || e.closest("[aria-hidden=true]"))).map(e => e.outerHTML)"""
    )
    assert bare == []
    assert "Figure 6. Two curves that fall. Claims: T2a reproduced" in page.get_by_role(
        "img", name="Figure 6"
    ).get_attribute("alt")
    assert page.get_by_role("img", name="1 reproduced, 1 does not hold, 1 open").count() == 1
    assert {element.text_content() for element in page.locator("th[scope]").all()} > {"estimate"}


CONTRAST = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (c) => c.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return rgba("Canvas");
  };
  const found = {};
  for (const e of document.querySelectorAll("body *")) {
    const text = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    const sign = e.matches(".sign, .mark, .interval, .axis, .bound");
    if (!(text || sign) || e.matches(".skip, script, title, desc")) continue;
    if (!e.checkVisibility()) continue;
    const style = getComputedStyle(e);
    const drawn = e instanceof SVGElement;
    const colour = rgba(sign && drawn ? (style.stroke === "none" ? style.fill : style.stroke)
      : drawn ? style.fill : style.color);
    const [a, b] = [light(colour), light(ground(sign && !drawn ? e.parentElement : e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const name = `${sign ? "sign" : "text"} ${e.tagName} ${e.getAttribute("class")}`;
    found[name] = Math.min(found[name] ?? 99, ratio);
  }
  return found;
}"""


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_enough(visit, scheme):
    page = visit(color_scheme=scheme)
    unfold(page)
    found = page.evaluate(CONTRAST)
    assert len([name for name in found if "SPAN badge" in name]) == len(OUTCOMES)
    assert len(found) > 40
    low = {k: v for k, v in found.items() if v < (3 if k.startswith("sign") else 4.5)}
    assert low == {}
    background = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    lightness = sum(map(int, re.findall(r"\d+", background)[:3])) / 3
    assert (lightness < 60) == (scheme == "dark")


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = visit(color_scheme=scheme)
    unfold(page)
    assert serious_violations(axe.Axe(), page) == []


@pytest.mark.thorough
def test_figures_follow_dark_mode(visit):
    page = visit(color_scheme="dark")
    style = "e => getComputedStyle(e)."
    assert "invert" in page.locator(".plate img").first.evaluate(style + "filter")
    plate = page.locator(".plate").first.evaluate(style + "backgroundColor")
    assert max(map(int, re.findall(r"\d+", plate)[:3])) < 60


def test_without_scripts_everything_can_be_reached(visit):
    page = visit("#verdict=verified", java_script_enabled=False)
    assert page.locator("#list tbody tr").count() == len(EVERY)
    for selector in ("#filter", ".copy", ".scripted", ".sort"):
        assert not page.locator(selector).first.is_visible()
    assert page.locator(".count").first.is_disabled()
    page.locator("#theory summary").filter(has_text="Theorem").first.click()
    assert page.locator("#claim-T1").is_visible()
    page.locator("#claim-T1 summary").first.click()
    assert page.locator("#claim-T1 table.numbers").is_visible()
