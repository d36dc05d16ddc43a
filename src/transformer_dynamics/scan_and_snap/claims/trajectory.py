"""Sections 4 to 6: training without momentum and from zero, against the theory."""

from typing import Literal

import numpy as np
import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.evidence import name_cells
from transformer_dynamics.scan_and_snap.claims.tables import (
    RATES,
    RATIO,
    Measured,
    Runs,
    evidence_rows,
    read_runs,
    table_from_start,
    turns,
)
from transformer_dynamics.scan_and_snap.metrics.growth import turn_time
from transformer_dynamics.scan_and_snap.settings.metrics import MetricSettings
from transformer_dynamics.scan_and_snap.theory.decoder import snapping_start, updates_with_momentum
from transformer_dynamics.scan_and_snap.theory.growth import (
    Setting,
    exponent,
    phase_times,
    theorem4_setting,
)
from transformer_dynamics.scan_and_snap.theory.sequence_classes import Floats, sequence_classes

LEAST_PATH = 1e-6
"""Length of a path of attention below which its motion is rounding."""
OF_THE_PAPER = "syn_"
"""Beginning of the names of the paper's mixtures."""


def time_to_an_error(loss: Measured, metrics: MetricSettings) -> pd.DataFrame:
    """Return updates until the loss is down to eps, in units of the bound K ln(M/eps)/(eps eta_Y).

    The largest over all updates at which eps, the mean loss of the latest ones, is at most
    `small_error.largest`; at the end of training if it never is. Below it the loss -ln alpha_n is
    about the error |x_{T+1} - alpha_n| of Corollary 1.

    Raises:
        UnmeasurableError: if training has too few updates for a mean.
    """
    (mixture,) = loss.job.mixtures.values()
    small = metrics.small_error
    if loss.job.sampling.steps < small.updates:
        raise UnmeasurableError(
            f"no mean loss of {small.updates} updates; train longer, or lower small_error > updates"
        )
    rows = []
    for eta_z, ratio in loss.job.training.cells:
        cell = loss.table[(loss.table["eta_z"] == eta_z) & (loss.table["ratio"] == ratio)]
        for seed, run in cell.sort_values("iteration").groupby("seed"):
            smooth = run.set_index("iteration")["loss"].rolling(small.updates).mean()
            eps = smooth[smooth <= small.largest] if smooth.min() <= small.largest else smooth[-1:]
            steps = np.log(mixture.vocabulary_size / eps) * mixture.num_classes
            bound = steps / (eta_z * ratio * eps)
            rows.append({"ratio": ratio, "seed": seed, "value": (eps.index / bound).max()})
    return name_cells(pd.DataFrame(rows), **RATIO)


def rise_of_distinct_tokens(unnormalised: Measured) -> pd.DataFrame:
    """Return z_ml of each distinct token after training from zero, at the highest ratio."""
    found = read_runs(unnormalised)
    z = _logits(found)[:, -1, -1, :, found.num_common :].mean(axis=1)
    weights = found.classes.probabilities[0, found.num_common :]
    names = [f"P(l|n) = {weight:.4f}" for weight in weights]
    table = pd.DataFrame(z, index=pd.Index(found.seeds, name="seed"), columns=names)
    return table.reset_index().melt(id_vars="seed", var_name="cell")


def fall_of_common_tokens(unnormalised: Measured) -> pd.DataFrame:
    """Return the largest z_ml of any common token after training from zero."""
    found = read_runs(unnormalised)
    z = _logits(found)[:, -1, :, :, : found.num_common]
    return evidence_rows(z.max(axis=(-2, -1)), found)


def gain_over_growth(growth: Measured) -> pd.DataFrame:
    """Return (r(t)/r(0) - 1)/(chi(t) - 1) after training, first against middle distinct token.

    It is 1 by (11), however little the attention has moved.
    """
    start, end = _growth_at(growth, "min"), _growth_at(growth, "max")
    gain = end["relative_gain"] / start["relative_gain"] - 1
    ratio = gain / (end["growth_factor"] - 1)
    return name_cells(ratio.rename("value").reset_index(), **RATIO)


def steps_of_the_dominant_share(attention: Measured, metrics: MetricSettings) -> pd.DataFrame:
    """Return the smallest rise of the dominant token's share f_nl0 in equal parts of training.

    Mean over classes, over its whole rise. Below zero if it falls in one of them.
    """
    found = read_runs(attention)
    f = found.array[..., -1] / np.linalg.norm(found.array, axis=-1)
    times = np.linspace(0, found.iterations[-1], metrics.parts + 1)
    parts = [np.abs(np.array(found.iterations) - time).argmin() for time in times]
    steps = np.diff(f.mean(axis=-1)[:, parts], axis=1)
    return evidence_rows(steps.min(axis=1) / np.abs(steps.sum(axis=1)), found)


