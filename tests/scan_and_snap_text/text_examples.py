"""Small corpora, training jobs on them, and programs, for the tests of training on text."""

import hashlib
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from click.testing import CliRunner, Result
from conftest import DEFAULTS

from replication.base.keys import digest_of_code
from replication.plan.steps import Input, Step, StepsFile
from replication.run.program import main
from transformer_dynamics.scan_and_snap_text.data.corpus import Corpus
from transformer_dynamics.scan_and_snap_text.settings.metrics import WordSettings
from transformer_dynamics.scan_and_snap_text.settings.training import (
    Evaluation,
    TextModel,
    TextTraining,
    TextTrainJob,
    TokenJob,
)
from transformer_dynamics.scan_and_snap_text.training.loop import training_states
from transformer_dynamics.scan_and_snap_text.training.output_layer import BLOCK
from transformer_dynamics.scan_and_snap_text.training.progress import Arrays, Progress

MEASURES = DEFAULTS.section("scan_and_snap_text").metrics
"""Of the default settings."""
PACKAGE = "transformer_dynamics.scan_and_snap_text"
WORDS = BLOCK + 300
"""Of the corpus of random words: more than a block of the output layer."""
LENGTH = 7
"""Positions of its chunks; no width of a model here, so that shapes tell tensors apart."""
SMALL = TextModel(layers=2, width=12, hidden=8)


def word_measures(**changes: int) -> WordSettings:
    """Those of the default settings with other values of some keys."""
    return WordSettings.model_validate(MEASURES.words.model_dump() | changes)


def text_job(model: TextModel = SMALL, rate: float = 2.0, **training: object) -> TextTrainJob:
    """A job on the corpus of random words, without dropout unless it is asked for."""
    settings = {"updates": 4, "dropout": 0.0, "batch_size": 3, "chunk_length": LENGTH}
    return TextTrainJob(
        tokens=TokenJob(train="0" * 64, valid="0" * 64),
        model=model,
        learning_rate=rate,
        training=TextTraining.model_validate(settings | training),
        evaluation=Evaluation(shown_chunk=0, batch_size=2, sampled_chunks=1),
        device="cpu",
    )


def random_words() -> Corpus:
    """200 words of training text drawn uniformly, and the first 80 of them again."""
    ids = np.random.default_rng(0).integers(WORDS, size=200).astype(np.int32)
    words = [f"word{index}" for index in range(WORDS)]
    return Corpus(words, np.bincount(ids, minlength=WORDS), ids, ids[:80])


def trained(job: TextTrainJob, seed: int = 1, progress: Progress | None = None) -> Progress:
    """The state after the last update."""
    *_, last = training_states(job, seed, random_words(), progress)
    return last


def kept(state: Progress) -> Arrays:
    """What `Progress.arrays` gives, but unchanged by later updates."""
    return {name: values.copy() for name, values in state.arrays().items()}


def assert_same_bits(found: Arrays, expected: Arrays) -> None:
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name].dtype == values.dtype, name
        assert found[name].tobytes() == values.tobytes(), name


FILE_KEY = "0123456789abcdef"
"""Key of every file that is made here."""


def order(
    stage: str, name: str, function: str, settings: object, output: Path, **others: object
) -> list[str]:
    """Options of `replication.run.program` for a program of this study."""
    program = f"{PACKAGE}.{name}"
    told = Step(
        outputs=(str(output),), stage=stage, program=program, function=function,
        settings=settings, digest="", key=FILE_KEY, code=digest_of_code((program,)), **others,
    )  # fmt: skip
    return [str(StepsFile([told], Path(mkdtemp())))]


def tokenised(job: TokenJob, texts: list[Path], output: Path) -> Result:
    """Number the words of two texts."""
    sources = tuple(Input(str(text), "source") for text in texts)
    told = order("data", "data.corpus", "sample", job.model_dump(), output, inputs=sources)
    return CliRunner().invoke(main, told)


def assert_one_sentence(result: Result, message: str) -> None:
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 1
    assert f"Error: {message}" in result.stderr


def markov_text(path: Path, length: int, seed: int, num_words: int = 120) -> str:
    """Write running text in which a word's successor is one of three; returns its sha256.

    The successors are the same for every seed; low numbers are more frequent.
    """
    rules = np.random.default_rng(0)
    share = 1 / np.arange(1, num_words + 1)
    following = rules.choice(num_words, size=(num_words, 3), p=share / share.sum())
    random = np.random.default_rng(seed)
    words = [0]
    for step in random.integers(5, size=length - 1):
        word = following[words[-1], step] if step < 3 else random.integers(num_words)
        words.append(int(word))
    lines = [words[start : start + 50] for start in range(0, length, 50)]
    text = "\n".join(" ".join(f"w{word}" for word in line) for line in lines)
    path.write_text(text)
    return hashlib.sha256(text.encode()).hexdigest()
