"""Sets of labelled texts, one reader each, with the splits as they were published.

CR and Subj have no test set: a fixed part of each, drawn once for all seeds, is held out as one.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from replication.base.errors import InputError
from replication.base.random_streams import generator
from replication.base.strict import describe_error, shorten
from transformer_dynamics.encoders import given
from transformer_dynamics.encoders.lines import Placed, Row, parsed, read_csv, read_lines
from transformer_dynamics.encoders.settings import GIVEN, MEND, TEXT_FILES, TextName

HELD_OUT = {"cr": 1000, "subj": 2000}
"""Least number of test samples where there is no test set; repeats of a text stay together."""


class Texts(NamedTuple):
    """Labelled texts, or pairs of texts."""

    first: list[str]
    """[n] Texts, or the first text of each pair."""
    second: list[str] | None
    """[n] Second text of each pair; none if texts are single."""
    labels: NDArray[np.int64]
    """[n] Number of the class of each text."""
    classes: tuple[str, ...]
    """[C] Names of the classes."""

    @property
    def size(self) -> int:
        """Number of texts."""
        return len(self.labels)

    def take(self, indices: Sequence[int] | NDArray[np.integer]) -> "Texts":
        """Return the texts at some places, in the order given."""
        second = None if self.second is None else [self.second[i] for i in indices]
        chosen = np.asarray(indices, dtype=np.int64)
        return Texts([self.first[i] for i in indices], second, self.labels[chosen], self.classes)

    @property
    def keys(self) -> list[str]:
        """[n] Key of each text, equal for repeats: its letters and digits in lower case.

        A text without any letter or digit is its own key.
        """
        pairs = zip(self.first, self.second or [""] * self.size, strict=True)
        return [_key(first) + ("|" + _key(second) if second else "") for first, second in pairs]


T = TypeVar("T")


class SplitsOf(NamedTuple, Generic[T]):
    """A set as it was published, in whatever form its texts are."""

    train: T
    """Training set."""
    validation: T | None
    """Validation set, if there is one besides the test set."""
    test: T
    """Test set; of GLUE and SuperGLUE, whose test labels are secret, the validation set."""


Splits = SplitsOf[Texts]
"""Published set with its texts themselves."""


def read(name: TextName, paths: Sequence[str | Path]) -> Splits:
    """Read the published splits of a set from its files, in the order of `TEXT_FILES`.

    Raises an `InputError` if one is not there or has a wrong line, or if a split has no text.
    """
    missing = [str(path) for path in paths if not Path(path).is_file()]
    if missing or len(paths) != len(TEXT_FILES[name]):
        fetch = f"fetch them with `snakemake results/datasets/{name}/{TEXT_FILES[name][0]}`, or "
        raise InputError(
            f"{missing[0] if missing else name}: the set {name} needs the files"
            f" {', '.join(TEXT_FILES[name])}; {'' if name in GIVEN else fetch}set its folder to one"
            " with them"
        )
    splits = READERS[name]([Path(path) for path in paths])
    for part, found in splits._asdict().items():
        if found is not None and not found.size:
            raise InputError(
                f"{', '.join(map(str, paths))}: the {part} set of {name} has no text; {MEND}"
            )
    return splits


def _key(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower())) or text.strip()


def _texts(
    rows: Sequence[Placed[Row]], classes: Sequence[str], names: Sequence[str] | None = None
) -> Texts:
    """Return the texts of rows [n] of one length, each a label and texts.

    `classes` are the labels in the file; `names` name the classes if the labels do not.
    """
    numbers = {label: number for number, label in enumerate(classes)}
    # There are no classes if the training set is empty; `read` says so, not a line of another file.
    rows = rows if classes else []
    for place, (label, *_) in rows:
        if label not in numbers:
            raise InputError(
                f"{place}: the label {shorten(repr(label))} is none of"
                f" {shorten(', '.join(classes))}; {MEND}"
            )
    return Texts(
        [row[1].strip() for _, row in rows],
        [row[2].strip() for _, row in rows] if any(len(row) == 3 for _, row in rows) else None,
        np.array([numbers[row[0]] for _, row in rows], dtype=np.int64),
        tuple(names or classes),
    )


class _Entailment(BaseModel):
    """A line of CB, which has other keys, too."""

    label: str
    premise: str
    hypothesis: str


def _cb(paths: list[Path]) -> Splits:
    def row(line: str) -> Row:
        read = _Entailment.model_validate_json(line)
        return read.label, read.premise, read.hypothesis

    def one(path: Path) -> Texts:
        rows = parsed(
            read_lines(path), row, "a JSON object with the texts label, premise, hypothesis"
        )
        return _texts(rows, ("entailment", "contradiction", "neutral"))

    return Splits(one(paths[0]), None, one(paths[1]))


def _table(path: Path, columns: Sequence[str]) -> list[Placed[Row]]:
    """Return some columns of a tab-separated file with a header and no quoting."""
    lines = [(place, line.split("\t")) for place, line in read_lines(path)]
    expected = f"tab-separated columns, among them {', '.join(columns)}"
    # An empty file has no header and no rows.
    header = lines[0][1] if lines else []
    rows = parsed(lines, lambda line: [line[header.index(column)] for column in columns], expected)
    return rows[1:]


def _rte(paths: list[Path]) -> Splits:
    columns = ("label", "sentence1", "sentence2")
    classes = ("entailment", "not_entailment")
    train, test = (_texts(_table(path, columns), classes) for path in paths)
    return Splits(train, None, test)


def _sst2(paths: list[Path]) -> Splits:
    train, test = (
        _texts(_table(path, ("label", "sentence")), ("0", "1"), ("negative", "positive"))
        for path in paths
    )
    return Splits(train, None, test)


def _cola(paths: list[Path]) -> Splits:
    """Read CoLA: source, label, the authors' mark and sentence, without a header."""

    def one(path: Path) -> Texts:
        lines = [(place, line.split("\t")) for place, line in read_lines(path)]
        rows = parsed(lines, lambda line: (line[1], line[3]), "four tab-separated columns")
        return _texts(rows, ("0", "1"), ("unacceptable", "acceptable"))

    return Splits(one(paths[0]), None, one(paths[1]))


