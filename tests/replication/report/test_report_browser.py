"""The page in a real browser: loading, filters, keyboard, screen readers, sizes, colours, print."""

# ruff: noqa: RUF001 - the page has real minus signs

import math
import re
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner
from conftest import ROOT
from report_folder import SVG, Folder

from replication.judge.verdicts import OUTCOMES
from replication.report import from_reference
from replication.report.command import main as report

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
def motion():
    return "reduce"


def shown(page):
    return page.eval_on_selector_all(
        "#list tbody tr",
        "all => all.filter(e => e.checkVisibility()).map(e => e.dataset.claim)",
    )


EVERY = ["T1", "E1", "T2a", "T2b", "T2c", "T3", "T4", "T5", "B"]
"""As the table shows them: by what they are about."""


def scroll_through(page):
    """Pictures are loaded when they come into sight."""
    page.eval_on_selector_all("img", "all => all.forEach(e => e.scrollIntoView())")
    page.wait_for_function("[...document.images].every(e => e.complete)")


def unfold(page):
    page.eval_on_selector_all("details", "all => all.forEach(e => { e.open = true })")


def choose(page, label, value):
    page.get_by_role("combobox", name=label).select_option(label=value)


def test_page_loads_whole(visit):
    page = visit()
    assert shown(page) == EVERY
    scroll_through(page)
    assert page.eval_on_selector_all("img", "all => all.every(e => e.naturalWidth > 0)")
    said = page.locator(".answer").inner_text()
    judged = "9 claims, of which 8 are judged."
    assert said.startswith(f"{judged} What holds: 1 of 1 of the paper's theory.")
    heads = page.locator(".counts thead th").all_inner_texts()
    assert [head.split()[-1] for head in heads[1:]] == [name.split()[-1] for name in OUTCOMES]
    table = [row.split("\t")[1:] for row in page.locator(".counts tbody tr").all_inner_texts()]
    counts = [[int(cell or 0) for cell in row] for row in table]
    assert counts == [[1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0, 0], [0, 1, 1, 1, 2, 1, 1]]
    rows = page.locator("#list tbody tr").all_inner_texts()
    assert rows[3].split("\t")[-1] == "−0.75 (−0.8 to −0.7)"


def test_counts_filter_and_the_address_keeps_them(visit):
    page = visit()
    button = page.get_by_role("button", name="2 does not hold")
    button.click()
    assert shown(page) == ["T2b", "B"]
    assert button.get_attribute("aria-pressed") == "true"
    assert page.get_by_role("status").inner_text() == "2 of 9 claims shown, 1 figure"
    assert not page.locator("#figure-fig1").is_visible()
    assert page.locator("#figure-fig6").is_visible()
    choose(page, "About", "all")
    assert shown(page) == ["E1", "T2b", "B"]
    fragment = page.evaluate("location.hash")
    again = visit(fragment)
    assert shown(again) == ["E1", "T2b", "B"]
    again.get_by_role("button", name="Show all").click()
    assert shown(again) == EVERY
    assert again.evaluate("location.hash") == ""


@pytest.mark.thorough
def test_search_and_figure_narrow_down(visit):
    page = visit()
    box = page.get_by_role("searchbox", name="Search claims")
    box.fill("theorem T2b")
    assert shown(page) == ["T2b"]
    box.fill("η")
    assert shown(page) == EVERY
    box.fill("eta_y")
    choose(page, "Figure", "Figure 1")
    assert shown(page) == ["E1", "T3", "T4"]
    assert shown(visit(page.evaluate("location.hash"))) == ["E1", "T3", "T4"]
    box.fill("no such thing")
    assert shown(page) == []
    assert page.get_by_text("No claim is like that.").is_visible()


