"""Theorems 2 and 3 and Section 5 along the flows of the attention.

Two flows are compared with the paper: Eq. 10, from which it derives its statements, and the
population flow, which is gradient ascent on the expected objective of infinitely long sequences
with nothing approximated. Both start at zero, and eta_Z = 1.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transformer_dynamics.scan_and_snap.claims.evidence import ONE_QUERY, Cases, evidence
from transformer_dynamics.scan_and_snap.metrics import attention
from transformer_dynamics.scan_and_snap.sequence_classes import SequenceClasses, sequence_classes
from transformer_dynamics.scan_and_snap.settings import Mixture
from transformer_dynamics.scan_and_snap.theory.attention import (
    AttentionFlow,
    attention_flow,
    growth_bounds,
    growth_factor,
    relative_gain,
)
from transformer_dynamics.scan_and_snap.theory.population import PopulationFlow, population_flow

Floats = NDArray[np.float64]

SYN_SMALL, SYN_MEDIUM = "Syn-Small", "Syn-Medium, 1 query"
ONE, TWO = "1 common token, 1 query", "1 common token, 2 queries"
FIVE = "5 common tokens, 1 query"
ALL = (ONE, TWO, FIVE, SYN_SMALL, SYN_MEDIUM)
RATIOS = (1.0, 10.0, 100.0)
BOTH = (None, *RATIOS)
"""Eq. 10, and the population flow at every ratio."""
TIMES = np.linspace(0, 600, 121)


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


@evidence
def drive(mixtures: dict[str, Mixture]) -> Cases:
    """Smallest xi_n(t) for t > 0 over the largest (Theorem 1a)."""
    for name, flow in _flows(mixtures, (ONE, FIVE, SYN_SMALL), BOTH):
        xi = flow.drive[1:]
        yield name, xi.min() / xi.max()


@evidence
def distinct_tokens(mixtures: dict[str, Mixture]) -> Cases:
    """Smallest zdot_ml of a distinct token over the largest |zdot_ml|, Eq. 10 (Theorem 2a)."""
    for name, flow in _equation_10(mixtures):
        yield name, _smallest_rise(flow)


@evidence
def distinct_tokens_of_population(mixtures: dict[str, Mixture]) -> Cases:
    """Smallest zdot_ml of a distinct token over the largest |zdot_ml|, population flow."""
    for name, flow in _flows(mixtures, (ONE, TWO, SYN_SMALL, SYN_MEDIUM)):
        yield name, _smallest_rise(flow)


@evidence
def single_common_token(mixtures: dict[str, Mixture]) -> Cases:
    """Largest zdot_ml of the common token over the largest |zdot_ml|, Eq. 10 (Theorem 2b)."""
    for name, flow in _equation_10(mixtures, (ONE, TWO)):
        yield name, _largest_common_rise(flow)


@evidence
def single_common_token_of_population(mixtures: dict[str, Mixture]) -> Cases:
    """Largest zdot_ml of the common token over the largest |zdot_ml|, population flow."""
    for name, flow in _flows(mixtures, (ONE, TWO)):
        yield name, _largest_common_rise(flow)


@evidence
def common_tokens(mixtures: dict[str, Mixture]) -> Cases:
    """Largest zdot_ml of a common token over the largest |zdot_ml|, Eq. 10 (Corollary 2)."""
    for name, flow in _equation_10(mixtures, (FIVE, SYN_MEDIUM)):
        yield name, _largest_common_rise(flow)


@evidence
def common_tokens_of_population(mixtures: dict[str, Mixture]) -> Cases:
    """Largest zdot_ml of a common token over the largest |zdot_ml|, population flow."""
    for name, flow in _flows(mixtures, (FIVE, SYN_MEDIUM)):
        yield name, _largest_common_rise(flow)


@evidence
def gain_identity(mixtures: dict[str, Mixture]) -> Cases:
    """Largest |r(t)/(r(0) chi(t)) - 1| of a pair of distinct tokens, Eq. 10 (Theorem 3)."""
    for name, flow in _equation_10(mixtures):
        yield name, _gain_deviation(flow)


@evidence
def gain_identity_of_population(mixtures: dict[str, Mixture]) -> Cases:
    """Largest |r(t)/(r(0) chi(t)) - 1| of a pair of distinct tokens, population flow."""
    for name, flow in _flows(mixtures, (ONE, FIVE, SYN_SMALL, SYN_MEDIUM)):
        yield name, _gain_deviation(flow)


@evidence
def dominant_token(mixtures: dict[str, Mixture]) -> Cases:
    """Smallest increment of z_ml0 and f_nl0 over the largest, Eq. 10 (Theorem 3)."""
    yield from _steadiness(_equation_10(mixtures))


@evidence
def dominant_token_of_population(mixtures: dict[str, Mixture]) -> Cases:
    """Smallest increment of z_ml0 and f_nl0 over the largest, population flow."""
    yield from _steadiness(_flows(mixtures, (ONE, SYN_SMALL)))


@evidence
def growth_between_bounds(mixtures: dict[str, Mixture]) -> Cases:
    """Place of ln chi_l0 between the bounds (12), 0 at the lower, 1 at the upper, Eq. 10."""
    for name, flow in _equation_10(mixtures):
        place = _place_between_bounds(flow)
        yield f"{name}: lowest", place.min()
        yield f"{name}: highest", place.max()


@evidence
def growth_between_bounds_of_population(mixtures: dict[str, Mixture]) -> Cases:
    """Place of ln chi_l0 between the bounds (12) where it is furthest out, population flow."""
    for name, flow in _flows(mixtures, (ONE, FIVE, SYN_SMALL)):
        place = _place_between_bounds(flow)
        yield name, place[np.abs(place - 0.5).argmax()]


@evidence
def overtaking_order(mixtures: dict[str, Mixture]) -> Cases:
    """Smallest share kept of a distinct token over that of the next rarer one (Section 5).

    The share kept is (c_l/c_l0)(t) over (c_l/c_l0)(0).
    """
    for name, flow in _flows(mixtures, (ONE, SYN_SMALL, SYN_MEDIUM), BOTH):
        c = _on_distinct(flow.classes, flow.shares)
        share = c / c[..., -1:]
        kept = share[1:] / share[0]
        yield name, (kept[..., 1:] / kept[..., :-1]).min()


@evidence
def common_mass(mixtures: dict[str, Mixture]) -> Cases:
    """Largest increment of the common tokens' part of c_n over the largest |increment|."""
    for name, flow in _flows(mixtures, (ONE, FIVE, SYN_SMALL), BOTH):
        mass = np.where(flow.classes.distinct, 0, flow.shares).sum(axis=-1)
        steps = np.diff(mass, axis=0)
        yield name, steps.max() / np.abs(steps).max()


