"""MetricSettings of trajectories of training, against values worked out by hand."""

import numpy as np
import pandas as pd
import pytest
from measured import (
    FLAT,
    LN2,
    LN3,
    R1,
    R10,
    P,
    by,
    changed,
    expect,
    losses,
    measures,
    on_classes,
    shuffled,
)
from scipy.special import expit
from settings_of_the_paper import PAPER, REGISTRY

from replication.base.errors import InputError, UnmeasurableError
from replication.judge.comparisons import Judged
from replication.judge.judgement import judge
from transformer_dynamics.scan_and_snap.claims import figures_4_5, trajectory
from transformer_dynamics.scan_and_snap.claims.tables import Measured
from transformer_dynamics.scan_and_snap.metrics.growth import turn_time
from transformer_dynamics.scan_and_snap.settings.metrics import Turn
from transformer_dynamics.scan_and_snap.theory.decoder import snapping_start
from transformer_dynamics.scan_and_snap.theory.growth import (
    Setting,
    exponent,
    phase_times,
    theorem4_setting,
)
from transformer_dynamics.scan_and_snap.theory.sequence_classes import sequence_classes

MEASURES = PAPER.metrics

# Theory against training


def test_time_to_an_error():
    """The mean of ten losses is eps; t eps eta_Y/(K ln(M/eps)) is largest at the t below."""
    measured = losses(
        {
            (3, 0.5, 2): [2.0] * 20 + [0.1] * 10,  # the only mean up to 0.2 is the last one
            (7, 0.5, 2): [0.15] * 15 + [0.01] * 15,  # largest at the last update of the plateau
            (3, 0.5, 4): [1.0] * 30,  # never down to 0.2
            (7, 0.5, 4): [0.15] * 15 + [0.01] * 15,
        },
        eta_z=[0.5],
        ratio=[4.0, 2.0],
    )
    plateau = 14 * 0.15 / (2 * np.log(11 / 0.15))
    expect(
        trajectory.time_to_an_error(measured, MEASURES),
        ("seed",),
        {
            ("eta_Y/eta_Z 2", 3): 29 * 0.1 / (2 * np.log(110)),
            ("eta_Y/eta_Z 2", 7): plateau,
            ("eta_Y/eta_Z 4", 3): 29 * 2 / (2 * np.log(11)),
            ("eta_Y/eta_Z 4", 7): 2 * plateau,
        },
    )


@pytest.mark.parametrize(
    ("updates", "largest", "eps", "time"),
    [(10, 0.2, 1, 29), (5, 0.2, 0.1, 14), (10, 0.6, 0.55, 19)],
)
def test_a_small_error_is_the_mean_of_as_many_updates_as_are_set(updates, largest, eps, time):
    """The loss is small for five updates, which ten do not show unless more counts as small."""
    run = [1.0] * 10 + [0.1] * 5 + [1.0] * 15
    measured = losses({(3, 1, 1): run}, eta_z=[1.0], ratio=[1.0])
    other = measures(small_error={"updates": updates, "largest": largest})
    (value,) = trajectory.time_to_an_error(measured, other)["value"]
    assert value == pytest.approx(time * eps / (2 * np.log(11 / eps)))


def test_a_mean_over_more_updates_than_there_are_is_refused():
    measured = losses({(3, 1, 1): [1.0] * 9}, eta_z=[1.0], ratio=[1.0])
    with pytest.raises(UnmeasurableError, match="no mean loss of 10 updates; train longer, or low"):
        trajectory.time_to_an_error(measured, MEASURES)


@pytest.fixture
def grown() -> Measured:
    """P exp(z) after z of each class has come about."""
    logits = {
        (3, 1, 1): [[-1, -2, 9, 9, 9], [-3, -4, 9, 9, 9]],
        (3, 1, 10): [[-1, -2, 1, 2, 3], [-0.5, -4, 3, 4, 5]],
        (7, 1, 1): [[-1, -2, 9, 9, 9], [-3, 0.25, 9, 9, 9]],
        (7, 1, 10): [[-2, -2, -1, 0, 1], [-2, -2, 0, 0, 2]],
    }
    runs = {
        key: {0: [P, P], 5: [FLAT, FLAT], 9: (np.array(P) * np.exp(z)).tolist()}
        for key, z in logits.items()
    }
    return on_classes("unnormalised_attention", runs)