def steps_of_the_remaining_share(attention: Measured) -> pd.DataFrame:
    """Return how much more a distinct token keeps of its attention than the next rarer one.

    Kept is c_l/c_l0 at the end over that at the start, l0 the dominant token; mean over classes.
    """
    found = read_runs(attention)
    relative = found.distinct() / found.distinct()[..., -1:]
    kept = (relative[:, -1] / relative[:, 0]).mean(axis=-2)
    steps = np.diff(kept, axis=-1)
    tables = [
        evidence_rows(steps[..., rank], found).assign(rank=rank + 2)
        for rank in range(steps.shape[-1])
    ]
    table = pd.concat(tables, ignore_index=True)
    return table.assign(cell=table["cell"] + ", token " + table.pop("rank").astype(str))


def growth_of_the_movement(attention: Measured, metrics: MetricSettings) -> pd.DataFrame:
    """Return the exponent a of the motion per factor e of time after t_0, |dc_n/d ln t|_1 ~ t^a.

    Mean over classes, by least squares over all recorded intervals past t_0: 0 if attention moves
    logarithmically in time, 1 if it moves at a steady speed, below 0 if it comes to rest.

    Raises:
        UnmeasurableError: if fewer than three records lie past t_0.
    """
    found, starts = runs_past_transition(attention, metrics)
    times = np.log(np.maximum(found.iterations, 1))
    change = np.abs(np.diff(found.array, axis=1)).sum(axis=-1).mean(axis=-1)
    exponents = []
    for cell, start in enumerate(starts):
        steps = np.diff(times[start:])
        motion = np.log(change[:, start:, cell] / steps)
        exponents.append(np.polyfit(times[start:-1] + steps / 2, motion.T, 1)[0])
    return evidence_rows(np.stack(exponents, axis=1), found, RATES)


def motion_after_over_before(attention: Measured, metrics: MetricSettings) -> pd.DataFrame:
    """Return |c_n(end) - c_n(t_0)|_1 over |c_n(t_0) - c_n(0)|_1, mean over classes."""
    found, starts = runs_past_transition(attention, metrics)
    at_start = np.stack([found.array[:, start, cell] for cell, start in enumerate(starts)], axis=1)
    after, before = (
        np.abs(found.array[:, step] - at_start).sum(axis=-1).mean(axis=-1) for step in (-1, 0)
    )
    return evidence_rows(after / before, found, RATES)


def fastest_motion_over_transition(attention: Measured, metrics: MetricSettings) -> pd.DataFrame:
    """Return the update at which c_n moves fastest over t_0; its path is a mean over classes."""
    found, _ = runs_past_transition(attention, metrics)
    motion = np.abs(np.diff(found.array, axis=1, prepend=found.array[:, :1]))
    paths = motion.sum(axis=-1).mean(axis=-1).cumsum(axis=1)
    if not (paths[:, -1] > LEAST_PATH).all():
        raise UnmeasurableError("attention does not move, so that no update is the fastest")
    fastest = [
        [
            turn_time(pd.DataFrame({"iteration": found.iterations, "growth": path}), metrics.turn)
            for path in of_seed.T
        ]
        for of_seed in paths
    ]
    return evidence_rows(np.array(fastest) / found.cells["t_0"].to_numpy(), found, RATES)


def exponent_of_the_turn(growth: Measured, metrics: MetricSettings) -> pd.DataFrame:
    """Return the power of eta_Y as which the time of the largest dB_n/dt goes, by mixture."""
    return _power_of(turns(growth, metrics), "eta_y")


def exponent_in_the_paper(growth: Measured, metrics: MetricSettings) -> pd.DataFrame:
    """Return the exponent of the turn in the mixtures of the paper."""
    table = exponent_of_the_turn(growth, metrics)
    return table[table["cell"].str.startswith(OF_THE_PAPER)]


def exponent_elsewhere(growth: Measured, metrics: MetricSettings) -> pd.DataFrame:
    """Return the exponent of the turn in the mixtures that are ours."""
    table = exponent_of_the_turn(growth, metrics)
    return table[~table["cell"].str.startswith(OF_THE_PAPER)]


def exponent_in_eta_z(growth: Measured, metrics: MetricSettings) -> pd.DataFrame:
    """Return the power of eta_Z as which the time of the largest dB_n/dt goes, at the same eta_Y.

    Raises:
        UnmeasurableError: unless several eta_Z share exactly one eta_Y.
    """
    table = turns(growth, metrics)
    shared = table[table.groupby("eta_y")["eta_z"].transform("nunique") > 1]
    if len(shared["eta_y"].unique()) != 1:
        raise UnmeasurableError("one eta_Y that several eta_Z share is needed; change the rates")
    return _power_of(shared, "eta_z")


def place_of_the_turn(growth: Measured, metrics: MetricSettings) -> pd.DataFrame:
    """Return the time of the largest dB_n/dt in the paper's mixtures; it is 0 at t_0', 1 at t_0."""
    table = turns(growth, metrics).query("mixture.str.startswith(@OF_THE_PAPER)")
    mixtures = table["mixture"].map(growth.job.mixtures)
    settings = [
        Setting(eta_y, eta_z, mixture.vocabulary_size, mixture.num_classes)
        for eta_y, eta_z, mixture in zip(table["eta_y"], table["eta_z"], mixtures, strict=True)
    ]
    early, late = np.transpose([*map(phase_times, settings)])
    table = table.assign(value=(table["turn"] - early) / (late - early))
    return name_cells(table, "mixture", eta_y="eta_Y")


