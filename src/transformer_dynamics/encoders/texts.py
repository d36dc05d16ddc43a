"""Sets of labelled texts, one reader each, with the splits as they were published.

CR and Subj have no test set: a fixed part of each, drawn once for all seeds, is held out as one.
"""

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from replication.errors import InputError
from replication.generators import generator
from transformer_dynamics.encoders.settings import TEXT_FILES, TextName

HELD_OUT = {"cr": 1000, "subj": 2000}
"""Least number of test samples where there is no test set; repeats of a text stay together."""


class Texts(NamedTuple):
    """Labelled texts, or pairs of texts."""

    first: list[str]
    """[n] the texts, or the first of each pair."""
    second: list[str] | None
    """[n] the second of each pair; none if they are single."""
    labels: NDArray[np.int64]
    """[n] numbers of their classes."""
    classes: tuple[str, ...]
    """[C] what the classes are called."""

    @property
    def size(self) -> int:
        """N."""
        return len(self.labels)

    def take(self, indices: Sequence[int] | NDArray[np.integer]) -> "Texts":
        """Some of them, in the order given."""
        second = None if self.second is None else [self.second[i] for i in indices]
        chosen = np.asarray(indices, dtype=np.int64)
        return Texts([self.first[i] for i in indices], second, self.labels[chosen], self.classes)

    @property
    def keys(self) -> list[str]:
        """[n] their letters and digits in lower case, so that repeats are found.

        A text without any is its own key.
        """
        pairs = zip(self.first, self.second or [""] * self.size, strict=True)
        return [_key(first) + ("|" + _key(second) if second else "") for first, second in pairs]


T = TypeVar("T")


class SplitsOf(NamedTuple, Generic[T]):
    """A set as it was published, in whatever form its texts are."""

    train: T
    """The training set."""
    validation: T | None
    """The validation set, if there is one besides the test set."""
    test: T
    """The test set; of GLUE and SuperGLUE, whose test labels are secret, the validation set."""


Splits = SplitsOf[Texts]
"""The texts themselves."""


def read(name: TextName, paths: Sequence[str | Path]) -> Splits:
    """Read a set.

    Args:
        name: which one.
        paths: its files, in the order of `TEXT_FILES`.

    Raises:
        InputError: if one is not there or has a line that is not of its format.
    """
    missing = [str(path) for path in paths if not Path(path).is_file()]
    if missing or len(paths) != len(TEXT_FILES[name]):
        raise InputError(
            f"{missing[0] if missing else name}: the set {name} needs the files"
            f" {', '.join(TEXT_FILES[name])}; fetch them with `snakemake"
            f" results/datasets/{name}/{TEXT_FILES[name][0]}`, or set its folder to one with them"
        )
    try:
        return READERS[name]([Path(path) for path in paths])
    except (ValueError, KeyError, IndexError) as error:
        raise InputError(
            f"{paths[0]}: cannot be read as {name} ({error}); fetch it again"
        ) from error


def _key(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower())) or text.strip()


def _rows(path: Path, encoding: str = "utf-8") -> list[str]:
    """Lines that are not empty; only a line feed ends one, as others occur within texts."""
    lines = path.read_bytes().decode(encoding).split("\n")
    return [line.removesuffix("\r") for line in lines if line.strip()]


def _texts(
    rows: Sequence[Sequence[str]], classes: Sequence[str], names: Sequence[str] | None = None
) -> Texts:
    """Texts from rows of a label and one text or two.

    Args:
        rows: [n] of label and texts.
        classes: labels as they are written in the file.
        names: what the classes are called, if the labels do not say it.
    """
    numbers = {label: number for number, label in enumerate(classes)}
    lengths = {len(row) for row in rows}
    if len(lengths) > 1 or not lengths <= {2, 3}:
        raise ValueError(f"rows of {sorted(lengths)} columns")
    return Texts(
        [row[1].strip() for row in rows],
        [row[2].strip() for row in rows] if lengths == {3} else None,
        np.array([numbers[row[0]] for row in rows], dtype=np.int64),
        tuple(names or classes),
    )


def _cb(paths: list[Path]) -> Splits:
    def one(path: Path) -> Texts:
        entries = [json.loads(line) for line in _rows(path)]
        rows = [(entry["label"], entry["premise"], entry["hypothesis"]) for entry in entries]
        return _texts(rows, ("entailment", "contradiction", "neutral"))

    return Splits(one(paths[0]), None, one(paths[1]))


def _table(path: Path, columns: Sequence[str]) -> list[list[str]]:
    """Columns of a tab-separated file with a header and no quoting."""
    header, *rows = (line.removeprefix("\ufeff").split("\t") for line in _rows(path))
    wanted = [header.index(column) for column in columns]
    return [[row[place] for place in wanted] for row in rows]


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
    """The files have no header; their columns are source, label, the authors' mark, sentence."""

    def one(path: Path) -> Texts:
        rows = [line.split("\t") for line in _rows(path)]
        labelled = [(row[1], row[3]) for row in rows]
        return _texts(labelled, ("0", "1"), ("unacceptable", "acceptable"))

    return Splits(one(paths[0]), None, one(paths[1]))


def _mrpc(paths: list[Path]) -> Splits:
    """GLUE's training set is Microsoft's without the pairs that `dev_ids.tsv` names."""
    columns = ("Quality", "#1 String", "#2 String", "#1 ID", "#2 ID")
    names = ("different", "paraphrase")
    held = {tuple(line.split("\t")) for line in _rows(paths[1])}
    rows = [row[:3] for row in _table(paths[0], columns) if tuple(row[3:]) not in held]
    test = [row[:3] for row in _table(paths[2], columns)]
    return Splits(_texts(rows, ("0", "1"), names), None, _texts(test, ("0", "1"), names))


def _labelled_lines(path: Path, names: Sequence[str], encoding: str = "utf-8") -> Texts:
    """Lines of a number, a space and a text."""
    rows = [line.split(" ", 1) for line in _rows(path, encoding)]
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
    """A fixed test set, at most half of the texts, that shares no text with the rest."""
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
    """Quoted texts may hold line breaks."""
    tables = []
    for path in paths:
        header, *rows = csv.reader(io.StringIO(path.read_bytes().decode("utf-8"), newline=""))
        if header != ["text", "category"]:
            raise ValueError(f"its header is {header}")
        tables.append([(category, text) for text, category in rows])
    classes = sorted({category for category, _ in tables[0]})
    train, test = (_texts(table, classes) for table in tables)
    return Splits(train, None, test)


def _clinc150(paths: list[Path]) -> Splits:
    """What is out of its scope is left out."""
    parts = json.loads(paths[0].read_text("utf-8"))
    classes = sorted({intent for _, intent in parts["train"]})
    train, validation, test = (
        _texts([(intent, text) for text, intent in parts[part]], classes)
        for part in ("train", "val", "test")
    )
    return Splits(train, validation, test)


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
}
"""From the files of a set, in the order of `TEXT_FILES`."""
