"""Figures S.1 and S.2 are drawn from tables that were read."""

from io import StringIO

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from transformer_dynamics.recurrent_attention.figures import levels

COLUMNS = [
    "level", "H", "lambda", "hard", "seed", "quantity", "value", "mean", "std", "lower", "upper",
]  # fmt: skip


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
            (name, *model, 1, quantity, 0.5, 0.5, 0.1, 0.4, 0.6)
            for quantity in quantities
            for name, model in zip(names, models, strict=True)
        ],
        columns=COLUMNS,
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


@pytest.mark.parametrize(("mean", "std", "ends"), [(0.1, 0.3, (0, 0.4)), (0.95, 0.2, (0.75, 1))])
def test_no_bar_of_shares_ends_beyond_them(mean, std, ends) -> None:
    made = pd.DataFrame({"quantity": ["accuracy", "largest"], "mean": mean, "std": std})
    found = levels.add_ends(made).set_index("quantity")
    assert found.loc["accuracy", ["lower", "upper"]].tolist() == pytest.approx(ends)
    exact = [mean - std, mean + std]
    assert found.loc["largest", ["lower", "upper"]].tolist() == pytest.approx(exact)
