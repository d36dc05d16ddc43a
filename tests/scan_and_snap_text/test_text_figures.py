"""Tables of the figures about training on text, against sums by hand, and how they are drawn."""

from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from conftest import DEFAULTS
from matplotlib.text import Annotation, Text

from replication.figures.drawn_numbers import unknown_marks
from replication.figures.style import WIDTH, set_style
from transformer_dynamics.scan_and_snap_text.figures import fig7, fig10, wikitext_dynamics

FIGURES = DEFAULTS.section("scan_and_snap_text").figures
LEGIBLE = 6.5
"""Points."""


def maps() -> Any:
    """Four words; from the second query on all attention is on the first key, at first even.

    Of two seeds the second one has even attention at all times.
    """
    rows = [
        ("one_layer", 1, seed, iteration, query, key, attention, "abcd"[query], "abcd"[key])
        for seed in (1, 2)
        for iteration in FIGURES["fig7"].iterations
        for query in range(4)
        for key in range(4)
        for attention in [
            (key <= query) / (query + 1) if iteration == 0 or seed == 2 else float(key == 0)
        ]
    ]
    names = ["model", "layers", "seed", "iteration", "query_position", "key_position", "attention"]
    return SimpleNamespace(table=pd.DataFrame(rows, columns=[*names, "query_word", "key_word"]))


def entropies(last: dict[tuple[str, int], float]) -> Any:
    """The metric `dynamics`, of which only the entropy counts; {(model, seed): the last one}."""
    rows = [
        {"model": model, "seed": seed, "iteration": iteration, "entropy": entropy}
        for (model, seed), value in last.items()
        for iteration, entropy in ((0, 2.5 - value), (FIGURES["fig7"].iterations[-1], value))
    ]
    return SimpleNamespace(table=pd.DataFrame(rows))


TYPICAL = entropies({("one_layer", 1): 0.2, ("one_layer", 2): 0.5, ("one_layer", 3): 0.1})


def trained() -> Any:
    """Two seeds at two rates."""
    rows = [
        ("wikitext2", rate, seed, 1.0, 3 - rate + seed / 10, 300 * rate + seed)
        for rate in (1.0, 2.0)
        for seed in (1, 3)
    ]
    names = ["corpus", "learning_rate", "seed", "epochs", "attention_entropy", "perplexity"]
    training = SimpleNamespace(chunk_length=4)
    return SimpleNamespace(
        table=pd.DataFrame(rows, columns=names),
        job=SimpleNamespace(experiment=SimpleNamespace(training=training)),
    )


def dynamics() -> Any:
    """Two seeds of all models, some of which were trained for longer."""
    names = (*FIGURES["wikitext_dynamics"].models, *FIGURES["wikitext_switches"].models)
    rows = [
        {"corpus": "wikitext2", "model": name, "learning_rate": 5.0, "seed": seed}
        | {"iteration": iteration, "entropy": 1.0}
        | dict.fromkeys(wikitext_dynamics.PANELS, seed + iteration / 700)
        for name in dict.fromkeys(names)
        for seed in (1, 2)
        for iteration in (0, 100, 300, *((900,) if name.endswith("layers") else ()))
    ]
    return SimpleNamespace(table=pd.DataFrame(rows))


@pytest.mark.parametrize(
    ("module", "name", "found"),
    [
        (fig7, "fig7", [maps(), TYPICAL]),
        (fig10, "fig10", [trained()]),
        (wikitext_dynamics, "wikitext_dynamics", [dynamics()]),
        (wikitext_dynamics, "wikitext_switches", [dynamics()]),
    ],
)
def test_a_figure_is_legible_in_print_and_shows_its_table_only(module, name, found):
    figure = FIGURES[name]
    table = module.table(figure, *found)
    assert list(table) == list(figure.columns)
    with plt.rc_context():
        set_style()
        drawing = module.draw(figure, table)
        assert drawing.get_figwidth() == WIDTH
        drawing.draw_without_rendering()
    shown = [text for text in drawing.findobj(Text) if text.get_visible() and text.get_text()]
    assert min(text.get_fontsize() for text in shown) >= LEGIBLE
    assert not list(unknown_marks(drawing, [table]))
    plt.close(drawing)


