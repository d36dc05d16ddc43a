"""The page: what stands in it, what it refuses, and how it behaves in a real browser."""

# ruff: noqa: RUF001 - the page has real minus signs and primes

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from conftest import ROOT, Project

from transformer_dynamics.generate import DEFAULTS
from transformer_dynamics.registry import read_registry
from transformer_dynamics.report import sources
from transformer_dynamics.report.commit import commit
from transformer_dynamics.report.forest import WIDTH, forest
from transformer_dynamics.report.page import main
from transformer_dynamics.report.sources import require_texts
from transformer_dynamics.report.typeset import number, typeset, typeset_svg
from transformer_dynamics.verification.judgement import OUTCOMES, Comparison

HOSTILE = "\"><img src=x onerror=alert(1)><script>alert('eta_Y')</script>"
POWER = {"effect": 2, "seeds": 10, "comparisons": 6, "probability": 0.97}
TESTS = {
    "bounds": {"kind": "bounds", "upper": 1e-10},
    "published": {"kind": "published", "tolerance": 5e-4},
    "interval": {"kind": "interval", "lower": -1.1, "upper": -0.9, "power": POWER},
    "trend": {"kind": "trend", "direction": "falls", "power": POWER},
    "equivalence": {"kind": "equivalence", "margin": 1.5, "power": POWER},
    "prediction": {"kind": "prediction", "power": POWER},
}


def comparison(cell="K = 10, eta_Y 2", estimate=1.0, decision="holds", **values):
    return {"cell": cell, "estimate": estimate, "decision": decision, **values}


# Claim, test, figure, verdict and comparisons: every outcome, and every kind of comparison.
CLAIMS = [
    (
        "T1", "bounds", None, "verified",
        [comparison(f"M = {10**power}", 10.0**-power, upper=1e-10) for power in range(11, 16)],
    ),
    (
        "T2a", "published", "fig6", "reproduced",
        [comparison(f"K = {i}, eta_Z 1", 1e-5 * i, lower=-5e-4, upper=5e-4) for i in range(9, 39)],
    ),
    (
        "T2b", "interval", "fig6", "contradicted",
        [
            comparison("K = 2", -0.75, "fails", low=-0.8, high=-0.7, lower=-1.1, upper=-0.9,
                       effect=-3.2, p=1, p_against=1.2345e-5),
            comparison("K = 20", -1.0, "holds", low=-1.05, high=-0.95, lower=-1.1, upper=-0.9,
                       effect=9.1, p=0.001, p_against=1),
        ],
    ),
    (
        "T2c", "trend", "fig6", "inconclusive",
        [comparison("", -0.01, "open", low=-0.05, high=0.03, upper=0, p=0.4, p_against=0.7)],
    ),
    (
        "T3", "equivalence", "fig1", "replicated",
        [comparison("a", 0.002, low=-0.004, high=0.008, lower=-0.03, upper=0.03, p=0.01)],
    ),
    (
        "T4", "prediction", "fig1", "replicated",
        [comparison("a cell whose name is far too long for its row", 0, lower=-1, upper=1)],
    ),
    ("T5", None, "fig7", "not tested", []),
    ("E1", "bounds", "fig1", "contradicted", [comparison("K = 10", 0.7, "fails", upper=1e-10)]),
    ("B", "bounds", None, "contradicted", [comparison(HOSTILE, 3.0, "fails", lower=0, upper=1)]),
]  # fmt: skip


def claim(name, test, figure, *_):
    found = {
        "id": name,
        "where": "Figure 7" if name == "T5" else "Theorem 2, Eqs. 3-4",
        "figure": figure,
        "statement": f"Statement {name} of eta_Y^-0.75 {HOSTILE if name == 'B' else ''}",
        "note": f"Note of {name}: w_n = 2.",
    }
    if test is None:
        return found | {"not_tested": "It needs data that are not public."}
    return found | {
        "quantity": "entropy in nats",
        "expected": "at most 1e-10",
        "published": "0.3",
        "measure": "some.function",
        "data": [{"experiment": "syn_medium", "metric": "entropy"}],
        "test": TESTS[test],
        "checked_by": ["test_report.test_same_bytes_twice"],
    }