def test_rise_of_distinct_tokens(grown):
    """At the highest ratio, mean over classes."""
    rises = {3: (2, 3, 4), 7: (-0.5, 0, 1.5)}
    expect(
        trajectory.rise_of_distinct_tokens(grown),
        ("seed",),
        {
            (f"P(l|n) = {p}", seed): rise
            for seed, values in rises.items()
            for p, rise in zip(("0.1000", "0.2000", "0.3000"), values, strict=True)
        },
    )


def test_fall_of_common_tokens(grown):
    """The largest over tokens and classes."""
    expect(
        trajectory.fall_of_common_tokens(grown),
        ("seed",),
        {(R1, 3): -1, (R10, 3): -0.5, (R1, 7): 0.25, (R10, 7): -2},
    )


def growths(runs: dict) -> Measured:
    """From {(seed, ratio): {iteration: (exponent, relative gain, growth factor)}}."""
    names = ("exponent", "relative_gain", "growth_factor")
    rows = [
        {"mixture": "small", "seed": seed, "eta_z": 0.2, "ratio": ratio, "iteration": iteration}
        | {"quantity": name, "growth": value}
        for (seed, ratio), run in runs.items()
        for iteration, values in run.items()
        for name, value in zip(names, values, strict=True)
    ]
    job = changed("theory_comparison", "growth", steps=9, recorded=[0, 5])
    return Measured(shuffled(rows), job)


def test_gain_over_growth():
    """(gain at the end over that at the start, minus 1) over (growth factor minus 1)."""
    start, other = (0, 2, 1), (50, 60, 70)
    measured = growths(
        {
            (3, 1): {0: start, 5: other, 9: (1, 5, 2)},
            (3, 10): {0: start, 5: other, 9: (1, 6, 3)},
            (7, 1): {0: (0, 4, 1), 5: other, 9: (1, 6, 3)},
            (7, 10): {0: start, 5: other, 9: (1, 2, 4)},
        }
    )
    expect(
        trajectory.gain_over_growth(measured),
        ("seed",),
        {(R1, 3): 1.5, (R10, 3): 1, (R1, 7): 0.25, (R10, 7): 0},
    )


def test_steps_of_the_dominant_share():
    """The smallest of six steps of f_nl0, here the share itself, over the whole rise."""
    shares = {
        (3, 1): (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7),
        (3, 10): (0.1, 0.2, 0.3, 0.25, 0.5, 0.6, 0.6),
        (7, 1): (0.1, 0.15, 0.3, 0.4, 0.5, 0.6, 1.1),
        (7, 10): (0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1),
    }
    runs = {
        (seed, 0.2, ratio): {
            # The records between the parts do not count.
            t: [[np.sqrt(1 - share**2) if share < 1 else 0, 0, 0, 0, share]] * 2
            for t, share in [*zip(range(0, 61, 10), values, strict=True), (3, 0.9), (37, 0.0)]
        }
        for (seed, ratio), values in shares.items()
    }
    runs[7, 0.2, 1][60] = [[0.0, 0, 0, 0, 1.0]] * 2
    expect(
        trajectory.steps_of_the_dominant_share(on_classes("attention", runs), MEASURES),
        ("seed",),
        {(R1, 3): 1 / 6, (R10, 3): -0.1, (R1, 7): 0.05 / 0.9, (R10, 7): -1 / 6},
    )
    thirds = measures(parts=3)
    expect(
        trajectory.steps_of_the_dominant_share(on_classes("attention", runs), thirds),
        ("seed",),
        {(R1, 3): 1 / 3, (R10, 3): 0.1 / 0.5, (R1, 7): 0.2 / 0.9, (R10, 7): -1 / 3},
    )


def test_steps_of_the_remaining_share():
    """P has 1/3 and 2/3 of the dominant token's share, which keeps all of its own."""
    first = [0.2, 0.1, 0.1, 0.2, 0.4]  # 1/4 and 1/2: both keep 3/4
    second = [0.2, 0.15, 0.05, 0.3, 0.3]  # 1/6 and 1: 1/2 and 3/2
    ends = {
        (3, 1, 1): [first, second],
        (3, 1, 10): [first, first],
        (7, 1, 1): [second, second],
        (7, 1, 10): [P, second],
    }
    measured = on_classes(
        "attention", {k: {0: [P, P], 5: [FLAT] * 2, 9: v} for k, v in ends.items()}
    )
    kept = {
        (R1, 3): (0.625, 1.125, 1),
        (R10, 3): (0.75, 0.75, 1),
        (R1, 7): (0.5, 1.5, 1),
        (R10, 7): (0.75, 1.25, 1),
    }
    expect(
        trajectory.steps_of_the_remaining_share(measured),
        ("seed",),
        {
            (f"{cell}, token {token}", seed): step
            for (cell, seed), values in kept.items()
            for token, step in enumerate(np.diff(values), 2)
        },
    )


