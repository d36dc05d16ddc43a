"""Memory and operations of the jobs that train and measure, from the sizes of networks.

Memory is that of a process which computes on a processor, so that on a GPU the larger part of it is
the GPU's. W is the memory of all parameters once, A that of all numbers which a pass forward keeps
for the pass backwards. With k averages of the optimiser,

    at a recorded step  module, start, parameters, k averages, gradients; of the step that is looked
                        at zeros, the result, k averages, two sets of signs, and one tensor at a
                        time in double precision: (10 + 2 k) W
    at any step         module, start, parameters, k averages, gradients: (4 + k) W + A
    at a curvature      module, start, parameters, gradients, and `TWICE` A, as a product with the
                        Hessian goes backwards through forward and backward; and its vectors

and in all cases `BASE`, what is read, and a `RESERVE`.
"""

from collections.abc import Iterable
from typing import NamedTuple

from replication.plan.limits import library_memory
from transformer_dynamics.encoders.cost import SIZES
from transformer_dynamics.encoders.settings import EncoderName, TextName
from transformer_dynamics.gradient_heterogeneity.settings.heads import HeadsJob
from transformer_dynamics.gradient_heterogeneity.settings.measuring import (
    MeasuredJob,
    Measuring,
    PairJob,
)
from transformer_dynamics.gradient_heterogeneity.settings.networks import (
    ImageNetwork,
    NetworkChoice,
    SmallTransformer,
    TextNetwork,
)
from transformer_dynamics.gradient_heterogeneity.settings.training import (
    OptimiserName,
    RunJob,
    Training,
)
from transformer_dynamics.gradient_heterogeneity.training.record import STEP_METHODS, TENSOR_SETS


class Needs(NamedTuple):
    """Memory and operations that a job needs."""

    memory: int
    """Memory in MB."""
    operations: float
    """Floating-point operations of its matrix products."""


class Texts(NamedTuple):
    """Sizes of a set of texts, all splits together."""

    number: int
    """Number of texts."""
    tokens: int
    """Number of tokens of a text on average."""
    distinct: int
    """Number of different tokens."""


class Size(NamedTuple):
    """Sizes of a network."""

    parameters: float
    """Number of all parameters."""
    largest: float
    """Number of entries of the largest tensor."""
    tensors: int
    """Number of tensors that are not biases."""
    forward: float
    """Floating-point operations of one sample's pass forward."""
    kept: float
    """Numbers that one sample's pass forward keeps for the pass backwards."""


MB = 1e6
FLOAT = 4
"""Bytes of a number."""
BASE = 1000.0
"""MB of a process that has read its packages, with small data."""
RESERVE = 1.1
"""Factor of all memory, as allocators do not fill gaps and versions differ."""
TWICE = 3.0
"""Numbers that a product with the Hessian keeps, in units of those of a pass forward."""
PRODUCT = 2.0
"""Operations of a product with the Hessian, in units of those of a pass forward."""
TRAINED = 3.0
"""Operations of a pass forward and backwards, in the same units."""
VECTORS = 8
"""Tensors that the released iteration keeps of the one that it is about; Lanczos' keeps one a
product."""
AVERAGES: dict[OptimiserName, int] = {"sgd_momentum": 1, "signum": 1, "rmsprop": 1, "adam": 2}
"""Averages that an optimiser keeps; all others keep none."""
VIT = (12, 384, 6, 14)
"""Layers, width, heads and pixels along a patch of ViT-S/14."""
PATCHES = 1370
"""Places that ViT-S has positions for."""
PIXELS = 224
"""Pixels along an edge for which sizes of EfficientNet-lite0 are given."""
EFFICIENTNET = Size(4.65e6, 0.5e6, 99, 0.78e9, 24e6)
"""Sizes of EfficientNet-lite0, with `PIXELS`."""
ROW = 200
"""Bytes of a row of a table of metrics while it is made."""
TEXTS: dict[TextName, Texts] = {
    "cb": Texts(306, 90, 5_000),
    "rte": Texts(2_767, 70, 24_000),
    "cola": Texts(9_594, 12, 9_000),
    "sst2": Texts(68_221, 14, 22_000),
    "mrpc": Texts(4_076, 54, 20_000),
    "trec6": Texts(5_952, 13, 13_000),
    "cr": Texts(3_775, 25, 8_000),
    "banking77": Texts(13_083, 17, 4_000),
    "clinc150": Texts(22_500, 12, 9_000),
}
"""Sets of texts by name; words were counted and taken for 1.1 tokens, different words for 1.5."""
OTHERS = Texts(15_000, 128, 100_000)
"""A set that is not among them."""


