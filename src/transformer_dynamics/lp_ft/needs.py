"""Memory, time and operations that jobs ask for, from the sizes of what they compute with.

A text has as many tokens as its set allows. Numbers of bytes count what is there at once at the
worst moment; the constants were fitted to what jobs take, and a test compares both.
"""

from collections.abc import Iterable, Sequence
from math import ceil
from typing import NamedTuple

from replication.base.strict import Strict
from replication.plan.limits import CORE, library_memory, speed, time_limit
from replication.study.contract import Job
from transformer_dynamics.encoders.cost import (
    FLOAT,
    SETS,
    SIZES,
    EncoderSize,
    feature_operations,
    training_operations,
)
from transformer_dynamics.encoders.settings import EncoderName, TextChoice, TextName
from transformer_dynamics.lp_ft.settings.runs import Penalty, RunJob
from transformer_dynamics.lp_ft.settings.start import HeadControlJob, KernelJob, StartJob

DOUBLE = 2 * FLOAT
"""Bytes of a number in float64."""
MB = 10**6
PACKAGES = 850 * MB
"""Bytes of Python and of all packages of a job that builds an encoder."""
FEW_PACKAGES = 500 * MB
"""Bytes of Python and of the packages of other jobs."""
MARGIN = 1.1
"""Memory that is asked for over what is counted."""
LEAST_MEMORY = 1500
"""MB that every job asks for."""
FEATURE_BATCH = 32
"""Texts in a batch where features are computed, see `encoders.model.frozen_features`."""
READ = 2.9
"""Copies of an encoder's parameters while it is read and built: its file twice, and the network."""
TOKENISED = 130
"""Bytes of a token while a set is tokenised."""
NEWTON = 4500
"""Products of all features and a vector as fast as those of matrices that take as long as a probe:
steps of Newton's method, each with several of conjugate gradients, which wait for memory."""


class Split(NamedTuple):
    """Numbers of samples of a run."""

    train: int
    validation: int
    test: int
    """Number of test samples of its own set."""
    classes: int
    """Number of classes C."""


def split_sizes(choice: TextChoice) -> Split:
    """Return the numbers of samples that are drawn of a set, or all that there are."""
    size = SETS[choice.name]
    train = int(choice.kept * size.train) if choice.train is None else choice.train
    validation = size.train - train if choice.validation is None else choice.validation
    return Split(train, validation, size.test, size.classes)


class Need(NamedTuple):
    """Needs of a job, see `Job`."""

    memory: int
    """Memory in MB."""
    minutes: int
    """Longest time in minutes."""
    operations: float
    """Floating-point operations of the job's device; what a core does is counted as the operations
    of the device that take as long."""

    @classmethod
    def of(
        cls, held: float, worked: float = 0.0, *, core: float = 0.0, on_device: float = 0.0,
        device: str = "cpu", packages: int = PACKAGES,
    ) -> "Need":  # fmt: skip
        """Return needs from bytes and operations.

        `held` bytes are in the machine's memory, `worked` bytes on the device while it computes,
        and `packages` bytes are those of imported packages. `core` operations are done by a core,
        whatever the device, `on_device` ones by the device, `cpu` or `cuda`.
        """
        operations = core * speed(device) / CORE + on_device
        taken = packages + held + (library_memory(device) * MB if device == "cuda" else worked)
        memory = max(LEAST_MEMORY, ceil(MARGIN * taken / MB))
        return cls(memory, time_limit(operations, device), operations)

    def asked_by(self, job: Job) -> Job:
        """Return a job that asks for this."""
        return job._replace(**self._asdict())


def activation_bytes(size: EncoderSize, texts: int, length: int) -> float:
    """Return the bytes kept for the gradient of a batch of texts of `length` tokens, in float32."""
    hidden = 25 * texts * length * size.width
    attention = 3 * texts * size.heads * length**2
    return FLOAT * size.layers * (hidden + attention)


def _forward_bytes(size: EncoderSize, texts: int, length: int) -> float:
    """Return the bytes of one layer, which are free before the next."""
    return activation_bytes(size, texts, length) / size.layers


def encoder_need(encoder: EncoderName) -> Need:
    """Return the needs of reading an encoder: its file, tensors, network and a copy."""
    return Need.of(READ * SIZES[encoder].bytes)


def token_need(encoder: EncoderName, name: TextName, length: int) -> Need:
    """Return the needs of tokenising a set."""
    size = SETS[name]
    texts = size.train + size.test
    return Need.of(READ * SIZES[encoder].bytes + TOKENISED * texts * length)


def feature_need(encoder: EncoderName, choice: TextChoice, texts: int, device: str) -> Need:
    """Return the needs of features of some texts of a set on a device; `texts` is their number."""
    size, length = SIZES[encoder], choice.length
    read = SETS[choice.name].train + SETS[choice.name].test
    features = 3 * FLOAT * texts * size.width
    held = READ * size.bytes + TOKENISED * texts * length + 1000 * read + features
    computing = 2 * size.bytes + _forward_bytes(size, FEATURE_BATCH, length)
    return Need.of(
        held,
        max(0.0, computing - READ * size.bytes),
        on_device=feature_operations(encoder, texts * length),
        device=device,
    )