TIMES = [0, 4, 8, 16, 32, 64, 128]
CELLS = {2: "eta_Z 0.5, eta_Y/eta_Z 2", 4: "eta_Z 0.5, eta_Y/eta_Z 4"}


def moving(motions: dict) -> Measured:
    """Attention that moves as far in the intervals of TIMES as is given, in one of two classes.

    From a common token to a distinct one: |.|_1 is twice this, the mean over classes half of that.
    """
    runs = {}
    for (seed, ratio), motion in motions.items():
        moved = np.concatenate([[0], np.cumsum(motion)])
        runs[seed, 0.5, ratio] = {
            t: [[P[0] - m, P[1], P[2], P[3] + m, P[4]], P]
            for t, m in zip(TIMES, moved, strict=True)
        }
    return on_classes("attention", runs)


def test_growth_of_the_movement():
    """t_0 is 14.3 at eta_Y = 1, so that update 16 is the first past it, and 7.2 at eta_Y = 2.

    From there on every interval is a doubling: motion that stays the same is logarithmic.
    """
    assert 8 < snapping_start(1, 11, 2) < 16
    assert 4 < snapping_start(2, 11, 2) < 8
    motions = {
        (3, 2): [1e-3, 1e-3, 1e-3, 0.01, 0.01, 0.01],  # logarithmic
        (3, 4): [1e-3, 1e-3, 0.001, 0.002, 0.004, 0.008],  # at a steady speed
        (7, 2): [1e-3, 1e-3, 9e-3, 0.008, 0.004, 0.002],  # the slower the later
        (7, 4): [1e-3, 1e-3, 0.001, 0.004, 0.016, 0.064],  # ever faster
    }
    expect(
        trajectory.growth_of_the_movement(moving(motions), MEASURES),
        ("seed",),
        {(CELLS[2], 3): 0, (CELLS[4], 3): 1, (CELLS[2], 7): -1, (CELLS[4], 7): 2},
    )


def test_motion_after_over_before():
    motions = {
        (3, 2): [0.01, 0.01, 0.01, 0.01, 0.01, 0.01],
        (3, 4): [0.01, 0.01, 0.01, 0.01, 0.01, 0.01],
        (7, 2): [0.01, 0.01, 0.02, 0.002, 0.001, 0.001],
        (7, 4): [0.02, -0.01, 0.01, 0.01, 0.01, 0.01],
    }
    expect(
        trajectory.motion_after_over_before(moving(motions), MEASURES),
        ("seed",),
        {(CELLS[2], 3): 1, (CELLS[4], 3): 2, (CELLS[2], 7): 0.1, (CELLS[4], 7): 4},
    )


@pytest.mark.parametrize(
    ("eta_z", "message"),
    [
        (0.1, "t_0 = 143; a record there and two past it are needed"),
        (0.7, "t_0 = 20.4; a record there"),
        (3, "t_0 is below 5 updates at all rates"),
    ],
)
def test_records_at_the_transition_are_needed(eta_z: float, message: str):
    runs = {(3, eta_z, 1): {t: [P, P] for t in TIMES}}
    with pytest.raises(InputError, match=message):
        trajectory.growth_of_the_movement(on_classes("attention", runs), MEASURES)


@pytest.mark.parametrize(("least", "left"), [(5, [2]), (4.5, [2, 3])])
def test_rates_without_a_time_before_the_transition_are_left_out(least, left):
    assert 4.5 < snapping_start(3, 11, 2) < 5 < snapping_start(2, 11, 2) < 8
    motions = {
        (3, eta_z, 1): {
            t: [[P[0] - t / 1e3, *P[1:4], P[4] + t / 1e3], P] for t in (0, 5, 8, 16, 32)
        }
        for eta_z in (2, 3)
    }
    measured = on_classes("attention", motions)
    found = trajectory.motion_after_over_before(measured, measures(least_t_0=least))
    assert sorted(found["cell"]) == [f"eta_Z {eta_z}, eta_Y/eta_Z 1" for eta_z in left]


