"""Figures S.1 and S.2 are drawn from tables that were read."""

from io import StringIO

import numpy as np
import pandas as pd
import pytest

from transformer_dynamics.recurrent_attention.figures import levels


@pytest.mark.parametrize("names", [["1", "2", "16"], ["0", "0.01", "Hard"]])
def test_every_value_is_drawn_above_its_level(names: list[str]) -> None:
    quantities = ["accuracy", *levels.EXPONENTS.values()]
    made = pd.DataFrame(
        [(name, quantity, 0.5, 0.5, 0.1) for quantity in quantities for name in names],
        columns=["level", "quantity", "value", "mean", "std"],
    )
    table = pd.read_csv(StringIO(made.to_csv(index=False)))
    figure = levels.Levels(drawing="figS1", levels=dict.fromkeys(names, "itrsa"))
    left, right = levels.draw(figure, table).axes
    for axes, number in ((left, 1), (right, len(quantities) - 1)):
        assert [label.get_text() for label in axes.get_xticklabels()] == names
        assert len(axes.collections) >= number
        for dots in axes.collections[::2]:
            offsets = np.asarray(dots.get_offsets())
            assert offsets.tolist() == [[place, 0.5] for place in range(len(names))]
