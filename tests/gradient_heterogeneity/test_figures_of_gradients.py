"""Tables of figures, from metrics that are made up, and that every picture shows its table."""

from math import log

import numpy as np
import pandas as pd
import pytest
from conftest import DEFAULTS
from declared import SEEDS, STUDY, endpoints, spread
from test_claims_heads import SIGN, SIGNUM, heads, whole
from test_claims_optimisers import case, coordinates, steps, texts
from test_claims_steps import steps as one_steps

from replication.base.errors import InputError
from replication.figures.drawn_numbers import unknown_marks
from replication.study.contract import Measured
from transformer_dynamics.gradient_heterogeneity.figures import (
    differences,
    fig1,
    fig2,
    fig3,
    fig4,
    fig5,
    fig6,
    fig7,
    fig8,
    fig9,
    fig10,
    heads_full,
    one_step,
    schedules,
)
from transformer_dynamics.gradient_heterogeneity.settings.experiments import Grid
from transformer_dynamics.gradient_heterogeneity.theory import heterogeneity

FIGURES = DEFAULTS.section(STUDY.name).figures
USED = dict.fromkeys(
    FIGURES["fig6"].tried.values(),
    Grid.model_validate(
        {
            "cases": {
                "cola": {
                    "network": {"net": "encoder", "texts": "cola"},
                    "steps": 1,
                    "rates": {"adam": [3e-4], "sgd": [0.1]},
                }
            }
        }
    ),
)
"""Experiments that use two rates, by name."""


def table_of(module, name, *tables, **uses):
    """A figure's table, whose picture shows nothing else."""
    import matplotlib.pyplot as plt

    figure = FIGURES[name]
    found = module.table(figure, *(Measured(table, None) for table in tables), **uses)
    assert {*figure.columns} <= {*found}
    drawn = module.draw(figure, found, None)
    assert not [*unknown_marks(drawn, [found])]
    plt.close(drawn)
    return found


def tensors(slope=1.5):
    """Four matrices of sizes that make ||g_b|| equal where r_b is not, a head and a bias."""
    rows = []
    for net, task in (("minilm", "trec6"), ("efficientnet", "fashion_mnist")):
        for state in ("pretrained", "tuned"):
            for seed in SEEDS:
                for number, params in enumerate((1, 4, 16, 64, 9, 3)):
                    kind = ("matrix",) * 4 + ("head", "bias")
                    norm = 2.0 if state == "pretrained" else 1.0 + number
                    density = norm / params**0.5
                    rows.append({
                        "net": net, "task": task, "seed": seed, "state": state, "batch": 0,
                        "tensor": f"t{number}", "layer": 1, "kind": kind[number],
                        "params": params, "norm": norm, "curvature": 0.1 * density**slope,
                    })  # fmt: skip
    found = pd.DataFrame(rows)
    found.loc[found["kind"] == "bias", "curvature"] = np.nan
    return found


def test_lines_through_matrices():
    table = tensors()
    # What is curved downwards has no place on a logarithmic axis, and what is no matrix no line.
    table.loc[(table["kind"] == "head"), "curvature"] = 99.0
    table.loc[(table["tensor"] == "t0") & (table["seed"] == 1), "curvature"] = -1.0
    found = table_of(fig1, "fig1", table)
    assert found["slope"].dropna().to_numpy() == pytest.approx(1.5)
    dots = found[found["kind"] != "fit"]
    assert len(dots) == 2 * (5 * 5 - 1)
    assert (dots["state"] == "pretrained").all()
    assert dots["density"].to_numpy() == pytest.approx(dots["norm"] / dots["params"] ** 0.5)


