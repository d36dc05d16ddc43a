"""The kernels of the four methods, from what `kernels.train` keeps."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.study.contract import Run

Floats = NDArray[np.float64]
METHODS = {
    "ft": (0, "whole"),
    "lora": (0, "adapters"),
    "lp_ft": (1, "whole"),
    "lp_lora": (1, "adapters"),
}
"""By method, which head it starts from, and which parameters it trains."""
SHARED = "all"
"""In the place of a method: P does not depend on it."""


class Kernel(NamedTuple):
    """One kernel of one seed."""

    seed: int
    """Of its draws."""
    method: str
    """Whose; `all` for P."""
    name: str
    """P, F or NTK = P + F."""
    blocks: Floats
    """[n, N, C, C], training samples first."""

    @property
    def training(self) -> int:
        """N."""
        return int(self.blocks.shape[1])

    @property
    def classes(self) -> int:
        """C."""
        return int(self.blocks.shape[2])

    @property
    def matrix(self) -> Floats:
        """[n C, N C]."""
        n, training, classes, _ = self.blocks.shape
        return self.blocks.transpose(0, 2, 1, 3).reshape(n * classes, training * classes)

    @property
    def train_matrix(self) -> Floats:
        """[N C, N C], symmetric."""
        return self.matrix[: self.training * self.classes]


class Start(NamedTuple):
    """All of one seed."""

    seed: int
    """Of its draws."""
    labels: NDArray[np.int64]
    """[n], training samples first."""
    coefficients: Floats
    """[H, C, Q] of which each head consists."""
    errors: Floats
    """[H, N, C] delta_i."""
    inner: Floats
    """[H, D + 2, D + 2] inner products of F of all, of the adapted and of adapters with every A."""
    width: int
    """h."""
    kernels: list[Kernel]
    """P, then F and NTK of each method."""

    @staticmethod
    def head_of(method: str) -> int:
        """Place of the head that a method starts from."""
        return METHODS[method][0]


def starts(runs: Iterable[Run]) -> Iterator[Start]:
    """Every seed of every file."""
    for run in runs:
        for index, seed in enumerate(run.seeds):
            own = {name: np.asarray(values)[index] for name, values in run.arrays.items()}
            yield Start(
                seed,
                own["labels"],
                own["coefficients"],
                own["errors"],
                own["inner"],
                int(own["width"]),
                list(_kernels(seed, own)),
            )


def _kernels(seed: int, own: dict[str, NDArray[np.generic]]) -> Iterator[Kernel]:
    coefficients = np.asarray(own["coefficients"], np.float64)
    p = np.asarray(own["p"], np.float64)[:, :, None, None] * np.eye(coefficients.shape[1])
    yield Kernel(seed, SHARED, "P", p)
    for method, (head, parameters) in METHODS.items():
        w = coefficients[head]
        # [n, N, Q, Q] to [n, N, C, C].
        f = w @ np.asarray(own[parameters], np.float64) @ w.T
        yield Kernel(seed, method, "F", f)
        yield Kernel(seed, method, "NTK", p + f)