def test_figure_7_names_the_keys_of_stripes():
    table = fig7.table(FIGURES["fig7"], maps(), TYPICAL)
    stripes = table.drop_duplicates(["iteration", "key_position"])
    assert stripes[stripes["iteration"] == 0]["stripe"].tolist() == [1, 0, 0, 0]
    assert stripes[stripes["iteration"] > 0]["stripe"].tolist() == [4, 0, 0, 0] * 3
    drawing = fig7.draw(FIGURES["fig7"], table)
    words = [[text.get_text().strip("“”") for text in axes.texts[::2]] for axes in drawing.axes[:4]]
    assert words == [[], ["a"], ["a"], ["a"]]
    lines = [line for axes in drawing.axes for line in axes.texts if isinstance(line, Annotation)]
    assert [line.xy for line in lines] == [(0, -0.5)] * 3, "a line leads to another column"
    hidden = drawing.axes[0].images[0].get_array()
    np.testing.assert_array_equal(np.ma.getmaskarray(hidden), np.triu(np.ones((4, 4)), 1) == 1)
    plt.close(drawing)


def test_figure_7_shows_the_seed_of_the_median_or_the_one_that_is_named():
    last = {("a", 4): 0.3, ("a", 2): 0.1, ("a", 3): 0.9, ("b", 7): 2.0, ("b", 5): 1.0}
    update = FIGURES["fig7"].iterations[-1]
    assert fig7.typical_seeds(entropies(last).table, update) == {"a": 4, "b": 5}
    assert fig7.table(FIGURES["fig7"], maps(), TYPICAL)["seed"].unique() == [1]
    second = FIGURES["fig7"].model_copy(update={"seed": 2})
    table = fig7.table(second, maps(), TYPICAL)
    assert (table["seed"].unique(), table["stripe"].max()) == ([2], 1)


def test_figure_10_has_means_over_seeds_and_uniform_attention():
    """(ln 1 + ln 2 + ln 3 + ln 4)/4 = ln(24)/4."""
    table = fig10.table(FIGURES["fig10"], trained())
    assert table["uniform_entropy"].to_numpy() == pytest.approx(np.log(24) / 4, rel=1e-12)
    assert table["attention_entropy_mean"].to_numpy() == pytest.approx([2.2, 2.2, 1.2, 1.2])
    assert table["perplexity_mean"].to_numpy() == pytest.approx([302, 302, 602, 602])
    assert table["perplexity_std"].to_numpy() == pytest.approx(np.sqrt(2))
    drawing = fig10.draw(FIGURES["fig10"], table)
    assert len(drawing.axes) == 2, "a corpus without runs has panels"
    plt.close(drawing)


def test_models_that_lack_a_part_are_shown_beside_the_whole_one_as_long_as_all_are_trained():
    figure = FIGURES["wikitext_switches"]
    table = wikitext_dynamics.table(figure, dynamics())
    assert list(table["model"].unique()) == figure.models
    assert table["iteration"].max() == 300
    assert table["rare_words_mean"].to_numpy() == pytest.approx(1.5 + table["iteration"] / 700)


def test_models_have_one_colour_in_every_figure_and_labels_that_do_not_touch():
    colours = {}
    for name in ("wikitext_dynamics", "wikitext_switches"):
        table = wikitext_dynamics.table(FIGURES[name], dynamics())
        drawing = wikitext_dynamics.draw(FIGURES[name], table)
        for axes in drawing.axes[:3]:
            for label in axes.texts:
                colours.setdefault(label.get_text(), set()).add(label.get_color())
            heights = sorted(label.xy[1] for label in axes.texts)
            assert len(heights) == len(FIGURES[name].models)
            assert np.diff(heights) == pytest.approx(wikitext_dynamics.LABELS_APART)
            assert 0 < heights[0] <= heights[-1] < 1
        plt.close(drawing)
    assert {len(found) for found in colours.values()} == {1}
    assert len(set().union(*colours.values())) == len(colours)
