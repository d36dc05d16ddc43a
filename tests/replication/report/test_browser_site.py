"""The site in a real browser: index and page, from a folder and from a server."""

from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from click.testing import CliRunner
from conftest import PATIENCE, ROOT
from in_browser import scroll_through, serious_violations
from report_folder import SVG

from replication.report import command
from replication.report.command import main as report


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """The folder of a site of one page."""

    def draw(drawings):
        for each in drawings:
            each.file.parent.mkdir(exist_ok=True)
            each.file.write_text(SVG)

    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "draw_all", draw)
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
            page.set_default_timeout(1000 * PATIENCE)
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
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(f"{index.as_uri()}/index.html")
    assert serious_violations(axe.Axe(), page) == []
    page.close()