@evidence
def initial_logits_as_prior(mixtures: dict[str, Mixture]) -> Cases:
    """Smallest growth of c_l0/c_l for a random Z(0), where l0 is argmax P(l|n) exp(z_ml(0)).

    From t = 0 to 600, the smallest over the classes of Syn-Small and their distinct tokens l.
    """
    classes = sequence_classes(mixtures["syn_small"])
    shape = len(classes.query_tokens), classes.vocabulary_size
    for seed in range(1, 5):
        start = np.random.default_rng(seed).normal(size=shape)
        for ratio in BOTH[:3]:
            end = _solve(classes, ratio, TIMES[-1:], start).attention_logits[0]
            c = _on_distinct(classes, attention(classes, np.array([start, end])))
            c = np.take_along_axis(c, c[:1].argsort(axis=-1), axis=-1)
            lead = c[..., -1:] / c[..., :-1]
            yield _name(f"start {seed}", ratio), (lead[1] / lead[0]).min()


def _equation_10(
    mixtures: dict[str, Mixture], names: Iterable[str] = ALL
) -> Iterator[tuple[str, Flow]]:
    """Eq. 10 with eta_Y = 1 on data models, by name."""
    for name in names:
        yield name, _flow(_data_model(mixtures, name), None)


def _flows(
    mixtures: dict[str, Mixture],
    names: Iterable[str],
    ratios: Iterable[float | None] = RATIOS,
) -> Iterator[tuple[str, Flow]]:
    """Flows on data models, by name of both; see `_solve`."""
    for name in names:
        for ratio in ratios:
            yield _name(name, ratio), _flow(_data_model(mixtures, name), ratio)


