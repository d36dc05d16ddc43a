"""Eigenvalues of the Jacobian of one step of trained models."""

from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.metrics.trained_models import (
    Boards,
    seed_starts,
)
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, Spectrum
from transformer_dynamics.recurrent_attention.theory.products import (
    Products,
    jacobian_step,
    largest_eigenvalues,
)
from transformer_dynamics.recurrent_attention.theory.recurrence import effective_weights
from transformer_dynamics.recurrent_attention.training.network import final_tokens


def measure(job: MetricJob[Spectrum], runs: Iterable[Run], data: Sequence[Boards]) -> pd.DataFrame:
    """Return eigenvalues of the step that begins at X_T, also without its normalisation.

    They are all, or those of largest modulus and of largest |imaginary part|. Both steps have the
    same weights and the same X_T, to which the model's own steps have led. Only ItrSA has a step
    without normalisation, Id + eta J_MSA.

    Columns: seed, board, normalised, index (from 0, of descending |lambda|), re and im; none of a
    board whose tokens leave the range of float64.
    """
    model, rows = job.train.model, []
    variants = [model]
    if model.kind == "itrsa" and model.normalised:
        variants.append(model.model_copy(update={"normalised": False}))
    for seed, own, inputs, start in seed_starts(job, runs, data):
        weights = effective_weights(model, own)
        tokens = final_tokens(model, own, start, inputs, job.settings.steps)
        for board, variant in product(range(job.settings.boards), variants):
            step = jacobian_step(variant, own, weights, inputs[board])(tokens[board])
            if not step.is_finite:
                continue
            found = eigenvalues(step.jacobian, job.settings.largest)
            found = found[np.lexsort((found.imag, found.real, -np.abs(found)))]
            columns = {
                "seed": seed, "board": board, "normalised": variant.normalised,
                "index": np.arange(len(found)), "re": found.real, "im": found.imag,
            }  # fmt: skip
            rows.append(pd.DataFrame(columns))
    columns = {"seed": [0], "board": [0], "normalised": [True], "index": [0], "re": [0.0]}
    return pd.concat([pd.DataFrame(columns | {"im": [0.0]}).iloc[:0], *rows], ignore_index=True)


def eigenvalues(jacobian: Products | Tensor, largest: int | None) -> NDArray[np.complex128]:
    """Return all eigenvalues, or `largest` of either kind, see `largest_eigenvalues`."""
    if largest is None:
        return np.asarray(torch.linalg.eigvals(jacobian).cpu().numpy())
    square = Products.of_matrix(jacobian) if isinstance(jacobian, Tensor) else jacobian
    return largest_eigenvalues(square, largest)