FOUND = [
    ("Figure 6", ["T2a", "T2b", "T2c"]),
    ("Figure 1", ["E1", "T3", "T4"]),
    ("Figure 7", ["T5"]),
    *((text, ["T2a", "T2b", "T2c"]) for text in ("Fig. 6", "figure6", "figs 6")),
    *((text, [name for name in EVERY if name != "T5"]) for text in ("Thm 2", "eq 4", "η_Y eq4")),
    ("erratum 1", ["E1"]),
    ("Erratum 11", []),
    ("statement-T3", ["T3"]),
    ("printed-out words", ["T3"]),
    ("Eq. 4", [name for name in EVERY if name != "T5"]),
    ("Theorem 2", [name for name in EVERY if name != "T5"]),
    ("Theorem 20", []),
    ("t2a", ["T2a"]),
    ('"Statement T3"', ["T3"]),
    ('"of Statement T3"', []),
]
"""What a search should show, in one page: typing starts it anew."""


def test_search_knows_phrases_and_ids(visit):
    page = visit()
    for text, found in FOUND:
        page.get_by_role("searchbox").fill(text)
        assert shown(page) == found, text


@pytest.mark.thorough
def test_a_search_for_a_figure_without_claims_shows_it(visit):
    page = visit()
    page.get_by_role("searchbox").fill("only seen")
    assert shown(page) == []
    assert page.locator("#figure-fig6").is_visible()
    assert not page.locator("#figure-fig1").is_visible()
    assert page.get_by_role("status").inner_text() == "0 of 9 claims shown, 1 figure"
    assert not page.get_by_text("No claim is like that.").is_visible()


@pytest.mark.thorough
def test_a_filter_shows_figures_that_errata_rest_on_and_no_empty_part(visit):
    page = visit()
    choose(page, "About", "errata of the paper")
    assert shown(page) == ["E1"]
    assert page.locator("#figure-fig1").is_visible()
    assert not page.locator("#figure-fig6").is_visible()
    choose(page, "About", "the paper's theory")
    assert shown(page) == ["T1"]
    assert not page.locator("#figures").is_visible()
    assert page.locator("#theory").is_visible()


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
def test_the_table_is_sorted(visit):
    page = visit()
    page.get_by_role("button", name="verdict", exact=True).click()
    order = page.eval_on_selector_all("#list .badge", "all => all.map(e => e.className)")
    places = [list(OUTCOMES).index(name.split()[1].replace("-", " ")) for name in order]
    assert places == sorted(places)
    page.get_by_role("button", name="id", exact=True).click()
    page.get_by_role("button", name="id", exact=True).click()
    assert shown(page) == sorted(EVERY, reverse=True)
    assert page.locator("#list th").first.get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="found", exact=True).click()
    cells = page.eval_on_selector_all(
        "#list tbody tr", "all => all.map(e => [e.cells[4].dataset.sort, e.cells[4].textContent])"
    )
    found = [float(number) for number, _ in cells]
    assert found == sorted(found)
    assert found[0] < 0 < found[-2] < found[-1] == math.inf
    assert all((number == "Infinity") == (text == "") for number, text in cells)


@pytest.mark.thorough
def test_details_are_folded_and_links_unfold_them(visit):
    page = visit()
    assert page.locator("details[open]:not(.listing)").count() == 0
    assert not page.locator("#claim-T2a").is_visible()
    page.get_by_role("link", name="T2a", exact=True).first.click()
    page.wait_for_function("document.querySelector('#claim-T2a').checkVisibility()")
    for fragment in ("#claim-T1", "#T1"):
        assert visit(fragment).locator("#claim-T1").is_visible()


@pytest.mark.thorough
def test_a_link_to_a_hidden_claim_shows_it(visit):
    page = visit("#verdict=verified")
    assert shown(page) == ["T1"]
    page.evaluate("location.hash = '#claim-T2a'")
    page.wait_for_function("document.querySelector('#claim-T2a').checkVisibility()")
    assert shown(page) == EVERY
    assert shown(visit("#claim-E1")) == EVERY
    assert shown(visit("#%zz&verdict=nonsense&figure=nonsense")) == EVERY


@pytest.mark.thorough
def test_a_link_to_what_is_not_there_says_so(visit):
    page = visit("#claim-that-is-not-there")
    said = page.get_by_text("This page has nothing that is called claim-that-is-not-there;")
    assert said.is_visible()
    assert shown(page) == EVERY
    page.evaluate("location.hash = '#claim-T2a'")
    page.wait_for_function("document.querySelector('#claim-T2a').checkVisibility()")
    assert not said.is_visible()
    for fragment in ("", "#figures", "#verdict=verified", "#eta_Y=1"):
        assert not visit(fragment).locator("#unknown").is_visible()


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
    assert page.locator("#claim-T2c table").is_visible()