def probe_operations(choice: Penalty, split: Split, width: int) -> float:
    """Return the operations of fitting all probes that one is chosen of."""
    heads = 1 if split.classes == 2 else split.classes
    fits = len(choice.strengths) * (choice.folds or 1)
    return fits * NEWTON * 4.0 * split.train * width * heads


def probe_bytes(split: Split, width: int) -> float:
    """Return the bytes of features in float64, centred, scaled by samples, and of a part."""
    return 6 * DOUBLE * split.train * width


def _data_bytes(sets: Sequence[TextName], choice: TextChoice, width: int) -> float:
    """Return the bytes of tokens and features that a run reads."""
    split = split_sizes(choice)
    found = FLOAT * width * (split.train + split.validation)
    for name in sets:
        size = SETS[name]
        found += FLOAT * (width * size.test + choice.length * (size.train + size.test))
    return float(found)


def run_need(job: RunJob) -> Need:
    """Return the needs of one run."""
    size, split, length = SIZES[job.encoder], split_sizes(job.texts), job.texts.length
    held = _data_bytes(job.sets, job.texts, size.width)
    core = 0.0
    probing = 0.0
    if job.tuning is None or "probe" in {job.direction, job.tuning.norm}:
        core += probe_operations(job.probe, split, size.width)
        probing = probe_bytes(split, size.width)
    if job.tuning is None:
        core += job.probe.steps * 4.0 * split.train * size.width * split.classes
        return Need.of(held + probing, core=core, packages=FEW_PACKAGES)
    schedule = job.tuning.schedule
    steps, batch = schedule.total(split.train), min(schedule.batch_size, split.train)
    epochs = ceil(steps / schedule.steps_of_epoch(split.train))
    looked_at = (epochs + 1) * split.validation + sum(SETS[name].test for name in job.sets)
    on_device = training_operations(job.encoder, steps * batch * length)
    on_device += feature_operations(job.encoder, looked_at * length)
    # Embeddings of words that occur are trained, see `encoders.used_tokens`.
    texts = split.train + split.validation + sum(SETS[name].test for name in job.sets)
    used = size._replace(words=min(size.words, texts * length))
    # Parameters, gradient, two moments, the kept epoch; beside adapters, the encoder alone.
    trained = used.bytes * (1.1 if job.has_adapters else 5)
    if job.device == "cuda":
        # A checkpoint has all of these.
        held += 2 * size.bytes + trained + probing
        return Need.of(held, core=core, on_device=on_device, device=job.device)
    kept = activation_bytes(size, batch, length)
    worst = max(READ * size.bytes, 2 * size.bytes + max(probing, trained + kept))
    return Need.of(held + worst, core=core, on_device=on_device)


def _start_need(job: StartJob, held: float, worked: float, on_device: float) -> Need:
    """Return the needs of a start of fine-tuning, which fits a probe and builds the encoder."""
    size, split = SIZES[job.encoder], split_sizes(job.texts)
    own = _data_bytes([job.texts.name], job.texts, size.width)
    core = probe_operations(job, split, size.width)
    most = max(READ * size.bytes, size.bytes + probe_bytes(split, size.width))
    if job.device == "cuda":
        return Need.of(own + most + held, core=core, on_device=on_device, device=job.device)
    return Need.of(own + max(most, size.bytes + held + worked), core=core, on_device=on_device)


def kernel_need(job: KernelJob) -> Need:
    """Return the needs of the kernels of a seed, in float64.

    Directions Q span the rows of two heads, the second of which has one row less than classes.
    """
    size, split, length = SIZES[job.encoder], split_sizes(job.texts), job.texts.length
    train = min(job.samples, split.train)
    texts = train + min(job.test_samples, split.test)
    q = 2 * split.classes - 1
    positions = texts * length
    gram = DOUBLE * (texts * q) * (train * q)
    sums = (2 + job.draws) * gram
    # The matrix with the most inputs and outputs, all factors of which are needed at once.
    largest = DOUBLE * positions * size.width * (1 + 4 * q)
    # Gradients of words: factors, their sums by word, these in one array, and sorted.
    table = 4 * DOUBLE * positions * q * size.width
    # A group of modules fills the room; an eighth of it more is formed at a time, and copied.
    room = job.megabytes * MB
    group = max(min(room, _factor_bytes(size, positions, q)), largest) + room / 4
    graph = (2 + q) * activation_bytes(size, 1, length)
    worked = 2 * size.bytes + graph + max(group, table) + 2 * gram
    # Gradients of every sample, again for every group of modules; then their products.
    passes = _groups(job, positions, q) * positions * (1 + 2 * q)
    operations = feature_operations(job.encoder, passes)
    operations += 2.0 * (texts * q) * (train * q) * size.bytes / FLOAT / 2
    # On processors numbers of twice the bytes take twice as long.
    return _start_need(job, 4 * sums, worked, 2 * operations)


