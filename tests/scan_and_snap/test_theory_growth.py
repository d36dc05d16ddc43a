import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad, solve_ivp

from replication.base.errors import InputError
from transformer_dynamics.scan_and_snap.settings.training import Mixture
from transformer_dynamics.scan_and_snap.theory import coupling, decoder, growth
from transformer_dynamics.scan_and_snap.theory.attention_flow import attention_flow
from transformer_dynamics.scan_and_snap.theory.growth import Setting
from transformer_dynamics.scan_and_snap.theory.sequence_classes import sequence_classes

RATES = st.floats(0.05, 8)
SETTINGS = st.builds(
    Setting,
    eta_y=RATES,
    eta_z=RATES,
    vocabulary_size=st.integers(20, 20_000),
    num_classes=st.integers(1, 20),
    c0=st.floats(0.003, 3),
)
FIG_3 = Setting(eta_y=1.0, eta_z=0.5, vocabulary_size=1000, num_classes=10)
FIG_9 = Setting(eta_y=5.0, eta_z=0.5, vocabulary_size=100, num_classes=1)


def integral(function, end):
    return quad(lambda t: float(function(t)), 0, end, epsabs=1e-12, epsrel=1e-12, limit=500)[0]


@pytest.mark.parametrize("c0", [0.00625, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("setting", [FIG_3, FIG_9])
def test_gamma_and_b_are_integrals(setting, c0):
    setting = setting._replace(c0=c0)
    sizes = (setting.eta_y, setting.vocabulary_size, setting.num_classes)
    for time in decoder.snapping_start(*sizes) * np.array([0.05, 0.5, 3]):
        area = setting.eta_z * integral(lambda t: decoder.gamma(*sizes, t), time)
        assert growth.cumulative_gamma(setting, time) == pytest.approx(area, rel=1e-10)
        exact = setting.eta_z * integral(lambda t: growth.theorem4_drive(setting, t), time)
        assert growth.exponent(setting, time) == pytest.approx(exact, abs=1e-8)
        offset = growth.exponent(setting, time, printed=True) - exact
        assert offset == pytest.approx(np.log(c0) / 4, abs=1e-8)


def test_theorem_4_solves_the_common_tokens_equation():
    """zdot = -eta_Z gamma exp(4z)/C_0, (13)."""
    setting = FIG_3._replace(c0=0.1)
    sizes = (setting.eta_y, setting.vocabulary_size, setting.num_classes)
    times = np.linspace(0, 700, 20)
    z = solve_ivp(
        lambda t, z: -setting.eta_z * decoder.gamma(*sizes, t) * np.exp(4 * z) / setting.c0,
        (0, 700),
        [0.0],
        t_eval=times,
        method="DOP853",
        rtol=1e-12,
        atol=1e-12,
    ).y[0]
    assert np.abs(z + growth.exponent(setting, times)).max() < 1e-9


def test_theorem_4_overrates_the_growth_of_10_by_the_number_of_classes():
    """One query and one common token: (10) follows the sum over classes of (100), not (13)."""
    classes = sequence_classes(
        Mixture(
            num_last=1, next_tokens_per_query=10, common_weights=[5.0], distinct_weights=[1.0] * 90
        )
    )
    size = classes.vocabulary_size
    common = coupling.features(classes, np.zeros((1, size)))[0, 0]  # 1/rho_0
    setting = Setting(1.0, 0.1, size, 10, c0=1 / (10 * common**4))
    early, late = growth.phase_times(setting)
    times = np.array([early / 4, early, late, 10 * late])
    flow = attention_flow(classes, 1.0, 0.1, times)
    found = flow.exponents[:, 0]
    summed = np.log1p(40 * growth.cumulative_gamma(setting, times) / setting.c0) / 40
    assert summed == pytest.approx(found, rel=0.15)
    assert (growth.exponent(setting, times) / found).min() > 3
    assert -flow.attention_logits[:, 0, 0] / 10 == pytest.approx(found, rel=0.2)


@pytest.mark.parametrize("eta_y", [0.5, 1, 2, 5])
def test_both_branches_of_14_are_close_to_the_exact_form(eta_y):
    setting = FIG_3._replace(eta_y=eta_y)
    early, late = growth.phase_times(setting)
    t = np.linspace(early / 100, early, 50)
    gap = growth.early_exponent(setting, t) - growth.exponent(setting, t, printed=True)
    assert 0 <= gap.min() <= gap.max() < 0.06
    t = late * np.logspace(0, 4, 50)
    gap = growth.late_exponent(setting, t) - growth.exponent(setting, t, printed=True)
    assert 0 <= gap.min() <= gap.max() < 0.06


@given(setting=SETTINGS, scale=st.floats(0.1, 10))
def test_b_at_both_phase_times_depends_on_k_m_and_nu_only(setting, scale):
    faster = setting._replace(eta_y=scale * setting.eta_y, eta_z=scale * setting.eta_z)
    uneven = setting._replace(eta_y=2 * setting.eta_y)
    times = (growth.phase_times(each) for each in (setting, faster, uneven))
    forms = growth.early_exponent, growth.late_exponent
    for form, here, there, moved in zip(forms, *times, strict=True):
        assert form(faster, there) == pytest.approx(form(setting, here), rel=1e-12, abs=1e-12)
        assert there == pytest.approx(here / scale)
        exact = growth.exponent(setting, here)
        assert growth.exponent(faster, there) == pytest.approx(exact, rel=1e-9)
        assert growth.exponent(uneven, moved) < exact


def test_b_at_the_snapping_start_of_figure_9():
    values = []
    for eta_z in (0.5, 1, 2, 4, 8):
        setting = FIG_9._replace(eta_z=eta_z, eta_y=10 * eta_z)
        values.append(growth.exponent(setting, growth.phase_times(setting)[1]))
    assert values == pytest.approx([0.5556] * 5, abs=1e-4)


@pytest.mark.parametrize("size", [100, 10_000])
@pytest.mark.parametrize("nu", [0.1, 0.5, 2, 10])
def test_131_has_nu_of_the_text(size, nu):
    setting = Setting(nu, 1.0, size, 1)
    start = growth.phase_times(setting)[1]
    exact = growth.exponent(setting, start)
    assert growth.late_exponent(setting, start) == pytest.approx(exact, rel=0.1)


def test_growth_is_a_power_of_t_while_scanning_and_of_ln_t_while_snapping():
    early, late = growth.phase_times(FIG_3)
    rise = [growth.growth_limit(FIG_3, t) for t in (early / 2, early)]
    assert 1.5 < rise[1] / rise[0] < 2  # chi ~ t
    late_rise = [growth.growth_limit(FIG_3, 10 * late * f) for f in (1, 10)]
    expected = np.log(1000 * 100 * late / 10) / np.log(1000 * 10 * late / 10)
    assert late_rise[1] / late_rise[0] == pytest.approx(expected, rel=0.02)


def test_growth_factors_of_figure_3_with_c0_one():
    values = [growth.growth_limit(FIG_3._replace(eta_y=e), 700.0) for e in (0.5, 1, 2, 5)]
    assert values == pytest.approx([45.2, 34.7, 26.3, 18.0], abs=0.06)


def test_insights_a_to_c():
    """(a) t0 ~ 1/eta_Y; (b) faster rates, larger B; (c) smaller eta_Y: larger B late, not early."""
    assert growth.phase_times(FIG_3)[1] == pytest.approx(
        2 * growth.phase_times(FIG_3._replace(eta_y=2.0))[1]
    )
    t = np.linspace(1, 3000, 300)
    both = FIG_3._replace(eta_y=2.0, eta_z=1.0)
    assert (growth.exponent(both, t) > growth.exponent(FIG_3, t)).all()
    for eta_y, crossing in ((0.5, 125), (1, 62.5), (2, None)):
        slow, fast = FIG_3._replace(eta_y=eta_y), FIG_3._replace(eta_y=2 * eta_y)
        ahead = growth.exponent(slow, t) > growth.exponent(fast, t)
        assert ahead[-1]
        assert not ahead[0]
        assert np.diff(ahead).sum() == 1
        if crossing:
            assert t[ahead.argmax()] == pytest.approx(crossing, abs=10)


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        (FIG_3._replace(eta_y=0.0), "eta_Y must be positive"),
        (FIG_3._replace(eta_z=-1.0), "eta_Z must be positive"),
        (FIG_3._replace(num_classes=1001), "K = 1001 > M = 1000"),
        (FIG_3._replace(vocabulary_size=1, num_classes=1), "M >= 2"),
        (FIG_3._replace(c0=0.0), "C_0 = rho_0.4/K must be positive"),
    ],
)
@pytest.mark.parametrize(
    "form",
    [growth.exponent, growth.theorem4_drive, growth.early_exponent, growth.late_exponent],
)
def test_impossible_settings_are_refused(form, setting, named):
    with pytest.raises(InputError, match=named):
        form(setting, 1.0)


