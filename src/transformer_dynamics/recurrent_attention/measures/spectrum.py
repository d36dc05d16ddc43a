"""Eigenvalues of the Jacobian of one step of trained models."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import torch

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.measure_settings import MeasureJob, Spectrum
from transformer_dynamics.recurrent_attention.measures.trained import (
    SPLIT,
    Boards,
    beginning,
    of_seed,
    parameters_of,
    puzzles,
)
from transformer_dynamics.recurrent_attention.models import effective_weights, loop
from transformer_dynamics.recurrent_attention.theory.jacobian import step


def measure(job: MeasureJob[Spectrum], runs: Iterable[Run], data: Sequence[Boards]) -> pd.DataFrame:
    """Eigenvalues of the step that begins at X_T, and of the same one without normalisation.

    Both are of the same weights at the same X_T, to which the model's own steps have led. Only
    ItrSA has a step without normalisation, Id + eta J_MSA.

    Args:
        job: the condition, how many boards, and T.
        runs: trained models.
        data: the boards.

    Returns:
        Columns seed, board, normalised, index (from 0, of descending |lambda|), re and im; none of
        a board whose tokens leave the range of float64.
    """
    (boards,) = data
    model, rows = job.train.model, []
    shown = puzzles(boards, SPLIT, job.how.boards)
    variants = [model]
    if model.kind == "itrsa" and model.normalised:
        variants.append(model.model_copy(update={"normalised": False}))
    for run in runs:
        parameters = parameters_of(run, torch.float64)
        for index, seed in enumerate(run.seeds):
            own = of_seed(parameters, index)
            inputs, start = beginning(model, own, shown)
            weights = effective_weights(model, own)
            tokens = loop(model, own, start, inputs, job.how.steps)
            for board in range(job.how.boards):
                for variant in variants:
                    at_end = step(variant, own, weights, tokens[board], inputs[board])
                    if not at_end.is_finite:
                        continue
                    found = torch.linalg.eigvals(at_end.jacobian).numpy()
                    found = found[np.lexsort((found.imag, found.real, -np.abs(found)))]
                    columns = {
                        "seed": seed, "board": board, "normalised": variant.normalised,
                        "index": np.arange(len(found)), "re": found.real, "im": found.imag,
                    }  # fmt: skip
                    rows.append(pd.DataFrame(columns))
    columns = {"seed": [0], "board": [0], "normalised": [True], "index": [0], "re": [0.0]}
    return pd.concat([pd.DataFrame(columns | {"im": [0.0]}).iloc[:0], *rows], ignore_index=True)