def _factor_bytes(size: EncoderSize, positions: int, q: int) -> float:
    """Return the bytes of the factors of all gradients of all modules."""
    # Of a layer four square matrices, two of four times the width, and two normalisations.
    widths = 4 * (1 + q) + (1 + 4 * q) + (4 + q) + 2 * (1 + q)
    return float(DOUBLE * positions * size.width * (size.layers * widths + 4 * q))


def _groups(job: KernelJob, positions: int, q: int) -> int:
    """Return the number of groups of modules whose factors fit into the room together, about."""
    size = SIZES[job.encoder]
    modules = 8 * size.layers + 4
    return min(modules, ceil(_factor_bytes(size, positions, q) / (job.megabytes * MB)) + 1)


def head_control_need(job: HeadControlJob) -> Need:
    """Return the needs of the FT ratios of all heads: a gradient and a product for each."""
    size, split, length = SIZES[job.encoder], split_sizes(job.texts), job.texts.length
    subset = min(job.samples, split.train)
    batch = min(job.batch_size, split.train)
    # Parameters, their gradient, and that of a batch; or pairs of values in the product.
    worked = 3 * size.bytes + activation_bytes(size, batch, length)
    # Two directions, two norms, all samples or the subset.
    texts = 4 * (split.train + subset)
    operations = training_operations(job.encoder, texts * length)
    operations += 3 * feature_operations(job.encoder, 8 * subset * length)
    return _start_need(job, 0.0, worked, operations)


def run_metric_need(
    metric: str,
    runs: Iterable[RunJob],
    sets: Sequence[TextName],
    seeds: int,
    resamples: int,
    plane: TextName | None = None,
) -> Need:
    """Return the needs of a metric of trained runs, which reads data at once, and runs in turn.

    `runs` are those of one seed, `sets` those whose data are read, `seeds` and `resamples` the
    numbers of seeds and of bootstrap samples. t-SNE puts test samples of `plane` into a plane.
    """
    jobs = list(runs)
    width = SIZES[jobs[0].encoder].width
    choices = {job.texts.name: job.texts for job in jobs}
    held, largest, operations = 0.0, 0.0, 0.0
    for choice in choices.values():
        split = split_sizes(choice)
        drawn = 1 if choice.train is None else seeds
        held += FLOAT * width * (split.train + split.validation) * drawn
        largest = max(largest, float(split.train), *(SETS[each].test for each in sets))
    for name in sets:
        size = SETS[name]
        length = max(choice.length for choice in choices.values())
        held += FLOAT * (width * size.test + (length + 8) * (size.train + size.test))
    for job in jobs:
        split = split_sizes(job.texts)
        tests = split.test + sum(SETS[each].test for each in job.others)
        operations += seeds * {
            "features": 6.0 * tests * width**2,
            # Logarithms and sorting of every resampled logit.
            "calibration": 2.0 * 200 * resamples * tests * split.classes,
            "delta": 4.0 * split.train * width * split.classes,
        }.get(metric, 0.0)
    if plane:
        # A thousand steps, each with all pairs of points; of the first seed alone.
        points = split_sizes(choices[plane]).test + split_sizes(choices[plane]).classes
        methods = sum(job.texts.name == plane for job in jobs)
        operations = methods * 1000.0 * 50 * points**2
        # Ten matrices of distances.
        held += 10 * DOUBLE * points**2
    # Features of one set in float64, with three arrays of their size.
    return Need.of(held + 4 * DOUBLE * largest * width, core=operations, packages=FEW_PACKAGES)


def start_metric_need(metric: str, job: Strict, seeds: int, fits: int) -> Need:
    """Return the needs of a metric of kernels or heads, with `fits` regressions on one kernel."""
    if not isinstance(job, KernelJob):
        return Need.of(0.0, packages=FEW_PACKAGES)
    split = split_sizes(job.texts)
    train = min(job.samples, split.train)
    texts = train + min(job.test_samples, split.test)
    rows, kernels = train * split.classes, 9
    q = 2 * split.classes - 1
    # Kernels along directions, then those of four methods, and what is computed of one.
    held = DOUBLE * texts * train * (4 * q**2 + 12 * split.classes**2)
    operations = {
        "kernel_spectra": 20.0 * rows**3,
        "kernel_sizes": 20.0 * rows**3 + 2000.0 * train**2,
        # Steps of Newton's method, each with a factorisation, from the solution before.
        "kernel_regression": fits * 20 * 3.0 * rows**3,
    }.get(metric, 0.0)
    return Need.of(held, core=seeds * kernels * operations, packages=FEW_PACKAGES)
