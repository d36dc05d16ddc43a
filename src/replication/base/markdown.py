"""Tables in Markdown, and text in which it finds nothing."""

import re
from collections.abc import Iterable, Sequence
from html import escape

_LIVE = re.compile(r"<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<=\])\(")


class Markdown(str):
    """Text whose signs are meant, links and HTML, too."""


def inert(text: str) -> str:
    """Return a text in one line, in which Markdown finds neither HTML nor links.

    What papers, users and machines say is shown as it stands; a sign that begins nothing stays.
    """
    return _LIVE.sub(lambda sign: "&#40;" if sign[0] == "(" else escape(sign[0]), _line(text))


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table; a cell that is no `Markdown` is made `inert`."""
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(_cell(text) for text in row)} |" for row in lines]


def _cell(text: str) -> str:
    """Escape a bar, which ends a cell."""
    return (_line(text) if isinstance(text, Markdown) else inert(text)).replace("|", r"\|")


def _line(text: str) -> str:
    return " ".join(text.split())
