"""Memory and operations of training on text, from the sizes of model and corpus."""

from typing import NamedTuple

from replication.plan.limits import library_memory
from transformer_dynamics.scan_and_snap_text.settings.experiments import TextExperiment
from transformer_dynamics.scan_and_snap_text.settings.training import TextTrainJob

MB = 1e6
FLOAT = 4
"""Bytes of a number."""
BASE = 800.0
"""MB of a process that has read its packages and a corpus."""
ROW = 700
"""Bytes of a row of a table of maps while it is made."""


class Text(NamedTuple):
    """Sizes of a corpus."""

    words: int
    """Number V of different words."""
    train: int
    """Number of words of the training text."""
    valid: int
    """Number of words of the validation text."""


KNOWN = {
    "9e9fa1ad55b1c2c95b08e37dd8e653f638fac2c6de904b79e813611eefbc985f": Text(
        28_782, 2_049_990, 214_417
    ),
}
"""Corpora by the digest of their training text: WikiText-2."""
LARGE = Text(270_000, 103_000_000, 218_000)
"""About as large as WikiText-103, which is taken for a corpus that is not known."""


class Needs(NamedTuple):
    """Memory and operations that a run needs."""

    memory: int
    """Memory in MB."""
    operations: float
    """Floating-point operations of its matrix products; 0 for a corpus that is not known."""


def run_needs(job: TextTrainJob) -> Needs:
    """Return the needs of a training."""
    text = KNOWN.get(job.tokens.train)
    return Needs(
        _memory(job, text or LARGE),
        0.0 if text is None else _operations(job, text),
    )


def _operations(job: TextTrainJob, text: Text) -> float:
    training, shown = job.training, job.evaluation
    batch = training.batch_size * training.chunk_length
    updates = training.updates or (training.epochs or 0) * text.train / batch
    # A multiplication and an addition a weight; forward, and twice as much backward.
    learnt = 3 * updates * batch * (job.model.layers * _layer(job) + _output(job, text))
    # A record runs the lowest layer over the validation text, the last one all of the model.
    seen = len(training.recorded) * _layer(job) + job.model.layers * _layer(job)
    valid = text.valid // shown.batch_size * shown.batch_size
    return learnt + valid * (seen + _output(job, text))


def _layer(job: TextTrainJob) -> float:
    """Return the operations of a layer's products with weights for one word."""
    model = job.model
    return 2.0 * (4 * model.width**2 + 2 * model.width * model.hidden)


def _output(job: TextTrainJob, text: Text) -> float:
    """Return the operations of the output layer for one word."""
    return 2.0 * job.model.width * text.words


def _memory(job: TextTrainJob, text: Text) -> int:
    model, training, shown = job.model, job.training, job.evaluation
    batch, length = training.batch_size * training.chunk_length, training.chunk_length
    # Embedding, output and its gradient; logits of a batch in blocks; what layers keep.
    tables = 3 * text.words * model.width
    logits = 1.5 * batch * text.words
    kept = model.layers * batch * (12 * model.width + 2 * model.hidden + 4 * length)
    maps = shown.batch_size * shown.sampled_chunks * length**2 * (len(training.recorded) + 1)
    held = FLOAT * (tables + logits + kept + 3 * maps + 2 * text.train) / MB
    return round(BASE + library_memory(job.device) + held)


def metric_memory(experiment: TextExperiment) -> int:
    """Return the memory in MB of a table of all runs of an experiment, which are read in turn."""
    training, shown = experiment.training, experiment.evaluation
    length, records = training.chunk_length, len(training.recorded) + 1
    # Maps of a run as they were read, and in double precision several times; rows of maps shown.
    maps = shown.batch_size * shown.sampled_chunks * length**2 * records
    rows = len(experiment.runs) * records * length**2
    return round(BASE + (12 * FLOAT * maps + ROW * rows) / MB)
