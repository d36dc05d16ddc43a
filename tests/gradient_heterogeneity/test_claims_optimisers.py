"""Claims about optimisers: swapped optimisers and experiments change verdicts."""

import numpy as np
import pandas as pd
import pytest
from declared import SEEDS, endpoints, evidence, means, noise, said, verdict

from replication.base.errors import UnmeasurableError

TEXTS, IMAGES = ("optimisers_text", "endpoint"), ("optimisers_images", "endpoint")
AGAIN = ("optimisers_again", "endpoint")
EPSILONS, OWN = ("adam_as_sign", "endpoint"), ("reparametrised", "endpoint")
ALIKE = ("optimisers_text", "step_directions")
CHANGED = ("adam_as_sign", "step_directions")


def case(name, sgd, signum, adam, **more):
    ends = {"sgd_momentum": sgd, "signum": signum, "signsgd": signum, "adam": adam}
    return [{"case": name, "optimiser": key, "value": value} | more for key, value in ends.items()]


def texts(sgd=0.8, signum=0.55, adam=0.5):
    return endpoints(
        [
            *case("trec6", sgd, signum, adam, task="trec6", classes=6),
            *case("cola", sgd, signum, adam),
            *case("cola_unclipped", sgd, signum, adam, clip=0.0),
        ]
    )


def swapped(table):
    other = {"adam": "sgd_momentum", "sgd_momentum": "adam"}
    return table.assign(optimiser=table["optimiser"].replace(other))


def test_gaps():
    found = means(evidence("H5a", {AGAIN: texts()}))
    assert found == {"cola": pytest.approx(0.3), "cola_unclipped": pytest.approx(0.3)}
    assert verdict("H5a", {AGAIN: texts()}) == "replicated"
    assert said("H5a", {AGAIN: swapped(texts())}) == {"fails"}
    assert said("H5a", {AGAIN: texts(adam=0.79)}) == {"none"}
    # Without clipping the order is the other one.
    table = texts()
    table.loc[(table["clip"] == 0) & (table["optimiser"] == "adam"), "endpoint"] += 0.5
    assert said("H5a", {AGAIN: table}) == {"holds", "fails"}
    assert verdict("H5a", {AGAIN: table}) == "in part"
    with pytest.raises(UnmeasurableError, match="nothing is trained on cola"):
        evidence("H5a", {AGAIN: texts()[lambda rows: rows["task"] != "cola"]})
    images = endpoints(case("fashion", 0.4, 0.4, 0.35, task="fashion_mnist", classes=10))
    tables = {TEXTS: texts(), IMAGES: images}
    assert means(evidence("H5c", tables)) == {"trec6": 0.25, "cola": 0.25}
    assert verdict("H5c", tables) == "replicated"
    assert verdict("H5c", {TEXTS: texts(sgd=0.52), IMAGES: swapped(texts())[
        lambda rows: rows["case"] == "cola"
    ]}) == "replicated"  # fmt: skip
    assert "fails" in said("H5c", {TEXTS: swapped(texts()), IMAGES: images})


def test_lost_training_is_at_chance_and_missing_seeds_are_no_evidence():
    table = texts()
    lost = (table["optimiser"] == "sgd_momentum") & (table["seed"] == 3) & table["is_last"]
    table = table.assign(endpoint=table["endpoint"].mask(lost))
    found = evidence("H5a", {AGAIN: table}).set_index(["cell", "seed"])["value"]
    assert found["cola", 3] == pytest.approx(1 - 0.5, abs=0.05)
    assert found["cola", 4] == pytest.approx(0.8 - 0.5, abs=0.05)
    with pytest.raises(UnmeasurableError, match="different seeds"):
        evidence("H5a", {AGAIN: table[~lost]})
    with pytest.raises(UnmeasurableError, match="a seed has several values"):
        evidence("H5a", {AGAIN: pd.concat([table, table])})


