"""Theorems 2 and 3 and Section 5 along the flows of the attention.

Two flows are compared with the paper: Eq. 10, from which it derives its statements, and the
population flow, which is gradient ascent on the expected objective of infinitely long sequences
with nothing approximated. Both start at zero, and eta_Z = 1.
"""

from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from transformer_dynamics.scan_and_snap.claims.evidence import evidence
from transformer_dynamics.scan_and_snap.metrics import attention
from transformer_dynamics.scan_and_snap.sequence_classes import SequenceClasses, sequence_classes
from transformer_dynamics.scan_and_snap.settings import Mixture
from transformer_dynamics.scan_and_snap.theory.attention import (
    attention_flow,
    growth_bounds,
    growth_factor,
    relative_gain,
)
from transformer_dynamics.scan_and_snap.theory.population import population_flow

Floats = NDArray[np.float64]

SYN_SMALL, SYN_MEDIUM = "Syn-Small", "Syn-Medium, 1 query"
ONE_QUERY, TWO_QUERIES = "1 common token, 1 query", "1 common token, 2 queries"
FIVE_COMMON = "5 common tokens, 1 query"
RATIOS = (1.0, 10.0, 100.0)
TIMES = np.linspace(0, 600, 121)


def cases(mixtures: dict[str, Mixture]) -> dict[str, Mixture]:
    """Data models on which the flows are followed: three small ones and two of the paper's."""
    small = {"common_weights": [1.0], "distinct_weights": [0.5, 1.0, 1.5]}
    one_query = Mixture(num_last=1, next_tokens_per_query=4, **small)
    return {
        ONE_QUERY: one_query,
        TWO_QUERIES: Mixture(num_last=2, next_tokens_per_query=2, **small),
        FIVE_COMMON: one_query.model_copy(update={"common_weights": [1.0] * 5}),
        SYN_SMALL: mixtures["syn_small"],
        SYN_MEDIUM: mixtures["syn_medium_1"],
    }


class Flow(NamedTuple):
    """A flow on the supports of the classes."""

    classes: SequenceClasses
    """The K sequence classes."""
    logits: Floats
    """[T, K, S] z_ml."""
    shares: Floats
    """[T, K, S] c_n."""
    drive: Floats
    """[T, K] xi_n."""
    exponents: Floats
    """[T, K] B_n."""


def flow(mixture: Mixture, ratio: float | None) -> Flow:
    """Eq. 10 with eta_Y = 1 if there is no ratio, or the population flow at eta_Y/eta_Z."""
    return _flow(mixture.model_dump_json(), ratio)


@cache
def _flow(mixture: str, ratio: float | None) -> Flow:
    classes = sequence_classes(Mixture.model_validate_json(mixture))
    if ratio is None:
        found = attention_flow(classes, 1.0, 1.0, TIMES)
        return _on_support(classes, found.attention_logits, found.drive, found.exponents)
    true = population_flow(classes, ratio, 1.0, TIMES)
    return _on_support(classes, true.attention_logits, true.drive, true.exponents)


def drive(mixtures: dict[str, Mixture]) -> pd.DataFrame:
    """Smallest xi_n(t) for t > 0 over the largest (Theorem 1a)."""
    known = cases(mixtures)
    values = {}
    for name in (ONE_QUERY, FIVE_COMMON, SYN_SMALL):
        for ratio in (None, *RATIOS):
            xi = flow(known[name], ratio).drive[1:]
            values[_name(name, ratio)] = xi.min() / xi.max()
    return evidence(values)


def distinct_tokens(mixtures: dict[str, Mixture]) -> pd.DataFrame:
    """Smallest zdot_ml of a distinct token over the largest |zdot_ml|, Eq. 10 (Theorem 2a)."""
    known = cases(mixtures)
    return evidence({name: _smallest_rise(flow(known[name], None)) for name in known})


def distinct_tokens_of_population(mixtures: dict[str, Mixture]) -> pd.DataFrame:
    """Smallest zdot_ml of a distinct token over the largest |zdot_ml|, population flow."""
    known = cases(mixtures)
    names = (ONE_QUERY, TWO_QUERIES, SYN_SMALL, SYN_MEDIUM)
    return evidence(
        {_name(name, r): _smallest_rise(flow(known[name], r)) for name in names for r in RATIOS}
    )


def single_common_token(mixtures: dict[str, Mixture]) -> pd.DataFrame:
    """Largest zdot_ml of the common token over the largest |zdot_ml|, Eq. 10 (Theorem 2b)."""
    known = cases(mixtures)
    names = (ONE_QUERY, TWO_QUERIES)
    return evidence({name: _largest_common_rise(flow(known[name], None)) for name in names})


