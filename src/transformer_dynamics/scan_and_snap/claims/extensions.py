"""Section 7: the residual connection and a positional bias."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from replication.study.evidence import Cases, evidence
from transformer_dynamics.scan_and_snap.settings.training import Mixture
from transformer_dynamics.scan_and_snap.theory.coupling import (
    correlations,
    features,
    theorem1_coefficients,
)
from transformer_dynamics.scan_and_snap.theory.extensions import (
    biased_classes,
    residual_correlations,
    residual_features,
    residual_rate,
)
from transformer_dynamics.scan_and_snap.theory.population import population_flow
from transformer_dynamics.scan_and_snap.theory.sequence_classes import (
    SequenceClasses,
    sequence_classes,
)

Floats = NDArray[np.float64]

VOCABULARY_SIZE = 1000
"""Vocabulary size M of the coefficients of Theorem 1, for which Assumption 2 asks M >> K^2."""
QUERIES = (2, 3, 5)
COMMON_WEIGHTS = (0.2, 1.0, 3.0)


@evidence
def residual_correlation() -> Cases:
    """Measure the largest error of the form of E_nn' with the residual connection.

    The error is |E_nn' - (f_n.f_n' + 1(psi(n) = psi(n')))/2|.
    """
    for name, classes, f in _overlapping_classes():
        found = correlations(residual_features(f, classes))
        expected = residual_correlations(correlations(f), classes.query)
        yield name, np.abs(found - expected).max()


@evidence
def residual_beta() -> Cases:
    """Measure beta_nn' over its form, between queries over that within a query.

    The form is f_n.f_n' + 1(psi(n) = psi(n')).
    """
    for name, classes, f in _overlapping_classes():
        beta, within = _residual_betas(f, classes)
        overlap = float(f[:, 0] @ f[:, 1])
        between = beta[~within & ~np.eye(len(beta), dtype=bool)]
        yield name, (between.mean() / overlap) / (beta[within].mean() / (1 + overlap))


@evidence
def largest_beta_between_queries() -> Cases:
    """Measure the largest |beta_nn'| between queries over the smallest within a query."""
    for name, classes, f in _overlapping_classes():
        beta, within = _residual_betas(f, classes)
        yield name, np.abs(np.where(within, 0, beta)).max() / beta[within].min()


@evidence
def gradient_from_other_queries() -> Cases:
    """Measure the part of g_n that comes from other queries over that from its own (9).

    The value is the largest |sum beta_nn' f_n'| over n' of other queries, over that of n's own
    query.
    """
    for name, classes, f in _overlapping_classes():
        beta, within = _residual_betas(f, classes)
        columns = residual_features(f, classes)
        other, own = (
            np.linalg.norm(columns @ np.where(mask, beta, 0).T, axis=0)
            for mask in (~within, within)
        )
        yield name, (other / own).max()


@evidence
def token_shared_across_queries() -> Cases:
    """Measure zdot_ml of a token shared across queries over |zdot_ml| of one within a query.

    Eq. 10 with the residual connection, two queries with two classes each. Every class has a token
    of its own with weight 1; those of the shared tokens vary.
    """
    query = np.array([0, 0, 1, 1])
    for weight in (0.1, 0.3, 1.0, 3.0):
        f = np.eye(VOCABULARY_SIZE, 4)
        f[4, [0, 2]] = f[5, [0, 1]] = f[6, [2, 3]] = weight
        f /= np.linalg.norm(f, axis=0)
        e = residual_correlations(correlations(f), query)
        rate = residual_rate(f, theorem1_coefficients(e, VOCABULARY_SIZE).beta, query)[0]
        yield f"weight {weight:g}", rate[4] / abs(rate[5])


@evidence
def positional_bias() -> Cases:
    """Measure how far c_n with a bias z_0 is from c_n with P(l|n) exp(z_0).

    The value is the largest difference along the population flows.
    """
    classes = _mixture_classes(2, 1.0)
    size, times = classes.vocabulary_size, np.linspace(0, 100, 11)
    for seed in (1, 2):
        bias = np.random.default_rng(seed).normal(size=(2, size))
        for ratio in (1.0, 5.0, 25.0):
            biased = population_flow(classes, ratio, 1.0, times, start=bias)
            prior = population_flow(biased_classes(classes, bias), ratio, 1.0, times)
            gap = np.abs(biased.attention - prior.attention).max()
            yield f"bias {seed}, eta_Y/eta_Z = {ratio:g}", gap


def _mixture_classes(num_last: int, weight: float) -> SequenceClasses:
    return sequence_classes(
        Mixture(
            num_last=num_last,
            next_tokens_per_query=2,
            common_weights=[weight, 2 * weight],
            distinct_weights=[0.5, 1.0, 1.5],
        )
    )


def _overlapping_classes() -> Iterator[tuple[str, SequenceClasses, Floats]]:
    """Yield name, classes and F at Z = 0, with f_n.f_n' the same for all pairs."""
    for num_last in QUERIES:
        for weight in COMMON_WEIGHTS:
            classes = _mixture_classes(num_last, weight)
            f = features(classes, np.zeros((num_last, classes.vocabulary_size)))
            yield f"{num_last} queries, f_n.f_n' = {f[:, 0] @ f[:, 1]:.2f}", classes, f


def _residual_betas(
    feature_columns: Floats, classes: SequenceClasses
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return beta_nn' [K, K] with the residual connection, and the pairs that share their query."""
    e = correlations(residual_features(feature_columns, classes))
    beta = theorem1_coefficients(e, VOCABULARY_SIZE).beta
    within = classes.query[:, None] == classes.query
    np.fill_diagonal(within, val=False)
    return beta, within
