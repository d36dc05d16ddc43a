"""What stands in the tables of figures, on metrics that were made up for it."""

import math
from io import StringIO
from random import Random

import made_up_metrics as made
import numpy as np
import pandas as pd
import pytest

from replication.base.errors import InputError
from transformer_dynamics.encoders import texts
from transformer_dynamics.encoders.artificial import LABELS, write_texts
from transformer_dynamics.encoders.settings import TEXT_FILES
from transformer_dynamics.lp_ft.figures import (
    blocks,
    equal_rate,
    feature_change,
    head_control,
    norms,
    run_tables,
    scaling,
    spectra,
    table2,
    tuning,
)
from transformer_dynamics.lp_ft.figures.typesetting import (
    NOTHING,
    Cell,
    Entry,
    Row,
    format_number,
    make_part,
    rank_values,
    round_number,
    shade_orders,
)
from transformer_dynamics.lp_ft.settings.labels import CLASS_LABELS, METHOD_LABELS, class_labels

PLUS = "\N{THIN SPACE}\N{PLUS-MINUS SIGN}\N{THIN SPACE}"


def figure(**changes):
    given = {"kind": "table1", "metric": "features", "methods": ["pretrained", "lp", "ft"]}
    return run_tables.RunTable(**given | {"quantities": ["difference", "norm"]} | changes)


def one(found, column="value", **cells):
    for name, value in cells.items():
        found = found[found[name] == value]
    (value,) = found[column].unique().tolist()
    return value


def test_numbers_are_written_with_their_deviations():
    assert format_number(84.64, 2.4, digits=1) == f"84.6{PLUS}2.4"
    assert format_number(84.64, digits=2) == "84.64"
    assert format_number(0.97412, 0.0091) == f"0.974{PLUS}0.009"
    assert format_number(4873.1) == "4,870"
    assert format_number(2.26e-4, 1e-5) == "0.000226"
    assert format_number(7.25e6) == "7.25\N{MULTIPLICATION SIGN}10\N{SUPERSCRIPT SIX}"
    assert format_number(math.nan, 3.0) == NOTHING
    assert format_number(0.0) == "0.00"


def test_order_is_from_lowest_to_highest():
    def ranked(values, spread=np.nan):
        return rank_values(pd.Series(values), pd.Series(spread, range(len(values)))).tolist()

    assert ranked([5.0, -1.0, 2.0]) == [1, 0, 0.5]
    assert np.isnan(ranked([1.0, 1.0])).all()
    assert np.isnan(ranked([2.0, np.nan])).all()
    np.testing.assert_array_equal(ranked([3.0, np.nan, 4.0]), [0, np.nan, 1])
    # No further apart than the spread: one shade.
    assert ranked([5.0, 1.0, 1.4], 0.5) == [1, 0, 0]
    assert np.isnan(ranked([5.0, 4.0, 3.0], 2.0)).all()
    errors = pd.DataFrame({"set": "cb", "quantity": "ece", "mean": [1.0, 3.0]})
    assert shade_orders(errors, [1, 1], ["set", "quantity"], {"ece"}) == [1, 0]
    assert round_number(21.62) == round_number(21.64) != round_number(21.66)
    assert round_number(93.62, 1) == round_number(93.64, 1) != round_number(93.62, 2)
    assert math.isnan(round_number(math.nan))


def test_a_part_has_a_cell_for_every_column():
    entries = [
        Entry(("CB",), "b", Cell("2", 1.0)),
        Entry(("RTE",), "a", Cell("3", 0.0)),
        Entry(("CB",), "a", Cell("1", 0.0)),
    ]
    found = make_part("title", entries, ["a", "b"])
    assert [row.labels for row in found.rows] == [("CB",), ("RTE",)]
    assert found.rows[0] == Row(("CB",), [Cell("1", 0.0), Cell("2", 1.0)])
    assert [cell.text for cell in found.rows[1].cells] == ["3", NOTHING]


