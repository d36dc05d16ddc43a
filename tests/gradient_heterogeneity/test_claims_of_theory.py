"""Claims that are computed: they hold as declared, and wrong formulas do not."""

import pytest
from declared import CLAIMS, STUDY, verdict

from replication.frames import read_csv
from replication.verification.judgement import Judged, judge
from transformer_dynamics.gradient_heterogeneity.claims import drifts, quadratics
from transformer_dynamics.gradient_heterogeneity.theory import heterogeneity
from transformer_dynamics.gradient_heterogeneity.theory.quadratics import curvature_along

RELEASED = read_csv(STUDY.folder / "published" / "released_rates.csv", ())


@pytest.mark.parametrize(
    ("draws", "descents"), [(100, 20), pytest.param(1000, 100, marks=pytest.mark.thorough)]
)
def test_bounds_hold_and_mutants_do_not(monkeypatch, draws, descents):
    monkeypatch.setattr(quadratics, "DRAWS", draws)
    monkeypatch.setattr(quadratics, "DESCENTS", descents)
    assert verdict("H7a", {}) == "verified"
    assert verdict("H7b", {}) == "verified"
    assert verdict("H7c", {}) == "verified"
    right = quadratics.curvature_along
    for wrong in (
        lambda quadratic, d: 0.5 * right(quadratic, d),
        lambda quadratic, d: right(quadratic, d) - quadratic.coupling,
    ):
        monkeypatch.setattr(
            "transformer_dynamics.gradient_heterogeneity.theory.quadratics.curvature_along", wrong
        )
        assert verdict("H7a", {}) == "contradicted"


def test_bounds_hide_density(monkeypatch):
    assert verdict("T7", {}) == "verified"
    # Without density, as in bounds of iterations.
    monkeypatch.setattr(
        quadratics, "best_decrease", lambda quadratic, d: 1 / curvature_along(quadratic, d)
    )
    assert verdict("T7", {}) == "contradicted"


def test_laws_of_quadratics(monkeypatch):
    for number in ("H8a", "T1", "T2", "T3"):
        assert verdict(number, {}) == "verified"
    monkeypatch.setattr(quadratics, "stall_level", lambda curvatures, eta: eta * curvatures.mean())
    assert verdict("H8a", {}) == "contradicted"
    right = heterogeneity.lognormal_advantage
    monkeypatch.setattr(
        heterogeneity, "lognormal_advantage", lambda k, sigma, a: right(k, sigma, a / 2)
    )
    assert verdict("T1", {}) == "contradicted"
    gain = heterogeneity.block_rate_gain
    monkeypatch.setattr(heterogeneity, "block_rate_gain", lambda norms, h: gain(norms**2, h))
    assert verdict("T2", {}) == "contradicted"


def test_laws_of_drift(monkeypatch):
    # Draws of batches are those of a generator, and the same for right and wrong laws.
    once, simulated = {}, drifts.simulated_drift

    def simulate(classes, batch, beta, *given):
        key = classes, batch, beta
        if key not in once:
            once[key] = simulated(*key, *given)
        return once[key]

    monkeypatch.setattr(drifts, "simulated_drift", simulate)
    assert verdict("T4", {}) == "verified"
    assert verdict("T5", {}) == "verified"
    monkeypatch.setattr(drifts, "uniform_drift", lambda c, m: 1 - 2 * (1 - 1 / c) ** (m + 1))
    assert verdict("T4", {}) == "contradicted"
    right = drifts.averaged_drift
    monkeypatch.setattr(drifts, "averaged_drift", lambda c, m, beta: right(c, m, beta / 2))
    assert verdict("T5", {}) == "contradicted"


def test_released_rates():
    def verdict_on(number, table):
        return judge([Judged(number, CLAIMS[number].test, table)])[number].verdict

    found = drifts.matched_rates(RELEASED)
    assert len(found) == len(RELEASED) == 11
    assert found["value"].round(6).value_counts().to_dict() == {1.0: 6, 10.0: 5}
    assert verdict_on("E1", found) == "contradicted"
    assert verdict_on("E1", drifts.matched_rates(RELEASED.assign(signsgd=RELEASED["signum"]))) == (
        "verified"
    )
    alone = drifts.division_by_momentum()
    assert verdict_on("T6", alone) == "verified"
    flowers = alone.set_index("cell").loc["ViT flowers102", "value"]
    rates = found.set_index("cell").loc["ViT flowers102", "value"]
    assert flowers * rates == pytest.approx(64.2, abs=0.1)