def test_momentum_brings_the_transition_forward():
    """At momentum 1/2 half as many updates are enough, and one more from rest."""
    runs = {
        (3, 1, 1): {t: [[P[0] - t / 1e3, *P[1:4], P[4] + t / 1e3], P] for t in (0, 9, 16, 24, 32)}
    }
    late = on_classes("attention", runs)
    training = late.job.training.model_copy(update={"momentum": 0.5})
    early = late._replace(job=late.job.model_copy(update={"training": training}))
    assert 14 < snapping_start(1, 11, 2) < 15
    found = [
        trajectory.motion_after_over_before(each, MEASURES)["value"].tolist()
        for each in (early, late)
    ]
    assert found == [pytest.approx([23 / 9]), pytest.approx([1])]


@pytest.mark.parametrize(("fastest", "verdict"), [(8, "replicated"), (24, "does not hold")])
def test_attention_can_be_fastest_at_the_transition_and_elsewhere(fastest, verdict):
    t_0 = snapping_start(2, 11, 2)
    assert 7 < t_0 < 8
    times = np.arange(0, 65, 2)
    runs = {}
    for seed in range(10):
        moved = 0.02 * expit((times - fastest - 0.1 * seed) / 2)
        runs[seed, 2, 1] = {
            int(t): [[P[0] - far, *P[1:4], P[4] + far], P]
            for t, far in zip(times, moved, strict=True)
        }
    found = trajectory.fastest_motion_over_transition(on_classes("attention", runs), MEASURES)
    assert judged("T20h", found) == verdict
    still = {(0, 2, 1): {int(t): [P, P] for t in times}}
    with pytest.raises(UnmeasurableError, match="attention does not move"):
        trajectory.fastest_motion_over_transition(on_classes("attention", still), MEASURES)
    expected = (fastest + 0.1 * np.arange(10)) / t_0
    assert found.sort_values("seed")["value"].to_numpy() == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize(("late", "verdict"), [(0.3, "replicated"), (3, "does not hold")])
def test_attention_can_move_less_and_more_after_the_transition_than_before(late, verdict):
    """The motion from t_0 = 8 on, over that before."""
    rng = np.random.default_rng(0)
    assert 7 < snapping_start(2, 11, 2) < 8
    runs = {
        (seed, 2, 1): {
            t: [[P[0] - moved, *P[1:4], P[4] + moved], P]
            for t, moved in {0: 0, 8: 0.01, 16: 0.01, 32: 0.01 * (1 + late + noise)}.items()
        }
        for seed, noise in enumerate(rng.normal(0, 0.02, 10))
    }
    found = trajectory.motion_after_over_before(on_classes("attention", runs), MEASURES)
    assert judged("T20g", found) == verdict


def test_change_of_common_mass():
    """0.4 at first; the mean over classes falls by 0.02 and more, the last record counts."""
    scales = {(3, 1): 1, (3, 10): 2, (7, 1): 3, (7, 10): 4}
    runs = {
        (seed, 0.2, ratio): {
            3 * k: [
                [0.2 - fall * k * scale, 0.2, 0.1, 0.2, 0.3 + fall * k * scale]
                for fall in (0.001, 0.003)
            ]
            for k in range(11)
        }
        for (seed, ratio), scale in scales.items()
    }
    expect(
        figures_4_5.change_of_common_mass(on_classes("attention", runs)),
        ("seed",),
        {(f"eta_Y/eta_Z {r}", seed): -0.02 * scale for (seed, r), scale in scales.items()},
    )


@pytest.mark.parametrize(
    ("measure", "used"), [("gain_over_growth", []), ("exponent_of_the_turn", [MEASURES])]
)
def test_growth_from_a_later_update_is_none_from_the_start(measure, used):
    job = changed("theory_comparison", "growth", steps=9, recorded=[5])
    with pytest.raises(UnmeasurableError, match="add 0 to training > recorded"):
        getattr(trajectory, measure)(growths({(3, 1): {5: (0, 2, 1)}})._replace(job=job), *used)


