"""Tables of the figures about the theory and about single runs, against closed forms."""

from types import ModuleType

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from matplotlib.text import Text
from measured import LN2, ONE, TOKENS, P, changed, on_classes, shuffled
from settings_of_the_paper import PAPER

from replication.base.errors import InputError
from replication.bundle.bundle import figure_path, reference_folder
from replication.figures.drawn_numbers import unknown_marks
from replication.figures.style import WIDTH, set_style
from replication.study.contract import Measured
from transformer_dynamics.scan_and_snap.figures import (
    errata,
    fig1,
    fig2,
    fig3,
    fig4,
    fig5,
    fig8,
    fig9,
    findings,
    theory_vs_training,
)
from transformer_dynamics.scan_and_snap.figures.errata import HOLDS, PRINTED

LEGIBLE = 6.5
"""Points."""


def of_theory(module: ModuleType, name: str) -> pd.DataFrame:
    figure = PAPER.figures[name]
    uses = {key: getattr(PAPER, key) for key in figure.uses}
    table = module.table(figure, **uses)
    assert list(table) == list(figure.columns)
    return table


@pytest.mark.parametrize(
    ("module", "name"),
    [(fig1, "fig1"), (fig3, "fig3"), (fig8, "fig8"), (fig9, "fig9"), (errata, "errata")],
)
def test_a_figure_is_legible_in_print_and_shows_its_table_only(module, name):
    table = of_theory(module, name)
    with plt.rc_context():
        set_style()
        drawing = module.draw(PAPER.figures[name], table)
        assert drawing.get_figwidth() == WIDTH
        drawing.draw_without_rendering()
    shown = [text for text in drawing.findobj(Text) if text.get_visible() and text.get_text()]
    assert min(text.get_fontsize() for text in shown) >= LEGIBLE
    assert not list(unknown_marks(drawing, [table]))
    plt.close(drawing)


def test_figure_1_has_queries_that_serve_several_next_tokens():
    table = of_theory(fig1, "fig1")
    assert (table.groupby("query")["next_token"].nunique() == 2).all()
    assert table.groupby("sequence_class")["probability"].sum().to_numpy() == pytest.approx(1)
    common = table[table["kind"] == "common"]
    assert set(common.groupby("token")["sequence_class"].nunique()) == {4}
    assert (table[table["kind"] == "distinct"].groupby("token").size() == 1).all()


def test_figure_3_marks_the_times_of_the_theory():
    """t_0' = K ln M/eta_Y; the corrected B_n starts at 0."""
    table = of_theory(fig3, "fig3")
    scanned = table[table["mark"] == "end of scanning"].set_index("eta_y")["t"]
    assert (scanned * scanned.index).to_numpy() == pytest.approx(10 * np.log(1000), rel=1e-12)
    assert (table[table["t"] == 0]["growth_limit"] == 1).all()
    for _, rows in table.groupby("eta_y"):
        assert rows["t"].is_monotonic_increasing
        assert rows["growth_limit"].is_monotonic_increasing
    shorter = PAPER.figures["fig3"].model_copy(update={"last_time": 50.0})
    marks = fig3.table(shorter).query("mark != 'curve'")
    assert marks["t"].max() < 50
    assert set(marks["eta_y"]) == {2, 5}


def test_figure_8_has_the_gap_within_lemma_7():
    table = of_theory(fig8, "fig8")
    gap = table["scaled_gap"]
    assert (gap.notna() == (table["t"] % 1 == 0)).all()
    assert gap.min() >= -1e-9
    assert gap.max() <= table["scaled_gap_limit"].min() == 2
    # h*(1) = eta_Y/M exactly, so that the first gap is 1 - h(1) M/eta_Y.
    first = table[table["t"] == 1]
    sizes = first["panel"].map({1: 50, 2: 1000})
    expected = 1 - first["h_continuous"] * sizes / first["eta_y"]
    np.testing.assert_allclose(first["scaled_gap"], expected, rtol=1e-9)


def test_figure_9_has_equal_heights_at_the_start_of_snapping():
    table = of_theory(fig9, "fig9")
    starts = table[table["mark"] == "start of snapping"]
    assert (starts.groupby("panel")["eta_z"].nunique() == 5).all()
    heights = starts.groupby("panel")["growth_bound"].agg(["min", "max"])
    np.testing.assert_allclose(heights["min"], heights["max"], rtol=1e-10)


def test_errata_against_closed_forms():
    table = of_theory(errata, "errata").set_index(["claim", "curve"])

    def curve(claim: str, name: str) -> tuple[np.ndarray, np.ndarray]:
        rows = table.loc[(claim, name)]
        return rows["x"].to_numpy(), rows["y"].to_numpy()

    rho, y = curve("E1", HOLDS)
    np.testing.assert_allclose(y, rho / (1 - rho**2), atol=1e-12)
    np.testing.assert_allclose(curve("E1", PRINTED)[1], -y, atol=1e-12)
    num_classes, y = curve("E5", HOLDS)
    np.testing.assert_allclose(y, num_classes * (1 - 0.01), rtol=1e-9)
    shift = curve("E6", PRINTED)[1] - curve("E6", HOLDS)[1]
    np.testing.assert_allclose(shift, np.log(0.00625) / 4, rtol=1e-9)
    assert curve("E2", PRINTED)[1].max() > 10
    assert curve("E2", HOLDS)[1].max() < 2
    assert (np.diff(curve("E9", HOLDS)[1]) > 0).all()
    assert (curve("E4", HOLDS)[1] > 0.95).all()
    assert set(table.index.get_level_values("claim")) == set(errata.PANELS)