def test_pretrained_is_what_lp_starts_from():
    metric = made.features(made.RUNS["main"])
    found = run_tables.table(figure(), metric)
    rows = metric.table.query("method == 'lp' and texts == 'cb'").set_index("seed")
    for seed in made.SEEDS:
        cells = {"set": "cb", "seed": seed, "quantity": "norm"}
        assert one(found, method="pretrained", **cells) == rows.loc[seed, "start_norm"]
        assert one(found, method="lp", **cells) == rows.loc[seed, "norm"]
    assert {*found.loc[found["quantity"] == "difference", "method"]} == {"ft"}


def test_means_leave_out_runs_that_diverged():
    metric = made.features(made.runs(["cb"], ["ft"]))
    metric.table.loc[0, "difference"] = np.nan
    found = run_tables.table(figure(methods=["ft"], quantities=["difference"]), metric)
    finite = metric.table["difference"].dropna()
    assert len(found) == len(made.SEEDS)
    assert one(found, "mean") == pytest.approx(finite.mean())
    assert one(found, "deviation") == pytest.approx(finite.std())


@pytest.mark.parametrize(
    ("splits", "expected"),
    [
        ("own", [("cb", "cb"), ("trec6", "trec6"), ("cr", "cr")]),
        ("all", [("cb", "cb"), ("trec6", "trec6"), ("cr", "cr"), ("cr", "sst2_sentences")]),
        ("shifted", [("cr", "cr"), ("cr", "sst2_sentences")]),
    ],
)
def test_which_test_sets_are_shown(splits, expected):
    metric = made.features(made.RUNS["main"])
    found = run_tables.table(figure(splits=splits, quantities=["difference"]), metric)
    pairs = list(dict.fromkeys(zip(found["trained_on"], found["set"], strict=True)))
    assert pairs == expected


def test_a_head_has_one_norm_for_all_test_sets():
    metric = made.features(made.RUNS["main"])
    found = run_tables.table(figure(splits="shifted"), metric)
    assert {*found.loc[found["quantity"] == "norm", "set"]} == {"cr"}


def test_accuracy_is_in_percent_and_that_of_cola_is_a_correlation():
    metric = made.accuracy(made.runs(["cb"], ["ft"]))
    shown = figure(metric="accuracy", quantities=["accuracy"], methods=["ft"])
    test = metric.table[metric.table["split"] == "test"]
    found = run_tables.table(shown, metric)
    assert found["value"].tolist() == pytest.approx((100 * test["accuracy"]).tolist())
    metric.table["texts"] = "cola"
    found = run_tables.table(shown, metric)
    assert found["value"].tolist() == pytest.approx((100 * test["matthews"]).tolist())


def test_gains_are_those_of_each_seed():
    metric = made.calibration(made.runs(["cb"], ["lp_ft"]))
    shown = figure(metric="calibration", quantities=["ece", "ece_gain"], methods=["lp_ft"])
    counted = made.accuracy(made.runs(["cb"], ["lp_ft"]))
    found = run_tables.table(shown, metric, counted)
    assert {*found["samples"]} == {made.SAMPLES["cb"]}
    found = found.query("quantity == 'ece_gain'").set_index("seed")
    wide = metric.table.pivot(index="seed", columns="is_scaled", values="ece")
    expected = 100 * (wide[False] - wide[True])
    np.testing.assert_allclose(found["value"], expected, rtol=1e-12)
    assert found["deviation"].iloc[0] == pytest.approx(expected.std())


def test_tables_are_in_the_order_of_methods():
    methods = ["lp_ft", "ft", "lora"]
    metric = made.features(Random(0).sample(made.RUNS["main"], len(made.RUNS["main"])))
    found = run_tables.table(figure(methods=methods, quantities=["difference"]), metric)
    own = found[found["set"] == "cb"]
    assert own["method"].unique().tolist() == ["ft", "lora", "lp_ft"]
    assert own["seed"].tolist() == [*made.SEEDS] * 3


