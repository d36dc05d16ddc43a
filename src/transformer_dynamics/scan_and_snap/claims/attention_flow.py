"""Theorems 1 to 3 and Section 5 along the flows of the attention.

Two flows are compared with the paper: Eq. 10, from which it derives its statements, and the
population flow, which is gradient ascent on the expected objective of infinitely long sequences
with nothing approximated. Both start at zero and last until 1,000 t_0. The paper's statements are
judged where its assumptions hold (`WITHIN`); what is seen elsewhere is robustness.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from replication.study.evidence import Cases, evidence
from transformer_dynamics.scan_and_snap.claims.examples import ONE_QUERY
from transformer_dynamics.scan_and_snap.settings.training import Mixture
from transformer_dynamics.scan_and_snap.theory.attention import attention_weights
from transformer_dynamics.scan_and_snap.theory.attention_flow import (
    AttentionFlow,
    attention_flow,
    growth_bounds,
    growth_factor,
    relative_gain,
)
from transformer_dynamics.scan_and_snap.theory.decoder import snapping_start
from transformer_dynamics.scan_and_snap.theory.population import PopulationFlow, population_flow
from transformer_dynamics.scan_and_snap.theory.sequence_classes import (
    Floats,
    SequenceClasses,
    sequence_classes,
)

VOCABULARY_SIZE = 1000
"""Vocabulary size M of the data models within the assumptions; most of the tokens do not occur."""
SINGLE, SEVERAL = "1 common token", "3 common tokens"
WITHIN = {
    SINGLE: Mixture(
        num_last=1, next_tokens_per_query=3, common_weights=[0.8], distinct_weights=[0.5, 1.0, 1.5]
    ),
    SEVERAL: Mixture(
        num_last=1,
        next_tokens_per_query=2,
        common_weights=[0.6, 0.9, 1.1],
        distinct_weights=[0.5, 1.0, 1.5],
    ),
}
"""Data models of one query that satisfy Assumption 2 from the start of every flow to its end."""
FAST = (100.0, 1000.0)
"""Ratios eta_Y/eta_Z of Assumption 1(c), at which Y sees an F that stands still: along Eq. 10 less
than 3 % of attention has moved at t_0, when Y has learnt; at a ratio of 10 it is up to 12 %."""
SLOW = (1.0, 10.0)
"""Ratios that Assumption 1(c) leaves out."""
SYN_SMALL, SYN_MEDIUM = "Syn-Small", "Syn-Medium, 1 query"
ELSEWHERE = {
    "4 classes of 1 query": ONE_QUERY,
    "4 classes of 2 queries": ONE_QUERY.model_copy(
        update={"num_last": 2, "next_tokens_per_query": 2}
    ),
    "5 common tokens": ONE_QUERY.model_copy(update={"common_weights": [1.0] * 5}),
}
"""Data models that violate Assumption 2, as the paper's own do."""
Kind = Literal["Eq. 10", "population flow"]
EQUATION_10: Kind = "Eq. 10"
POPULATION: Kind = "population flow"
BOTH = (EQUATION_10, POPULATION)
ETA_Y = 0.5
"""Learning rate of Y; Theorem 1 asks for M^{-0.99} << eta_Y < 1."""
SINCE_START = np.append(0, np.geomspace(0.1, 1000, 81))
"""Times in units of t_0."""


class Flow(NamedTuple):
    """A flow on the supports of the classes."""

    classes: SequenceClasses
    """Sequence classes, K of them."""
    logits: Floats
    """[T, K, S] Attention logits z_ml."""
    shares: Floats
    """[T, K, S] Attention c_n."""
    drive: Floats
    """[T, K] Drive xi_n."""
    exponents: Floats
    """[T, K] Exponent B_n."""


@evidence
def drive() -> Cases:
    """Measure the smallest drive xi_n(t) for t > 0 over the largest (Theorem 1a)."""
    yield from _along(BOTH, _smallest_drive)


@evidence
def distinct_tokens() -> Cases:
    """Measure the least zdot_ml of a distinct token over the largest |zdot_ml|, Eq. 10."""
    yield from _along([EQUATION_10], _smallest_rise)


@evidence
def distinct_tokens_of_population() -> Cases:
    """Measure the least zdot_ml of a distinct token over the largest |zdot_ml|, population flow."""
    yield from _along([POPULATION], _smallest_rise)


@evidence
def single_common_token() -> Cases:
    """Measure the largest zdot_ml of the one common token over the largest |zdot_ml|, Eq. 10."""
    yield from _along([EQUATION_10], _largest_common_rise, [SINGLE])