def test_lorenz_curves_and_ginis():
    nets = [{}, {"net": "efficientnet", "task": "fashion_mnist", "ln": "none", "blocks": 51}]
    rows = [
        net | {"metric": metric, "set": chosen, "state": state, "value": 0.5}
        for net in nets
        for metric in ("gini_norm", "gini_density", "kappa")
        for chosen in ("all", "matrices")
        for state in ("pretrained", "tuned")
    ]
    found = table_of(fig2, "fig2", tensors(), spread(rows))
    curves = found[(found["part"] == "lorenz") & (found["net"] == "minilm")]
    equal = curves[curves["definition"] == "gini_norm"]
    assert equal["share_of_sum"].to_numpy() == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    density = curves[curves["definition"] == "gini_density"]["share_of_sum"].to_numpy()
    assert density == pytest.approx(heterogeneity.lorenz([2, 1, 0.5, 0.25]))
    ginis = found[found["part"] == "gini"]
    assert {*ginis["definition"]} == {"gini_norm", "gini_density"}
    assert ginis[ginis["net"] == "minilm"]["mean"].to_numpy() == pytest.approx(0.5 * 11 / 10)
    assert ginis[ginis["net"] != "minilm"]["mean"].to_numpy() == pytest.approx(0.5 * 51 / 50)


def test_curvatures_that_steps_see():
    numbers = {"lambda_g": 4.0, "lambda_p": 2.0, "kappa": 0.25, "ratio": 2.0, "advantage": 0.5,
               "slope": 1.2}  # fmt: skip
    rows = [
        {"metric": metric, "value": value, "set": chosen}
        for metric, value in numbers.items()
        for chosen in ("all", "matrices")
    ]
    bare = {"net": "vit_s", "task": "fashion_mnist", "metric": "kappa", "value": 0.1}
    found = table_of(fig3, "fig3", spread([*rows, bare], sd=0.0))
    dots = found[found["set"] != "line"]
    assert len(dots) == 2 * len(SEEDS)
    assert dots[[*numbers]].iloc[0].to_dict() == numbers
    line = found[found["set"] == "line"]
    assert (line["kappa"] * line["ratio"]).to_numpy() == pytest.approx(1)


def test_pairs_stand_side_by_side():
    def rows(arm, depth, deviation, states):
        return [
            {"arm": f"{arm}-{ln}{depth}-{deviation}", "ln": ln, "depth": depth, "set": "all",
             "deviation": deviation, "state": state, "metric": metric, "value": place}
            for place, ln in enumerate(("post", "pre"), 1)
            for state in states
            for metric in fig4.METRICS["fig4"]
        ]  # fmt: skip

    given = [
        *rows("initial", 12, 0.0, ["initial"]),
        *rows("initial", 6, 0.02, ["initial"]),
        *rows("trained", 6, 0.05, ["initial", "masked", "pretrained", "adam"]),
        *rows("trained", 12, 0.05, ["initial", "masked", "pretrained", "adam"]),
    ]
    matrices = [{**row, "set": "matrices", "value": 9.0} for row in given]
    measured = spread([*given, *matrices])
    trained = table_of(fig4, "fig4", measured)
    assert [*dict.fromkeys(trained["column"])] == ["depth 6", "depth 12"]
    assert [*dict.fromkeys(trained["name"])] == ["random", "masked\nwords", "new\nhead", "Adam"]
    # A new head reuses rows of the old one, so no picture shows this state, nor a gap in its place.
    drawing = fig4.draw(FIGURES["fig4"], trained)
    labels = [[label.get_text() for label in axes.get_xticklabels()] for axes in drawing.axes[-2:]]
    assert labels == [["random", "masked\nwords", "Adam"]] * 2
    assert [*drawing.axes[-1].get_xticks()] == [0, 1, 2]
    random = table_of(fig4, "random_weights", measured)
    assert [*dict.fromkeys(random["column"])] == ["PyTorch", "sd 0.02", "sd 0.05"]
    assert {*random["state"]} == {"initial"}
    scaled = table_of(fig4, "scaled_pairs", measured)
    assert [*dict.fromkeys(scaled["column"])] == ["depth 6\nsd 0.05", "depth 12\nsd 0.05"]
    for found in (random, scaled):
        assert "ratio" not in {*found["metric"]}
    for found in (trained, random, scaled):
        assert found["value"].max() < 5
        for (_, place), own in found.groupby(["column", found["place"].round()]):
            assert {*own["ln"]} == {"post", "pre"}, place
            assert own[own["ln"] == "post"]["place"].max() < own[own["ln"] == "pre"]["place"].min()
            assert own.groupby("ln")["mean"].first().to_dict() == {
                "post": pytest.approx(1), "pre": pytest.approx(2)
            }  # fmt: skip
        same = found.groupby(["column", "place", "metric"])
        assert (found["median"] == same["value"].transform("median")).all()


