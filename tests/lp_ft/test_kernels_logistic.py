"""Logistic regression of kernels against the literal objective and scikit-learn."""

from itertools import pairwise

import numpy as np
import pytest

from replication.base.errors import InputError
from transformer_dynamics.encoders.probe import probe
from transformer_dynamics.lp_ft.metrics.start import kernel_regression, logistic_regression

STRENGTHS = np.logspace(-4, 4, 10).tolist()


def problem(n=60, width=8, noise=1.0, scale=1.0):
    random = np.random.default_rng(0)
    rows = random.normal(size=(n, width))
    is_one = rows[:, 0] + noise * random.normal(size=n) > 0.4
    return scale * rows + 3.0, is_one


@pytest.mark.parametrize("strength", [1e-4, 1.0, 1e4])
def test_a_fit_is_stationary_on_the_literal_objective(strength):
    rows, is_one = problem()
    fit = logistic_regression.fit_path(rows, is_one, [strength])[0]
    w, c = fit.coefficients
    wrong = 1 / (1 + np.exp(-(rows @ w + c))) - is_one
    size = max(1.0, strength) * 1e-4
    assert np.abs(w + strength * rows.T @ wrong).max() < size * np.abs(rows).max()
    assert abs(strength * wrong.sum()) < size
    assert fit.scores(rows) == pytest.approx(rows @ w + c, abs=1e-9)


@pytest.mark.parametrize("strength", [0.01, 1.0])
def test_a_fit_is_the_probe_of_two_classes_with_half_the_strength(strength):
    """||V||^2/2 of (-w/2, w/2) is ||w||^2/4, so that C_reg = C/2."""
    rows, is_one = problem()
    w, c = logistic_regression.fit_path(rows, is_one, [strength])[0].coefficients
    twin = probe(rows, is_one.astype(int), 2, strength / 2, 1e-6)
    assert w == pytest.approx(twin.weight[1] - twin.weight[0], rel=1e-4, abs=1e-6)
    assert c == pytest.approx(twin.bias[1] - twin.bias[0], rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("scale", [1e-3, 1e5])
def test_rows_of_any_size_and_classes_apart_converge(scale):
    rows, is_one = problem(noise=0.0, scale=scale)
    rows[:, 1:] *= np.logspace(0, -9, rows.shape[1] - 1)
    fits = logistic_regression.fit_path(rows, is_one, STRENGTHS)
    if scale > 1:
        assert np.array_equal(fits[-1].scores(rows) > 0, is_one)
    values = [np.sum(fit.coefficients[0] ** 2) for fit in fits]
    assert all(later >= 0.999 * earlier for earlier, later in pairwise(values))


@pytest.mark.parametrize("seed", range(3))
def test_choice_and_fit_are_those_of_scikit_learn(seed):
    """Its solver stops at a gradient, which on rows of this size is near the optimum."""
    linear = pytest.importorskip("sklearn.linear_model")
    random = np.random.default_rng(seed)
    rows = random.normal(size=(90, 12))
    is_one = rows[:, 0] + random.normal(size=90) > 0.5
    own = logistic_regression.fit_cross_validated(rows, is_one, STRENGTHS, 5)
    settings = {"max_iter": 10_000, "tol": 1e-9, "l1_ratios": [0.0], "use_legacy_attributes": False}
    chosen = linear.LogisticRegressionCV(Cs=STRENGTHS, cv=5, scoring="accuracy", **settings)
    scores = chosen.fit(rows, is_one).scores_.reshape(5, len(STRENGTHS)).mean(axis=0)
    # Equal means of five may differ in their last digit.
    assert own.strength == STRENGTHS[np.flatnonzero(scores > scores.max() - 1e-9)[0]]
    theirs = linear.LogisticRegressionCV(Cs=[own.strength], cv=5, scoring="accuracy", **settings)
    theirs.fit(rows, is_one)
    w, c = own.coefficients
    assert w == pytest.approx(theirs.coef_[0], rel=1e-4, abs=1e-5)
    assert c == pytest.approx(theirs.intercept_[0], rel=1e-4, abs=1e-5)


def test_folds_need_enough_samples_of_either_class():
    rows, is_one = problem(n=14)
    is_one = np.arange(14) < 5
    with pytest.raises(InputError, match="6 folds need as many samples"):
        logistic_regression.fit_cross_validated(rows, is_one, STRENGTHS, 6)


def test_the_strongest_penalty_of_equal_scores_is_taken():
    rows = np.where(np.arange(40) % 2, 1.0, -1.0)[:, None]
    fit = logistic_regression.fit_cross_validated(rows, rows[:, 0] > 0, STRENGTHS, 5)
    assert fit.strength == STRENGTHS[0]


def test_noise_is_not_fitted():
    random = np.random.default_rng(3)
    rows = random.normal(size=(100, 30))
    is_one = rows[:, 0] + 2 * random.normal(size=100) > 0
    assert logistic_regression.fit_cross_validated(rows, is_one, STRENGTHS, 5).strength < 1


def test_accuracies_of_pairs_and_of_samples():
    scores = np.array([[1.0, -1, -1], [-0.2, -0.1, -1], [2, 1, -1]])
    found = kernel_regression.accuracies(scores, np.array([0, 1, 1]))
    assert found["logit"] == pytest.approx(7 / 9)
    assert found["floor"] == pytest.approx(2 / 3)
    assert found["argmax"] == pytest.approx(2 / 3)
