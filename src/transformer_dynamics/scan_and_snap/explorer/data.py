"""Start of the explorer: mixtures, training's numbers, and its first setting in numbers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from replication.base.storage import read_csv
from replication.study.seeds import batches, seed_list
from transformer_dynamics.scan_and_snap.figures.theory_vs_training import TheoryVsTraining
from transformer_dynamics.scan_and_snap.metrics.attention import entropy_on_distinct
from transformer_dynamics.scan_and_snap.settings.experiments import ExperimentSettings
from transformer_dynamics.scan_and_snap.settings.training import MOST_NUMBERS, Mixture
from transformer_dynamics.scan_and_snap.study import FIGURES, Settings
from transformer_dynamics.scan_and_snap.theory.decoder import scanning_end, snapping_start
from transformer_dynamics.scan_and_snap.theory.population import population_flow
from transformer_dynamics.scan_and_snap.theory.sequence_classes import sequence_classes

STUDY = __package__.split(".")[1]
STEPS = (1, 1.5, 2, 3, 4, 5, 6, 8)
"""Values of a slider within a power of ten."""
SHOWN_AFTER = 4
"""Least end of time at first, in units of t_0."""


def data(settings: Settings, tables: Mapping[str, Path]) -> dict[str, Any]:
    """Return the values that `panel.html` shows; raise InputError if a table cannot be read.

    `explored` is the start of the script; `stages` and `tokens` are the first setting at the times
    that the theory singles out, as numbers.
    """
    mixtures = {
        name: mixture for name, mixture in settings.mixtures.items() if mixture.num_classes > 1
    }
    compared = {
        name: settings.experiments[figure.experiment]
        for name, figure in settings.figures.items()
        if isinstance(figure, TheoryVsTraining)
        and figure.experiment in settings.experiments
        and _is_gradient_flow(settings.experiments[figure.experiment])
    }
    experiment = next(iter([*compared.values(), *settings.experiments.values()]))
    eta_z, ratio = experiment.training.cells[0]
    name = next(iter([*(set(experiment.mixtures) & mixtures.keys()), *mixtures]))
    eta_y = eta_z * ratio
    until = _end_time(eta_y, mixtures[name])
    start = {"mixture": name, "eta_Y": _round_number(eta_y), "eta_Z": eta_z, "until": until}
    explored = {
        "study": STUDY,
        "command": f"snakemake {FIGURES}/explored.pdf --configfile explored.yaml",
        "mixtures": {name: mixture.model_dump() for name, mixture in mixtures.items()},
        "start": start,
        "steps": STEPS,
        "seeds": experiment.model_dump(mode="json")["seeds"],
        "seeds_per_job": max(map(len, batches(seed_list(experiment.seeds)).values())),
        "most_numbers": MOST_NUMBERS,
        "sampling": experiment.sampling.model_dump() | {"stream": "independent"},
        "training": [
            {"mixture": name, **cell}
            for figure, of in compared.items()
            if figure in tables
            for name in of.mixtures
            for cell in _training_exponents(tables[figure])
        ],
    }
    return {"explored": explored, **_stages(mixtures[name], eta_y, eta_z, until)}


def _is_gradient_flow(experiment: ExperimentSettings) -> bool:
    """Say whether the population flow is the limit of an experiment's training, on one mixture."""
    training = experiment.training
    departs = training.momentum or training.residual or training.query_among_keys
    is_plain = training.optimizer == "sgd" and training.initialization == "zero" and not departs
    return is_plain and len(experiment.mixtures) == 1


def _training_exponents(table: Path) -> list[dict[str, Any]]:
    """Return B_n(t) of training, mean and standard deviation over seeds, by rates."""
    rows = read_csv(table, ("eta_y", "eta_z", "source", "quantity", "t"))
    rows = rows[(rows["source"] == "training") & (rows["quantity"] == "exponent")]
    return [
        {
            "eta_Y": _round_number(found["eta_y"].iloc[0]),
            "eta_Z": _round_number(found["eta_z"].iloc[0]),
            "exponent": found[["t", "value_mean", "value_std"]].round(5).fillna(0).values.tolist(),
        }
        for _, found in rows.groupby(["eta_y", "eta_z"])
    ]


def _stages(mixture: Mixture, eta_y: float, eta_z: float, until: float) -> dict[str, Any]:
    classes = sequence_classes(mixture)
    sizes = mixture.vocabulary_size, mixture.num_classes
    times = np.array([0, scanning_end(eta_y, *sizes), snapping_start(eta_y, *sizes), until])
    flow = population_flow(classes, eta_y, eta_z, times)
    entropy = entropy_on_distinct(classes, flow.attention_logits)
    distinct = classes.distinct[0]
    stages = [
        {
            "name": stage,
            "t": float(t),
            "attention": attention.tolist(),
            "common": float(attention[~distinct].sum()),
            "exponent": float(exponent),
            "rate": float(eta_z / mixture.num_classes * drive),
            "entropy": float(rest),
        }
        for stage, t, attention, exponent, drive, rest in zip(
            ("start", "t_0'", "t_0", "end"), times, flow.attention[:, 0], flow.exponents[:, 0],
            flow.drive[:, 0], entropy, strict=True,
        )
    ]  # fmt: skip
    return {"stages": stages, "tokens": distinct.tolist()}


def _end_time(eta_y: float, mixture: Mixture) -> float:
    """Return the first value of a slider that lets time run long enough."""
    start = snapping_start(eta_y, mixture.vocabulary_size, mixture.num_classes)
    tens = 10.0 ** np.floor(np.log10(SHOWN_AFTER * start))
    values = tens * np.array([*STEPS, 10])
    return _round_number(values[values >= SHOWN_AFTER * start][0])


def _round_number(value: float) -> float:
    """Return a number without the noise of its last bits: 0.6 for 3 x 0.2."""
    return float(f"{value:.12g}")
