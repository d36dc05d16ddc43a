"""A stamp fits one key and one content."""

import io

import pytest
from PIL import Image

from replication.base.keys import read_stamp, stamped

KEY = "0123456789abcdef"


def picture() -> bytes:
    stream = io.BytesIO()
    Image.new("L", (2, 3)).save(stream, "png")
    return stream.getvalue()


CONTENTS = {
    ".md": b"# Verdicts\n",
    ".html": b"<!doctype html>\n<title>made from </title>\n",
    ".svg": b"<svg/>\n",
    ".pdf": b"%PDF-1.4\n%%EOF\n",
    ".png": picture(),
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_every_changed_bit_is_noticed(kind):
    whole = stamped(CONTENTS[kind], kind, KEY)
    assert read_stamp(whole, kind) == KEY
    for at in range(len(whole)):
        changed = bytearray(whole)
        changed[at] ^= 1
        assert read_stamp(bytes(changed), kind) != KEY, at
    for end in range(len(whole)):
        assert read_stamp(whole[:end], kind) is None
    assert read_stamp(CONTENTS[kind], kind) is None


def test_a_picture_with_a_stamp_is_a_whole_picture():
    with Image.open(io.BytesIO(stamped(picture(), ".png", KEY))) as image:
        image.load()
        assert image.text["Stamp"].startswith(f"made from {KEY}, ")


def test_files_beside_count(tmp_path):
    beside = {"a.csv": tmp_path / "a.csv", "b.csv": tmp_path / "b.csv"}
    for path in beside.values():
        path.write_text("1\n")
    whole = stamped(b"page", ".html", KEY, beside)
    assert read_stamp(whole, ".html", beside) == KEY
    assert read_stamp(whole, ".html", {"a.csv": beside["a.csv"]}) is None
    beside["a.csv"].write_text("2\n")
    assert read_stamp(whole, ".html", beside) is None
