"""Training on text: dropout, what is recorded, and runs that were interrupted."""

import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result
from text_examples import (
    FILE_KEY,
    LENGTH,
    SMALL,
    WORDS,
    assert_one_sentence,
    assert_same_bits,
    kept,
    order,
    random_words,
    text_job,
    trained,
)
from torch import Tensor

from replication.base.errors import InputError
from replication.base.keys import KEY
from replication.base.storage import read_arrays, write_arrays
from replication.plan.steps import Input
from replication.run.checkpoint import Checkpoint
from replication.run.program import main
from transformer_dynamics.scan_and_snap_text.data.corpus import Columns, cut_columns
from transformer_dynamics.scan_and_snap_text.metrics.attention import entropy_over_uniform
from transformer_dynamics.scan_and_snap_text.settings.training import TextTrainJob
from transformer_dynamics.scan_and_snap_text.training import updates
from transformer_dynamics.scan_and_snap_text.training.loop import training_states
from transformer_dynamics.scan_and_snap_text.training.model import (
    Parameters,
    initial_parameters,
    run_encoder,
)
from transformer_dynamics.scan_and_snap_text.training.progress import Arrays, restore_progress
from transformer_dynamics.scan_and_snap_text.training.recorder import Record, Recorder

DROPPING = text_job(updates=6, dropout=0.3, recorded=[0, 2, 3])
Dropout = Callable[[Tensor], Tensor]


@pytest.fixture
def dropouts(monkeypatch) -> Callable[..., list[Dropout]]:
    """Gives the dropout of every update of a run."""

    def of(seed: int, **settings: object) -> list[Dropout]:
        found: list[Dropout] = []

        def spy(model, layers, embedded, dropout):
            found.append(dropout)
            return run_encoder(model, layers, embedded, lambda tensor: tensor)

        with monkeypatch.context() as patch:
            patch.setattr(updates, "run_encoder", spy)
            trained(text_job(**settings), seed)
        return found

    return of


def test_dropout_keeps_the_expectation(dropouts):
    (dropout,) = dropouts(1, updates=1, dropout=0.3)
    ones = torch.ones(500, 400)
    found = dropout(ones)
    zero, scaled = found.unique().tolist()
    assert zero == 0
    assert scaled == pytest.approx(1 / 0.7)
    # Five standard deviations of the mean of 200,000 draws.
    assert abs(found.mean().item() - 1) < 5 * math.sqrt(0.3 / 0.7 / ones.numel())
    again = dropout(ones)
    both = ((found > 0) & (again > 0)).float().mean().item()
    assert both == pytest.approx(0.49, abs=5 * math.sqrt(0.49 * 0.51 / ones.numel()))


def test_dropout_is_drawn_from_the_seed_and_the_update_alone(dropouts):
    def masks(seed: int) -> list[bytes]:
        tensor = torch.ones(50, dtype=torch.float64)
        return [dropout(tensor).numpy().tobytes() for dropout in dropouts(seed, dropout=0.5)]

    first = masks(1)
    torch.manual_seed(5)
    state = torch.get_rng_state()
    assert masks(1) == first
    assert torch.equal(torch.get_rng_state(), state)
    assert len({*first, *masks(2)}) == 2 * len(first)


def test_dropout_does_not_depend_on_the_number_format_or_the_layout(dropouts):
    kinds = [torch.ones(8, 6), torch.ones(8, 6, dtype=torch.float64), torch.ones(6, 8).T]
    (single, *others) = (
        dropouts(1, updates=1, dropout=0.5)[0](tensor).double() for tensor in kinds
    )
    for other in others:
        torch.testing.assert_close(other, single, rtol=0, atol=0)


def test_without_dropout_nothing_is_drawn(dropouts):
    (dropout,) = dropouts(1, updates=1, dropout=0.0)
    tensor = torch.ones(3)
    assert dropout(tensor) is tensor


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_gpu_trains_as_the_cpu_does():
    on_cpu = trained(DROPPING)
    on_gpu = trained(DROPPING.model_copy(update={"device": "cuda"}))
    assert on_gpu.losses == pytest.approx(on_cpu.losses, rel=1e-4)
    for ours, theirs in zip(on_gpu.records, on_cpu.records, strict=True):
        np.testing.assert_allclose(ours.entropy, theirs.entropy, rtol=1e-3)


@pytest.mark.parametrize("stop", [0, 1, 2, 3, 5, 6])
def test_a_run_that_goes_on_gives_the_same_bits(tmp_path: Path, stop: int):
    """Kept in a file after some updates, in which a record was just made or not."""
    checkpoint = Checkpoint(tmp_path / "run.checkpoint", {KEY: FILE_KEY})
    for state in training_states(DROPPING, 1, random_words()):
        if len(state.losses) == stop:
            checkpoint.write(state.arrays())
    read = checkpoint.read()
    assert len(read["losses"]) == stop
    begun = restore_progress(read, DROPPING, WORDS)
    assert_same_bits(kept(trained(DROPPING, 1, begun)), kept(state))
    assert len(state.records) == 4