def test_which_runs_are_compared_is_never_open():
    images = endpoints(case("fashion", 0.4, 0.4, 0.35, task="fashion_mnist", classes=10))
    twice = pd.concat([images, images.assign(case="again")])
    with pytest.raises(UnmeasurableError, match="one case of the CNN"):
        evidence("H5c", {TEXTS: texts(), IMAGES: twice})
    steps = pd.DataFrame([
        {"case": "cola", "set": "all", "optimiser": name, "seed": seed, "step": 1,
         "rate": rate, "own_sign": 0.5}
        for name in ("adam", "sgd_momentum") for seed in SEEDS for rate in (0.1, 0.3)
    ])  # fmt: skip
    with pytest.raises(UnmeasurableError, match="a seed has several values"):
        evidence("H6a", {ALIKE: steps})
    assert evidence("H6a", {ALIKE: steps[steps["rate"] == 0.1]})["value"].to_list() == [0] * 5


def test_epsilon():
    changed = [
        {"case": f"eps_{eps:g}", "epsilon": eps, "value": value}
        for eps, value in ((1e-4, 0.55), (1e-2, 0.75))
    ]
    tables = {TEXTS: texts(), EPSILONS: endpoints(changed)}
    assert means(evidence("H6b", tables)) == {"largest epsilon": 0.25}
    assert verdict("H6b", tables) == "replicated"
    back = [{**row, "value": 1.0 - row["value"]} for row in changed]
    assert "fails" in said("H6b", {TEXTS: texts(), EPSILONS: endpoints(back)})
    directions = {
        ALIKE: steps({"adam": 0.8, "sgd_momentum": 0.4}),
        CHANGED: pd.concat([
            steps({"adam": 0.6}, epsilon=1e-4), steps({"adam": 0.45}, epsilon=1e-2)
        ]),
    }  # fmt: skip
    assert means(evidence("H6c", directions)) == {"all": 0.35, "without embeddings": 0.35}
    assert verdict("H6c", directions) == "replicated"
    signs = directions | {CHANGED: steps({"adam": 0.95}, epsilon=1e-2)}
    assert "fails" in said("H6c", signs)


def steps(cosines, epsilon=1e-8, cases=("cola",), clip=1.0):
    """The metric `step_directions` at two points whose mean is exact."""
    rows = []
    for optimiser, cosine in cosines.items():
        for name in cases:
            for chosen in ("all", "without_embeddings"):
                values = cosine + 0.01 * noise(f"{optimiser} {name} {chosen} {epsilon}")
                for seed, value in zip(SEEDS, values, strict=True):
                    for step, more in ((100, 0.1), (200, -0.1)):
                        rows.append({
                            "case": name, "task": "cola", "clip": clip, "set": chosen,
                            "optimiser": optimiser, "seed": seed, "step": step,
                            "epsilon": epsilon if optimiser == "adam" else np.nan,
                            "own_sign": value + more, "gradient_sign": 0.5,
                        })  # fmt: skip
    return pd.DataFrame(rows)


def test_likeness():
    table = steps({"adam": 0.8, "sgd_momentum": 0.4, "signum": 1.0}, cases=("cola", "trec6"))
    found = means(evidence("H6a", {ALIKE: table}))
    assert len(found) == 4
    assert found["trec6, without embeddings"] == pytest.approx(0.4)
    assert verdict("H6a", {ALIKE: table}) == "replicated"
    assert "fails" in said("H6a", {ALIKE: swapped(table)})
    assert said("H6a", {ALIKE: steps({"adam": 0.5, "sgd_momentum": 0.45})}) == {"none"}


def coordinates(sgd, sign, block=0.3):
    own = {"task": "trec6", "classes": 6, "clip": 0.0}
    rows = [
        {"case": f"q{q:g}", "exponent": q, "optimiser": name, "value": at_zero + slope * q} | own
        for name, (at_zero, slope) in (("sgd", sgd), ("signsgd", sign))
        for q in (0.0, 0.5, 1.0)
    ]
    many = {"case": "block_rates", "optimiser": "sgd", "block_rates": True, "value": block}
    return endpoints([*rows, many | own])


def test_rates_of_blocks():
    def table(ends):
        return {OWN: coordinates((0.5, 0.3), (0.5, 0.1), ends)}

    assert means(evidence("H13a", table(0.3))) == {"one rate minus a rate by block": 0.2}
    assert verdict("H13a", table(0.3)) == "replicated"
    assert said("H13a", table(0.8)) == {"fails"}
    assert said("H13a", table(0.49)) == {"none"}
