"""Coupling of the classes: the decoder of Theorem 5, the gradient of Theorem 1, Lemma 4."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from replication.study.evidence import Cases, evidence
from transformer_dynamics.scan_and_snap.claims.examples import ONE_QUERY, OVERLAPPING, deviation
from transformer_dynamics.scan_and_snap.settings.training import Mixture
from transformer_dynamics.scan_and_snap.theory.assumptions import assumption_2
from transformer_dynamics.scan_and_snap.theory.attention_flow import lemma4_rate
from transformer_dynamics.scan_and_snap.theory.coupling import (
    combine_features,
    correlations,
    drive,
    e_prime,
    example_features,
    feature_gradient,
    features,
    theorem1_coefficients,
    theorem5_decoder,
)
from transformer_dynamics.scan_and_snap.theory.decoder import h_steps, prediction_error, q1
from transformer_dynamics.scan_and_snap.theory.sequence_classes import sequence_classes
from transformer_dynamics.scan_and_snap.theory.updates import frozen_flow, simulate_updates

Floats = NDArray[np.float64]

ALLOWED = ((2, 1000, 0.2), (3, 10_000, 0.08), (5, 100_000, 0.02), (10, 1_000_000, 0.005))
"""Sizes K and M, and the rho of `similar_correlations`, for which Assumption 2 holds."""
ETA_Y, PASSES = 0.3, 50


@evidence
def modification() -> Cases:
    """Measure the largest change that (26) makes to (7), over |lambda_1| (Lemma 3).

    The change of a class is |F E' e_n|/|f_n|.
    """
    for num_classes, size, rho in ALLOWED:
        e = similar_correlations(num_classes, rho)
        change = np.sqrt(np.diagonal(e @ e_prime(e)).max())  # |F E' e_n|^2 = (E' (I+E) E')_nn
        largest = assumption_2(e, size).largest
        yield f"lambda_1 = {largest:.3g}, {_sizes(num_classes, size)}", change / largest


@evidence
def decoder() -> Cases:
    """Measure the largest |Y - F (I - E') W| over the largest |Y| (Theorem 5).

    Y comes from K x 50 updates by (26).
    """
    for num_classes, size in OVERLAPPING:
        f = example_features(size, num_classes)
        expected = theorem5_decoder(f, h_steps(ETA_Y, size, PASSES)[-1])
        yield _sizes(num_classes, size), deviation(_modified_decoder(f), expected)


@evidence
def back_propagated_gradient() -> Cases:
    """Measure the largest error of the form (9) of g_n over the largest |g_n|.

    The error is |g_n - gamma (iota_n f_n - sum beta_nn' f_n')|. Y comes from K x 50 updates by
    (26); gamma is (85) with h* in place of h.
    """
    for num_classes, size in OVERLAPPING:
        f = example_features(size, num_classes)
        h = h_steps(ETA_Y, size, PASSES)[-1]
        gamma = float((size - 1) * h * prediction_error(h, size))
        form = combine_features(f, theorem1_coefficients(correlations(f), size), gamma)
        found = feature_gradient(_modified_decoder(f), f)
        yield _sizes(num_classes, size), deviation(form, found)


@evidence
def small_corrections() -> Cases:
    """Measure the largest distance of iota_n and of beta_nn' from their main terms (86)-(89).

    The values are M/3 times the largest |iota_n - q1 (1 - E'_nn)| and |beta_nn' - q1 E'_nn'|.
    """
    for num_classes, size, rho in ALLOWED:
        e = similar_correlations(num_classes, rho)
        exact, prime, own = theorem1_coefficients(e, size), e_prime(e), q1(size)
        iota = np.abs(exact.iota - own * (1 - np.diagonal(prime))).max()
        beta = np.abs(exact.beta - own * prime)[~np.eye(num_classes, dtype=bool)].max()
        yield f"{_sizes(num_classes, size)}: iota", size / 3 * iota
        yield f"{_sizes(num_classes, size)}: beta", size / 3 * beta


@evidence
def diagonal_of_e_prime() -> Cases:
    """Measure the largest E'_nn over min lambda_i^2/(1 + lambda_1), which is above 0 (Lemma 16)."""
    for name, e, _ in _all_correlations():
        eigenvalues = np.linalg.eigvalsh(e)
        least = (eigenvalues**2).min() / (1 + eigenvalues[-1])
        yield name, np.diagonal(e_prime(e)).max() / least


@evidence
def small_correlations() -> Cases:
    """Measure the largest |E' - E| over |lambda_1|^2/(1 - |lambda_1|) (Lemma 17)."""
    for num_classes, size, rho in ALLOWED:
        e = similar_correlations(num_classes, rho)
        largest = assumption_2(e, size).largest
        gap = np.abs(e_prime(e) - e).max()
        yield _sizes(num_classes, size), gap * (1 - largest) / largest**2


@evidence
def drive_of_theorem_1() -> Cases:
    """Measure the smallest xi_n over its leading order -gamma E'_nn.

    The coefficients of xi_n are those of Theorem 1.
    """
    for num_classes, size, rho in ALLOWED:
        e = similar_correlations(num_classes, rho)
        xi = drive(e, theorem1_coefficients(e, size))
        yield _sizes(num_classes, size), (xi / -np.diagonal(e_prime(e))).min()


@evidence
def drive_under_original_update() -> Cases:
    """Measure the smallest xi_n over the largest of all classes, under the update (7).

    The times are 0 < eta_Y t/K <= 100.
    """
    for name, e, size in _all_correlations():
        times = len(e) * np.geomspace(0.01, 100, 60)
        xi = frozen_flow(e, size, 1.0, times, modified=False)
        yield name, (xi / xi.max(axis=1, keepdims=True)).min()


@evidence
def attention_rate(mixtures: dict[str, Mixture]) -> Cases:
    """Measure the largest |K dJ/dz_m - zdot_m/eta_Z by (10)| over the largest entry (Lemma 4).

    J is the expected objective of infinitely long sequences at random Z, with Theorem 5's decoder.
    """
    for name, mixture in {
        "Syn-Small": mixtures["syn_small"],
        "Syn-Medium, 3 queries": mixtures["syn_medium_3"],
        "one common token, one query": ONE_QUERY,
    }.items():
        classes = sequence_classes(mixture)
        size, h = classes.vocabulary_size, 0.02
        z = np.random.default_rng(0).normal(size=(len(classes.query_tokens), size))
        f = features(classes, z)
        g = feature_gradient(theorem5_decoder(f, h, classes.next_tokens), f, classes.next_tokens)
        slope = np.zeros_like(z)
        np.add.at(slope, classes.query, (f * (g - f * (f * g).sum(axis=0))).T)
        gamma = float((size - 1) * h * prediction_error(h, size))
        beta = theorem1_coefficients(correlations(f), size).beta
        yield name, deviation(gamma * lemma4_rate(f, beta, classes.query), slope)


def _modified_decoder(feature_columns: Floats) -> Floats:
    """Return [M, M] Y after K x PASSES updates by (26), class after class."""
    size, num_classes = feature_columns.shape
    order = np.arange(PASSES * num_classes) % num_classes
    run = simulate_updates(correlations(feature_columns), size, ETA_Y, order, modified=True)
    return np.asarray(feature_columns @ run[-1])


def similar_correlations(num_classes: int, rho: float) -> Floats:
    """Return [K, K] E with entries within a tenth of rho."""
    e = np.triu(rho * np.random.default_rng(0).uniform(0.9, 1.1, (num_classes, num_classes)), 1)
    e += e.T
    return np.asarray(e)


def _all_correlations() -> Iterator[tuple[str, Floats, int]]:
    """Yield name, E and M for which Assumption 2 holds, and others of unequal classes."""
    for num_classes, size, rho in ALLOWED:
        yield _sizes(num_classes, size), similar_correlations(num_classes, rho), size
    for num_classes, size in OVERLAPPING:
        e = correlations(example_features(size, num_classes))
        yield f"{_sizes(num_classes, size)}, unequal", e, size


def _sizes(num_classes: int, size: int) -> str:
    return f"K = {num_classes}, M = {size}"
