"""States of measured networks, with what tells them apart."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.measured_settings import (
    INITIAL,
    MASKED,
    MeasuredJob,
    MeasuredRuns,
    Measuring,
    PairJob,
)
from transformer_dynamics.gradient_heterogeneity.measuring import Measurement
from transformer_dynamics.gradient_heterogeneity.net_settings import ImageNet

LN = {"minilm": "post", "mpnet": "post", "roberta": "post", "efficientnet": "none", "vit_s": "pre"}
"""Where published networks have layer normalisation."""
OF_CURVED = ("curvatures", "products", "slopes", "bends", "decreases")
"""Fields of `Measurement` with a row per curved batch."""
Columns = dict[str, str | int | float]
COLUMNS = ("net", "task", "ln", "deviation", "depth", "arm", "seed", "state")
"""Names of `Measured.columns`."""


class Measured(NamedTuple):
    """One state of one network of one seed; B tensors."""

    columns: Columns
    """`COLUMNS`, in every metric.

    `ln` is post, pre or none; `deviation` is that of random matrices, 0 if they are PyTorch's or
    published; `arm` is the name of the run without its seed. Random weights and what was trained on
    masked words are measured on the task `wikitext2`.
    """
    tensors: NDArray[np.str_]
    """[B] names."""
    layers: NDArray[np.int64]
    """[B] see `Block`."""
    kinds: NDArray[np.str_]
    """[B] see `Block`."""
    sizes: NDArray[np.int64]
    """[B] P_b."""
    found: Measurement
    """What was measured."""
    measuring: Measuring
    """How."""

    @property
    def is_lost(self) -> bool:
        """Whether training has diverged, so that gradients are no numbers."""
        return not bool(np.isfinite(self.found.norms).all())


def states(job: MeasuredRuns, runs: Iterable[Run]) -> Iterator[Measured]:
    """Every state of every run of every seed."""
    for run in runs:
        arm, _, _ = run.name.rpartition("-")
        for index, seed in enumerate(run.seeds):
            arrays = {key: values[index] for key, values in run.arrays.items()}
            told: Columns = {"arm": arm, "seed": seed}
            for place, name in enumerate(arrays["states"]):
                yield _state(job.runs[arm], told, str(name), arrays, place)


def _state(
    job: MeasuredJob | PairJob,
    told: Columns,
    name: str,
    arrays: Mapping[str, NDArray[Any]],
    place: int,
) -> Measured:
    layers, kinds = arrays["layers"][place], arrays["kinds"][place]
    columns = _columns(job, name) | {"depth": int(layers[kinds == "head"][0]) - 2}
    found = Measurement(*(arrays[field][place] for field in Measurement._fields))
    # Batches that were curved at other states alone.
    is_curved = np.isfinite(found.curvatures).any(axis=1)
    of_curved = {field: getattr(found, field)[is_curved] for field in OF_CURVED}
    return Measured(
        columns | told | {"state": name},
        arrays["tensors"][place],
        layers,
        kinds,
        arrays["sizes"][place],
        found._replace(**of_curved),
        job.measuring,
    )


def _columns(job: MeasuredJob | PairJob, state: str) -> Columns:
    net = job.net
    if isinstance(job, PairJob):
        task = "wikitext2" if state in {INITIAL, MASKED} else job.texts.name
        deviation = job.shape.deviation or 0.0
        return {"net": "tiny", "task": task, "ln": job.shape.placement, "deviation": deviation}
    if isinstance(net, ImageNet):
        return {"net": net.net, "task": "fashion_mnist", "ln": LN[net.net], "deviation": 0.0}
    told: Columns = {"net": net.net, "task": net.texts.name}
    if net.net == "tiny":
        return told | {"ln": net.shape.placement, "deviation": net.shape.deviation or 0.0}
    return told | {"ln": LN[net.net], "deviation": 0.0}
