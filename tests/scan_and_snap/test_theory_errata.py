import numpy as np
import pytest
from settings_of_the_paper import PAPER

from replication.errors import InputError
from transformer_dynamics.scan_and_snap.sequence_classes import sequence_classes
from transformer_dynamics.scan_and_snap.theory import errata, findings
from transformer_dynamics.scan_and_snap.theory.growth import Setting


def numbers(evidence, part):
    found = [value for name, value in evidence.evidence.items() if part in name]
    assert found
    return found


def test_every_erratum_holds():
    found = errata.all_errata()
    assert [evidence.id for evidence in found] == ["E1", "E2", "E3", "E4", "E5", "E6", "E7"]
    assert all(evidence.holds for evidence in found)
    assert all(type(evidence.holds) is bool for evidence in found)
    values = [value for evidence in found for value in evidence.evidence.values()]
    assert all(type(value) is float for value in values)
    assert np.isfinite(values).all()


def test_errata_vanish_where_the_two_forms_agree():
    """The checks can fail: with disjoint features, or with C_0 = 1 or equal rates."""
    assert not errata.e1(np.eye(5)[:, :3]).holds
    same = Setting(eta_y=1.0, eta_z=1.0, vocabulary_size=100, num_classes=2)
    assert not errata.e6(same, 50.0).holds
    assert not errata.e7(same).holds


def test_erratum_4_values():
    found = errata.e4().evidence
    assert found["K=20, M=240: w_nn simulated"] == pytest.approx(3.78, abs=0.01)
    assert found["K=20, M=240: w_nn scaled"] == pytest.approx(1.29, abs=0.01)
    assert found["K=20, M=240: w_nn slowed"] == pytest.approx(1.39, abs=0.01)


def test_finding_a_values():
    found = findings.finding_a()
    assert found.holds
    assert numbers(found, "= 0.5") == pytest.approx([0.056, 0.018, 0.0078, 0.0047], abs=5e-4)
    assert numbers(found, "rho=0.5: peak") == pytest.approx([0.500, 3.624], abs=1e-3)
    assert numbers(found, "the peak of xi_modified") == pytest.approx([5.64] * 4, abs=0.05)
    late = numbers(found, "= 55")
    assert late[0] < 0.1
    assert late[-1] > 1.5


def test_finding_b_of_the_papers_mixtures():
    mixtures = {
        name: sequence_classes(mixture)
        for name, mixture in PAPER.mixtures.items()
        if mixture.in_released_code
    }
    found = findings.finding_b(mixtures)
    assert found.holds
    assert numbers(found, "lambda_1") == pytest.approx(
        [0.722, 0.722, 3.610, 6.498, 13.718], abs=1e-3
    )
    assert numbers(found, "limit 1/K") == pytest.approx([1 / 2, 1 / 2, 1 / 6, 1 / 10, 1 / 20])
    small = mixtures["syn_small"]
    z = np.zeros((2, 34))
    z[:, :10] = -0.3  # common tokens attended to less: both limits hold
    suppressed = findings.finding_b({"small": small}, {"small": z})
    assert numbers(suppressed, "lambda_1") == pytest.approx([0.588], abs=0.01)
    z[:, :10] = -0.5
    assert not findings.finding_b({"small": small}, {"small": z}).holds


def test_finding_c():
    rising = findings.finding_c({1000: [2.03, 2.05, 2.04], 100: [2.0, 2.01, 1.99]})
    assert rising.holds
    assert rising.evidence["mean change"] == pytest.approx(0.04)
    assert rising.evidence["its standard error"] == pytest.approx(
        np.std([0.03, 0.04, 0.05], ddof=1) / 3**0.5
    )
    assert not findings.finding_c({100: [2.0, 2.01], 1000: [2.0, 2.02]}).holds
    assert not findings.finding_c({100: [2.0, 2.01], 1000: [1.9, 1.92]}).holds


@pytest.mark.parametrize(
    "entropies",
    [{}, {100: [1.0, 2.0]}, {100: [1.0, 2.0], 200: [1.0]}, {100: [1.0], 200: [1.0]}],
)
def test_finding_c_needs_pairs(entropies):
    with pytest.raises(InputError, match="finding C"):
        findings.finding_c(entropies)


def test_errata_refuse_impossible_parameters():
    with pytest.raises(InputError, match="K = 21 > M = 20"):
        errata.e5(vocabulary_size=20, num_classes=20)
    with pytest.raises(InputError, match="eta_Y must be positive"):
        errata.e2(eta_y=0.0)
    with pytest.raises(InputError, match="independent"):
        errata.e1(np.full((4, 2), 0.5))
