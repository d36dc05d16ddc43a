"""Sets of the paper on linear probing that this project cannot fetch, from a user's folder.

BoolQ, WiC and WSC are read as SuperGLUE distributes them, the sets of BOSS and PubMed 20k RCT as
their authors do, or as any table with a column of texts and one of labels. Texts are put together
as the paper's released code does it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, StrictBool, ValidationError

from replication.base.errors import InputError
from replication.base.strict import shorten
from transformer_dynamics.encoders.lines import Placed, Row, parsed, read_csv, read_lines
from transformer_dynamics.encoders.settings import MEND, TextName

_SENTIMENTS = ("negative", "positive", "neutral")
_ROLES = ("BACKGROUND", "CONCLUSIONS", "METHODS", "OBJECTIVE", "RESULTS")
CLASSES: dict[TextName, tuple[str, ...]] = {
    "boolq": ("false", "true"),
    "wic": ("false", "true"),
    "wsc": ("false", "true"),
    "amazon": _SENTIMENTS,
    "dynasent": _SENTIMENTS,
    "semeval": _SENTIMENTS,
    "boss_sst5": _SENTIMENTS,
    "pubmed": _ROLES,
}
"""Names of the classes of each set, in the order of their numbers."""
TEXT_COLUMNS, LABEL_COLUMNS = ("text", "sentence"), ("label", "target")
"""Names of the columns of a table, in any case; the first that is there is read."""


class _Question(BaseModel):
    """A line of BoolQ: a question, and the passage that answers it."""

    question: str
    passage: str
    label: StrictBool

    @property
    def texts(self) -> Row:
        """Pair of question and passage."""
        return self.question, self.passage


class _Word(BaseModel):
    """A line of WiC: a word in two sentences.

    The released code marks no place of the word, which is named in a question after both sentences.
    """

    word: str
    sentence1: str
    sentence2: str
    label: StrictBool

    @property
    def texts(self) -> Row:
        """One text: both sentences, then the question."""
        question = f"Does {self.word} have the same meaning in both sentences?"
        return (f"{self.sentence1} {self.sentence2} {question}",)


class _Spans(BaseModel):
    """Two spans of a text of WSC: a noun, and a pronoun that may stand for it."""

    span1_text: str
    span2_text: str


class _Pronoun(BaseModel):
    """A line of WSC: a text, and two spans of it.

    The released code marks no place of the pronoun, which is named before the text.
    """

    text: str
    target: _Spans
    label: StrictBool

    @property
    def texts(self) -> Row:
        """Pair of the pronoun with its text, and the noun."""
        return f"{self.target.span2_text}: {self.text}", self.target.span1_text


def _json_lines(kind: type[_Question | _Word | _Pronoun], path: Path) -> list[Placed[Row]]:
    keys = ", ".join(name for name in kind.model_fields if name != "label")
    rows: list[Placed[Row]] = []
    for place, line in read_lines(path):
        try:
            read = kind.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            said = f"{where}: {first['msg']}" if where else first["msg"]
            raise InputError(
                f"{place}: is no JSON object with {keys} and a label, true or false"
                f" ({shorten(said, 100)}); {MEND}"
            ) from error
        rows.append((place, (str(read.label).lower(), *read.texts)))
    return rows


def _table(classes: Sequence[str], path: Path) -> list[Placed[Row]]:
    """Read a table with a column of texts and one of labels, which are names or numbers.

    Rows without a text are left out, as in the released code: BOSS has a few.
    """
    found = _objects(path) if path.suffix == ".jsonl" else _cells(path)
    numbers = {str(number): name for number, name in enumerate(classes)}
    return [
        (place, (numbers.get(label, label), text)) for place, (label, text) in found if text.strip()
    ]


def _objects(path: Path) -> list[Placed[Row]]:
    def row(line: str) -> Row:
        read = json.loads(line)
        if not isinstance(read, dict):
            raise ValueError("no object")
        lower = {str(key).lower(): value for key, value in read.items()}
        label, text = (_first(lower, names) for names in (LABEL_COLUMNS, TEXT_COLUMNS))
        if type(text) is not str or type(label) not in {str, int}:
            raise ValueError("no text with a label")
        # A half of a letter, which JSON can write, is no text.
        return str(label), text.encode().decode()

    return parsed(read_lines(path), row, "a JSON object with a text and a label")


def _first(columns: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return the value of the first name that is there; a `ValueError` if none is."""
    return columns[_known(columns, names)]


def _known(columns: Sequence[str] | Mapping[str, Any], names: Sequence[str]) -> str:
    for name in names:
        if name in columns:
            return name
    raise ValueError(f"none of {', '.join(names)}")


def _cells(path: Path) -> list[Placed[Row]]:
    delimiter = "," if path.suffix == ".csv" else "\t"
    rows = [each for each in read_csv(path, delimiter) if each[1]]
    if not rows:
        return []
    place, header = rows[0]
    columns = [name.strip().lower() for name in header]
    try:
        at = [columns.index(_known(columns, names)) for names in (LABEL_COLUMNS, TEXT_COLUMNS)]
    except ValueError as error:
        raise InputError(
            f"{place}: the header {shorten(repr(header), 80)} lacks a column of texts or of labels;"
            f" name them {TEXT_COLUMNS[0]} and {LABEL_COLUMNS[0]}"
        ) from error

    def row(cells: list[str]) -> Row:
        if len(cells) != len(columns):
            raise ValueError("another number of cells")
        return [cells[index] for index in at]

    return parsed(rows[1:], row, f"the {len(columns)} columns of the header")


def _pubmed(path: Path) -> list[Placed[Row]]:
    """Read abstracts: a line `###` and its number, then lines of a label, a tab and a sentence.

    Sentences are put into lower case, as in the released code.
    """
    if path.suffix != ".txt":
        return _lower(_table(_ROLES, path))

    def row(line: str) -> Row:
        label, text = line.split("\t")
        return label, text

    lines = [each for each in read_lines(path) if not each[1].startswith("###")]
    return _lower(parsed(lines, row, "a label, a tab and a sentence"))


def _lower(rows: list[Placed[Row]]) -> list[Placed[Row]]:
    return [(place, (label, text.lower())) for place, (label, text) in rows]


_SENTIMENT = partial(_table, _SENTIMENTS)
ROWS: dict[TextName, Callable[[Path], list[Placed[Row]]]] = {
    "boolq": partial(_json_lines, _Question),
    "wic": partial(_json_lines, _Word),
    "wsc": partial(_json_lines, _Pronoun),
    "amazon": _SENTIMENT,
    "dynasent": _SENTIMENT,
    "semeval": _SENTIMENT,
    "boss_sst5": _SENTIMENT,
    "pubmed": _pubmed,
}
"""Reader of one file of each set: rows of label and texts."""