def test_kernels_of_all_sets_stand_in_one_table():
    shown = table2.Table2(kind="table2", kernels={"cb": "kernels_cb", "cr": "kernels_cr"})
    measured = [made.metric(*source) for source in shown.sources()]
    found = table2.table(shown, *measured)
    assert one(found, "mean", set="cr", method="lp_ft", quantity="f_cap") == 100
    assert one(found, "mean", set="cb", method="pretrained", quantity="p_cap") == 300
    sizes, regression, ratio = (each.table for each in measured[:3])
    of_ft = (regression["method"] == "ft") & (regression["kernel"] == "NTK")
    expected = 100 * regression.loc[of_ft & (regression["split"] == "test"), "logit"].mean()
    assert one(found, "mean", set="cb", method="ft", quantity="ntk_logit_test") == pytest.approx(
        expected
    )
    expected = ratio.loc[ratio["method"] == "lora", "ft_ratio"].mean()
    assert one(found, "mean", set="cb", method="lora", quantity="ft_ratio") == expected
    own = sizes[(sizes["method"] == "ft") & (sizes["kernel"] == "F")].set_index("seed")
    ranks = found.query("set == 'cb' and method == 'ft' and quantity == 'f_rank'")
    assert ranks["value"].tolist() == own.loc[ranks["seed"], "rank_float32"].tolist()


def test_norms_stand_beside_the_accuracy_of_the_batches_before():
    rows = pd.DataFrame({"step": range(7), "norm": np.arange(7.0)})
    rows["accuracy"] = [0.0, 0.5, 1.0, 0.25, 0.75, 0.5, np.nan]
    run = rows.assign(texts="cb", method="ft", seed=1)
    ends = pd.DataFrame({"texts": ["cb"], "method": "ft", "seed": 1, "split": "test"})
    ends = ends.assign(norm=6.0, start_norm=0.0)
    shown = norms.Norms(
        kind="fig1", curves=[{"texts": "cb", "method": "ft"}], bars="cb", methods=["ft"],
        window=3,
    )  # fmt: skip
    found = norms.table(shown, made.measured(run), made.measured(ends))
    along = found[found["part"] == norms.ALONG]
    assert along["step"].tolist() == [0, 3, 6]
    assert along["norm"].tolist() == [0, 3, 6]
    np.testing.assert_allclose(along["accuracy"], [np.nan, 0.5, 0.5])
    after = found[found["part"] == norms.AFTER]
    assert one(after, "norm_mean") == one(after, "norm_median") == 6
    # LP sets out from the same random head.
    lp = run[run["step"] == 0].assign(method="lp", accuracy=0.25)
    with_lp = norms.table(shown, made.measured(pd.concat([run, lp])), made.measured(ends))
    assert {*with_lp["start_accuracy_median"]} == {0.25}


def test_feature_changes_of_both_methods_are_paired_by_seed():
    shown = feature_change.FeatureChange(kind="feature_change")
    measured = [made.metric(*source) for source in shown.sources()]
    found = feature_change.table(shown, *measured)
    assert {*found["rates"]} == {"own", "equal"}
    np.testing.assert_allclose(found["value"], np.log(found["ft"] / found["lp_ft"]))
    own = measured[0].table.query("texts == 'cb' and method == 'ft' and split == 'test'")
    first = found[(found["rates"] == "own") & (found["set"] == "cb")]
    assert sorted(first["ft"]) == sorted(own["difference"])


def test_feature_changes_are_averaged_over_runs_that_did_not_diverge():
    runs = made.scaled("trec6", (0.1, 1.0, 10.0), clip=0.0)
    metric = made.features(runs)
    lost = (metric.table["factor"] == 10) & (metric.table["seed"] == 2)
    metric.table.loc[lost, "difference"] = np.nan
    shown = scaling.Scaling(
        kind="scale_test", panels=[{"experiment": "scale_sgd", "texts": "trec6", "clip": 0}]
    )
    found = scaling.table(shown, metric)
    assert one(found, "finite_seeds", factor=10.0) == 4
    assert one(found, "finite_seeds", factor=1.0) == 5
    own = metric.table[(metric.table["factor"] == 10) & (metric.table["method"] == "ft")]
    cells = {"factor": 10.0, "method": "ft"}
    assert one(found, "difference_mean", **cells) == pytest.approx(own["difference"].mean())
    assert one(found, "difference_error", **cells) == pytest.approx(
        own["difference"].std() / math.sqrt(4)
    )
    assert one(found, "norm_mean", **cells) == pytest.approx(
        np.exp(np.log(own["start_norm"]).mean())
    )