def network_size(net: NetworkChoice) -> Size:
    """Return the sizes of a network for the longest samples that it takes."""
    if isinstance(net, TextNetwork):
        layers, width = SIZES[net.net][:2]
        body = _transformer(layers, width, SIZES[net.net].heads, net.texts.length)
        size = _with_table(body, SIZES[net.net].words * width)
        # Words that do not occur are left out of the network.
        rows = min(SIZES[net.net].words, TEXTS.get(net.texts.name, OTHERS).distinct)
        return size._replace(largest=max(body.largest, rows * width))
    if isinstance(net, SmallTransformer):
        shape = net.shape
        body = _transformer(shape.depth, shape.width, shape.heads, shape.length)
        # The output layer over all words is as large as their table, and sees few places.
        return _with_table(body, 2 * net.words * shape.width)
    if net.net == "vit_s":
        layers, width, heads, patch = VIT
        body = _transformer(layers, width, heads, (net.size // patch) ** 2 + 1)
        # Scales of branches, besides.
        body = body._replace(tensors=body.tensors + 2 * layers)
        return _with_table(body, PATCHES * width)
    share, whole = (net.size / PIXELS) ** 2, EFFICIENTNET
    return whole._replace(forward=share * whole.forward, kept=share * whole.kept)


def _transformer(layers: int, width: int, heads: int, places: int) -> Size:
    """Return the sizes of layers of 12 h^2 weights, all of which pass every place."""
    matrices = 12 * layers * width**2
    # Queries, keys, values, sums, inner places and what normalisation and dropout keep; scores.
    kept = layers * places * (20 * width + 3 * heads * places)
    return Size(matrices, 4 * width**2, 8 * layers + 5, 2 * places * matrices, kept)


def _with_table(body: Size, table: float) -> Size:
    return body._replace(
        parameters=body.parameters + table, largest=max(body.largest, float(table))
    )


def run_needs(job: RunJob) -> Needs:
    """Return the needs of training a network."""
    size = network_size(job.net)
    return Needs(
        _whole(
            library_memory(job.device) + _read(job.net, size),
            _training_memory(size, job.training, job.net),
        ),
        _training_operations(size, job.training, job.net),
    )


def measured_needs(job: MeasuredJob) -> Needs:
    """Return the needs of measuring a pretrained network, with its training in between."""
    size, trainings = network_size(job.net), [job.tuning] if job.tuning else []
    return _needs_of_states(job, size, trainings, [job.measuring] * (1 + len(trainings)))


def pair_needs(job: PairJob) -> Needs:
    """Return the needs of measuring a small transformer, with all its trainings."""
    size = network_size(job.net)
    uncurved = job.measuring.model_copy(update={"curved": 0})
    if job.masked is None:
        return _needs_of_states(job, size, [], [uncurved])
    tunings = [*job.tunings.values()]
    states = [uncurved] * 3 + [job.measuring] * len(tunings)
    return _needs_of_states(job, size, [job.masked, *tunings], states)


def _needs_of_states(
    job: MeasuredJob | PairJob, size: Size, trainings: list[Training], states: list[Measuring]
) -> Needs:
    net = job.net
    memory = [_measuring_memory(size, each) for each in states]
    # The stages that are done keep parameters.
    memory += [_training_memory(size, each, net) + _weight(size) for each in trainings]
    operations = sum(_measuring_operations(size, each) for each in states)
    operations += sum(_training_operations(size, each, net) for each in trainings)
    return Needs(_whole(library_memory(job.device) + _read(net, size), *memory), operations)


def heads_needs(job: HeadsJob, seeds: int) -> Needs:
    """Return the needs of training heads on features that stay, for all seeds of the job."""
    width = SIZES[job.encoder].width
    number = TEXTS.get(job.texts, OTHERS).number
    arms = len(job.optimisers) * len(job.batch_sizes)
    # The head of a set has this many classes at most.
    entries = (job.classes or 150) * width
    samples = len(job.optimisers) * sum(job.batch_sizes)
    points = (job.points + 1) * job.slice * arms
    operations = seeds * 2 * entries * (2 * samples * job.steps + points)
    # Features in single precision, read and as bytes, and in double; heads, gradients, averages.
    doubles = number * width + 8 * arms * entries
    held = (2 * FLOAT * number * width + 2 * FLOAT * doubles) / MB
    return Needs(_whole(library_memory(job.device) + held), operations)


def encoder_memory(encoder: EncoderName) -> int:
    """Return the memory in MB of reading an encoder, and of features of texts by it."""
    layers, width = SIZES[encoder][:2]
    weight = FLOAT * (12 * layers * width**2 + SIZES[encoder].words * width) / MB
    # Its bytes, tensors of them, the network, and what is put into a file.
    return _whole(3 * weight)


def features_operations(encoder: EncoderName, texts: TextName) -> float:
    """Return the floating-point operations of features of all texts of a set."""
    layers, width = SIZES[encoder][:2]
    found = TEXTS.get(texts, OTHERS)
    return 2.0 * found.number * found.tokens * 12 * layers * width**2


def _whole(*parts: float) -> int:
    """Return the memory of a process in MB: the base, the first of some parts and the largest."""
    first, *others = parts
    return round(RESERVE * (BASE + first + max(others, default=0.0)))


def _weight(size: Size) -> float:
    """Return W in MB."""
    return FLOAT * size.parameters / MB


def _read(net: NetworkChoice, size: Size) -> float:
    """Return the memory in MB of weights that were read."""
    return 0.0 if isinstance(net, SmallTransformer) else _weight(size)


def _batch(training: Training, net: NetworkChoice) -> float:
    """Return the number of samples of a step; 0 for all of an unknown number."""
    if training.batch_size == "full":
        known = net.train if isinstance(net, ImageNetwork) else net.texts.train
        return float(known or 0)
    return float(training.batch_size)


def _training_memory(size: Size, training: Training, net: NetworkChoice) -> float:
    averages, weight = AVERAGES.get(training.optimiser, 0), _weight(size)
    looking = (10 + 2 * averages) * weight
    stepping = (4 + averages) * weight + FLOAT * _batch(training, net) * size.kept / MB
    return max(looking, stepping)


def _training_operations(size: Size, training: Training, net: NetworkChoice) -> float:
    passes = TRAINED * training.steps
    # What coordinates and rates of blocks follow; biases, about as many tensors, count there.
    if training.blocks and training.exponent:
        passes += TRAINED * training.blocks.batches
    if training.blocks and training.block_rates:
        passes += 2 * size.tensors * _curvature(training.blocks.products)
    looks = (training.points + 1) * training.slice
    return size.forward * (passes * _batch(training, net) + looks)


def _measuring_memory(size: Size, measuring: Measuring) -> float:
    if not measuring.curved:
        return 4 * _weight(size) + FLOAT * measuring.size * size.kept / MB
    vectors = measuring.products if measuring.iteration == "lanczos" else VECTORS
    graph = TWICE * measuring.size * size.kept
    return 5 * _weight(size) + FLOAT * (graph + vectors * size.largest) / MB


def _measuring_operations(size: Size, measuring: Measuring) -> float:
    curved = size.tensors * _curvature(measuring.products)
    steps = len(TENSOR_SETS) * len(STEP_METHODS) * len(measuring.factors)
    passes = measuring.batches * TRAINED + measuring.curved * (curved + steps)
    return size.forward * measuring.size * passes


def _curvature(products: int) -> float:
    """Return the passes forward that the curvature of a tensor is worth."""
    return TRAINED + products * PRODUCT


def metric_memory(jobs: Iterable[RunJob], seeds: int) -> int:
    """Return the memory in MB of a table with a row for each step of all runs of an experiment.

    `jobs` are the runs of one seed, `seeds` is the number of seeds.
    """
    return _whole(ROW * seeds * sum(job.training.steps for job in jobs) / MB)