def test_both_questions_stand_in_one_picture():
    pairs = [
        {"arm": f"trained-{ln}6", "ln": ln, "depth": 6, "set": "all", "deviation": 0.05,
         "state": state, "metric": metric, "value": place / 10}
        for place, ln in enumerate(("post", "pre"), 1)
        for state in ("initial", "adam")
        for metric in fig4.METRICS["fig4"]
    ]  # fmt: skip
    trained = [texts()] * len(FIGURES["differences"].trained)
    found = table_of(differences, "differences", *trained, spread(pairs))
    loss = found[(found["quantity"] == "loss") & (found["task"] == "cola")]
    ends = texts()[texts()["is_last"] & (texts()["task"] == "cola")]
    wide = ends.assign(value=ends["endpoint"] / log(2)).pivot_table(
        index=["case", "seed"], columns="optimiser", values="value"
    )
    gap = wide["sgd_momentum"] - wide["adam"]
    assert sorted({*loss["value"].round(9)}) == sorted({*gap.round(9)})
    gini = found[found["quantity"] == "gini_norm"]
    assert {*gini["state"]} == {"initial", "adam"}
    assert gini["mean"].to_numpy() == pytest.approx(-0.1)
    assert (found["lower"] <= found["mean"]).all()
    assert (found["mean"] <= found["upper"]).all()


def curves(name, batch, losses):
    rows = []
    for seed in (1, 2):
        for step, loss in enumerate(losses):
            rows.append({
                "case": name, "optimiser": "adam", "rate": 0.1, "clip": 1.0, "schedule": "linear",
                "batch": batch, "seed": seed, "step": step, "loss": loss + seed, "grad_norm": 2.0,
            })  # fmt: skip
    return pd.DataFrame(rows)


def test_losses_are_averaged_along_training():
    losses = np.arange(100.0)
    found = table_of(
        fig5, "fig5", curves("trec6", 16, losses), curves("fashion", 16, losses),
        curves("trec6", 0, losses),
    )  # fmt: skip
    assert {*found["case"]} == {"trec6", "fashion", "full_batch"}
    own = found[found["case"] == "trec6"].set_index("step")
    assert own.loc[50, "loss"] == pytest.approx(50 + 1.5)
    assert own.loc[0, "loss"] == pytest.approx(losses[: fig5.WINDOW + 1].mean() + 1.5)
    assert own.loc[[0, 50], "centre"].to_list() == [fig5.WINDOW / 2, 50]
    sd = np.sqrt(0.5)
    assert own.loc[50, "upper"] - own.loc[50, "lower"] == pytest.approx(2 * sd)
    assert (own["n_seeds"] == 2).all()
    whole = found[found["case"] == "full_batch"].set_index("step")
    assert whole.loc[0, "loss"] == pytest.approx(1.5)


def test_rates_that_are_best_and_that_are_used():
    tried = endpoints(
        [{"optimiser": "adam", "rate": rate, "value": 1.0} for rate in (1e-4, 3e-4, 1e-3)]
        + [{"optimiser": "sgd", "rate": rate, "value": 1.0} for rate in (0.1, 0.3)]
    )
    tried = tried[tried["seed"] == 1].assign(seed=1111)
    # The endpoint has another order, and one training was lost.
    losses = {1e-4: 0.5, 3e-4: 0.4, 1e-3: 0.6, 0.1: np.nan, 0.3: 0.9}
    tried = tried.assign(training_loss=tried["rate"].map(losses))
    found = table_of(fig6, "fig6", *[tried] * len(FIGURES["fig6"].tried), experiments=USED)
    own = found[found["tuning"] == "tuning_text"].set_index(["optimiser", "rate"])
    assert len(own) == 5
    assert own.index[own["is_best"]].to_list() == [("adam", 3e-4), ("sgd", 0.3)]
    assert own.index[own["is_used"]].to_list() == [("adam", 3e-4), ("sgd", 0.1)]


