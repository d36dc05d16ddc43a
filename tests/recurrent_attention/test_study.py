"""Settings of the study, and what is refused before anything is computed."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from registered import CLAIMS
from study_settings import STUDY, configured, overlay

from replication.base.errors import InputError
from replication.base.strict import read_yaml
from replication.plan.configuration import configure, merge
from replication.plan.jobs import Jobs
from transformer_dynamics.recurrent_attention.settings.tuning import TuningJob

CANDIDATES = read_yaml(STUDY.folder / "config.yaml")["tuning"]["candidates"]


def test_large_boards_are_refused_without_a_gpu_and_the_cost_is_said() -> None:
    changes = overlay("paper_scale.yaml")
    with pytest.raises(InputError, match=r"training would take one core about [\d,]+ days"):
        Jobs.of(configure(changes, {STUDY.name: STUDY}), {STUDY.name: STUDY})
    with_gpu = changes | {"computation": {"device": "cuda"}}
    jobs = Jobs.of(configure(with_gpu, {STUDY.name: STUDY}), {STUDY.name: STUDY})
    run = jobs.steps["results/recurrent_attention/runs/itrsa/1-5.npz"].settings
    assert (run["device"], run["model"]["heads"], run["training"]["loops"]) == ("cuda", 8, 16)


def test_six_by_six_has_all_conditions() -> None:
    jobs = Jobs.of(configure(overlay("six_by_six.yaml"), {STUDY.name: STUDY}), {STUDY.name: STUDY})
    section = configured({}).section(STUDY.name)
    for name, found in section.experiments.items():  # type: ignore[attr-defined]
        first = section.seeds_of(found).first  # type: ignore[attr-defined]
        last = first + (3 if "_drawn_" in name else 4)
        assert f"results/recurrent_attention/runs/{name}/{first}-{last}.npz" in jobs.steps


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"experiments": {"itrsa": {"heads": 5}}},
            "experiments > itrsa: heads (5) must divide width (48)",
        ),
        ({"experiments": {"akorn": {"oscillator": 3}}}, "oscillator (3) of akorn must be even"),
        ({"experiments": {"itrsa": {"oscillator": 5}}}, "oscillator (5) must divide width (48)"),
        ({"experiments": {"akorn": {"normalised": False}}}, "akorn is always normalised"),
        ({"experiments": {"symmetric": {"heads": 2}}}, "symmetric has one head"),
        (
            {"experiments": {"tuning": {"kind": "itrsa", "heads": 1, "learning_rate": 1.0}}},
            "name has",
        ),
        ({"experiments": {"itrsa": None}}, "candidates > itrsa: there is no such condition"),
        ({"tuning": {"seed": 3}}, "must not be one of the seeds that are judged"),
        ({"tuning": {"seed": 9}}, "must not be one of the seeds that are judged"),
        (
            {"tuning": {"candidates": {"itrsa": {"seeds": {"first": 40, "count": 20}}}}},
            "tuning > candidates > itrsa > seeds: must not be among those that are judged",
        ),
        (
            {"tuning": {"candidates": {"itrsa": {"strengths": [1.0]}}}},
            "candidates > itrsa > strengths: the condition has no penalty",
        ),
        (
            {"experiments": {"itrsa": {"learning_rate": 1e30}}},
            "itrsa > learning_rate: Input should be less than or equal to 1 (given: 1e+30)",
        ),
        (
            {"tuning": {"candidates": {"itrsa": {"learning_rates": [0.1, 1e300]}}}},
            "itrsa > learning_rates > 1: Input should be less than or equal to 1 (given: 1e+300)",
        ),
        (
            {"tuning": {"candidates": {"itrsa": {"learning_rates": [0.1, 0.1]}}}},
            "0.1 is repeated",
        ),
        (
            {"tuning": {"candidates": dict.fromkeys(CANDIDATES)}},
            "tuning > candidates: those of one condition at least are needed",
        ),
        (
            {"boards": {"test": 150}},
            "metrics > votes > boards (200) must not be above boards > test (150)",
        ),
        (
            {"metrics": {"perturbed": {"boards": 201}}},
            "metrics > perturbed > boards (201) must not be above boards > test (200)",
        ),
        # 16 x 48 channels without one of every four: those of AKOrN.
        (
            {"metrics": {"exponents": {"leading": 577}}},
            "exponents > leading (577) must not be above 576, the number of exponents of akorn",
        ),
        (
            {"metrics": {"perturbed": {"leading": 577}}},
            "perturbed > leading (577) must not be above 576, the number of exponents of akorn",
        ),
        (
            {"metrics": {"spectrum": {"largest": 193}}},
            "metrics > spectrum > largest (193) must not be above 192, a quarter of the rows",
        ),
        (
            {"width": 288},
            "metrics > spectrum > largest: a Jacobian of 4,608 rows is not written down, so that"
            " not all of its values are found; set the number of the largest",
        ),
        (
            {
                "width": 288,
                "metrics": {
                    "pseudo_energy": {"share": 0.3},
                    "spectrum": {"largest": 9},
                    "distribution": {"largest": 9},
                },
            },
            "pseudo_energy > share (0.3) must not be above 0.25 where Jacobians have 4,608 rows",
        ),
        (
            {"metrics": {"pseudo_energy": {"share": 0.0013}}},
            "pseudo_energy > share (0.0013) of 768 directions is less than one; raise it",
        ),
        ({"metrics": {"trajectories": {"points": 1}}}, "trajectories > points must be at least 2"),
        (
            {"metrics": {"trajectories": {"early": 10001}}},
            "trajectories > early (10001) must not be above steps (10000)",
        ),
        (
            {"metrics": {"trajectories": {"steps": 999}}},
            "trajectories > linear (1000) must not be above steps (999)",
        ),
        ({"models": {"noise": 0.0}}, "models > noise: Input should be greater than 0 (given: 0.0)"),
        ({"models": {"readout_block": 0}}, "models > readout_block: Input should be greater than"),
        ({"models": {"omegas": "two"}}, "models > omegas: Input should be 'one' or 'planes'"),
        (
            {"training": {"loss_cells": "givens"}},
            "training > loss_cells: Input should be 'all' or 'blanks' (given: 'givens')",
        ),
        (
            {"training": {"adam": {"second": 1.0}}},
            "training > adam > second: Input should be less than 1 (given: 1.0)",
        ),
        (
            {"training": {"average": {"decay": 0.9, "every": 1501}}},
            "training: average > every (1501) must not be above updates (1500)",
        ),
        (
            {"metrics": {"exponents": {"skipped": 1.0}}},
            "exponents > skipped: Input should be less than 1 (given: 1.0)",
        ),
        (
            {"regimes": {"linear": {"least": 0.1}}},
            "regimes > linear: least (0.1) must be below most (0.01)",
        ),
        (
            {"boards": {"held_out": {"test": 254}}},
            "boards: held_out: valid and test together must be below 288",
        ),
        # Sizes: what is just too large.
        (
            {"boards": {"train": 62_499_201}},
            "at once, which fit into no memory; lower boards > train, valid or test",
        ),
        (
            {"boards": {"valid": 1_302_084}},
            "fit into no memory; lower boards > valid or test, or width",
        ),
        (
            {"training": {"batch_size": 162_761}},
            "makes more than 1,000,000,000 numbers at once, which fit into no memory; lower"
            " training > batch_size or loops, or width",
        ),
        (
            {"training": {"updates": 244_140_626}},
            "would take tokens through more than 1,000,000,000,000 steps to train one seed; lower"
            " training > updates, batch_size or loops",
        ),
        (
            {"token_norms": {"drawn": {"vocabulary": 3_905_595}}},
            "fit into no memory; lower token_norms > drawn > vocabulary, texts or dimension",
        ),
        (
            {"token_norms": {"drawn": {"tokens": [20, 11_181]}}},
            "fit into no memory; lower token_norms > drawn > tokens or heads",
        ),
        (
            {"metrics": {"votes": {"draws": 1_000_001}}},
            "metrics > votes > draws must not be above 1,000,000",
        ),
        (
            {"metrics": {"accuracy": {"loops": [8, 1_000_001]}}},
            "metrics > accuracy > loops must not be above 1,000,000",
        ),
        ({"tuning": {"loops": 1_000_001}}, "tuning > loops must not be above 1,000,000"),
        (
            {"metrics": {"pseudo_energy": {"eigenbases": 21}}},
            "metrics > pseudo_energy > eigenbases (21) must not be above its boards (20)",
        ),
        (
            {"boards": {"out_of_distribution": {"most": 7}}},
            "boards > out_of_distribution > most (7) must be below in_distribution > least (7)",
        ),
        ({"figures": {"fig2c": {"seed": 99}}}, "fig2c > seed: 99 is not measured; measured are 1,"),
        ({"figures": {"figS5": {"seed": 9}}}, "figS5 > seed: 9 is not measured"),
        (
            {"figures": {"votes": {"joined": ["akorn_votes", "akorn_6x6"]}}},
            "votes > joined: akorn_6x6 differs from the others in more than its seeds",
        ),
        (
            {"experiments": {"akorn_more": {"learning_rate": 0.002}}},
            "votes > joined: akorn_votes differs from the others in more than its seeds",
        ),
        (
            {"figures": {"votes": {"joined": ["akorn_votes", "akorn_votes"]}}},
            "votes > joined: akorn_votes has seeds of another condition, too; give it others",
        ),
        (
            {"figures": {"votes": {"joined": ["akorn_more"]}}},
            "votes > joined: akorn_more has seeds of another condition, too; give it others",
        ),
        ({"seeds": {"first": 2}}, "fig2c > seed: 1 is not measured; measured are 2, 3,"),
        ({"figures": {"clouds": {"board": 2}}}, "clouds > board: 2 is not measured; see metrics"),
        ({"figures": {"figS4": {"board": -1}}}, "figS4 > board: -1 is not measured; see metrics"),
        (
            {"figures": {"exponent_accuracy": {"loops": 17}}},
            "exponent_accuracy > loops: 17 is not measured; measured are 1, 2, 4, 8, 16,",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        configured(changes)
    assert message in str(error.value)


def test_boards_of_the_paper_overlap_and_may_not_be_fuller_out_of_distribution() -> None:
    changes = overlay("paper_scale.yaml")["recurrent_attention"]
    configured(changes)
    fewer = {"out_of_distribution": {"least": 17, "most": 42}}
    with pytest.raises(
        InputError, match=r"most \(42\) must be below in_distribution > most \(42\)"
    ):
        configured(changes | {"boards": changes["boards"] | fewer})


def test_the_largest_that_can_be_computed_is_taken() -> None:
    for changes in (
        {"boards": {"train": 62_499_200}},
        {"boards": {"valid": 1_302_083}},
        {"training": {"batch_size": 162_760, "updates": 1}},
        {"training": {"updates": 244_140_625}},
        {"token_norms": {"drawn": {"vocabulary": 3_905_594}}},
        {"token_norms": {"drawn": {"tokens": [20, 11_180]}}},
        {"metrics": {"votes": {"draws": 1_000_000}, "perturbed": {"etas": [1e9]}}},
    ):
        configured(changes)


def test_the_most_that_can_be_measured_is_taken() -> None:
    most = {
        "exponents": {"boards": 200, "leading": 576},
        "pseudo_energy": {"share": 1 / 768, "eigenbases": 20},
        "trajectories": {"points": 2, "steps": 1000, "early": 1000},
    }
    configured({"metrics": most, "figures": {"figS4": {"seed": 8}, "clouds": {"board": 1}}})


@pytest.mark.parametrize("seed", range(3))
def test_a_figure_of_one_run_shows_the_one_seed_that_is_left(seed: int) -> None:
    changes = STUDY.one_seed(configured({}).section(STUDY.name), Random(seed))
    section = configured(changes).section(STUDY.name)
    shown = {figure.seed for figure in section.figures.values() if hasattr(figure, "seed")}
    assert shown == {section.seeds.first}


def test_what_a_claim_needs_cannot_be_removed() -> None:
    for changes, said in (
        ({"experiments": {"akorn_n48": None}}, "claim J14a: experiment: unknown key 'akorn_n48'"),
        (
            {"conditions_of": {"spectrum": ["itrsa"]}},
            "'itrsa_drawn_1': unknown key 'spectrum'",
        ),
    ):
        with pytest.raises(InputError, match=rf"{said}.*\(did the configuration remove it\?\)"):
            Jobs.of(configured(changes), {STUDY.name: STUDY})


def test_rates_that_hardly_differ_are_different_runs() -> None:
    rates = [0.1, 0.10000001, 1.0]
    changes = {"tuning": {"candidates": {"itrsa": {"learning_rates": rates}}}}
    configuration = configured(changes)
    tried = STUDY.experiments(configuration.section(STUDY.name), configuration.computation)
    names = [name for name in tried["tuning"].runs if name.startswith("itrsa-")]
    assert names == ["itrsa-0.1", "itrsa-0.10000001", "itrsa-1"]


@pytest.mark.parametrize("name", [None, "six_by_six.yaml", "paper_scale.yaml"])
def test_every_scale_has_large_and_small_oscillators_of_both_models(name: str | None) -> None:
    """What J14a and J14b compare."""
    changes = overlay(name) if name else {}
    section = configure(changes, {STUDY.name: STUDY}).section(STUDY.name)
    models = {name: section.model(found) for name, found in section.experiments.items()}
    parts = {
        number: [models[item.experiment] for item in CLAIMS[number].data]
        for number in ("J14a", "J14b")
    }
    least = section.regimes.large * section.width
    is_large = [model.block >= least for model in parts["J14a"]]
    assert {model.kind for model in parts["J14a"]} == {"akorn"}
    assert is_large == [False, False, True, True, True, True]
    large = [(model.kind, model.block) for model in parts["J14b"]]
    assert all(model.block >= least for model in parts["J14b"])
    assert [N for kind, N in large if kind == "akorn"] == [
        N for kind, N in large if kind == "itrsa"
    ]
    # Every N of the figures, and accuracy as the assumptions say.
    panels = section.figures["fig4"].panels
    assert [max(models[each].block for each in names) for names in panels.values()] == [
        section.width
    ] * 2
    twice = 2 * section.training.loops
    assert section.metrics.perturbed.loops == section.figures["exponent_accuracy"].loops == twice
    assert section.tuning.loops == twice
    assert {section.training.loops, twice} < {*section.metrics.accuracy.loops}


def test_settings_of_all_models_and_of_training_come_to_every_run() -> None:
    average = {"decay": 0.995, "every": 10}
    changes = {"models": {"omegas": "planes"}, "training": {"average": average}}
    configuration = configured(changes)
    section = configuration.section(STUDY.name)
    for name, experiment in STUDY.experiments(section, configuration.computation).items():
        for job in experiment.runs.values() if name != "token_norms" else ():
            found = job.settings.model_dump()
            assert found["model"]["omegas"] == "planes"
            assert found["training"]["average"] == average
    # Of few updates there are averages, too.
    small = configured(merge(changes, STUDY.call_optional("smallest", section, Path())))
    assert small.section(STUDY.name).training.average.every <= 25  # type: ignore[attr-defined]


def test_candidates_on_other_boards_are_chosen_at_the_loops_of_training() -> None:
    configuration = configured({})
    section = configuration.section(STUDY.name)
    tried = STUDY.experiments(section, configuration.computation)
    for name, loops in (("tuning", 16), ("tuning_seeds", 16), ("tuning_drawn_1", 8)):
        job = tried[name].metrics["solved"].settings
        assert isinstance(job, TuningJob)
        assert job.loops == loops
    found = tried["tuning_drawn_1"]
    assert {each.reads for each in found.runs.values()} == {("boards_drawn_1",)} == {(*found.data,)}


def test_candidates_have_seeds_of_their_own() -> None:
    """A job that two conditions try is one run for each, with the seeds of each."""
    own = {"learning_rates": [0.004], "seeds": {"first": 901, "count": 4}}
    changed = configured({"tuning": {"candidates": {"energy_multi_none": own}}})
    tried = STUDY.experiments(changed.section(STUDY.name), changed.computation)
    assert tried["tuning"].runs["energy_multi-0.004"].seeds == (100,)
    assert tried["tuning_seeds"].runs["energy_multi_none-0.004"].seeds == (901, 902, 903, 904)
    for name in ("tuning", "tuning_seeds"):
        job = tried[name].metrics["solved"].settings
        assert isinstance(job, TuningJob)
        assert all(each.run.startswith(f"{each.condition}-") for each in job.candidates)


@pytest.mark.parametrize("experiment", ["tuning", "tuning_seeds", "tuning_drawn_1"])
def test_what_is_tried_differs_from_its_condition_in_one_number(experiment: str) -> None:
    section = configured({}).section(STUDY.name)
    tried = STUDY.experiments(section, configured({}).computation)[experiment]
    job = tried.metrics["solved"].settings
    assert isinstance(job, TuningJob)
    candidates = section.tuning.by_experiment(section.experiments)[experiment]  # type: ignore[attr-defined]
    assert {candidate.condition for candidate in job.candidates} == {*candidates}
    for candidate in job.candidates:
        condition = section.experiments[candidate.condition]  # type: ignore[attr-defined]
        train = job.runs[candidate.run]
        if candidate.quantity == "learning_rate":
            assert (train.learning_rate, train.penalty) == (candidate.value, condition.penalty)
        else:
            assert train.learning_rate == condition.learning_rate
            assert train.penalty is not None
            assert train.penalty.strength == candidate.value
    # No run is made twice.
    made = {(train, tried.runs[name].seeds) for name, train in job.runs.items()}
    assert len(made) == len(job.runs) == len(tried.runs)