def zero_queries(parameters: Parameters) -> Parameters:
    """With attention the same on all keys and with every next word as likely as another."""
    for layer in parameters.layers:
        layer.projection[: 2 * SMALL.width] = 0
    for tensor in parameters.output:
        tensor.zero_()
    return parameters


def test_uniform_attention_is_recorded_as_such():
    job, corpus = text_job(), random_words()
    recorder = Recorder(job, corpus, cut_columns(corpus.train, job.training.batch_size))
    parameters = zero_queries(initial_parameters(SMALL, WORDS, torch.Generator().manual_seed(0)))
    record = recorder.record(parameters, is_last=True)
    keys = np.arange(1, LENGTH + 1)
    np.testing.assert_allclose(record.entropy, np.log(keys), atol=1e-6)
    assert entropy_over_uniform(record.entropy.astype(float)) == pytest.approx(1, abs=1e-6)
    uniform = np.tril(np.ones((LENGTH, LENGTH))) / keys[:, None]
    np.testing.assert_allclose(record.shown, uniform, atol=1e-6)
    np.testing.assert_allclose(record.sampled, np.broadcast_to(uniform, (1, 2, 7, 7)), atol=1e-6)
    assert record.validation_loss == pytest.approx(math.log(WORDS), rel=1e-5)
    assert np.isnan(recorder.record(parameters, is_last=False).validation_loss)


def test_the_epsilon_of_the_settings_is_added_within_the_logarithm():
    job, corpus = text_job(), random_words()
    evaluation = job.evaluation.model_copy(update={"entropy_epsilon": 0.5})
    recorder = Recorder(
        job.model_copy(update={"evaluation": evaluation}), corpus, cut_columns(corpus.train, 3)
    )
    parameters = zero_queries(initial_parameters(SMALL, WORDS, torch.Generator().manual_seed(0)))
    record = recorder.record(parameters, is_last=False)
    expected = -np.log(1 / np.arange(1, LENGTH + 1) + 0.5)
    np.testing.assert_allclose(record.entropy, expected, atol=1e-6)


def test_records_are_what_a_slow_reading_gives():
    job, corpus = text_job(), random_words()
    parameters = trained(text_job(rate=5.0, updates=8)).parameters
    recorder = Recorder(job, corpus, cut_columns(corpus.train, 3))
    record, early = (recorder.record(parameters, is_last=is_last) for is_last in (True, False))
    for field in ("shown", "sampled", "entropy"):
        assert getattr(record, field).tobytes() == getattr(early, field).tobytes()
    # The first column of three with 66 words, and two columns of 40 words with 5 full chunks.
    train_text, valid_text = (torch.from_numpy(ids).long() for ids in (corpus.train, corpus.valid))
    shown = attention_and_losses(parameters, train_text[: LENGTH + 1])[0]
    np.testing.assert_allclose(record.shown, shown, atol=1e-6)
    losses, entropies = [], []
    for column in (0, 1):
        for chunk in range(5):
            start = 40 * column + LENGTH * chunk
            attention, loss = attention_and_losses(
                parameters, valid_text[start : start + LENGTH + 1]
            )
            if chunk == 0:
                np.testing.assert_allclose(record.sampled[0, column], attention, atol=1e-6)
            losses.append(loss)
            entropies.append(
                [-sum(a * math.log(a) for a in row if a > 0) for row in attention.tolist()]
            )
    np.testing.assert_allclose(record.entropy, np.mean(entropies, axis=0), atol=1e-5)
    assert record.validation_loss == pytest.approx(np.mean(losses), rel=1e-5)


def attention_and_losses(parameters: Parameters, text: Tensor) -> tuple[Tensor, float]:
    """Attention of the lowest layer on all words of a text but the last, and the mean loss."""
    encoded = run_encoder(
        SMALL, parameters.layers, parameters.embedding[text[None, :-1]], lambda t: t
    )
    logits = encoded.hidden[0] @ parameters.output.weight.T + parameters.output.bias
    return encoded.attention[0][0], torch.nn.functional.cross_entropy(logits, text[1:]).item()


def test_a_pass_ends_with_the_shorter_chunk_and_begins_again(monkeypatch):
    lengths = []
    original = Columns.chunk

    def spy(self, index, length):
        words, targets = original(self, index, length)
        if len(words) == 3:
            lengths.append((index, words.shape[1]))
        return words, targets

    monkeypatch.setattr(Columns, "chunk", spy)
    state = trained(text_job(updates=None, epochs=2, rate=0.5))
    # 200 words in 3 columns give 66 rows: nine chunks of 7 and one of 2. First the shown one.
    once = [*((index, LENGTH) for index in range(9)), (9, 2)]
    assert lengths == [(0, LENGTH), *once, *once]
    assert len(state.losses) == 20


@pytest.mark.parametrize(
    ("settings", "evaluation", "message"),
    [
        ({"recorded": [2, 5]}, {}, "training.recorded asks for update 5, but this text gives 4"),
        ({}, {"sampled_chunks": 6}, "the validation text has 5 chunks, 6 are asked for"),
        ({}, {"shown_chunk": 9}, "too few chunks for evaluation.shown_chunk 9; lower it"),
        ({"batch_size": 30}, {}, "too few chunks for evaluation.shown_chunk 0"),
    ],
)
def test_too_little_text_is_named(settings, evaluation, message):
    job = text_job(**settings)
    changed = job.evaluation.model_copy(update=evaluation)
    with pytest.raises(InputError, match=message):
        trained(job.model_copy(update={"evaluation": changed}))