@evidence
def single_common_token_of_population() -> Cases:
    """Measure the same as `single_common_token` along the population flow."""
    yield from _along([POPULATION], _largest_common_rise, [SINGLE])


@evidence
def common_tokens() -> Cases:
    """Measure the largest zdot_ml of a common token over the largest |zdot_ml|, Eq. 10."""
    yield from _along([EQUATION_10], _largest_common_rise, [SEVERAL])


@evidence
def common_tokens_of_population() -> Cases:
    """Measure the same as `common_tokens` along the population flow."""
    yield from _along([POPULATION], _largest_common_rise, [SEVERAL])


@evidence
def signs_elsewhere(mixtures: dict[str, Mixture]) -> Cases:
    """Measure the least of xi_n, zdot_ml of a distinct token and -zdot_ml of a common one.

    Each is over its largest absolute value, along the population flow where Assumption 2 fails and
    Y is hardly faster than Z.
    """
    for name, flow in _flows_elsewhere(mixtures, (*ELSEWHERE, SYN_SMALL, SYN_MEDIUM)):
        yield name, min(_smallest_drive(flow), _smallest_rise(flow), -_largest_common_rise(flow))


@evidence
def gain_identity() -> Cases:
    """Measure how far the relative gain r departs from Theorem 3 by Eq. 10.

    The value is the largest |r(t)/(r(0) chi(t)) - 1| of a pair of distinct tokens.
    """
    for name, flow in flows_within([EQUATION_10]):
        gain, growth = _gain_and_growth(flow)
        yield name, np.abs(gain / growth - 1).max()


@evidence
def deviation_of_the_gain_of_population() -> Cases:
    """Measure how much of the relative gain's deviation from Theorem 3 a faster Y leaves.

    The value is the distance of (r(t)/r(0) - 1)/(chi(t) - 1) from 1, at a fast Y over that at a
    slower one.
    """
    yield from _faster_decoder_ratios(lambda flow: abs(_gain_over_growth(flow) - 1))


@evidence
def gain_over_growth_elsewhere(mixtures: dict[str, Mixture]) -> Cases:
    """Measure the relative gain over the growth that Theorem 3 expects, where it need not hold.

    The value is the (r(t)/r(0) - 1)/(chi(t) - 1) furthest from 1, along the population flow with a
    slow Y or on the paper's data.
    """
    for name, flow in _flows_without_one_assumption(mixtures):
        yield name, _gain_over_growth(flow)


@evidence
def dominant_token() -> Cases:
    """Measure the least increment of z_ml0 and f_nl0 over the largest by Eq. 10 (Theorem 3)."""
    yield from _dominant_token_along(EQUATION_10)


@evidence
def dominant_token_of_population() -> Cases:
    """Measure the least increment of z_ml0 and f_nl0 over the largest, population flow."""
    yield from _dominant_token_along(POPULATION)


@evidence
def growth_between_bounds() -> Cases:
    """Measure the place of ln chi_l0 between the bounds (12) by Eq. 10.

    The place is 0 at the lower bound, and 1 at the upper.
    """
    for name, flow in flows_within([EQUATION_10]):
        place = _place_between_bounds(flow)
        yield f"{name}: lowest", place.min()
        yield f"{name}: highest", place.max()


@evidence
def growth_outside_bounds_of_population() -> Cases:
    """Measure how much of the excess of ln chi_l0 over the bounds (12) a faster Y leaves.

    The value is the distance beyond the bounds, at a fast Y over that at a slower one.
    """
    yield from _faster_decoder_ratios(lambda flow: abs(_furthest_place(flow) - 0.5) - 0.5)


@evidence
def growth_between_bounds_elsewhere(mixtures: dict[str, Mixture]) -> Cases:
    """Measure the place of ln chi_l0 between the bounds (12) where they need not hold.

    The flow is the population flow, with a slow Y or on the paper's data. The place is 0 at the
    lower bound, and 1 at the upper.
    """
    for name, flow in _flows_without_one_assumption(mixtures):
        yield name, _furthest_place(flow)


@evidence
def overtaking_order() -> Cases:
    """Measure the least that a distinct token keeps beyond the next rarer one.

    It keeps (c_l/c_l0)(t) over (c_l/c_l0)(0), and loses what this is below 1 (Section 5). The value
    is over the largest loss.
    """
    yield from _along(BOTH, _smallest_advantage)


@evidence
def common_mass() -> Cases:
    """Measure the largest increment of the common tokens' part of c_n over the largest size."""
    yield from _along(BOTH, _largest_rise_of_common_mass)


