"""Tables in Markdown, and text without Markdown's own signs."""

import re
from collections.abc import Iterable, Sequence
from html import escape

_LIVE = re.compile(r"<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<=\])\(")


class Markdown(str):
    """Text whose signs are Markdown, including links and HTML."""


def escape_markdown(text: str) -> str:
    """Return a text in one line, in which Markdown finds neither HTML nor links.

    Words of papers, users and machines are shown as they stand. Only signs that would begin HTML or
    a link are escaped.
    """
    return _LIVE.sub(lambda sign: "&#40;" if sign[0] == "(" else escape(sign[0]), _one_line(text))


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table; cells that are no `Markdown` are escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(_cell(text) for text in row)} |" for row in lines]


def _cell(text: str) -> str:
    """Return the text of a cell, with bars escaped, as these end a cell."""
    return (_one_line(text) if isinstance(text, Markdown) else escape_markdown(text)).replace(
        "|", r"\|"
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