def test_panels_take_their_own_runs_and_test_set():
    shown = scaling.Scaling(
        kind="scale_test",
        panels=[
            {"experiment": "scale_sgd", "texts": "trec6", "clip": 1},
            {"experiment": "scale_ood", "texts": "cr", "test": "sst2_sentences"},
        ],
    )
    assert shown.sources() == [("scale_sgd", "features"), ("scale_ood", "features")]
    found = scaling.table(shown, *(made.metric(*source) for source in shown.sources()))
    first, second = (found[found["panel"] == letter] for letter in "ab")
    assert {*first["clip"]} == {1.0}
    assert {*first["optimiser"]} == {"sgd"}
    assert {*second["set"]} == {"sst2_sentences"}
    assert {*second["trained_on"]} == {"cr"}


def test_of_equal_rates_the_smaller_is_chosen():
    runs = [made.of_run("cb", "ft", 101, rate=rate) for rate in (1e-4, 3e-5, 1e-5)]
    metric = made.validation(runs)
    kept = metric.table["is_kept"]
    metric.table.loc[kept, "accuracy"] = [0.8, 0.8, 0.7]
    metric.table.loc[~kept, "accuracy"] = 0.9
    found = tuning.table(tuning.TuningFigure(kind="tuning"), metric)
    assert len(found) == 3
    assert found.loc[found["is_best"], "rate"].tolist() == [3e-5]
    again = pd.read_csv(StringIO(found.to_csv(index=False)))
    assert again["is_best"].dtype == bool


def test_equal_rates_show_calibration_before_scaling():
    shown = equal_rate.EqualRate(kind="equal_rate")
    measured = [made.metric(*source) for source in shown.sources()]
    found = equal_rate.table(shown, *measured)
    rows = measured[2].table
    own = rows[(rows["rate"] == 1e-5) & (rows["method"] == "ft") & ~rows["is_scaled"]]
    cells = {"rate": 1e-5, "method": "ft", "quantity": "ece"}
    assert one(found, "mean", **cells) == pytest.approx(100 * own["ece"].mean())


def test_heads_by_direction_and_norm():
    shown = head_control.HeadControl(
        kind="head_control", starts={"cb": "head_control_cb"}, trained="head_length"
    )
    found = head_control.table(
        shown, made.head_control("cb"), made.metric("head_length", "features")
    )
    starts = found[found["quantity"] == "p_term"]
    assert len(starts) == 2 * 2 * 2 * 5
    assert {*starts["set"]} == {"cb"}
    trained = found[found["quantity"] == "difference"]
    assert {*trained["set"]} == {"trec6", "cr"}
    assert {*zip(trained["direction"], trained["norm"], strict=True)} == {*head_control.HEADS}


def test_spectra_have_the_first_some_and_the_last_of_their_values():
    shown = spectra.Spectra(kind="fig2", kernels={"cr": "kernels_cr"}, every=7, first=3)
    measured = [made.metric(*source) for source in shown.sources()]
    found = spectra.table(shown, *measured)
    own = found[(found["method"] == "lp_ft") & (found["seed"] == 1)]
    expected = sorted({1, 2, 3, 200, *range(7, 201, 7)})
    assert own["index"].tolist() == expected
    assert one(own, "cap") == 100
    assert {*found["kernel"]} == {"P", "F"}
    at = found[(found["method"] == "ft") & (found["index"] == 7)]
    assert one(at, "value_median") == at["value"].median()