@evidence
def moved_attention() -> Cases:
    """Measure the largest distance of c_n from its start within 1,000 t_0, population flow.

    The distance is the total variation.
    """
    for name, flow in flows_within([POPULATION], ratios=(*SLOW, FAST[0])):
        yield name, np.abs(flow.shares - flow.shares[0]).sum(axis=-1).max() / 2


@evidence
def initial_logits_as_prior() -> Cases:
    """Measure the growth of c_l0/c_l where l0 = argmax P(l|n) exp(z_ml(0)) starts ahead by Z(0).

    From t = 0 to 1,000 t_0, the smallest over the classes and their distinct tokens l.
    """
    classes = classes_within(SEVERAL)
    for position, name in enumerate(("rarest", "middle")):
        start = start_ahead(classes, position)
        for kind in BOTH:
            end = _solve_flow(classes, FAST[0], kind, SINCE_START[-1:], start).attention_logits[0]
            c = _distinct_shares(classes, attention_weights(classes, np.array([start, end])))
            lead = c[..., [position]] / np.delete(c, position, axis=-1)
            yield f"{name} token ahead, {kind}", (lead[1] / lead[0]).min()


def start_ahead(classes: SequenceClasses, position: int) -> Floats:
    """Return Z(0) [L, M] that lifts a distinct token of every class, the rarest is 0, above all."""
    z = np.zeros((len(classes.query_tokens), classes.vocabulary_size))
    own = classes.support[classes.distinct].reshape(len(classes.support), -1)
    z[classes.query, own[:, position]] = np.log(4)
    return z


def classes_within(name: str) -> SequenceClasses:
    """Return the classes of a data model that satisfies Assumption 2."""
    return _classes(WITHIN[name].model_dump_json(), VOCABULARY_SIZE)


def flows_within(
    kinds: Iterable[Kind], names: Iterable[str] = WITHIN, ratios: Iterable[float] = FAST
) -> Iterator[tuple[str, Flow]]:
    """Yield flows on the data models that satisfy Assumption 2, by name."""
    for name in names:
        for kind in kinds:
            for ratio in ratios:
                mixture = WITHIN[name].model_dump_json()
                yield (
                    f"{name}, {kind}, eta_Y/eta_Z {ratio:g}",
                    _flow(mixture, VOCABULARY_SIZE, ratio, kind),
                )


def _along(
    kinds: Iterable[Kind], measure: Callable[[Flow], float], names: Iterable[str] = WITHIN
) -> Cases:
    return ((name, measure(flow)) for name, flow in flows_within(kinds, names))


def _dominant_token_along(kind: Kind) -> Cases:
    for name, flow in flows_within([kind]):
        for quantity, value in _smallest_increments(flow):
            yield f"{name}: {quantity}", value


def _faster_decoder_ratios(deviation: Callable[[Flow], float]) -> Cases:
    """Yield a deviation from the theory at the largest ratio over that at the smaller one, `FAST`.

    Along the population flow; 0 where there is none at either, and all of it is left where it
    appears at the larger ratio only.
    """
    slow, fast = FAST
    for name in WITHIN:
        before, after = (
            max(0.0, deviation(flow)) for _, flow in flows_within([POPULATION], [name])
        )
        left = after / before if before else float(after > 0)
        yield f"{name}, eta_Y/eta_Z from {slow:g} to {fast:g}", left


def _flows_elsewhere(
    mixtures: dict[str, Mixture], names: Iterable[str], ratios: Iterable[float] = SLOW
) -> Iterator[tuple[str, Flow]]:
    """Yield population flows on data models that violate Assumption 2, by name."""
    known = {
        **ELSEWHERE,
        SYN_SMALL: mixtures["syn_small"],
        SYN_MEDIUM: mixtures["syn_medium_1"],
    }
    for name in names:
        mixture = known[name]
        for ratio in ratios:
            flow = _flow(mixture.model_dump_json(), mixture.vocabulary_size, ratio, POPULATION)
            yield f"{name}, eta_Y/eta_Z {ratio:g}", flow


def _flows_without_one_assumption(mixtures: dict[str, Mixture]) -> Iterator[tuple[str, Flow]]:
    """Yield population flows with a slow Y, and on the paper's own data, by name."""
    yield from flows_within([POPULATION], ratios=SLOW)
    yield from _flows_elsewhere(mixtures, (SYN_SMALL, SYN_MEDIUM), (*SLOW, FAST[0]))


@cache
def _flow(mixture: str, vocabulary_size: int, ratio: float, kind: Kind) -> Flow:
    classes = _classes(mixture, vocabulary_size)
    found = _solve_flow(classes, ratio, kind, SINCE_START)
    z = classes.support_logits(found.attention_logits)
    shares = attention_weights(classes, found.attention_logits)
    return Flow(classes, z, shares, found.drive, found.exponents)


