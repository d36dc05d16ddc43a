"""MetricSettings of the claims about text, against values worked out by hand."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from text_examples import MEASURES

from replication.base.errors import OutOfRegimeError
from replication.study.contract import Measured
from transformer_dynamics.scan_and_snap_text.claims import dynamics

NAMES = ("entropy", "entropy_share", "change", "distinctness", "rare_words", "function_words")
CELL = "wikitext2, one layer, rate 5"


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
        (dynamics.remaining_entropy, [0.25, 0.5]),
        (dynamics.distinctness_correlation, [0.5, -0.5]),
        (dynamics.change_of_rare_words, [-2, 2]),
    ],
)
def test_a_value_per_seed(trained, measure, values):
    table = measure(trained).set_index(["cell", "seed"])["value"]
    assert table.to_dict() == pytest.approx({(CELL, 1): values[0], (CELL, 2): values[1]})


def test_change_along_the_rate_is_early_and_at_the_last_update():
    slopes = {(300, 1): -0.3, (300, 2): 0.1, (900, 1): 0.2, (900, 2): -0.4}
    runs = {
        (seed, rate): {
            update: (1 + slopes[update, seed] * np.log(rate) if update else 2.0, 0, 0, 0, 0, 0)
            for update in (0, 300, 900)
        }
        for seed in (1, 2)
        for rate in (1.0, 2.0, 5.0)
    }
    early = dynamics.early_entropy_against_rate(measured(runs), MEASURES)
    for table, update in ((early, 300), (dynamics.entropy_against_rate(measured(runs)), 900)):
        assert set(table["cell"]) == {f"wikitext2, after {update} updates"}
        found = table.set_index("seed")["value"].to_dict()
        assert found == pytest.approx({s: slopes[update, s] * np.log(5) for s in (1, 2)})


def test_each_corpus_has_its_last_update():
    runs = {(1, rate): {0: (2.0, 0, 0, 0, 0, 0), 2929: (1.0, 0, 0, 0, 0, 0)} for rate in (1.0, 2.0)}
    table = measured(runs).table
    longer = table.assign(corpus="wikitext103", iteration=table["iteration"] * 2)
    found = dynamics.entropy_against_rate(Measured(pd.concat([table, longer]), None))
    assert set(found["cell"]) == {
        "wikitext103, after 5,858 updates",
        "wikitext2, after 2,929 updates",
    }


def test_runs_that_do_not_record_early_updates_are_out_of_regime():
    values = (1.0, 0, 0, 0, 0, 0)
    runs = measured({(1, rate): {0: values, 20: values} for rate in (1.0, 2.0)})
    with pytest.raises(OutOfRegimeError, match="no run records update 300"):
        dynamics.early_entropy_against_rate(runs, MEASURES)
    other = MEASURES.model_copy(update={"early": 20})
    assert dynamics.early_entropy_against_rate(runs, other)["cell"].tolist() == [
        "wikitext2, after 20 updates"
    ]


def test_comparisons_are_corpus_model_and_rate(trained):
    other = trained.table.assign(model="three_layers", learning_rate=2.0)
    both = Measured(pd.concat([trained.table, other]), None)
    cells = dynamics.distinctness_correlation(both)[["cell", "seed"]]
    expected = product((CELL, "wikitext2, three layers, rate 2"), (1, 2))
    assert sorted(cells.itertuples(index=False, name=None)) == sorted(expected)