def turning(scales: dict) -> Measured:
    """B_n = t^2/(t^2 + T^2) of (mixture, seed, eta_Z, ratio) turns at T/sqrt(3), T = 100 scale."""
    times = np.arange(0, 1001, 3)
    rows = [
        {"mixture": name, "seed": seed, "eta_z": eta_z, "ratio": ratio, "iteration": t}
        | {"quantity": quantity, "growth": value}
        for (name, seed, eta_z, ratio), scale in scales.items()
        for t in times
        for quantity, value in {
            "exponent": t**2 / (t**2 + (100 * scale) ** 2),
            "relative_gain": t,
        }.items()
    ]
    return Measured(shuffled(rows), PAPER.metric_job("phase_transition", "growth", "cpu"))


def turning_as_powers(powers: dict) -> Measured:
    """A turn that goes as a power of eta_Y."""
    return turning(
        {
            (*run, 0.5, ratio): (ratio / 2) ** power
            for run, power in powers.items()
            for ratio in (1, 2, 4)
        }
    )


def test_exponent_of_the_turn():
    """Interpolated, not picked from the grid: the seeds' own powers within a hundredth."""
    powers = {("a", 3): -0.5, ("a", 7): -1, ("b", 3): 0, ("b", 7): -0.75}
    table = trajectory.exponent_of_the_turn(turning_as_powers(powers), MEASURES)
    assert by(table, "seed") == pytest.approx(powers, abs=0.01)


def test_exponent_in_eta_z():
    """Of the one eta_Y that two eta_Z share, whatever the other cells have."""
    powers = {("a", 3): -0.3, ("a", 7): 0, ("b", 3): 0.2}
    eta_z, ratio = [0.004, 0.04], [10.0, 100.0]
    measured = turning(
        {
            (name, seed, z, r): (10 * z) ** power if z * r == pytest.approx(0.4) else 1
            for (name, seed), power in powers.items()
            for z in eta_z
            for r in ratio
        }
    )
    table = trajectory.exponent_in_eta_z(measured, MEASURES)
    assert by(table, "seed") == pytest.approx(powers, abs=0.01)
    alone = {(name, 3, z, 10): 1 for name in "ab" for z in eta_z}
    with pytest.raises(UnmeasurableError, match="one eta_Y that several eta_Z share is needed"):
        trajectory.exponent_in_eta_z(turning(alone), MEASURES)


def judged(claim: str, table: pd.DataFrame) -> str:
    (found,) = (each for each in REGISTRY.claims if each.id == claim)
    return judge([Judged(claim, found.test, table)])[claim].verdict


@pytest.mark.parametrize(("power", "verdict"), [(0, "replicated"), (-0.15, "does not hold")])
def test_attention_s_own_rate_can_leave_the_turn_and_can_move_it(power, verdict):
    rng = np.random.default_rng(0)
    runs = {
        ("a", seed, z, r): (10 * z) ** (power + noise)
        for seed, noise in enumerate(rng.normal(0, 0.01, 10))
        for z, r in ((0.004, 100), (0.04, 10))
    }
    assert judged("T7i", trajectory.exponent_in_eta_z(turning(runs), MEASURES)) == verdict


@pytest.mark.parametrize(
    ("place", "verdict"), [(0.6, "replicated"), (-0.2, "does not hold"), (1.2, "does not hold")]
)
def test_the_turn_can_lie_between_the_theory_s_times_and_beyond_either(place, verdict):
    mixture = PAPER.mixtures["syn_medium_1"]
    rng = np.random.default_rng(0)
    runs = {}
    for eta_y in (0.4, 0.9):
        early, late = phase_times(Setting(eta_y, 0.004, mixture.vocabulary_size, 2))
        for seed, noise in enumerate(rng.normal(0, 0.02, 10)):
            turn = early + (place + noise) * (late - early)
            # t^2/(t^2 + T^2) turns at T/sqrt(3), see `turning`.
            runs["syn_medium_1", seed, 0.004, eta_y / 0.004] = turn * np.sqrt(3) / 100
    measured = turning(runs | {("wide", 0, 0.004, 100.0): 1})
    table = trajectory.place_of_the_turn(measured, MEASURES)
    assert {*table["cell"]} == {f"syn_medium_1, eta_Y {eta_y}" for eta_y in (0.4, 0.9)}
    assert table["value"].mean() == pytest.approx(place, abs=0.1)
    assert judged("T7h", table) == verdict