class Program:
    """The training program in a folder of its own, with the corpus of random words."""

    def __init__(self, folder: Path, job: TextTrainJob) -> None:
        self.checkpoint, self.output = folder / "run.checkpoint", folder / "run.npz"
        tokens = folder / "tokens.npz"
        write_arrays(tokens, random_words().arrays(), {KEY: FILE_KEY})
        self.arguments = order(
            "runs", "training.loop", "train", job.model_dump(mode="json"),
            self.output, seeds=(1,), gaps=("*validation_loss",),
            inputs=(Input(str(tokens), "data", FILE_KEY),),
        )  # fmt: skip

    def run(self) -> Result:
        return CliRunner().invoke(main, self.arguments)

    def start(self, *python: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *python, *self.arguments],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def written(self) -> Arrays:
        """What it wrote."""
        return read_arrays(self.output, FILE_KEY)


KILLED_WHILE_IT_KEEPS = """
import itertools, os, replication.run.checkpoint as checkpoint, replication.run.program as program
writes = itertools.count(1)
os.fsync = lambda _: next(writes) == 100 and os.kill(os.getpid(), 9)
checkpoint.INTERVAL = 0
program.main()
"""


@pytest.mark.thorough
def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path: Path):
    """Killed while it writes its state once more."""
    job = text_job(updates=300, dropout=0.3, recorded=[0, 1, 50], clip=0.05)
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    whole, killed = Program(tmp_path / "whole", job), Program(tmp_path / "killed", job)
    process = killed.start("-c", KILLED_WHILE_IT_KEEPS)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not killed.output.exists()
    assert [*killed.checkpoint.parent.glob(f".{killed.checkpoint.name}.*")], "it was not writing"
    done = len(Checkpoint(killed.checkpoint, {KEY: f"{FILE_KEY}, under way"}).read()["losses"])
    again = killed.start("-m", "replication.run.program")
    _, log = again.communicate()
    assert again.returncode == 0, log
    assert f"resuming from {killed.checkpoint}\ngoing on after update {done}\n" in log
    assert whole.run().exit_code == 0
    assert killed.output.read_bytes() == whole.output.read_bytes()
    assert not killed.checkpoint.exists()
    assert not whole.checkpoint.exists()


def test_the_output_is_what_training_yields(tmp_path: Path):
    program = Program(tmp_path, DROPPING)
    result = program.run()
    assert result.exit_code == 0, result.output
    found = program.written()
    assert all(len(values) == 1 for values in found.values())
    found = {name: values[0] for name, values in found.items()}
    state = trained(DROPPING)
    expected = {
        field: np.stack([getattr(record, field) for record in state.records])
        for field in Record._fields
    }
    assert_same_bits(
        found, {**expected, "updates": np.array([0, 2, 3, 6]), "losses": np.array(state.losses)}
    )
    assert np.isnan(found["validation_loss"]).tolist() == [True, True, True, False]


@pytest.mark.parametrize("left", ["foreign", "whole run", "truncated", "empty", "text"])
def test_an_unusable_checkpoint_costs_time_alone(tmp_path: Path, left: str):
    program = Program(tmp_path, DROPPING)
    assert program.run().exit_code == 0
    expected = program.output.read_bytes()
    program.output.unlink()
    states = training_states(DROPPING, 2, random_words())
    next(states)
    write_arrays(program.checkpoint, next(states).arrays(), {KEY: "another"})
    content = program.checkpoint.read_bytes()
    if left != "foreign":
        kept_bytes = {
            "whole run": expected,
            "truncated": content[: len(content) // 2],
            "empty": b"",
            "text": b"text",
        }
        program.checkpoint.write_bytes(kept_bytes[left])
    result = program.run()
    assert result.exit_code == 0, result.output
    assert f"starting anew: {program.checkpoint}: " in result.stderr
    assert "going on" not in result.stderr
    if left == "foreign":
        assert "made by another configuration" in result.stderr
    assert program.output.read_bytes() == expected
    assert not program.checkpoint.exists()


def test_divergence_is_one_sentence(tmp_path: Path):
    program = Program(tmp_path, text_job(rate=1e38, updates=20))
    assert_one_sentence(program.run(), "training diverged: learning rate 1e+38, seed 1, update ")
    assert not program.output.exists()


def test_a_huge_loss_is_shown_without_its_perplexity_overflowing(tmp_path: Path):
    program = Program(tmp_path, text_job(rate=1e5, updates=5))
    result = program.run()
    assert result.exit_code == 0, result.exception


def test_divergence_in_the_last_update_is_one_sentence(tmp_path: Path):
    program = Program(tmp_path, text_job(rate=1e38, updates=1, clip=1e38))
    assert_one_sentence(program.run(), "training diverged: learning rate 1e+38, seed 1, update 1")
    assert not program.output.exists()
