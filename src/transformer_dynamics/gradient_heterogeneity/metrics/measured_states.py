"""States of measured networks, with the columns that tell them apart."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.settings.measuring import (
    INITIAL,
    MASKED,
    MeasuredJob,
    Measuring,
    PairJob,
)
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MeasuredMetricJob
from transformer_dynamics.gradient_heterogeneity.settings.networks import SmallTransformer
from transformer_dynamics.gradient_heterogeneity.training.record import Measurement

LN = {"minilm": "post", "mpnet": "post", "roberta": "post", "efficientnet": "none", "vit_s": "pre"}
"""Place of layer normalisation in published networks."""
OF_CURVED = ("curvatures", "products", "slopes", "bends", "decreases")
"""Fields of `Measurement` with a row per curved batch."""
Columns = dict[str, str | int | float]
COLUMNS = ("net", "task", "ln", "deviation", "depth", "arm", "seed", "state")
"""Names of the columns of `MeasuredState.columns`."""


class MeasuredState(NamedTuple):
    """One state of one network of one seed; B tensors."""

    columns: Columns
    """Values of `COLUMNS`, which every metric has.

    `ln` is post, pre or none; `deviation` is that of random matrices, 0 if they are PyTorch's or
    published; `arm` is the name of the run without its seed. Random weights and networks that were
    trained on masked words are measured on the task `wikitext2`.
    """
    tensors: NDArray[np.str_]
    """[B] Name of each tensor."""
    layers: NDArray[np.int64]
    """[B] Layer of each tensor, see `Block`."""
    kinds: NDArray[np.str_]
    """[B] Kind of each tensor, see `Block`."""
    sizes: NDArray[np.int64]
    """[B] Number P_b of entries of each tensor."""
    found: Measurement
    """Gradients, curvatures and steps."""
    measuring: Measuring
    """Batches and curvatures of the measurement."""

    @property
    def is_lost(self) -> bool:
        """True if training has diverged, so that gradients are no numbers."""
        return not bool(np.isfinite(self.found.norms).all())


def read_states(job: MeasuredMetricJob, runs: Iterable[Run]) -> Iterator[MeasuredState]:
    """Yield every state of every run of every seed."""
    for run in runs:
        arm, _, _ = run.name.rpartition("-")
        for seed, arrays in run.by_seed():
            told: Columns = {"arm": arm, "seed": seed}
            for place, name in enumerate(arrays["states"]):
                yield _state(job.runs[arm], told, str(name), arrays, place)


def _state(
    job: MeasuredJob | PairJob,
    told: Columns,
    name: str,
    arrays: Mapping[str, NDArray[Any]],
    place: int,
) -> MeasuredState:
    net, is_on_text = job.net, isinstance(job, PairJob) and name in {INITIAL, MASKED}
    columns: Columns = {"net": net.net, "task": "wikitext2" if is_on_text else net.task}
    if isinstance(net, SmallTransformer):
        columns |= {"ln": net.shape.placement, "deviation": net.shape.deviation or 0.0}
    else:
        columns |= {"ln": LN[net.net], "deviation": 0.0}
    layers, kinds = arrays["layers"][place], arrays["kinds"][place]
    columns["depth"] = int(layers[kinds == "head"][0]) - 2
    found = Measurement(*(arrays[field][place] for field in Measurement._fields))
    # Batches that were curved at other states alone.
    is_curved = np.isfinite(found.curvatures).any(axis=1)
    of_curved = {field: getattr(found, field)[is_curved] for field in OF_CURVED}
    return MeasuredState(
        columns | told | {"state": name},
        arrays["tensors"][place],
        layers,
        kinds,
        arrays["sizes"][place],
        found._replace(**of_curved),
        job.measuring,
    )
