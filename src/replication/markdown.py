"""Tables in Markdown."""

from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table; in a cell a bar is escaped, and a line break is a space."""
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(_cell(text) for text in row)} |" for row in lines]


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")
