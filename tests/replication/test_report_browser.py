"""The page in a real browser: loading, filters, keyboard, screen readers, sizes, colours, print."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from report_folder import Folder

from replication.verification.judgement import OUTCOMES

# In the browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        path = tmp_path_factory.mktemp("page")
        patch.chdir(path)
        folder = Folder(path)
        folder.html()
        return folder.page.as_uri()


@pytest.fixture
def visit(browser, address):
    """Open the page; at the end nothing may have gone wrong."""
    opened = []
    trouble = []

    def visit(fragment="", **options):
        page = browser.new_page(reduced_motion="reduce", **options)
        opened.append(page)
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: trouble.append(dialog.message))
        page.on("request", lambda request: trouble.append(request.url))
        page.goto(address + fragment)
        assert trouble.pop(0) == address
        return page

    yield visit
    for page in opened:
        page.close()
    assert [url for url in trouble if not url.startswith("data:")] == []


def shown(page):
    return page.eval_on_selector_all(
        ".claim", "all => all.filter(e => e.checkVisibility()).map(e => e.id.slice(6))"
    )


EVERY = ["T3", "T4", "T2a", "T2b", "T2c", "T1", "T5", "E1", "B"]


def test_page_loads_whole(visit):
    page = visit()
    assert shown(page) == EVERY
    assert page.eval_on_selector_all("img", "all => all.every(e => e.naturalWidth > 0)")
    assert page.locator(".count").all_inner_texts()[0].split("\n")[:3] == ["1", "✓", "verified"]
    numbers = page.locator(".count .number").all_inner_texts()
    assert numbers == ["1", "1", "1", "3", "1", "1", "1"]
    assert page.locator(".count .badge").count() == len(OUTCOMES)
    answer = page.locator(".answer").inner_text()
    assert answer.startswith(
        "3 of 9 statements hold. 3 are contradicted, 1 without an effect worth the name,"
        " 1 inconclusive and 1 not"
    )
    assert "2 of them errata or findings" in page.locator(".count").nth(3).inner_text()


def test_counts_filter_and_the_address_keeps_them(visit):
    page = visit()
    page.get_by_role("button", name="contradicted").click()
    assert shown(page) == ["T2b", "E1", "B"]
    assert page.get_by_role("status").inner_text() == "3 of 9 claims shown"
    assert not page.locator("#figure-fig1").is_visible()
    page.get_by_role("button", name="not tested").click()
    assert shown(page) == ["T2b", "T5", "E1", "B"]
    fragment = page.evaluate("location.hash")
    again = visit(fragment)
    assert shown(again) == ["T2b", "T5", "E1", "B"]
    again.get_by_role("button", name="Show all").click()
    assert shown(again) == EVERY
    assert again.evaluate("location.hash") == ""


def test_search_and_figure_narrow_down(visit):
    page = visit()
    box = page.get_by_role("searchbox", name="Search claims")
    box.fill("theorem T2b")
    assert shown(page) == ["T2b"]
    box.fill("η")
    assert shown(page) == EVERY
    box.fill("eta_y")
    page.get_by_role("combobox", name="Figure").select_option(label="Figure 1")
    assert shown(page) == ["T3", "T4", "E1"]
    assert shown(visit(page.evaluate("location.hash"))) == ["T3", "T4", "E1"]
    box.fill("no such thing")
    assert shown(page) == []
    assert page.get_by_text("No claim is like that.").is_visible()


def test_a_link_to_a_hidden_claim_shows_it(visit):
    page = visit("#verdict=verified")
    assert shown(page) == ["T1"]
    page.evaluate("location.hash = '#claim-T2a'")
    page.wait_for_function("document.querySelector('#claim-T2a').checkVisibility()")
    assert shown(page) == EVERY
    assert shown(visit("#claim-E1")) == EVERY
    assert shown(visit("#%zz&verdict=nonsense&figure=nonsense")) == EVERY


def test_everything_works_by_keyboard(visit):
    page = visit()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the figures"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.verdict") == "verified"
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"
    page.keyboard.press("Enter")
    assert shown(page) == ["T1"]
    page.keyboard.press("Space")
    assert shown(page) == EVERY
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "search":
            break
    page.keyboard.type("T2c")
    assert shown(page) == ["T2c"]
    page.keyboard.press("Enter")
    assert shown(page) == ["T2c"]
    summary = page.locator("#claim-T2c summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("#claim-T2c table").is_visible()


def test_commands_are_copied(visit):
    page = visit()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = page.get_by_role("button", name="Copy the command of Figure 6")
    button.click()
    page.wait_for_function(
        "[...document.querySelectorAll('.copy')].some(e => e.textContent == 'Copied')"
    )
    assert page.evaluate("navigator.clipboard.readText()") == "snakemake figures/fig6.pdf"


def test_numbers_are_downloaded(visit):
    page = visit()
    with page.expect_download() as download:
        page.get_by_role("link", name="fig6.csv").click()
    assert download.value.suggested_filename == "fig6.csv"
    assert Path(download.value.path()).read_text() == "x,y\n1,2\n3,4\n"


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
    assert pictures.count() == 2 + 8 + 2
    bare = page.evaluate(
        """() => [...document.querySelectorAll("img, svg, [role=img]")].filter(e =>
            !(e.alt || e.ariaLabel || e.getAttribute("aria-labelledby")
              || e.closest("[aria-hidden=true]"))).map(e => e.outerHTML)"""
    )
    assert bare == []
    assert "Figure 6. Two curves that fall. Claims: T2a reproduced" in page.get_by_role(
        "img", name="Figure 6"
    ).get_attribute("alt")
    assert page.get_by_role("img", name="1 reproduced, 1 contradicted, 1 inconclusive").count() == 1
    assert {element.text_content() for element in page.locator("th[scope]").all()} > {"estimate"}


@pytest.mark.parametrize("width", [320, 360, 800, 1440])
def test_page_fits_every_screen(visit, width):
    page = visit(viewport={"width": width, "height": 800})
    page.eval_on_selector_all("details", "all => all.forEach(e => { e.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.wait_for_timeout(50)
    unreachable = page.evaluate(
        """() => [...document.querySelectorAll(".scroll, .plate")].filter(e =>
            e.checkVisibility() && e.scrollWidth > e.clientWidth && e.tabIndex < 0).length"""
    )
    assert unreachable == 0


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_enough(visit, scheme):
    page = visit(color_scheme=scheme)
    page.eval_on_selector_all("details", "all => all.forEach(e => { e.open = true })")
    found = page.evaluate(CONTRAST)
    assert len([name for name in found if "badge" in name]) == len(OUTCOMES)
    assert len(found) > 40
    low = {k: v for k, v in found.items() if v < (3 if k.startswith("sign") else 4.5)}
    assert low == {}
    background = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    lightness = sum(map(int, re.findall(r"\d+", background)[:3])) / 3
    assert (lightness < 60) == (scheme == "dark")


def test_print_shows_everything(visit):
    page = visit("#verdict=verified")
    assert shown(page) == ["T1"]
    page.emulate_media(media="print")
    assert shown(page) == EVERY
    for selector in ("#filter", ".copy", ".contents", ".skip"):
        assert not page.locator(selector).first.is_visible()
    heights = page.eval_on_selector_all(
        "details > :not(summary)", "all => all.map(e => e.getBoundingClientRect().height)"
    )
    assert min(heights) > 0
    assert page.pdf().startswith(b"%PDF")
    page.emulate_media(media="screen")
    assert shown(page) == ["T1"]
    assert page.locator("details[open]").count() == 0


def test_without_scripts_everything_is_visible(visit):
    page = visit("#verdict=verified", java_script_enabled=False)
    for name in EVERY:
        assert page.locator(f"#claim-{name}").is_visible()
    for selector in ("#filter", ".copy", ".scripted"):
        assert not page.locator(selector).first.is_visible()
    assert page.locator(".count").first.is_disabled()
    page.locator("#claim-T1 summary").first.click()
    assert page.locator("#claim-T1 table").is_visible()