def test_growth_is_compared_with_that_of_theorem_4():
    """Only where one token is common, at the last update, and on no other quantity."""
    job = PAPER.metric_job("two_rates_of_attention", "growth", "cpu")
    classes = sequence_classes(PAPER.mixtures["one_common_token"])
    rows = [
        {"mixture": name, "seed": 3, "eta_z": z, "ratio": r, "iteration": t, "quantity": quantity}
        | {"growth": scale * t * exponent(theorem4_setting(classes, z * r, z), 800.0) / 800}
        for name, scale in (("one_common_token", 0.1), ("syn_medium_1", 7))
        for z, r in job.training.cells
        for t in (0, 400, 800)
        for quantity in ("exponent", "growth_factor")
    ]
    table = trajectory.growth_over_theorem_4(Measured(shuffled(rows), job))
    expect(table, ("seed",), {(cell, 3): 0.1 for cell in table["cell"]})
    assert len(table) == len(job.training.cells)
    without = {name: mixture for name, mixture in job.mixtures.items() if name[:3] == "syn"}
    other = Measured(shuffled(rows), job.model_copy(update={"mixtures": without}))
    with pytest.raises(UnmeasurableError, match="one mixture with one common token"):
        trajectory.growth_over_theorem_4(other)


@pytest.mark.parametrize(("key", "shift"), [("slope", 0.02), ("parabola", 0.005)])
def test_the_turn_is_that_of_the_windows_that_are_set(key, shift):
    """Growth t^2/(t^2 + 10^4), steepest at 58; wider windows see more of its slow decline."""
    times = np.arange(0, 1001.0)
    run = pd.DataFrame({"iteration": times, "growth": times**2 / (times**2 + 1e4)})
    narrow = Turn(slope=1.05, parabola=1.1)
    wider = narrow.model_copy(update={key: 2.0})
    assert turn_time(run, narrow) == pytest.approx(100 / np.sqrt(3), rel=0.005)
    assert abs(turn_time(run, wider) / turn_time(run, narrow) - 1) > shift


def test_exponents_of_the_papers_data_and_of_ours_are_kept_apart():
    measured = turning_as_powers({("syn_a", 3): -1, ("wide", 3): -0.5})
    paper, ours = (
        trajectory.exponent_in_the_paper(measured, MEASURES),
        trajectory.exponent_elsewhere(measured, MEASURES),
    )
    assert (paper["cell"].tolist(), ours["cell"].tolist()) == (["syn_a"], ["wide"])


def test_lead_of_the_initial_winner():
    """Only neighbours of which the rarer one starts ahead count."""
    starts = [[0.2, 0.2, 0.3, 0.1, 0.2], [0.2, 0.2, 0.1, 0.2, 0.1]]
    ends = {
        (3, 1, 2): [[0.2, 0.1, 0.4, 0.1, 0.2], [0.4, 0.3, 0.1, 0.1, 0.1]],  # 4/3 and 1/2
        (3, 1, 10): starts,
        (7, 1, 2): [[0.1, 0.2, 0.6, 0.1, 0.7], [0.1, 0.2, 0.1, 0.6, 0.1]],  # 2 and 3
        (7, 1, 10): [[0.1, 0.2, 0.1, 0.1, 0.7], [0.1, 0.2, 0.1, 0.1, 0.1]],  # 1/3 and 1/2
    }
    runs = {key: {0: starts, 5: [FLAT, FLAT], 9: end} for key, end in ends.items()}
    expect(
        trajectory.lead_of_the_initial_winner(on_classes("attention", runs)),
        ("seed",),
        {
            ("eta_Y/eta_Z 2", 3): (np.log(4 / 3) - LN2) / 2,
            ("eta_Y/eta_Z 10", 3): 0,
            ("eta_Y/eta_Z 2", 7): (LN2 + LN3) / 2,
            ("eta_Y/eta_Z 10", 7): -(LN2 + LN3) / 2,
        },
    )
    # A seed whose start reverses no pair is left out.
    without = {key: {0: [P, P], 9: [P, P]} if key[0] == 7 else run for key, run in runs.items()}
    without = {key: {0: run[0], 9: run[9]} for key, run in without.items()}
    left = trajectory.lead_of_the_initial_winner(on_classes("attention", without))
    assert sorted(set(left["seed"])) == [3]
    none = {key: run for key, run in without.items() if key[0] == 7}
    with pytest.raises(UnmeasurableError, match="reverses no pair of tokens; add seeds"):
        trajectory.lead_of_the_initial_winner(on_classes("attention", none))