def _name(mixture: str, ratio: float | None) -> str:
    return f"{mixture}, {'Eq. 10' if ratio is None else f'ratio {ratio:g}'}"


def _data_model(mixtures: dict[str, Mixture], name: str) -> str:
    """One of three small data models and two of the paper's, as JSON."""
    two = {"num_last": 2, "next_tokens_per_query": 2}
    return {
        ONE: ONE_QUERY,
        TWO: ONE_QUERY.model_copy(update=two),
        FIVE: ONE_QUERY.model_copy(update={"common_weights": [1.0] * 5}),
        SYN_SMALL: mixtures["syn_small"],
        SYN_MEDIUM: mixtures["syn_medium_1"],
    }[name].model_dump_json()


@cache
def _flow(mixture: str, ratio: float | None) -> Flow:
    classes = sequence_classes(Mixture.model_validate_json(mixture))
    found = _solve(classes, ratio, TIMES)
    rows = found.attention_logits[:, classes.query]
    index = np.broadcast_to(classes.support, (len(rows), *classes.support.shape))
    z = np.take_along_axis(rows, index, axis=2)
    shares = attention(classes, found.attention_logits)
    return Flow(classes, z, shares, found.drive, found.exponents)


def _solve(
    classes: SequenceClasses, ratio: float | None, times: Floats, start: Floats | None = None
) -> AttentionFlow | PopulationFlow:
    """From Z(0), Eq. 10 with eta_Y = 1 if there is no ratio, or the population flow at it."""
    if ratio is None:
        return attention_flow(classes, 1.0, 1.0, times, start=start)
    return population_flow(classes, ratio, 1.0, times, start=start)


def _rates(flow: Flow) -> Floats:
    """[T-1, K, S] increments of z_ml over the largest |increment| in the same interval."""
    moves = np.diff(flow.logits, axis=0)
    return np.asarray(moves / np.abs(moves).max(axis=(1, 2), keepdims=True))


def _smallest_rise(flow: Flow) -> float:
    return float(_rates(flow)[:, flow.classes.distinct].min())


def _largest_common_rise(flow: Flow) -> float:
    return float(_rates(flow)[:, ~flow.classes.distinct].max())


def _gain_deviation(flow: Flow) -> float:
    """Over all pairs of distinct tokens of the first class, and all times."""
    c, z = flow.shares[:, 0], flow.logits[:, 0]
    pairs = combinations(np.flatnonzero(flow.classes.distinct[0]), 2)
    low, high = np.array([*pairs]).T
    gain = relative_gain(c, high, low)
    ratio = gain / (gain[0] * growth_factor(z[:, high], z[0, high]))
    return float(np.abs(ratio - 1).max())


def _dominant(flow: Flow) -> tuple[Floats, Floats]:
    """[T] z_ml0 and f_nl0 of the first class's most frequent distinct token."""
    f = flow.shares[:, 0] / np.linalg.norm(flow.shares[:, 0], axis=-1, keepdims=True)
    return flow.logits[:, 0, -1], f[:, -1]


def _steadiness(flows: Iterator[tuple[str, Flow]]) -> Cases:
    for name, flow in flows:
        for quantity, values in zip("zf", _dominant(flow), strict=True):
            steps = np.diff(values)
            yield f"{name}: {quantity}", steps.min() / np.abs(steps).max()


def _place_between_bounds(flow: Flow) -> Floats:
    """[T-1] (ln chi_l0 - ln lower)/(ln upper - ln lower) for t > 0."""
    z, f = _dominant(flow)
    lower, upper = (np.log(bound[1:]) for bound in growth_bounds(flow.exponents[:, 0], f[0]))
    return np.asarray((2 * z[1:] - lower) / (upper - lower))


def _on_distinct(classes: SequenceClasses, shares: Floats) -> Floats:
    """[T, K, S_d] c_n on the distinct tokens, the rarest first."""
    return np.asarray(shares[:, classes.distinct].reshape(len(shares), len(classes.support), -1))