REGISTRY = {
    "title": "A <b>Paper</b>",
    "authors": "A. Author",
    "venue": "Somewhere 2023",
    "claims": [claim(*row) for row in CLAIMS],
    "assumptions": [{"figures": ["fig6"], "text": "Momentum 0.9", "why": "From the log."}],
}
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="300pt" height="3in"><path d="M0 0h9"/></svg>'
TEXT = {"label": "L", "title": "Title", "drawn": "Two curves that fall.", "caption": "Of eta_Y."}


@dataclass
class Folder:
    """What a page is made of."""

    path: Path

    def __post_init__(self):
        (self.path / "verdicts").mkdir()
        for name, test, _, verdict, comparisons in CLAIMS:
            if test:
                self.write_verdict(name, verdict, comparisons)
        for name, label in {"fig1": "Figure 1", "fig6": "Figure 6"}.items():
            (self.path / f"{name}.csv").write_text("x,y\n1,2\n3,4\n")
            self.texts[name] = TEXT | {"label": label}
        (self.path / "fig1.svg").write_text(SVG)
        shutil.copy(ROOT / "docs/gallery/fig6.png", self.path)
        registry = REGISTRY | {"figures": self.texts}
        (self.path / "registry.yaml").write_text(yaml.safe_dump(registry))
        self.figures = [
            {"name": name, "drawing": name, "picture": picture, "table": f"{name}.csv",
             "command": f"snakemake figures/{name}.pdf"}
            for name, picture in (("fig1", "fig1.svg"), ("fig6", "fig6.png"))
        ]  # fmt: skip

    texts = {}
    page = property(lambda self: self.path / "results/report/index.html")

    def write_verdict(self, name, verdict, comparisons):
        record = {
            "claim": name, "verdict": verdict, "summary": f"Sum of {name} is -1e-12", "seeds": 10,
            "comparisons": comparisons, "provenance": {},
        }  # fmt: skip
        (self.path / f"verdicts/{name}.json").write_text(json.dumps(record))

    def build(self, *extra):
        verdicts = sorted(map(str, (self.path / "verdicts").iterdir()))
        figures = json.dumps({"figures": self.figures})
        return CliRunner().invoke(
            main,
            ["--registry", "registry.yaml", "--figures", figures,
             "--commit", "abc1234-dirty", "--output", str(self.page), *extra, *verdicts],
        )  # fmt: skip

    def html(self, *extra):
        result = self.build(*extra)
        assert result.exit_code == 0, result.output
        return self.page.read_text()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path)


# What stands in the page


def test_same_bytes_twice(folder):
    first = folder.html()
    assert folder.html() == first
    assert "abc1234-dirty" in first
    assert str(folder.path) not in first.replace(str(folder.path / "verdicts"), "")


def test_nothing_is_fetched_and_only_its_own_script_runs(folder):
    html = folder.html()
    links = re.findall(r'\s(?:src|href)="([^"]*)"', html)
    assert {re.match(r"data:|#", link) is not None for link in links} == {True}
    assert "@import" not in html
    assert "url(" not in html
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', html)
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert not re.search(r"\sstyle=|\son\w+=", re.sub("&lt;.*?&gt;", "", html))


def test_hostile_text_stays_text(folder):
    html = folder.html()
    assert html.count("<script") == 1
    assert "<img src=x" not in html
    assert "&lt;script&gt;alert('η<sub>Y" in html
    assert "A &lt;b&gt;Paper&lt;/b&gt;" in html


def test_every_claim_has_its_place(folder):
    html = folder.html()
    places = {
        name: re.findall(rf'id="claim-{name}".*?data-figure="(\w+)"', html)
        for name, *_ in CLAIMS
    }  # fmt: skip
    assert places == {
        "T1": ["none"], "T2a": ["fig6"], "T2b": ["fig6"], "T2c": ["fig6"], "T3": ["fig1"],
        "T4": ["fig1"], "T5": ["none"], "E1": ["fig1"], "B": ["none"],
    }  # fmt: skip
    assert "Figures that are not drawn here</h3>" in html
    assert "Theorems</h3>" in html
    errata = html[html.index('<section id="errata"') :]
    assert [name for name in places if f'id="claim-{name}"' in errata] == ["E1", "B"]
    assert "What holds instead:</b> Note of E1" in errata
    assert 'alt="Figure 1. Two curves that fall. Claims: T3 replicated; T4 replicated; E1' in html