def test_a_map_is_symmetric_and_has_all_blocks():
    import matplotlib.pyplot as plt

    shown = blocks.Blocks(
        kind="fig8", kernels={"cb": "kernels_cb"}, methods=["pretrained", "lp_ft"], every=10
    )
    metric = made.kernel_blocks("cb")
    found = blocks.table(shown, metric)
    drawing = blocks.draw(shown, found)
    image = drawing.axes[1].images[0].get_array()
    own = metric.table[metric.table["method"] == "lp_ft"]
    whole = own.pivot(index="i", columns="j", values="trace_norm").to_numpy()[::10, ::10]
    np.testing.assert_array_equal(np.asarray(image), whole)
    plt.close(drawing)


def test_classes_are_called_as_their_texts_have_them(tmp_path):
    for name in {*CLASS_LABELS} & {*LABELS}:
        folder = write_texts(tmp_path / name, name)
        read = texts.read(name, [f"{folder}/{file}" for file in TEXT_FILES[name]])
        assert read.train.classes == CLASS_LABELS[name]
    assert class_labels("subj", [1, 0]) == ["class 1", "class 0"]


def test_every_method_has_a_look_of_its_own():
    from transformer_dynamics.lp_ft.figures.styles import method_style

    looks = [method_style(method) for method in METHOD_LABELS]
    assert len({look.colour for look in looks}) == len(METHOD_LABELS)
    assert len({look.marker for look in looks}) == len(METHOD_LABELS)


def test_runs_that_a_figure_does_not_tell_apart_are_refused():
    told = "several runs of a seed that the figure does not tell apart, as their {} differ"
    by_factor, by_rate = told.format("factor"), told.format("rate")
    with pytest.raises(InputError, match=f"figures > table1: .* {by_factor}"):
        run_tables.table(figure(experiment="scale"), made.metric("scale", "features"))
    shown = equal_rate.EqualRate(kind="equal_rate")
    with pytest.raises(InputError, match=by_factor):
        equal_rate.table(shown, *(made.metric("scale", name) for _, name in shown.sources()))
    shown = scaling.Scaling(
        kind="scale_test", panels=[{"experiment": "scale_sgd", "texts": "trec6"}]
    )
    with pytest.raises(InputError, match=told.format("clip")):
        scaling.table(shown, made.metric("scale_sgd", "features"))
    shown = norms.Norms(
        kind="fig1", curves=[{"texts": "trec6", "method": "lp"}], bars="trec6", methods=["ft"]
    )
    with pytest.raises(InputError, match=by_rate):
        norms.table(shown, made.metric("main", "norm"), made.metric("equal_rate", "features"))


def test_a_set_is_not_drawn_under_the_name_of_another():
    said = "the experiment under cr is of cb; write it under cb"
    kernels = {"cr": "kernels_cb"}
    for module, shown in (
        (spectra, spectra.Spectra(kind="fig2", kernels=kernels)),
        (blocks, blocks.Blocks(kind="fig8", kernels=kernels, methods=["ft"])),
        (table2, table2.Table2(kind="table2", kernels=kernels)),
    ):
        with pytest.raises(InputError, match=said):
            module.table(shown, *(made.metric(*source) for source in shown.sources()))
    shown = head_control.HeadControl(
        kind="head_control", starts={"cr": "head_control_cb"}, trained="head_length"
    )
    with pytest.raises(InputError, match=said):
        head_control.table(shown, *(made.metric(*source) for source in shown.sources()))


def test_a_table_of_nothing_is_refused():
    with pytest.raises(InputError, match="table1: main trains none of its methods"):
        run_tables.table(figure(methods=["lora"]), made.features(made.runs(methods=["ft"])))


def test_what_was_not_trained_is_not_drawn():
    shown = scaling.Scaling(kind="fig11", panels=[{"experiment": "scale", "texts": "rte"}])
    with pytest.raises(InputError, match="figures > fig11: no run has texts rte; there is trec6"):
        scaling.table(shown, made.metric("scale", "features"))
    without_others = made.features(made.runs(["cb"]))
    with pytest.raises(InputError, match="set splits: own"):
        run_tables.table(figure(splits="shifted"), without_others)