def growth_over_theorem_4(growth: Measured) -> pd.DataFrame:
    """Return B_n at the end of training over that of Theorem 4, where one token is common.

    Raises:
        UnmeasurableError: unless exactly one mixture has a single common token.
    """
    mixtures = growth.job.mixtures.items()
    found = [name for name, mixture in mixtures if len(mixture.common_weights) == 1]
    if len(found) != 1:
        raise UnmeasurableError("one mixture with one common token is needed (Theorem 4); add it")
    table, time = table_from_start(growth), growth.job.sampling.steps
    end = table.query("quantity == 'exponent' and mixture in @found and iteration == @time")
    classes = sequence_classes(growth.job.mixtures[found[0]])
    printed = [
        float(exponent(theorem4_setting(classes, eta_z * ratio, eta_z), time))
        for eta_z, ratio in zip(end["eta_z"], end["ratio"], strict=True)
    ]
    return name_cells(end.assign(value=end["growth"] / np.array(printed)), **RATES)


def _power_of(table: pd.DataFrame, rate: str) -> pd.DataFrame:
    """Return the power of a rate as which the turn goes, of every mixture and seed."""
    powers: pd.Series = table.groupby(["mixture", "seed"])[[rate, "turn"]].apply(
        lambda run: np.polyfit(np.log(run[rate]), np.log(run["turn"]), 1)[0]
    )
    return powers.rename("value").reset_index().rename(columns={"mixture": "cell"})


def lead_of_the_initial_winner(attention: Measured) -> pd.DataFrame:
    """Return growth of the lead of the token with the larger initial attention, against its P(l|n).

    Of each two distinct tokens that are neighbours in P(l|n) and whose order the random start has
    reversed: ln c_{l|n} of the token that starts ahead minus that of the other one, at the end
    minus at the start. Mean over these pairs of a seed; seeds without such a pair are left out.

    Raises:
        UnmeasurableError: if no seed has such a pair.
    """
    found = read_runs(attention)
    lead = -np.diff(np.log(found.distinct()), axis=-1)
    start, end = lead[:, 0], lead[:, -1]
    reversed_pairs = start > 0
    number = reversed_pairs.sum((-2, -1))
    growth = np.where(reversed_pairs, end - start, 0).sum((-2, -1)) / np.maximum(number, 1)
    # Every cell of a seed has the same start.
    some = number[:, 0] > 0
    if not some.any():
        raise UnmeasurableError("the random start reverses no pair of tokens; add seeds")
    seeds = [seed for seed, has_pairs in zip(found.seeds, some, strict=True) if has_pairs]
    return evidence_rows(growth[some], found._replace(seeds=seeds))


def runs_past_transition(attention: Measured, metrics: MetricSettings) -> tuple[Runs, list[int]]:
    """Return the runs with t_0 of `least_t_0` or more, and the first record at or past it.

    Raises:
        UnmeasurableError: if there is no such cell, no record near t_0, or fewer than three past
            it.
    """
    found = read_runs(attention)
    (mixture,) = attention.job.mixtures.values()
    size, num_classes = mixture.vocabulary_size, mixture.num_classes
    rates = found.cells["eta_z"] * found.cells["ratio"]
    plain = [snapping_start(eta_y, size, num_classes) for eta_y in rates]
    t_0 = updates_with_momentum(plain, attention.job.training.momentum)
    late = t_0 >= metrics.least_t_0
    if not late.any():
        raise UnmeasurableError(
            f"t_0 is below {metrics.least_t_0:g} updates at all rates; add lower ones"
        )
    starts = np.searchsorted(found.iterations, t_0[late])
    for start, time in zip(starts, t_0[late], strict=True):
        if start > len(found.iterations) - 3 or found.iterations[start] > 1.1 * time + 1:
            raise UnmeasurableError(
                f"t_0 = {time:.3g}; a record there and two past it are needed: record more"
            )
    array, cells = found.array[:, :, late], found.cells[late].reset_index(drop=True)
    return found._replace(array=array, cells=cells.assign(t_0=t_0[late])), starts.tolist()


def _logits(found: Runs) -> Floats:
    """Return z_ml from c~_{l|n} = P(l|n) exp(z_ml) (5)."""
    return np.asarray(np.log(found.array) - np.log(found.classes.probabilities))


def _growth_at(growth: Measured, update: Literal["min", "max"]) -> pd.DataFrame:
    """Return a row per comparison and seed at the first or last record, a column per quantity."""
    table = table_from_start(growth)
    found: pd.DataFrame = table[table["iteration"] == table["iteration"].agg(update)].pivot(
        index=["eta_z", "ratio", "seed"], columns="quantity", values="growth"
    )
    return found