def single_common_token_of_population(mixtures: dict[str, Mixture]) -> pd.DataFrame:
    """Largest zdot_ml of the common token over the largest |zdot_ml|, population flow."""
    known = cases(mixtures)
    names = (ONE_QUERY, TWO_QUERIES)
    return evidence(
        {
            _name(name, r): _largest_common_rise(flow(known[name], r))
            for name in names
            for r in RATIOS
        }
    )


def common_tokens(mixtures: dict[str, Mixture]) -> pd.DataFrame:
    """Largest zdot_ml of a common token over the largest |zdot_ml|, Eq. 10 (Corollary 2)."""
    known = cases(mixtures)
    names = (FIVE_COMMON, SYN_MEDIUM)
    return evidence({name: _largest_common_rise(flow(known[name], None)) for name in names})


def common_tokens_of_population(mixtures: dict[str, Mixture]) -> pd.DataFrame:
    """Largest zdot_ml of a common token over the largest |zdot_ml|, population flow."""
    known = cases(mixtures)
    names = (FIVE_COMMON, SYN_MEDIUM)
    return evidence(
        {
            _name(name, r): _largest_common_rise(flow(known[name], r))
            for name in names
            for r in RATIOS
        }
    )


def gain_identity(mixtures: dict[str, Mixture]) -> pd.DataFrame:
    """Largest |r(t)/(r(0) chi(t)) - 1| of a pair of distinct tokens, Eq. 10 (Theorem 3)."""
    known = cases(mixtures)
    return evidence({name: _gain_deviation(flow(known[name], None)) for name in known})


def gain_identity_of_population(mixtures: dict[str, Mixture]) -> pd.DataFrame:
    """Largest |r(t)/(r(0) chi(t)) - 1| of a pair of distinct tokens, population flow."""
    known = cases(mixtures)
    names = (ONE_QUERY, FIVE_COMMON, SYN_SMALL, SYN_MEDIUM)
    return evidence(
        {_name(name, r): _gain_deviation(flow(known[name], r)) for name in names for r in RATIOS}
    )


def dominant_token(mixtures: dict[str, Mixture]) -> pd.DataFrame:
    """Smallest increment of z_ml0 and f_nl0 over the largest, Eq. 10 (Theorem 3)."""
    known = cases(mixtures)
    values = {}
    for name in known:
        f, z, _ = _dominant(flow(known[name], None))
        values[f"{name}: z"], values[f"{name}: f"] = _steadiness(z), _steadiness(f)
    return evidence(values)


def dominant_token_of_population(mixtures: dict[str, Mixture]) -> pd.DataFrame:
    """Smallest increment of z_ml0 and f_nl0 over the largest, population flow."""
    known = cases(mixtures)
    values = {}
    for name in (ONE_QUERY, SYN_SMALL):
        for ratio in RATIOS:
            f, z, _ = _dominant(flow(known[name], ratio))
            values[f"{_name(name, ratio)}: z"] = _steadiness(z)
            values[f"{_name(name, ratio)}: f"] = _steadiness(f)
    return evidence(values)


def growth_between_bounds(mixtures: dict[str, Mixture]) -> pd.DataFrame:
    """Place of ln chi_l0 between the bounds (12), 0 at the lower, 1 at the upper, Eq. 10."""
    known = cases(mixtures)
    values = {}
    for name in known:
        place = _place_between_bounds(flow(known[name], None))
        values[f"{name}: lowest"], values[f"{name}: highest"] = place.min(), place.max()
    return evidence(values)


def growth_between_bounds_of_population(mixtures: dict[str, Mixture]) -> pd.DataFrame:
    """Place of ln chi_l0 between the bounds (12) where it is furthest out, population flow."""
    known = cases(mixtures)
    values = {}
    for name in (ONE_QUERY, FIVE_COMMON, SYN_SMALL):
        for ratio in RATIOS:
            place = _place_between_bounds(flow(known[name], ratio))
            values[_name(name, ratio)] = place[np.abs(place - 0.5).argmax()]
    return evidence(values)


def overtaking_order(mixtures: dict[str, Mixture]) -> pd.DataFrame:
    """Smallest share kept of a distinct token over that of the next rarer one (Section 5).

    The share kept is (c_l/c_l0)(t) over (c_l/c_l0)(0).
    """
    known = cases(mixtures)
    values = {}
    for name in (ONE_QUERY, SYN_SMALL, SYN_MEDIUM):
        for ratio in (None, *RATIOS):
            found = flow(known[name], ratio)
            c = _on_distinct(found.classes, found.shares)
            share = c / c[..., -1:]
            kept = share[1:] / share[0]
            values[_name(name, ratio)] = (kept[..., 1:] / kept[..., :-1]).min()
    return evidence(values)


