"""Links within the page, commands and files to take away, in a real browser."""

from pathlib import Path

import pytest
from in_browser import EVERY, address, motion, shown, unfold  # noqa: F401


@pytest.mark.thorough
def test_details_are_folded_and_links_unfold_them(visit):
    page = visit()
    assert page.locator("details[open]:not(.listing)").count() == 0
    assert not page.locator("#claim-T2a").is_visible()
    page.get_by_role("link", name="T2a", exact=True).first.click()
    page.wait_for_function("() => document.querySelector('#claim-T2a').checkVisibility()")
    for fragment in ("#claim-T1", "#T1"):
        assert visit(fragment).locator("#claim-T1").is_visible()


@pytest.mark.thorough
def test_a_link_to_a_hidden_claim_shows_it(visit):
    page = visit("#verdict=verified")
    assert shown(page) == ["T1"]
    page.evaluate("location.hash = '#claim-T2a'")
    page.wait_for_function("() => document.querySelector('#claim-T2a').checkVisibility()")
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
    page.wait_for_function("() => document.querySelector('#claim-T2a').checkVisibility()")
    assert not said.is_visible()
    for fragment in ("", "#figures", "#verdict=verified", "#eta_Y=1"):
        assert not visit(fragment).locator("#unknown").is_visible()


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
    assert page.evaluate("navigator.clipboard.readText()") == "snakemake figures/paper/fig6.pdf"


@pytest.mark.thorough
def test_numbers_are_downloaded(visit):
    page = visit()
    unfold(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="fig6.csv").click()
    assert download.value.suggested_filename == "fig6.csv"
    assert Path(download.value.path()).read_text() == "x,y\n1,2\n3,4\n"
