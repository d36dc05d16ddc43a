"""Findings A-C: what the paper does not say and a computation shows."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replication.errors import InputError
from transformer_dynamics.scan_and_snap.sequence_classes import SequenceClasses
from transformer_dynamics.scan_and_snap.theory.assumptions import assumption_2
from transformer_dynamics.scan_and_snap.theory.coupling import correlations, features
from transformer_dynamics.scan_and_snap.theory.evidence import Evidence
from transformer_dynamics.scan_and_snap.theory.frozen import frozen_flow
from transformer_dynamics.scan_and_snap.theory.updates import equal_correlations

Floats = NDArray[np.float64]


def finding_a(
    num_classes: int = 10,
    vocabulary_size: int = 1000,
    rhos: tuple[float, ...] = (0.02, 0.1, 0.5, 0.72),
) -> Evidence:
    """The modification (26) of the decoder's update is not small in xi_n, which moves Z.

    Args:
        num_classes: K.
        vocabulary_size: M.
        rhos: f_n.f_n' of every pair, one run for each.

    Returns:
        For each rho the ratio xi_true/xi_modified at eta_Y t/K = 0.5, the peaks of both and where
        they are; and the smallest xi_true of all.

    Raises:
        InputError: for an impossible rho, K > M or M < 2.
    """
    seen = np.unique(np.append(np.linspace(0, 60, 1201), 0.5))
    numbers: dict[str, float] = {}
    early, smallest = [], []
    for rho in rhos:
        e = equal_correlations(num_classes, rho)
        true, modified = (
            frozen_flow(e, vocabulary_size, 1.0, seen * num_classes, modified=flag).drive[:, 0]
            for flag in (False, True)
        )
        at = np.searchsorted(seen, 0.5)
        early.append(true[at] / modified[at])
        smallest.append(true[1:].min())
        numbers |= {
            f"rho={rho}: xi_true/xi_modified at eta_Y t/K = 0.5": float(early[-1]),
            f"rho={rho}: xi_true/xi_modified at eta_Y t/K = 55": float(
                np.interp(55, seen, true) / np.interp(55, seen, modified)
            ),
        }
        for name, xi in (("true", true), ("modified", modified)):
            numbers[f"rho={rho}: peak of xi_{name}"] = float(xi.max())
            numbers[f"rho={rho}: eta_Y t/K at the peak of xi_{name}"] = float(seen[xi.argmax()])
    numbers["smallest xi_true for t > 0"] = float(min(smallest))
    return Evidence(
        id="A",
        printed="the modification of the update (26) is small",
        corrected="beta_nn' starts at ~1/M under (7), not at E'_nn' ~ rho >> 1/M",
        evidence=numbers,
        holds=max(early) < 0.5 and min(smallest) > 0,
    )


def finding_b(
    mixtures: Mapping[str, SequenceClasses], attention_logits: Mapping[str, ArrayLike] | None = None
) -> Evidence:
    """The paper's own synthetic data violate Assumption 2.

    Args:
        mixtures: sequence classes by name.
        attention_logits: [L, M] Z of each mixture; 0 by default.

    Returns:
        Eigenvalues of E and their limits for each mixture.

    Raises:
        InputError: for classes whose f_n are linearly dependent.
    """
    numbers: dict[str, float] = {}
    violated = []
    for name, classes in mixtures.items():
        z = np.zeros((len(classes.query_tokens), classes.vocabulary_size))
        if attention_logits is not None:
            z = np.asarray(attention_logits[name], dtype=np.float64)
        check = assumption_2(correlations(features(classes, z)), classes.vocabulary_size)
        numbers |= {
            f"{name}: |lambda_1|": check.largest,
            f"{name}: limit 1/K": check.largest_limit,
            f"{name}: min |lambda_i|": check.smallest,
            f"{name}: limit sqrt(6/M)": check.smallest_limit,
            f"{name}: M/K^2": check.vocabulary_ratio,
        }
        violated.append(not check.holds)
    return Evidence(
        id="B",
        printed="Assumption 2: |lambda_1(E)| < 1/K, |lambda_i(E)| >= sqrt(6/M), M >> K^2",
        corrected="the synthetic data of the experiments violate it",
        evidence=numbers,
        holds=all(violated),
    )


def finding_c(entropies: Mapping[int, ArrayLike]) -> Evidence:
    """After the paper's number of updates the attention is not converged and may get less sparse.

    Args:
        entropies: by number of updates, [seeds] entropy on distinct tokens, in nats, of the same
            seeds in the same order.

    Returns:
        Mean entropy at each number of updates; the mean paired change from the first to the last
        and its standard error.

    Raises:
        InputError: for fewer than two numbers of updates or seeds, or unequal numbers of seeds.
    """
    lengths = sorted(entropies)
    values = [np.asarray(entropies[length], dtype=np.float64) for length in lengths]
    if len(lengths) < 2 or len({v.shape for v in values}) > 1 or values[0].ndim != 1:
        raise InputError("finding C compares the same seeds at two or more numbers of updates")
    if len(values[0]) < 2:
        raise InputError("finding C needs two or more seeds for a standard error")
    change = values[-1] - values[0]
    mean, error = change.mean(), change.std(ddof=1) / np.sqrt(len(change))
    numbers = {f"entropy after {n}": float(v.mean()) for n, v in zip(lengths, values, strict=True)}
    numbers |= {"mean change": float(mean), "its standard error": float(error)}
    return Evidence(
        id="C",
        printed="trained until convergence",
        corrected="the entropy on distinct tokens still changes, upwards",
        evidence=numbers,
        holds=bool(mean > 2 * error),
    )