def common_mass(mixtures: dict[str, Mixture]) -> pd.DataFrame:
    """Largest increment of the common tokens' part of c_n over the largest |increment|."""
    known = cases(mixtures)
    values = {}
    for name in (ONE_QUERY, FIVE_COMMON, SYN_SMALL):
        for ratio in (None, *RATIOS):
            found = flow(known[name], ratio)
            mass = np.where(found.classes.distinct, 0, found.shares).sum(axis=-1)
            steps = np.diff(mass, axis=0)
            values[_name(name, ratio)] = steps.max() / np.abs(steps).max()
    return evidence(values)


def initial_logits_as_prior(mixtures: dict[str, Mixture]) -> pd.DataFrame:
    """Smallest growth of c_l0/c_l for a random Z(0), where l0 is argmax P(l|n) exp(z_ml(0)).

    From t = 0 to 600, the smallest over the classes of Syn-Small and their distinct tokens l.
    """
    classes = sequence_classes(mixtures["syn_small"])
    shape = len(classes.query_tokens), classes.vocabulary_size
    values = {}
    for seed in range(1, 5):
        start = np.random.default_rng(seed).normal(size=shape)
        for ratio in (None, *RATIOS[:2]):
            ends = np.array([start, _final_logits(classes, ratio, start)])
            c = _on_distinct(classes, attention(classes, ends))
            c = np.take_along_axis(c, c[:1].argsort(axis=-1), axis=-1)
            lead = c[..., -1:] / c[..., :-1]
            values[_name(f"start {seed}", ratio)] = (lead[1] / lead[0]).min()
    return evidence(values)


def _final_logits(classes: SequenceClasses, ratio: float | None, start: Floats) -> Floats:
    """[L, M] Z at the end of a flow from Z(0), see `flow`."""
    if ratio is None:
        found = attention_flow(classes, 1.0, 1.0, TIMES[-1:], start=start).attention_logits
    else:
        zero = np.zeros(2 * [classes.vocabulary_size])
        true = population_flow(classes, ratio, 1.0, TIMES[-1:], start=(zero, start))
        found = true.attention_logits
    return np.asarray(found[0])


def _name(mixture: str, ratio: float | None) -> str:
    return f"{mixture}, {'Eq. 10' if ratio is None else f'ratio {ratio:g}'}"


def _on_support(classes: SequenceClasses, logits: Floats, drive: Floats, exponents: Floats) -> Flow:
    rows = logits[:, classes.query]
    index = np.broadcast_to(classes.support, (len(rows), *classes.support.shape))
    z = np.take_along_axis(rows, index, axis=2)
    return Flow(classes, z, attention(classes, logits), drive, exponents)


def _rates(found: Flow) -> Floats:
    """[T-1, K, S] increments of z_ml over the largest |increment| in the same interval."""
    moves = np.diff(found.logits, axis=0)
    return np.asarray(moves / np.abs(moves).max(axis=(1, 2), keepdims=True))


def _smallest_rise(found: Flow) -> float:
    return float(_rates(found)[:, found.classes.distinct].min())


def _largest_common_rise(found: Flow) -> float:
    return float(_rates(found)[:, ~found.classes.distinct].max())


def _gain_deviation(found: Flow) -> float:
    """Over all pairs of distinct tokens of the first class, and all times."""
    c, z = found.shares[:, 0], found.logits[:, 0]
    pairs = combinations(np.flatnonzero(found.classes.distinct[0]), 2)
    low, high = np.array([*pairs]).T
    gain = relative_gain(c, high, low)
    ratio = gain / (gain[0] * growth_factor(z[:, high], z[0, high]))
    return float(np.abs(ratio - 1).max())


def _dominant(found: Flow) -> tuple[Floats, Floats, Floats]:
    """[T] f_nl0, z_ml0 and B_n of the first class's most frequent distinct token."""
    f = found.shares[:, 0] / np.linalg.norm(found.shares[:, 0], axis=-1, keepdims=True)
    return f[:, -1], found.logits[:, 0, -1], found.exponents[:, 0]


def _steadiness(values: Floats) -> float:
    steps = np.diff(values)
    return float(steps.min() / np.abs(steps).max())


def _place_between_bounds(found: Flow) -> Floats:
    """[T-1] (ln chi_l0 - ln lower)/(ln upper - ln lower) for t > 0."""
    f, z, exponents = _dominant(found)
    lower, upper = (np.log(bound[1:]) for bound in growth_bounds(exponents, f[0]))
    return np.asarray((2 * z[1:] - lower) / (upper - lower))


def _on_distinct(classes: SequenceClasses, shares: Floats) -> Floats:
    """[T, K, S_d] c_n on the distinct tokens, the rarest first."""
    return np.asarray(shares[:, classes.distinct].reshape(len(shares), len(classes.support), -1))