def test_later_rates_have_titles_of_their_own():
    rows = pd.DataFrame({"exponent": [-1.0], "block_rates": [False]})
    titles = {
        fig6.case_title(tuning, case, rows)
        for tuning, case in (
            ("tuning_images", "fashion"),
            ("tuning_vision", "fashion"),
            ("tuning_text", "cola"),
            ("tuning_constant", "cola"),
        )
    }
    assert titles == {
        "Fashion-MNIST, CNN",
        "Fashion-MNIST, ViT-S",
        "CoLA",
        "CoLA, constant schedule",
    }
    assert fig6.case_title("tuning_coordinates", "q_minus1", rows).endswith("$q=-1$")


def test_what_was_lost_leaves_the_rest_of_a_figure():
    tried = endpoints([{"optimiser": "sgd", "rate": rate, "value": 1.0} for rate in (0.1, 0.3)])
    lost = tried.assign(training_loss=np.nan)
    found = table_of(fig6, "fig6", *[lost] * len(FIGURES["fig6"].tried), experiments=USED)
    assert not found["is_best"].any()
    table = tensors()
    table.loc[(table["net"] == "minilm") & (table["seed"] == 2), "norm"] = np.nan
    table.loc[(table["net"] == "minilm") & (table["seed"] == 3), "norm"] = np.inf
    rows = [{"metric": "gini_norm", "value": 0.5, "state": "pretrained"}]
    curves = table_of(fig2, "fig2", table, spread(rows)).query("part == 'lorenz'")
    of_all = table_of(fig2, "fig2", tensors(), spread(rows)).query("part == 'lorenz'")
    assert curves["share_of_sum"].to_numpy() == pytest.approx(of_all["share_of_sum"].to_numpy())


def test_a_figure_of_what_was_not_measured_has_no_rows():
    given = tensors()
    tables = {
        (fig1, "fig1"): [given.assign(curvature=np.nan)],
        (fig2, "fig2"): [given.assign(state="x"), spread([{"state": "x"} | {"value": 1.0}])],
        (fig3, "fig3"): [spread([{"metric": "kappa", "value": 0.1}])],
        (one_step, "one_step"): [one_steps()[:0]],
    }
    for (module, name), each in tables.items():
        found = module.table(FIGURES[name], *(Measured(table, None) for table in each))
        assert found.empty, name


def test_sets_with_as_many_classes_are_refused():
    given = heads(SIGN, SIGNUM).assign(law=0.0)
    both = pd.concat([given, given.assign(task="other")], ignore_index=True)
    with pytest.raises(InputError, match="two sets have as many classes"):
        fig7.table(FIGURES["fig7"], Measured(both, None))


def test_drift_beside_laws():
    found = table_of(fig7, "fig7", heads(SIGN, SIGNUM).assign(law=0.0))
    assert (found["beta"].dropna().isin([0.0, 0.9])).all()
    assert 2 not in {*found["classes"]}
    drift = found[(found["part"] == "drift") & (found["optimiser"] == "signsgd")]
    assert drift["mean_drift"].to_numpy() == pytest.approx(-0.6)
    norms = found[(found["part"] == "norms") & (found["optimiser"] == "signum")]
    assert {*norms["classes"]} == {150}
    means = norms.groupby("norm")["mean_length"].first()
    assert means.to_dict() == {
        "centred": pytest.approx(2.9), "common": pytest.approx(0.8), "total": pytest.approx(3.1)
    }  # fmt: skip
    law = found[found["part"] == "law"]
    assert law[law["optimiser"] == "signum"]["bound"].isna().all()
    small = law[(law["optimiser"] == "signsgd") & (law["batch"] < law["classes"])]
    assert small["law"].to_numpy() == pytest.approx(small["bound"].to_numpy())


def test_heads_of_whole_networks():
    given = whole(SIGN, SIGNUM).assign(case="banking77", common=1.5, centred=2.0)
    found = table_of(heads_full, "heads_full", given)
    last = found[found["step"] == 150].groupby(["optimiser", "part"])["mean"].first()
    assert last["signsgd"].to_dict() == {
        "drift": pytest.approx(-0.6), "total": pytest.approx(2.8), "common": 0.5,
        "centred": pytest.approx(2 / 3),
    }  # fmt: skip
    assert last["signum", "drift"] == pytest.approx(-0.1)
    start = found[found["step"] == 0]
    assert {*start["part"]} == {"common", "centred", "total"}
    assert (start[start["part"] == "total"]["value"] == 1).all()