def test_texts_are_there_for_every_drawing():
    registry = read_registry(ROOT / "papers/scan_and_snap.yaml")
    for name, figure in DEFAULTS.scan_and_snap.figures.items():
        source = {"name": name, "drawing": figure.drawing, "picture": "a.svg", "table": "a.csv"}
        require_texts([sources.FigureSource.parse(source | {"command": "c"}, name)], registry)


def test_large_table_is_linked(folder, monkeypatch):
    monkeypatch.setattr(sources, "EMBEDDED", 10)
    assert '<a href="../../fig6.csv">fig6.csv</a>,\n2 rows' in folder.html()


def test_cost_is_told_if_every_job_was_measured(folder):
    folder.figures[1]["benchmarks"] = [{"pattern": "runs/{}.tsv", "names": ["1", "2"]}]
    (folder.path / "runs").mkdir()
    (folder.path / "runs/1.tsv").write_text("s\th:m:s\n12.345\t0:00:12\n")
    assert "<dt>Cost</dt>" not in folder.html()
    (folder.path / "runs/2.tsv").write_text("s\th:m:s\n1.2\t0:00:01\n")
    assert "<dd>14 s on one core" in folder.html()
    (folder.path / "runs/2.tsv").write_text("s\th:m:s\n")
    assert "runs/2.tsv: truncated" in folder.build().output


def spoil(path, old, new):
    def change(folder):
        content = (folder.path / path).read_bytes()
        assert old in content
        (folder.path / path).write_bytes(content.replace(old, new))

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder.path / "verdicts/T1.json").unlink(), "no verdict of claim(s) T1;"),
        (lambda folder: folder.write_verdict("T5", "verified", []), "registry has no claim(s) T5"),
        (spoil("verdicts/T2a.json", b'"T2a"', b'"T2b"'), "two verdicts are of the same claim"),
        (spoil("verdicts/T1.json", b'"seeds"', b'"seed'), "verdicts/T1.json: truncated, damaged"),
        (spoil("verdicts/T1.json", b'"verified"', b'"true"'), "T1.json: verdict: Input should be"),
        (spoil("fig6.png", b"IEND", b"I"), "fig6.png: truncated, damaged"),
        (spoil("fig6.png", b"IHDR", b"IHDX"), "fig6.png: truncated, damaged"),
        (lambda folder: (folder.path / "fig6.png").unlink(), "fig6.png: there is no such file"),
        (spoil("fig1.svg", b"</svg>", b""), "fig1.svg: truncated, damaged"),
        (spoil("fig1.svg", b"300pt", b"wide"), "its size, 'wide', is not a length"),
        (spoil("fig1.csv", b"3,4", b"3"), "fig1.csv: truncated, damaged"),
        (spoil("fig1.csv", b"1,2\n3,4\n", b""), "fig1.csv: truncated, damaged"),
        (spoil("registry.yaml", b"  fig6:", b"  fig7:"), "says nothing of the drawing 'fig6'"),
        (spoil("registry.yaml", b"caption:", b"captoin:"), "did you mean 'caption'?"),
        (spoil("registry.yaml", b"venue:", b"venues:"), "did you mean 'venue'?"),
    ],
)
def test_what_cannot_be_shown_is_named(folder, change, message):
    before = folder.html()
    change(folder)
    result = folder.build()
    assert result.exit_code == 1
    assert result.output.startswith("Error: ")
    assert message in result.output
    assert "Traceback" not in result.output
    assert folder.page.read_text() == before
    assert list(folder.page.parent.iterdir()) == [folder.page]


# Geometry and typesetting


