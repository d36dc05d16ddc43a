"""The table of claims in a real browser: loading, counts, filters, search, order."""

# ruff: noqa: RUF001 - the page has real minus signs

import pytest
from in_browser import EVERY, address, choose, motion, scroll_through, shown  # noqa: F401

from replication.judge.verdicts import OUTCOMES


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
