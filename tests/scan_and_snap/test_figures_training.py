"""Tables of the figures about training runs, against closed forms, and how they are drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from settings_of_the_paper import PAPER, STUDY

from replication.figures.drawn_numbers import unknown_marks
from replication.figures.style import WIDTH, set_style
from replication.study.contract import Measured
from transformer_dynamics.scan_and_snap.figures import fig6, recall

LEGIBLE = 6.5
"""Points."""


def measured(metric: str) -> Measured:
    """Every cell of the sweep, two seeds each, and two updates."""
    job = PAPER.metric_job("syn_medium", metric, "cpu")
    seed = np.random.default_rng(1)
    rows = []
    for name, mixture in job.mixtures.items():
        spacing = job.recall_thresholds.get(name)
        at = np.linspace(spacing.first, spacing.last, spacing.count) if spacing else [0.0]
        rows += [
            (mixture.num_last, eta_z, ratio, number, iteration, threshold, seed.uniform())
            for eta_z, ratio in job.training.cells
            for number in (1, 2)
            for iteration in (50, 100)
            for threshold in at
        ]
    names = ["num_last", "eta_z", "ratio", "seed", "iteration", "threshold", metric]
    return Measured(pd.DataFrame(rows, columns=names), job)


@pytest.mark.parametrize(
    ("module", "name", "metric"),
    [(fig6, "fig6", "entropy"), (recall, "fig11", "recall"), (recall, "fig12", "recall")],
)
def test_a_figure_is_legible_in_print_and_shows_its_table_only(module, name, metric):
    figure = PAPER.figures[name]
    table = module.table(figure, measured(metric))
    assert list(table) == list(figure.columns)
    published = pd.read_csv(STUDY.folder / "published/fig6.csv") if metric == "entropy" else None
    with plt.rc_context():
        set_style()
        drawing = module.draw(figure, table, published)
        assert drawing.get_figwidth() == WIDTH
        drawing.draw_without_rendering()
    shown = [text for text in drawing.findobj(Text) if text.get_visible() and text.get_text()]
    assert min(text.get_fontsize() for text in shown) >= LEGIBLE
    assert not list(unknown_marks(drawing, [table] if published is None else [table, published]))
    plt.close(drawing)


def test_figure_6_compares_with_even_attention_and_with_none():
    """Ten distinct tokens, at first of the probabilities 1/55, 2/55, ... 10/55."""
    table = fig6.table(PAPER.figures["fig6"], measured("entropy"))
    p = np.arange(1, 11) / 55
    assert table["entropy_even"].to_numpy() == pytest.approx(np.log(10), rel=1e-12)
    start = table["entropy_without_attention"].to_numpy()
    assert start == pytest.approx(-(p * np.log(p)).sum(), rel=1e-12)


def test_recall_has_even_attention_between_the_first_and_the_last_threshold():
    table = recall.table(PAPER.figures["fig11"], measured("recall"))
    sizes = {1: 33, 3: 79, 5: 125, 10: 240}
    assert (table["even_attention"] * table["num_last"].map(sizes)).to_numpy() == pytest.approx(1)
    ends = table.groupby("num_last").agg({"threshold": ["min", "max"], "even_attention": "first"})
    assert (ends["threshold"]["min"] < ends["even_attention"]["first"]).all()
    assert (ends["threshold"]["max"] > ends["even_attention"]["first"]).all()


def test_the_figures_of_recall_go_below_the_first_threshold_of_the_claims():
    drawn, judged = (
        PAPER.metric_job(name, "recall", "cpu").recall_thresholds
        for name in ("syn_medium", "fig6_replication")
    )
    for name, thresholds in judged.items():
        assert drawn[name].first < thresholds.first
        assert drawn[name].last == thresholds.last
