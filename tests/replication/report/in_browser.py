"""The page in a real browser: its address, and the steps of a reader."""

import pytest
from report_folder import Folder


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


EVERY = ["T1", "E1", "T2a", "T2b", "T2c", "T3", "T4", "T5", "B"]
"""As the table shows them: by what they are about."""


def shown(page):
    return page.eval_on_selector_all(
        "#list tbody tr",
        "all => all.filter(e => e.checkVisibility()).map(e => e.dataset.claim)",
    )


def scroll_through(page):
    """Pictures are loaded when they come into sight."""
    page.eval_on_selector_all("img", "all => all.forEach(e => e.scrollIntoView())")
    page.wait_for_function("() => [...document.images].every(e => e.complete)")


def unfold(page):
    page.eval_on_selector_all("details", "all => all.forEach(e => { e.open = true })")


def choose(page, label, value):
    page.get_by_role("combobox", name=label).select_option(label=value)


def serious_violations(axe, page):
    found = axe.run(page).response["violations"]
    serious = [item for item in found if item["impact"] in {"serious", "critical"}]
    serious += [item for item in found if item["id"] == "landmark-unique"]
    return [(item["id"], [node["html"] for node in item["nodes"]]) for item in serious]