def _mrpc(paths: list[Path]) -> Splits:
    """Read MRPC, with the training set of GLUE.

    It is Microsoft's without the pairs that `dev_ids.tsv` names.
    """
    texts, ids = ("Quality", "#1 String", "#2 String"), ("#1 ID", "#2 ID")
    held = {tuple(line.split("\t")) for _, line in read_lines(paths[1])}
    published = _table(paths[0], (*texts, *ids))
    rows = [(place, row[:3]) for place, row in published if tuple(row[3:]) not in held]
    train, test = (
        _texts(part, ("0", "1"), ("different", "paraphrase"))
        for part in (rows, _table(paths[2], texts))
    )
    return Splits(train, None, test)


def _labelled_lines(path: Path, names: Sequence[str], encoding: str = "utf-8") -> Texts:
    """Read lines of a number, a space and a text."""

    def row(line: str) -> Row:
        label, text = line.split(" ", 1)
        return label, text

    rows = parsed(read_lines(path, encoding), row, "a label, a space and a text")
    return _texts(rows, [str(number) for number in range(len(names))], names)


def _trec6(paths: list[Path]) -> Splits:
    # The order in which the numbers were given; one byte of the training set is no UTF-8.
    names = ("description", "entity", "abbreviation", "human", "location", "number")
    train, test = (_labelled_lines(path, names, "latin-1") for path in paths)
    return Splits(train, None, test)


def _stanford(names: Sequence[str]) -> Callable[[list[Path]], Splits]:
    def reader(paths: list[Path]) -> Splits:
        return Splits(*(_labelled_lines(path, names) for path in paths))

    return reader


def _one_file(name: TextName, names: Sequence[str]) -> Callable[[list[Path]], Splits]:
    def reader(paths: list[Path]) -> Splits:
        return _hold_out(_labelled_lines(paths[0], names, "latin-1"), HELD_OUT[name])

    return reader


def _hold_out(texts: Texts, number: int) -> Splits:
    """Split off a fixed test set, at most half of the texts, that shares no text with the rest."""
    keys = texts.keys
    distinct = list(dict.fromkeys(keys))
    least = min(number, texts.size // 2)
    order = generator(0, "held-out test set").permutation(len(distinct))
    counts = dict.fromkeys(distinct, 0)
    for key in keys:
        counts[key] += 1
    cumulative = np.cumsum([counts[distinct[i]] for i in order])
    held = {distinct[i] for i in order[: int(np.searchsorted(cumulative, least)) + 1]}
    test = [i for i, key in enumerate(keys) if key in held]
    train = [i for i, key in enumerate(keys) if key not in held]
    return Splits(texts.take(train), None, texts.take(test))


def _banking77(paths: list[Path]) -> Splits:
    """Read BANKING77, whose quoted texts may hold line breaks."""

    def row(cells: list[str]) -> Row:
        text, category = cells
        return category, text

    def rows(path: Path) -> list[Placed[Row]]:
        found = parsed(read_csv(path), row, "the columns text,category")
        if found and found[0][1] != ("category", "text"):
            raise InputError(f"{found[0][0]}: the header is not text,category; {MEND}")
        return found[1:]

    train, test = map(rows, paths)
    classes = sorted({category for _, (category, _) in train})
    return Splits(_texts(train, classes), None, _texts(test, classes))


class _Intents(BaseModel):
    """CLINC150: pairs of a text and its intent; texts out of its scope are left out."""

    train: list[tuple[str, str]]
    val: list[tuple[str, str]]
    test: list[tuple[str, str]]


def _clinc150(paths: list[Path]) -> Splits:
    (path,) = paths
    try:
        parts = _Intents.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = describe_error(error, str(path)).partition("\n")[0]
        raise InputError(f"{first}; {MEND}") from error
    classes = sorted({intent for _, intent in parts.train})
    train, validation, test = (
        _texts(
            [(f"{path}: {part} > {i}", (intent, text)) for i, (text, intent) in enumerate(pairs)],
            classes,
        )
        for part, pairs in parts
    )
    return Splits(train, validation, test)


def _given(name: TextName) -> Callable[[list[Path]], Splits]:
    """Return the reader of a set that a user gives: training set, validation set if any, test."""

    def reader(paths: list[Path]) -> Splits:
        rows, classes = given.ROWS[name], given.CLASSES[name]
        train, *validation, test = (_texts(rows(path), classes) for path in paths)
        return Splits(train, validation[0] if validation else None, test)

    return reader


_POLARITY = ("negative", "positive")
_STARS = ("very negative", "negative", "neutral", "positive", "very positive")
READERS: dict[TextName, Callable[[list[Path]], Splits]] = {
    "cb": _cb,
    "rte": _rte,
    "cola": _cola,
    "sst2": _sst2,
    "mrpc": _mrpc,
    "trec6": _trec6,
    "cr": _one_file("cr", _POLARITY),
    "sst2_sentences": _stanford(_POLARITY),
    "sst5": _stanford(_STARS),
    "subj": _one_file("subj", ("subjective", "objective")),
    "banking77": _banking77,
    "clinc150": _clinc150,
    **{name: _given(name) for name in given.ROWS},
}
"""Reader of each set's files, which are in the order of `TEXT_FILES`."""