def test_bounds_stand_on_their_side_of_the_line():
    figure = FIGURES["fig8"].model_copy(update={"draws": 40, "descents": 6})
    found = fig8.table(figure)
    step, steps_ = (found[found["part"] == part] for part in ("step", "steps"))
    assert (step["actual"] >= step["bound"] * (1 - 1e-12)).all()
    assert (steps_["actual"] <= steps_["bound"]).all()
    assert {*step["method"]} == {*steps_["method"]} == {"gradient", "sign"}


def test_coordinates_and_rates_by_block():
    ends = coordinates((0.5, 0.3), (0.5, 0.1))
    runs = ends[ends["is_last"]].assign(lambda_g=4.0, lambda_p=2.0)
    runs.loc[runs["optimiser"] == "signsgd", "lambda_g"] = 99.0
    found = table_of(fig9, "fig9", ends, runs)
    losses = found[found["part"] == "endpoint"].drop_duplicates(["method", "q"])
    sgd = losses[losses["method"] == "sgd"].set_index("q")["mean"]
    assert (sgd / log(6)).to_dict() == {q: pytest.approx(0.5 + 0.3 * q) for q in (0, 0.5, 1)}
    block = losses[losses["method"] == "sgd, a rate by block"]["mean"] / log(6)
    assert block.to_list() == [pytest.approx(0.3)]
    assert {*found[found["method"] == "lambda_g"]["value"]} == {4.0}


def test_epsilons_of_one_task():
    directions = steps({"adam": 0.8, "sgd_momentum": 0.4})
    other = steps({"adam": 0.1}).assign(task="trec6")
    changed = steps({"adam": 0.3}, epsilon=1e-2)
    ends = endpoints([{"case": "eps_1e2", "epsilon": 1e-2, "value": 0.7}])
    usual = texts()
    found = table_of(fig10, "fig10", pd.concat([directions, other]), changed, usual, ends)
    cosine = found[found["part"] == "cosine"].drop_duplicates("eps").set_index("eps")["mean"]
    assert cosine.to_dict() == {1e-8: pytest.approx(0.8), 1e-2: pytest.approx(0.3)}
    last = found[found["part"] == "endpoint"]
    # CoLA with clipping alone, in nats.
    adam = last[last["optimiser"] == "adam"].groupby("eps")["value"].mean() / log(2)
    assert adam.to_dict() == {1e-8: pytest.approx(0.5), 1e-2: pytest.approx(0.7)}
    sgd = last[last["optimiser"] == "sgd_momentum"]
    assert sgd.groupby("eps")["value"].size().to_dict() == {1e-8: 5, 1e-2: 5}


def test_schedules_of_one_case():
    others = endpoints([
        row for name in ("constant", "warmup") for row in case("cola", 0.8, 0.6, 0.5, schedule=name)
    ])  # fmt: skip
    others = others[others["optimiser"].isin(["sgd_momentum", "signum"])]
    found = table_of(schedules, "schedules", texts(), others)
    assert {*found["case"]} == {"cola"}
    assert {*found["optimiser"]} == {"sgd_momentum", "signum"}
    assert found.drop_duplicates("schedule")["schedule"].to_list() == [
        "linear", "constant", "warmup"
    ]  # fmt: skip
    assert len(found) == 3 * 2 * len(SEEDS)


def test_one_step_beside_its_promise():
    found = table_of(one_step, "one_step", one_steps())
    rates = found[found["part"] == "rate"]
    assert (rates["found"] / rates["predicted"]).to_numpy() == pytest.approx(1, abs=0.05)
    gains = found[(found["part"] == "decrease") & (found["method"] == "gradient")]
    assert gains["predicted"].to_numpy() == pytest.approx(0.25 * 1.75)
    assert gains["found"].to_numpy() == pytest.approx(2 * 0.25 * 1.75, rel=0.05)
