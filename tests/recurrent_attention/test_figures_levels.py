"""Figures S.1 and S.2 are drawn from tables that were read."""

from io import StringIO

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from transformer_dynamics.recurrent_attention.figures import levels


@pytest.mark.parametrize(
    ("drawing", "names", "models", "ticks"),
    [
        ("figS1", ["1", "2", "16"], [(1, 0, False), (2, 0, False), (16, 0, False)], "1 2 16"),
        ("figS2", ["0", "0.5", "x"], [(4, 0, False), (4, 0.5, False), (4, 0, True)], "0 0.5 Hard"),
        # What an overlay changed is drawn as it is, and not by its old name.
        ("figS1", ["4", "8"], [(8, 0, False), (4, 0, False)], "8 4"),
        ("figS2", ["0.01", "1"], [(4, 0.02, False), (4, 1, False)], "0.02 1"),
    ],
)
def test_every_value_is_drawn_above_its_level(drawing, names, models, ticks) -> None:
    quantities = ["accuracy", *levels.EXPONENTS.values()]
    made = pd.DataFrame(
        [
            (name, *model, quantity, 0.5, 0.5, 0.1)
            for quantity in quantities
            for name, model in zip(names, models, strict=True)
        ],
        columns=["level", "H", "lambda", "hard", "quantity", "value", "mean", "std"],
    )
    table = pd.read_csv(StringIO(made.to_csv(index=False)))
    figure = levels.Levels(kind=drawing, levels=dict.fromkeys(names, "itrsa"))
    drawn = levels.draw(figure, table)
    left, right = drawn.axes
    for axes, number in ((left, 1), (right, len(quantities) - 1)):
        assert [label.get_text() for label in axes.get_xticklabels()] == ticks.split()
        assert len(axes.collections) >= number
        for dots in axes.collections[::2]:
            offsets = np.asarray(dots.get_offsets())
            assert offsets.tolist() == [[place, 0.5] for place in range(len(names))]
    plt.close(drawn)


@pytest.mark.parametrize(
    ("mean", "std", "seen"),
    [(0.5, 0.1, (-0.03, 1.03)), (0.1, 0.3, (-0.2, 1.03)), (0.95, 0.2, (-0.03, 1.15))],
)
def test_bars_are_seen_whole_and_so_are_all_accuracies(mean, std, seen) -> None:
    rows = [
        ("1", 1, 0, False, name, mean, mean, std)
        for name in ("accuracy", *levels.EXPONENTS.values())
    ]
    columns = ["level", "H", "lambda", "hard", "quantity", "value", "mean", "std"]
    figure = levels.Levels(kind="figS1", levels={"1": "itrsa"})
    drawn = levels.draw(figure, pd.DataFrame(rows, columns=columns))
    least, most = drawn.axes[0].get_ylim()
    assert least <= seen[0]
    assert most >= seen[1]
    plt.close(drawn)