def test_133_has_the_order_of_b_for_large_times():
    """B over the form tends to 1/2, from below or above, so slowly that 10^300 is not enough."""
    for nu, side in ((0.1, -1), (10.0, 1)):
        setting = Setting(nu, 1.0, 1000, 1)
        t = growth.phase_times(setting)[1] * 10.0 ** np.array([50, 100, 200, 300])
        form = np.log(np.log(1000 * nu * t)) - np.log(nu)
        gap = side * (growth.exponent(setting, t) / form - 0.5)
        assert (np.diff(gap) < 0).all()
        assert 0 < gap[-1] < 0.2


def test_lower_bound_of_theorem_4_while_scanning():
    """With K - 1 classes and beta of Theorem 1 in place of K and E, ~ is an equality early on."""
    classes = sequence_classes(
        Mixture(
            num_last=1,
            next_tokens_per_query=20,
            common_weights=[1.0],
            distinct_weights=[0.5, 1.0, 1.5] * 30,
        )
    )
    size = classes.vocabulary_size
    f = coupling.features(classes, np.zeros((1, size)))
    e = coupling.correlations(f)
    early = growth.phase_times(Setting(0.5, 0.005, size, 20))[0]
    times = early * np.array([0.01, 0.1, 1])
    token = classes.support[0, -1]
    z = attention_flow(classes, 0.5, 0.005, times).attention_logits[:, 0, token]
    bound = f[token, 0] ** 2 / 2 * np.log1p(2 * 0.5 * 0.005 * times**2 * f[0, 0] ** 4)
    beta = coupling.theorem1_coefficients(e, size).beta
    exact = coupling.drive(e, coupling.Coefficients(np.ones(20), beta))[0] / (20 * e[0, 1] ** 2)
    assert 0.5 < exact < 1
    assert 2 * z[:2] == pytest.approx(exact * bound[:2], rel=0.02)
    assert 0.5 * exact * bound[2] < 2 * z[2] < exact * bound[2]  # gamma lags behind eta_Y t/K


def test_impossible_times_are_refused():
    with pytest.raises(InputError, match="t >= 0"):
        growth.exponent(FIG_3, -1.0)
    with pytest.raises(InputError, match="t >= t0 > 0"):
        growth.late_exponent(FIG_3, 0.0)
    with pytest.raises(InputError, match="Lemma 8"):
        growth.phase_times(FIG_3._replace(vocabulary_size=3, num_classes=1))


def test_theorem_4_rises_less_past_the_transition_than_before():
    """B_n from t_0 to update 6,400, over that up to t_0, with C_0 and rates of the claim T20a."""
    rises = []
    correlation, num_classes, size = 0.722, 2, 33
    for eta_z, ratio in ((0.2, 1.0), (0.2, 10.0), (3.0, 1.0)):
        c0 = correlation**-2 / num_classes
        setting = Setting(eta_z * ratio, eta_z, size, num_classes, c0)
        _, start = growth.phase_times(setting)
        before, end = growth.exponent(setting, np.array([start, 6400.0]))
        rises.append((end - before) / before)
    assert max(rises) == pytest.approx(0.68, abs=0.02)
    assert sorted(rise > 0.5 for rise in rises) == [False, False, True]
