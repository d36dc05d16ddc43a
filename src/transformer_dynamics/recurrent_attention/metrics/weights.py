"""Norms of the weights of trained models: gamma, eta, symmetry, singular values."""

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd
import torch
from torch import Tensor

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.metrics.trained_models import Boards, run_parameters
from transformer_dynamics.recurrent_attention.settings.metrics import WeightsJob
from transformer_dynamics.recurrent_attention.settings.models import Model
from transformer_dynamics.recurrent_attention.theory.attention import Weights
from transformer_dynamics.recurrent_attention.theory.jacobian import value_output_matrices
from transformer_dynamics.recurrent_attention.theory.recurrence import effective_weights


def measure(job: WeightsJob, runs: Iterable[Run], data: Sequence[Boards]) -> pd.DataFrame:
    """Return norms and symmetries of every seed, in float64.

    Columns: seed; gamma_norm and gamma_max, |gamma|_2 and max_j |gamma_j| (NaN without gamma); eta;
    asymmetry and asymmetry_of_heads, see `asymmetry`; and sigma_query, sigma_key, sigma_value and
    sigma_output, the largest singular values of W^Q, W^K, W^V and W^O.
    """
    tables = []
    for run in runs:
        parameters = run_parameters(run, torch.float64)
        found = weight_norms(job.train.model, parameters)
        columns = {name: value.tolist() for name, value in found.items()}
        tables.append(pd.DataFrame({"seed": run.seeds} | columns))
    return pd.concat(tables, ignore_index=True)


def weight_norms(model: Model, parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the columns of `measure` except the seed, [seed] each."""
    weights, eta = effective_weights(model, parameters), parameters["eta"]
    gamma = parameters.get("gamma", torch.full((len(eta), 1), torch.nan).to(eta))
    sigma = zip(Weights._fields, weights, strict=True)
    return {
        "gamma_norm": torch.linalg.vector_norm(gamma, dim=-1),
        "gamma_max": gamma.abs().amax(dim=-1),
        "eta": eta,
        "asymmetry": asymmetry(weights, 1),
        "asymmetry_of_heads": asymmetry(weights, model.heads),
        **{f"sigma_{name}": torch.linalg.matrix_norm(matrix, ord=2) for name, matrix in sigma},
    }


def asymmetry(weights: Weights, heads: int) -> Tensor:
    """Return |M - M^T|_F over |M|_F [seed], with squares summed over M = W^V_h W^O_h.

    With one head M is the whole W^V W^O, which R_E makes symmetric; with H heads it is that of each
    head, which R_E does not tie. The ratio lies between 0 (symmetric) and 2 (anti-symmetric).
    """
    products = value_output_matrices(weights, heads)
    gap = products - products.mT
    ratio: Tensor = gap.flatten(-3).norm(dim=-1) / products.flatten(-3).norm(dim=-1)
    return ratio
