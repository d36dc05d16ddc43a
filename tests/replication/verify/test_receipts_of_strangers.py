"""Receipts of strangers: whatever they hold, no page or table is spoilt."""

import json
import re

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from made_receipts import ONE, STUDY, TOLD, TOLD_ELSEWHERE, project_with_receipt, rewritten

from replication.base.errors import InputError
from replication.documents.scorecards import reproduction_lines
from replication.figures.typeset import number
from replication.report.site import page_environment
from replication.verify.receipt import refuse_unreadable
from replication.verify.reproductions import (
    COLUMNS,
    FOLDER,
    all_reproductions,
    verdicts_of_others,
)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return project_with_receipt(tmp_path_factory.mktemp("project"))


LIVE = [
    "https://a.b", "www.a.b", "@name", "*bold*", "_a_", "$x$", "#1", "a@b.c", "<b>", "[a](b)", "`",
    "|", "&lt;", "\\", ":smile:", "e" + "\u0301" * 99, "\u202eabc", "\x00", "\ud800", "\u2066",
    "\n::error::", "C:/Users/name", "9" * 400, "9999-12-31T23:59:59-14:00", "1-999999", " ", "",
]  # fmt: skip


def places(data, above=""):
    """Every place of a receipt, as `rewritten` takes them."""
    for key, value in data.items():
        yield above + key
        if isinstance(value, dict):
            yield from places(value, f"{above}{key}__")


TEXTS = st.sampled_from(LIVE) | st.text()
ANYTHING = TEXTS | st.none() | st.booleans() | st.integers() | st.floats()
NESTED = ANYTHING | st.lists(ANYTHING, max_size=3) | st.dictionaries(TEXTS, ANYTHING, max_size=3)
WORDS = st.text("aZ09()+.,:;@'=!_-", min_size=1, max_size=9)
LIKELY = st.fixed_dictionaries({}, optional={
    "by": st.text("aé龙`|\\<>&@*_[]()$ ", min_size=1, max_size=9),
    "date": st.integers(1, 31).map("2026-01-{:02}T00:00:00Z".format),
    "machine__processor": WORDS,
    "machine__emulated": st.dictionaries(st.text("aZ_", min_size=1), WORDS, max_size=3),
    "machine__gpu": WORDS,
    "packages__torch": st.text("aZ09.!+_-", min_size=1).map("2".__add__),
    "verdicts__C2__lowest": st.floats(-1e300, 1.9),
    "verdicts__C2__highest": st.floats(2.1, 1e300),
})  # fmt: skip
"""What may well stand in a receipt."""
UNLIKELY = st.dictionaries(
    st.sampled_from([*places(TOLD)])
    | st.builds("machine__emulated__{}".format, TEXTS.filter(lambda text: "__" not in text)),
    NESTED,
    max_size=1,
)
PLAIN_CELL = re.compile(r"`[^`|]+`|[A-Za-z0-9_ ,-]*", re.ASCII)
"""Of a table in Markdown: code, or letters that are no markup."""
SECTION = page_environment().get_template("reproductions.html")
EMPTY_SECTION = SECTION.render(reproductions=[[""]], columns=COLUMNS)


@given(told=st.sampled_from([TOLD, TOLD_ELSEWHERE]), likely=LIKELY, other=UNLIKELY)
def test_a_receipt_that_passes_neither_stops_nor_decorates_what_shows_it(root, told, likely, other):
    path = root / FOLDER / STUDY / ONE
    path.write_text(rewritten(**(likely | other))(json.dumps(told)))
    said = ""
    try:
        sent_in = all_reproductions(root)
    except InputError as error:
        said = error.message
    if said:
        assert said.startswith(str(root / FOLDER))
        assert said.isprintable()
        return
    lines = reproduction_lines(sent_in)
    event("passed")
    assert len(lines) == 3
    cells = lines[2][2:-2].split(" | ")
    assert len(cells) == 1 + len(COLUMNS)
    assert all(map(PLAIN_CELL.fullmatch, cells)), cells
    rows = [item.row for item in sent_in]
    section = SECTION.render(reproductions=rows, columns=COLUMNS)
    assert {*re.findall(r"<(\w+)", section)} == {*re.findall(r"<(\w+)", EMPTY_SECTION)}
    assert all(refuse_unreadable(cell) == cell for row in rows for cell in row)
    for items in verdicts_of_others(sent_in).values():
        for item in items:
            ends = item["lowest"], item["highest"]
            assert ends == (None, None) or (ends[0] <= ends[1] and all(map(number, ends)))