def _classes(mixture: str, vocabulary_size: int) -> SequenceClasses:
    """Return classes of a mixture, given as JSON, in a vocabulary with tokens that do not occur."""
    classes = sequence_classes(Mixture.model_validate_json(mixture))
    return replace(classes, vocabulary_size=vocabulary_size)


def _solve_flow(
    classes: SequenceClasses,
    ratio: float,
    kind: Kind,
    since_start: Floats,
    start: Floats | None = None,
) -> AttentionFlow | PopulationFlow:
    """Solve a flow from Z(0), at times in units of t_0."""
    times = since_start * snapping_start(ETA_Y, classes.vocabulary_size, len(classes.support))
    solve = attention_flow if kind == EQUATION_10 else population_flow
    return solve(classes, ETA_Y, ETA_Y / ratio, times, start=start)


def _smallest_drive(flow: Flow) -> float:
    xi = flow.drive[1:]
    return float(xi.min() / xi.max())


def _rates(flow: Flow) -> Floats:
    """Return [T-1, K, S] increments of z_ml over the largest |increment| in the same interval."""
    moves = np.diff(flow.logits, axis=0)
    return np.asarray(moves / np.abs(moves).max(axis=(1, 2), keepdims=True))


def _smallest_rise(flow: Flow) -> float:
    return float(_rates(flow)[:, flow.classes.distinct].min())


def _largest_common_rise(flow: Flow) -> float:
    return float(_rates(flow)[:, ~flow.classes.distinct].max())


def _gain_and_growth(flow: Flow) -> tuple[Floats, Floats]:
    """Return r(t)/r(0) and chi(t) [T-1, pairs] of pairs of distinct tokens of the first class."""
    c, z = flow.shares[:, 0], flow.logits[:, 0]
    pairs = combinations(np.flatnonzero(flow.classes.distinct[0]), 2)
    low, high = np.array([*pairs]).T
    gain = relative_gain(c, high, low)
    return gain[1:] / gain[0], growth_factor(z[1:, high], z[0, high])


def _gain_over_growth(flow: Flow) -> float:
    gain, growth = _gain_and_growth(flow)
    return _furthest_value((gain - 1) / (growth - 1), 1)


def _furthest_value(values: Floats, place: float) -> float:
    return float(values.ravel()[np.abs(values - place).argmax()])


def _dominant_token_path(flow: Flow) -> tuple[Floats, Floats]:
    """Return [T] z_ml0 and f_nl0 of the first class's most frequent distinct token."""
    f = flow.shares[:, 0] / np.linalg.norm(flow.shares[:, 0], axis=-1, keepdims=True)
    return flow.logits[:, 0, -1], f[:, -1]


def _smallest_increments(flow: Flow) -> Cases:
    """Yield the smallest increment of z_ml0 and of f_nl0, over the largest."""
    for quantity, values in zip("zf", _dominant_token_path(flow), strict=True):
        steps = np.diff(values)
        yield quantity, steps.min() / np.abs(steps).max()


def _place_between_bounds(flow: Flow) -> Floats:
    """Return [T-1] (ln chi_l0 - ln lower)/(ln upper - ln lower) for t > 0."""
    z, f = _dominant_token_path(flow)
    lower, upper = (np.log(bound[1:]) for bound in growth_bounds(flow.exponents[:, 0], f[0]))
    return np.asarray((2 * z[1:] - lower) / (upper - lower))


def _furthest_place(flow: Flow) -> float:
    return _furthest_value(_place_between_bounds(flow), 0.5)


def _distinct_shares(classes: SequenceClasses, shares: Floats) -> Floats:
    """Return [T, K, S_d] c_n on the distinct tokens, the rarest first."""
    return np.asarray(shares[:, classes.distinct].reshape(len(shares), len(classes.support), -1))


def _smallest_advantage(flow: Flow) -> float:
    """Return the least that a distinct token keeps beyond the next rarer one, over the loss."""
    c = _distinct_shares(flow.classes, flow.shares)
    share = c / c[..., -1:]
    kept = share[1:] / share[0]
    loss = 1 - kept.min(axis=-1, keepdims=True)
    return float((np.diff(kept, axis=-1) / loss).min())


def _largest_rise_of_common_mass(flow: Flow) -> float:
    steps = np.diff(np.where(flow.classes.distinct, 0, flow.shares).sum(axis=-1), axis=0)
    return float(steps.max() / np.abs(steps).max())
