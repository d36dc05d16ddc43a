"""Kernels of the four methods, from the arrays of `training.kernels`."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.study.contract import Run

Floats = NDArray[np.float64]
METHOD_KERNELS = {
    "ft": (0, "whole"),
    "lora": (0, "adapters"),
    "lp_ft": (1, "whole"),
    "lp_lora": (1, "adapters"),
}
"""Number of the head that a method starts from, and the parameters that it trains."""
ALL_METHODS = "all"
"""Method of P, which is the same for all."""


class Kernel(NamedTuple):
    """One kernel of one seed."""

    seed: int
    method: str
    """Method; `all` for P."""
    name: str
    """Name: P, F or NTK = P + F."""
    blocks: Floats
    """[n, N, C, C] Blocks, training samples first."""

    @property
    def training(self) -> int:
        """Number N of training samples."""
        return int(self.blocks.shape[1])

    @property
    def classes(self) -> int:
        """Number C of classes."""
        return int(self.blocks.shape[2])

    @property
    def matrix(self) -> Floats:
        """Kernel as one matrix [n C, N C]."""
        n, training, classes, _ = self.blocks.shape
        return self.blocks.transpose(0, 2, 1, 3).reshape(n * classes, training * classes)

    @property
    def train_matrix(self) -> Floats:
        """Symmetric part [N C, N C] of training samples."""
        return self.matrix[: self.training * self.classes]


class SeedKernels(NamedTuple):
    """Kernels of one seed."""

    seed: int
    labels: NDArray[np.int64]
    """[n] Classes, training samples first."""
    coefficients: Floats
    """[H, C, Q] Coefficients of each head along the directions."""
    errors: Floats
    """[H, N, C] Errors delta_i of predictions with each head."""
    inner: Floats
    """[H, D + 2, D + 2] Inner products of F: of all parameters, adapted ones, adapters by A."""
    width: int
    """Width h of features."""
    kernels: list[Kernel]
    """Kernels: P, then F and NTK of each method."""

    @staticmethod
    def head_index(method: str) -> int:
        """Return the number of the head that a method starts from."""
        return METHOD_KERNELS[method][0]


def read_kernels(runs: Iterable[Run]) -> Iterator[SeedKernels]:
    """Yield the kernels of every seed of every file."""
    for run in runs:
        for seed, own in run.by_seed():
            yield SeedKernels(
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
    yield Kernel(seed, ALL_METHODS, "P", p)
    for method, (head, parameters) in METHOD_KERNELS.items():
        w = coefficients[head]
        # [n, N, Q, Q] to [n, N, C, C].
        f = w @ np.asarray(own[parameters], np.float64) @ w.T
        yield Kernel(seed, method, "F", f)
        yield Kernel(seed, method, "NTK", p + f)
