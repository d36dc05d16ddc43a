"""Growth of distinct tokens along training, and the time at which it turns."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from transformer_dynamics.scan_and_snap.settings.metrics import Turn
from transformer_dynamics.scan_and_snap.theory.attention import attention_weights
from transformer_dynamics.scan_and_snap.theory.sequence_classes import Floats, SequenceClasses

GROWTH = ("exponent", "relative_gain", "growth_factor")
"""Quantities of `growth`, in the order of its last axis."""


def growth(classes: SequenceClasses, attention_logits: ArrayLike) -> Floats:
    """Return [T, ..., 3] the growth of distinct tokens by `GROWTH`, averaged over classes.

    The most frequent distinct token l0 of a class is compared with the middle one, l, along the
    [T, ..., L, M] rows z_m of Z; each class has as many distinct tokens.

    * exponent: B_n(t), from zdot_ml = f_nl^2 dB_n/dt for distinct tokens (98): the sum of their
      increments of z over that of f^2, averaged over each increment's two ends;
    * relative gain: r_{l0/l|n}(t) = c_l0^2/c_l^2 - 1 (Theorem 3);
    * growth factor: chi_l0(t) = exp(2 (z_ml0(t) - z_ml0(0))) (11).
    """
    c = attention_weights(classes, attention_logits)
    f = c / np.linalg.norm(c, axis=-1, keepdims=True)
    z = classes.support_logits(attention_logits)
    shape = (len(classes.support), -1)
    z, f, c, p = (
        part[..., classes.distinct].reshape(*part.shape[:-2], *shape)
        for part in (z, f, c, classes.probabilities)
    )
    squares = (f[1:] ** 2 + f[:-1] ** 2) / 2
    increments = np.diff(z, axis=0).sum(-1) / squares.sum(-1)
    at_start = np.zeros_like(increments, shape=(1, *increments.shape[1:]))
    exponent = np.concatenate([at_start, np.cumsum(increments, axis=0)])
    order = np.argsort(p[0], kind="stable")
    first, middle = order[-1], order[len(order) // 2]
    gain = (c[..., first] / c[..., middle]) ** 2 - 1
    factor = np.exp(2 * (z - z[:1])[..., first])
    return np.stack([part.mean(axis=-1) for part in (exponent, gain, factor)], axis=-1)


def turn_time(run: pd.DataFrame, by: Turn) -> float:
    """Return the time at which B_n(t), `growth` of one run, rises fastest, in updates.

    A parabola through dB_n/dt against ln t, around its largest value, has its peak there. It
    interpolates between the recorded updates and evens out noise.
    """
    slope, width = by.slope, by.parabola
    run = run.sort_values("iteration")
    times, values = run["iteration"].to_numpy(), run["growth"].to_numpy()
    middles = np.geomspace(slope, times[-1] / slope, 400)
    rise = np.interp(middles * slope, times, values) - np.interp(middles / slope, times, values)
    pace = rise / middles
    fastest = middles[np.argmax(pace)]
    near = (fastest / width <= middles) & (middles <= fastest * width)
    curvature, rising, _ = np.polyfit(np.log(middles[near] / fastest), pace[near], 2)
    if curvature >= 0:
        return float(fastest)
    shift = np.clip(-rising / (2 * curvature), -np.log(width), np.log(width))
    return float(fastest * np.exp(shift))