# One run


def test_figure_2_has_every_token_beside_its_start():
    times = [0, 14, 41, 163]
    half = [value / 2 for value in P]
    run = {time: [P, half] if time == 0 else [half, P] for time in [*times, 200]}
    measured = on_classes("unnormalised_attention", {(1, 0.05, 10): run})
    # The times are those of M = 33, so the sizes must be.
    figure = PAPER.figures["fig2"].model_copy(update={"frozen_after": 4.0})
    mixtures = PAPER.metric_job("four_stages", "loss", "cpu").mixtures
    own = changed("four_stages", "unnormalised_attention", mixtures, steps=200, recorded=times)
    table = fig2.table(figure, Measured(measured.table, own))
    assert list(table) == list(figure.columns)
    assert table.groupby("stage")["iteration"].unique().explode().tolist() == times
    for n, (start, later) in {1: (P, half), 2: (half, P)}.items():
        for stage, values in enumerate([start, later, later, later]):
            rows = table[(table["sequence_class"] == n) & (table["stage"] == stage)]
            assert rows["token"].tolist() == TOKENS[n]
            assert rows["unnormalised_attention"].tolist() == values
            assert rows["start"].tolist() == start
    late = figure.model_copy(update={"frozen_after": 40.0})
    with pytest.raises(InputError, match="must record 1630"):
        fig2.table(late, Measured(measured.table, own))


@pytest.mark.parametrize(("module", "name"), [(fig4, "fig4"), (fig5, "fig5")])
def test_heat_maps_name_the_groups_of_tokens(module, name):
    figure = PAPER.figures[name].model_copy(update={"seed": 3, "iterations": [0, 9]})
    measured = on_classes("attention", {(3, 1, 1): {0: [P, P], 9: [ONE, ONE]}})
    table = module.table(figure, measured)
    groups = table.groupby("group")["token"].unique().map(sorted).to_dict()
    expected = {"common": [0, 1], "distinct of class 1": [2, 3, 4]}
    if module is fig4:
        expected["distinct of class 2"] = [5, 6, 7]
    assert groups == expected
    highest = table["attention"].max()
    drawing = module.draw(figure, table)
    images = [image for axes in drawing.axes for image in axes.images]
    assert {image.get_clim() for image in images} == {(0, highest)}
    plt.close(drawing)


def test_findings_have_a_curve_for_each_correlation_update_and_ratio():
    figure = PAPER.figures["findings"].model_copy(update={"passes": 2})
    rows = [
        {"eta_z": 1.0, "ratio": ratio, "seed": seed, "iteration": update, "entropy": LN2 * seed}
        for ratio in (1.0, 10.0)
        for seed in (1, 3)
        for update in (50, 100)
    ]
    mixtures = {"m": PAPER.mixtures["syn_medium_5"]}
    job = changed("long_training", "entropy", mixtures, steps=100)
    table = findings.table(figure, Measured(shuffled(rows), job))
    assert list(table) == list(figure.columns)
    a, b, c = (table[table["panel"] == panel] for panel in "ABC")
    assert set(zip(a["curve"], a["parameter"], strict=True)) == {
        (name, rho) for name in findings.UPDATES for rho in (0.1, 0.5)
    }
    # All pairs of classes are equally correlated: the largest eigenvalue is K - 1 times that.
    largest = b[b["curve"] == findings.EIGENVALUE].set_index("x")["y"]
    limits = b[b["curve"] == findings.LIMIT].set_index("x")["y"]
    np.testing.assert_allclose(largest / (largest.index - 1), largest.iloc[0], rtol=1e-9)
    np.testing.assert_allclose(limits * limits.index, 1)
    assert c["y"].to_numpy() == pytest.approx(2 * LN2)
    assert c["y_std"].to_numpy() == pytest.approx(np.sqrt(2) * LN2)
    assert set(c["parameter"]) == {1, 10}


def test_finding_c_is_moved_aside_by_little():
    """Bars of four ratios at the same update are told apart, at nearly that update."""
    table = pd.read_csv(reference_folder(ROOT, "scan_and_snap") / figure_path("findings"))
    with plt.rc_context():
        set_style()
        drawing = findings.draw(PAPER.figures["findings"], table)
        drawing.draw_without_rendering()
    axes = drawing.axes[2]
    onto_data = axes.transData.inverted()
    factors = []
    for points, *_ in axes.containers:
        x, y = points.get_xydata().T
        shown = onto_data.transform(points.get_transform().transform(points.get_xydata()))
        np.testing.assert_allclose(shown[:, 1], y)
        np.testing.assert_allclose(shown[:, 0] / x, shown[0, 0] / x[0])
        factors.append(shown[0, 0] / x[0])
    assert 0.9 < min(factors) < max(factors) < 1.1
    assert len(set(factors)) == 4
    plt.close(drawing)


def test_training_is_thinned_about_evenly_on_a_logarithmic_axis():
    rows = pd.DataFrame({"t": np.arange(1, 1001)})
    kept = theory_vs_training._thin_rows(rows)["t"].to_numpy()
    assert (kept[0], kept[-1], len(kept)) == (1, 1000, theory_vs_training.POINTS)
    assert (np.diff(kept) > 0).all()
    assert len(theory_vs_training._thin_rows(rows.head(3))) == 3
