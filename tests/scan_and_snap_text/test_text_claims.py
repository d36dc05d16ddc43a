"""Measures of the claims about text, against values worked out by hand."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from replication.errors import InputError
from replication.study import Measured
from transformer_dynamics.scan_and_snap_text.claims import dynamics

NAMES = ("entropy", "entropy_share", "change", "distinctness", "rare_words", "function_words")
CELL = "wikitext2, one_layer, rate 5"


def measured(runs: dict) -> Measured:
    """From {(seed, rate): {update: values in the order of NAMES}}."""
    rows = [
        {"corpus": "wikitext2", "model": "one_layer", "learning_rate": rate, "seed": seed}
        | {"iteration": update, **dict(zip(NAMES, values, strict=True))}
        for (seed, rate), run in runs.items()
        for update, values in run.items()
    ]
    return Measured(pd.DataFrame(rows), None)


@pytest.fixture
def trained() -> Measured:
    return measured(
        {
            (1, 5.0): {
                0: (2, 1, 0, 0, 1, 1),
                50: (1, 0.9, 4, 0, 0, 0),
                99: (0, 0.25, 1, 0.5, 2, 4),
            },
            (2, 5.0): {
                0: (2, 1, 0, 0, 2, 0),
                50: (1, 0.9, 2, 0, 0, 0),
                99: (0, 0.5, 3, -0.5, 5, 1),
            },
        }
    )


@pytest.mark.parametrize(
    ("measure", "values"),
    [
        (dynamics.change_of_entropy, [-0.75, -0.5]),
        (dynamics.late_change, [0.25, 1.5]),
        (dynamics.distinct_words, [0.5, -0.5]),
        (dynamics.change_of_rare_words, [-2, 2]),
    ],
)
def test_a_value_per_seed(trained, measure, values):
    table = measure(trained).set_index(["cell", "seed"])["value"]
    assert table.to_dict() == pytest.approx({(CELL, 1): values[0], (CELL, 2): values[1]})


def test_change_along_the_rate_is_at_the_last_update_that_all_record():
    def run(at_300: float) -> dict:
        return {0: (2.0, 0, 0, 0, 0, 0), 300: (at_300, 0, 0, 0, 0, 0)}

    slopes = {1: -0.3, 2: 0.1}
    short, long = (
        {
            (seed, rate): run(1 + slopes[seed] * np.log(rate)) | more
            for rate in (1.0, 2.0, 5.0)
        }
        for seed, more in ((1, {}), (2, {900: (9.0, 0, 0, 0, 0, 0)}))
    )  # fmt: skip
    table = dynamics.against_rate(measured(short), measured(long))
    assert set(table["cell"]) == {"wikitext2, after 300 updates"}
    found = table.set_index("seed")["value"].to_dict()
    assert found == pytest.approx({seed: slope * np.log(5) for seed, slope in slopes.items()})


def test_no_common_update_is_refused():
    values = (1.0, 0, 0, 0, 0, 0)
    parts = [
        measured({(seed, rate): {update: values} for rate in (1.0, 2.0)})
        for seed, update in ((1, 100), (2, 200))
    ]
    with pytest.raises(InputError, match="record no common update"):
        dynamics.against_rate(*parts)


def test_cells_are_corpus_model_and_rate(trained):
    other = trained.table.assign(model="three_layers", learning_rate=2.0)
    both = Measured(pd.concat([trained.table, other]), None)
    cells = dynamics.distinct_words(both)[["cell", "seed"]]
    expected = product((CELL, "wikitext2, three_layers, rate 2"), (1, 2))
    assert sorted(cells.itertuples(index=False, name=None)) == sorted(expected)