@pytest.mark.thorough
def test_commands_are_copied(visit):
    page = visit()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    unfold(page)
    button = page.get_by_role("button", name="Copy the command of Figure 6")
    button.click()
    while button.text_content() == "Copy":
        page.wait_for_timeout(20)
    assert button.text_content() == "Copied"
    assert page.evaluate("navigator.clipboard.readText()") == "snakemake figures/fig6.pdf"


@pytest.mark.thorough
def test_numbers_are_downloaded(visit):
    page = visit()
    unfold(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="fig6.csv").click()
    assert download.value.suggested_filename == "fig6.csv"
    assert Path(download.value.path()).read_text() == "x,y\n1,2\n3,4\n"


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
    assert page.get_by_role("img", name="1 reproduced, 1 does not hold, 1 open").count() == 1
    assert {element.text_content() for element in page.locator("th[scope]").all()} > {"estimate"}


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
def test_texts_of_plots_do_not_collide(visit):
    page = visit()
    unfold(page)
    collisions = page.evaluate(
        """() => [...document.querySelectorAll(".evidence svg")].flatMap((svg) => {
            const boxes = [...svg.querySelectorAll("text")].map(e => e.getBoundingClientRect());
            return boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b =>
                a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom
            ).map(() => svg.getAttribute("aria-labelledby")));
        })"""
    )
    assert collisions == []


def serious_violations(axe, page):
    found = axe.run(page).response["violations"]
    serious = [item for item in found if item["impact"] in {"serious", "critical"}]
    serious += [item for item in found if item["id"] == "landmark-unique"]
    return [(item["id"], [node["html"] for node in item["nodes"]]) for item in serious]


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


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """The folder of a site of one page."""

    def draw(drawings):
        for each in drawings:
            each.picture.parent.mkdir(exist_ok=True)
            each.picture.write_text(SVG)
            yield ""

    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(from_reference, "draw_all", draw)
        told = ["--reference", "--root", str(ROOT), "--output", str(folder), "example"]
        assert CliRunner().invoke(report, told).exit_code == 0
    return folder


@contextmanager
def served(folder):
    """The address of a folder on a server."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_site_works_from_a_folder_and_from_a_server(browser, index, width):
    with served(index) as server:
        for address in (index.as_uri(), server):
            page = browser.new_page(viewport={"width": width, "height": 800})
            trouble = []
            page.on("console", lambda message: trouble.append(message.text))  # noqa: B023
            page.goto(f"{address}/index.html")
            scroll_through(page)
            assert page.eval_on_selector_all("img", "all => all.every(e => e.naturalWidth > 0)")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.locator(".paper .plate").first.click()
            page.wait_for_url("**/example.html#figure-scorecard")
            scroll_through(page)
            assert page.eval_on_selector_all("img", "all => all.every(e => e.naturalWidth > 0)")
            page.get_by_role("link", name="All papers").click()
            page.wait_for_url("**/index.html")
            page.get_by_role("link", name="lp ft").click()
            assert page.locator("#lp_ft").is_visible()
            assert trouble == []
            page.close()


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_the_index(browser, index, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = browser.new_page(color_scheme=scheme)
    page.goto(f"{index.as_uri()}/index.html")
    assert serious_violations(axe.Axe(), page) == []
    page.close()


def test_without_scripts_everything_can_be_reached(visit):
    page = visit("#verdict=verified", java_script_enabled=False)
    assert page.locator("#list tbody tr").count() == len(EVERY)
    for selector in ("#filter", ".copy", ".scripted", ".sort"):
        assert not page.locator(selector).first.is_visible()
    assert page.locator(".count").first.is_disabled()
    page.locator("#theory summary").first.click()
    assert page.locator("#claim-T1").is_visible()
    page.locator("#claim-T1 summary").first.click()
    assert page.locator("#claim-T1 table").is_visible()