@pytest.mark.parametrize("row", CLAIMS, ids=lambda row: row[0])
def test_plots_stay_within_their_axis(row):
    comparisons = [Comparison.model_validate(item) for item in row[4]]
    if not comparisons:
        return
    plot = forest(comparisons)
    assert 0 < plot.left < plot.right < WIDTH
    assert len(plot.rows) == len(comparisons)
    assert 2 <= len(plot.ticks) <= 8
    inside = [tick.x for tick in plot.ticks]
    for shown in plot.rows:
        inside += [shown.x, *(shown.interval or ()), *shown.bounds]
        begin, width = shown.band
        assert width > 0
        assert plot.left <= begin <= begin + width <= plot.right + 2
        assert plot.top < shown.y < plot.bottom
    assert all(plot.left <= x <= plot.right for x in inside)
    assert plot.logarithmic == (row[0] in {"T1", "E1"})


def test_a_plot_of_one_value_without_bounds_has_an_axis():
    for estimate in (0.0, 5.0, -1e-300):
        plot = forest([Comparison(cell="a", estimate=estimate, decision="open")])
        assert plot.left < plot.rows[0].x < plot.right


def test_zero_stands_at_the_end_of_a_logarithmic_axis():
    items = [Comparison(cell="a", estimate=v, upper=1, decision="holds") for v in (0, 1e-9)]
    plot = forest(items)
    assert plot.logarithmic
    assert plot.rows[0].x == plot.left


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (1.5, "1.5"), (1234.5, "1,230"), (999.9, "1,000"), (-0.0456, "−0.0456"),
        (1e-16, "10⁻¹⁶"), (-1.234e-5, "−1.23×10⁻⁵"), (2e10, "2×10¹⁰"), (-1e9, "−10⁹"),
        (0.1 + 0.2, "0.3"), (0.00012345, "0.000123"),
    ],
)  # fmt: skip
def test_numbers_are_short(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("plain", "html"),
    [
        ("1/eta_Y^-0.75", "1/η<sub>Y</sub><sup>−0.75</sup>"),
        ("t_0' and beta_nn' and E'_nn", "t<sub>0</sub>′ and β<sub>nn′</sub> and E′<sub>nn</sub>"),
        ("dB_n/dt >= 1e-3", "dB<sub>n</sub>/dt ≥ 0.001"),
        ("(I+E)^{-1}, F^dagger", "(I+E)<sup>−1</sup>, F<sup>†</sup>"),
        ("seeds 1-10 of a -2 run", "seeds 1-10 of a −2 run"),
        ("in papers/a_b.csv and num_last", "in papers/a_b.csv and num_last"),
        ("a theorem's etalon", "a theorem's etalon"),
    ],
)
def test_formulas_are_set(plain, html):
    assert typeset(plain) == html


def test_svg_has_no_html():
    assert "<sub>" not in typeset_svg("eta_Y^2 <b>")
    assert "&lt;b&gt;" in typeset_svg("eta_Y^2 <b>")


# In the browser


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("no Chromium is installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


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
    assert numbers == ["1", "1", "2", "3", "1", "1"]
    assert page.locator(".count .badge").count() == len(OUTCOMES)
    answer = page.locator(".answer").inner_text()
    assert answer.startswith("4 of 9 statements hold. 3 are contradicted, 1 inconclusive and 1 not")
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


# In the workflow


def test_the_page_is_a_target_and_depends_on_its_templates(project: Project):
    graph = project.run("report", "--filegraph")
    for name in ("page.html", "claim.html", "plot.html", "style.css", "script.js", "fails.svg"):
        assert f"src/transformer_dynamics/report/templates/{name}" in graph
    assert "results/report/index.html" in graph
    assert "results/verdicts/T1.json" in graph
    assert "workflow/report/figures.yaml" in graph


def test_commit_is_that_of_the_project_alone(tmp_path):
    assert commit(tmp_path) == "unknown"
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *identity, *command], cwd=tmp_path, check=True)
    assert re.fullmatch("[0-9a-f]{7,}", commit(tmp_path))
    (tmp_path / "inner").mkdir()
    assert commit(tmp_path / "inner") == "unknown"
