"""Which runs there are, and answers to settings that cannot be."""

from math import ceil
from pathlib import Path

import pandas as pd
import pytest
import yaml

from replication.base.errors import InputError
from replication.plan.configuration import Computation, configure, merge
from replication.plan.jobs import Jobs
from replication.plan.limits import time_limit
from replication.study.studies import find_studies
from transformer_dynamics.gradient_heterogeneity import study

NAME = "gradient_heterogeneity"
FOLDER = Path(study.__file__).parent
REFERENCE = Path(__file__).parents[2] / "results/reference" / NAME
STUDIES = {NAME: find_studies()[NAME]}
USED = {
    "tuning_text": "optimisers_text",
    "tuning_images": "optimisers_images",
    "tuning_full_batch": "full_batch",
    "tuning_adam": "adam_as_sign",
    "tuning_reparametrised": "reparametrised",
}


AGAIN = {
    "optimisers_again": ("optimisers_text",),
    "optimisers_anew": ("optimisers_text",),
    "full_batch_again": ("full_batch",),
    "coordinates_again": ("reparametrised", "tuning_coordinates"),
    "coordinates_anew": ("reparametrised", "coordinates_again"),
    "optimisers_vision": ("tuning_vision",),
    "constant_again": ("tuning_constant",),
}
"""By experiment on seeds that judge alone, where its cases and rates are from."""


def settings(changes=None):
    return configure({NAME: changes or {}}, STUDIES).section(NAME)


def overlay(name):
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text())


def test_the_default_runs():
    found = study.experiments(settings(), Computation())
    assert {name: len(each.runs) for name, each in found.items()} == {
        "tuning_text": (3 + 4 + 4) + (3 + 4 + 4) + (4 + 4 + 4),
        "optimisers_text": 3 * 3 * 5,
        "optimisers_again": 3 * 3 * 6,
        "optimisers_anew": 2 * 2 * 5,
        "tuning_vision": 5 + 4 + 5,
        "optimisers_vision": 3 * 6,
        "tuning_images": 2 * 4,
        "optimisers_images": 2 * 5,
        "tuning_full_batch": 4 + 4 + 4,
        "full_batch": 3 * 5,
        "full_batch_again": 3 * 6,
        "tuning_adam": 4,
        "adam_as_sign": 5,
        "schedules": 2 * 5,
        "tuning_constant": 4 + 4,
        "constant_again": 2 * 6,
        "heads_full": 2 * 5,
        "tuning_reparametrised": (5 + 5) + (5 + 4) + 5,
        "reparametrised": 5 * 5,
        "tuning_coordinates": 5 + 4 + 5,
        "coordinates_again": (2 + 1 + 2 + 1) * 6,
        "coordinates_anew": (2 + 2 + 2 + 1) * 10,
        "heads": len(found["heads"].runs),
        "long_heads": len(found["long_heads"].runs),
        "heterogeneity": 4 * 5,
        "pairs": (3 * 3 + 2) * 2 * 7,
        "scaled_pairs": 2 * 2 * 5,
    }
    many = {"heads": 10, "pairs": 7}
    fresh = {name: set(range(6, 12)) for name in AGAIN} | {
        "scaled_pairs": set(range(8, 13)),
        "long_heads": set(range(11, 21)),
        "optimisers_anew": set(range(12, 17)),
        "coordinates_anew": set(range(12, 22)),
    }
    for name, each in found.items():
        seeds = {seed for job in each.runs.values() for seed in job.seeds}
        expected = {1111} if name.startswith("tuning") else set(range(1, many.get(name, 5) + 1))
        assert seeds == fresh.get(name, expected), name


@pytest.mark.parametrize("scale", [None, "full", "minimum"])
def test_rates_that_are_used_are_among_those_that_are_tried(scale):
    """What is used differs from what tries rates in nothing else."""
    given = configure(overlay(scale) if scale else {}, STUDIES).section(NAME).experiments
    others = {name for names in AGAIN.values() for name in names if name.startswith("tuning")}
    assert {name for name in given if name.startswith("tuning")} == {*USED} | others
    for tuning, name in USED.items():
        assert given[name].cases.keys() == given[tuning].cases.keys()
        for case, own in given[name].cases.items():
            tried = given[tuning].cases[case]
            assert own.model_dump(exclude={"rates"}) == tried.model_dump(exclude={"rates"})
            assert own.rates.keys() == tried.rates.keys()
            for optimiser, (rate,) in own.rates.items():
                assert rate in tried.rates[optimiser], (name, case, optimiser)


@pytest.mark.parametrize("scale", [None, "full", "minimum"])
def test_seeds_that_judge_alone_have_cases_and_rates_that_were_chosen_before(scale):
    given = configure(overlay(scale) if scale else {}, STUDIES).section(NAME).experiments
    for name, sources in AGAIN.items():
        # Each of the seeds `..._anew` draws its own split of the texts, the network's samples.
        chosen = {"rates", "network"} if name.endswith("_anew") else {"rates"}
        for case, own in given[name].cases.items():
            known = [given[each].cases[case] for each in sources if case in given[each].cases]
            alike = [
                each
                for each in known
                if each.model_dump(exclude=chosen) == own.model_dump(exclude=chosen)
            ]
            assert alike, (name, case)
            for optimiser, (rate,) in own.rates.items():
                assert rate in alike[0].rates[optimiser], (name, case, optimiser)


@pytest.mark.parametrize("name", ["full", "minimum"])
def test_other_scales_have_runs(name):
    found = study.experiments(configure(overlay(name), STUDIES).section(NAME), Computation())
    default = study.experiments(settings(), Computation())
    numbers = [sum(len(each.runs) for each in some.values()) for some in (found, default)]
    assert (numbers[0] > numbers[1]) == (name == "full")


def at_the_papers_scale(changes=None):
    """Experiments of the paper's scale, on a GPU."""
    given = merge(overlay("paper_scale"), {NAME: changes or {}})
    return study.experiments(configure(given, STUDIES).section(NAME), Computation(device="cuda"))


def test_the_papers_scale_is_refused_without_a_gpu():
    with pytest.raises(InputError, match=r"training would take one core about [\d,]+ days, .*GPU"):
        Jobs.of(configure(overlay("paper_scale"), STUDIES), STUDIES)


PUBLISHED = {"cb": 250, "rte": 2_490, "cola": 8_551, "mrpc": 3_668, "sst2": 67_349}
"""Number of published training samples of the paper's sets that are there."""
GIVEN = {"boolq": 9_427, "wic": 5_428}
"""Those of the sets that a user gives."""
SMALL_BATCHES = {"cb", "rte"}
ON_TEXTS = ("optimisers_again", "optimisers_anew", "optimisers_text")


def test_the_papers_scale_has_the_released_settings():
    released = pd.read_csv(FOLDER / "published/released_rates.csv").set_index("task")
    found = at_the_papers_scale(overlay("paper_scale_given")[NAME])
    sizes = PUBLISHED | GIVEN
    runs = [job.settings for name in ON_TEXTS for job in found[name].runs.values()]
    of_paper = [run for run in runs if run.net.task in sizes and run.training.clip]
    assert {(run.net.task, run.training.optimiser) for run in of_paper} == {
        (task, optimiser) for task in sizes for optimiser in released.columns
    }
    for run in of_paper:
        task, training = run.net.task, run.training
        batch = 8 if task in SMALL_BATCHES else 32
        assert (training.batch_size, training.clip, training.schedule) == (batch, 1.0, "linear")
        assert training.rate == released.loc[f"RoBERTa {task}", training.optimiser], task
        assert training.steps == 20 * ceil(0.9 * sizes[task] / batch), task
        assert (run.net.net, run.net.texts.length, run.net.texts.kept) == ("roberta", 128, 0.9)
        assert run.net.texts.train is None
    for name, net in (("optimisers_images", "ResNet18"), ("optimisers_vision", "ViT")):
        for job in found[name].runs.values():
            training = job.settings.training
            assert training.rate == released.loc[f"{net} flowers102", training.optimiser]
            assert training.steps == 50 * 1632 / training.batch_size
    seeds = {
        name: {seed for job in found[name].runs.values() for seed in job.seeds} for name in found
    }
    for name in (*ON_TEXTS, "optimisers_images", "optimisers_vision", "heterogeneity", "schedules"):
        assert seeds[name] == {1111, 2222, 3333, 4444, 5555}, name


def test_the_papers_scale_makes_no_run_twice():
    made = [
        (job.settings.model_dump_json(exclude={"case"}), job.seeds)
        for each in at_the_papers_scale().values()
        for job in each.runs.values()
    ]
    assert len({*made}) == len(made)


def test_every_job_of_the_papers_scale_has_a_cost():
    for name, each in at_the_papers_scale().items():
        for job in each.runs.values():
            assert job.operations > 0, name
            assert job.minutes == time_limit(job.operations, "cuda") > 60
            # The libraries of a GPU are part of it.
            assert job.memory > 4000
    default = study.experiments(settings(), Computation())
    assert max(job.memory for each in default.values() for job in each.runs.values()) < 4500


def test_the_cost_is_in_proportion_to_steps():
    def cost(steps):
        changes = {"experiments": {"optimisers_again": {"cases": {"cola": {"steps": steps}}}}}
        found = at_the_papers_scale(changes)["optimisers_again"].runs
        return found["cola-adam-rate1e-05-linear-1111"].operations

    # Texts of 128 tokens pass 12 layers of 12 h^2 weights forward, and backwards twice.
    forward = 128 * 2 * 12 * 12 * 768**2
    assert cost(200) - cost(100) == pytest.approx(100 * 32 * 3 * forward)
    # And the slice of the loss is looked at five times.
    assert cost(100) == pytest.approx((100 * 32 * 3 + 5 * 512) * forward)


def case(experiment, name, **changes):
    return {"experiments": {experiment: {"cases": {name: changes}}}}


def network(**changes):
    return {"network": changes}


PLAIN = {"optimiser": "adam", "rate": 1e-3, "steps": 2, "points": 1, "slice": 8}
ENCODER = {"net": "encoder", "texts": "cola", "train": None, "validation": None}


def pairs_with(**changes):
    return {"pairs": {"cases": {"trained": changes}}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"experiments": {"heads": {"cases": {}}}}, "cases"),
        ({"heads": {"tasks": {"c6": {"texts": "sst5"}}}}, "tasks > c6 > texts"),
        ({"heads": {"tasks": {"again": {"texts": "trec6"}}}}, "heads > tasks: every value"),
        ({"heads": {"tasks": dict.fromkeys(["c2", "c6", "c20", "c77", "c150"])}}, "heads > tasks"),
        ({"pairs": {"drawn": {"texts": "cb"}}}, "pairs > drawn > texts"),
        ({"pairs": {"drawn": {"texts": "rte"}}}, "rte has pairs"),
        ({"pairs": {"cases": dict.fromkeys(["initial", "trained"])}}, "pairs > cases"),
        ({"sets": {"trec6": {"train": 100}}}, "both train and validation"),
        ({"sets": {"trec6": {"folder": ""}}}, "trec6 > folder"),
        ({"folders": {"wikitext2": ""}}, "folders > wikitext2"),
        ({"encoder": {"folder": ""}}, "encoder > folder"),
        (case("optimisers_text", "trec6", **network(train=100)), "trec6 > network: give both"),
        (case("full_batch", "trec6", **network(texts="rte")), "network > texts: rte has pairs"),
        (case("full_batch", "trec6", **network(shape={"heads": 3})), "3 is no divisor of the"),
        (case("optimisers_images", "fashion", **network(size=70)), "70 is no multiple of 32"),
        (case("adam_as_sign", "eps_1e2", epsilons=[1e-2, 1.00000001e-2]), "epsilons: two of"),
        (case("reparametrised", "q1", exponents=[1, 1.00000001]), "exponents: two of these"),
        (case("reparametrised", "q1", exponents=[1000]), "less than or equal to 20"),
        (case("schedules", "cola", rates={"signum": [0.1, 0.100000001]}), "rates > signum: two"),
        (case("schedules", "cola", rates={"signum": [1e300]}), "less than or equal to 1000000000 "),
        (pairs_with(deviations=[0.05, 0.0500000001]), "deviations: two of these"),
        (pairs_with(deviations=[0.06, 0.05]), "initial and trained both have depth 6 and"),
        (pairs_with(masked=None), "masked words first"),
        (pairs_with(masked={"frozen": True}), "masked: unknown key 'frozen'"),
        (pairs_with(tunings={"adam": {"exponent": 1}}), "tunings > adam: unknown key 'exponent'"),
        (pairs_with(tunings={"initial": PLAIN}), "tunings: initial: the name has a meaning"),
        (pairs_with(tunings={"on_texts_adam": PLAIN}), "tunings: on_texts_adam: the name"),
        (
            {"heterogeneity": {"cases": {"cola": {"tuning": {"frozen": True}}}}},
            "cola > tuning: unknown key 'frozen'",
        ),
        ({"networks": {"head_deviation": 0}}, "networks > head_deviation: .* greater than 0"),
        ({"networks": {"dropout": {"encoder": 1}}}, "dropout > encoder: .* less than 1"),
        ({"networks": {"dropout": {"vit_s": None}}}, "dropout > vit_s: .* valid number"),
        ({"networks": {"renewed": 1.1}}, "networks > renewed: .* less than or equal to 1"),
        ({"networks": {"enlarged": "cubic"}}, "networks > enlarged: .*'bicubic'"),
        ({"training": {"averages": {"signum": 1}}}, "averages > signum: .* less than 1"),
        ({"training": {"averages": {"adam": {"second": 1}}}}, "adam > second: .* less than 1"),
        ({"training": {"weight_decay": -0.1}}, "weight_decay: .* greater than or equal to 0"),
        ({"training": {"warm_up": 1}}, "training > warm_up: .* less than 1"),
        ({"training": {"parts": 0}}, "training > parts: .* greater than or equal to 1"),
        ({"blocks": {"limit": 0.5}}, "blocks > limit: .* greater than or equal to 1"),
        ({"blocks": {"batches": 0}}, "blocks > batches: .* greater than or equal to 1"),
        ({"heterogeneity": {"measuring": {"factors": [1, 1.0]}}}, "factors: every value may"),
        ({"pairs": {"heads": 3}}, "pairs: heads: 3 is no divisor of the width, 128"),
        ({"pairs": {"masking": {"random": 0.1}}}, "masking: random: together with mask"),
        ({"heterogeneity": {"cases": {"again": network(**ENCODER)}}}, "cola and again are of one"),
        ({"figures": {"fig5": {"experiments": []}}}, "fig5 > experiments"),
        ({"figures": {"fig6": {"tried": None}}}, "fig6 > tried"),
        ({"figures": {"fig7": {"beta": 1}}}, "fig7 > beta"),
        ({"figures": {"fig8": {"draws": 0}}}, "fig8 > draws"),
    ],
)
def test_what_cannot_be_is_refused(changes, said):
    with pytest.raises(InputError, match=said):
        settings(changes)


IMAGES = {"tuning_images", "optimisers_images", "heterogeneity"}
VISION = {"heterogeneity", "tuning_vision", "optimisers_vision"}
OF_BLOCKS = {
    *("tuning_reparametrised", "reparametrised", "tuning_coordinates"),
    *("coordinates_again", "coordinates_anew"),
}


@pytest.mark.parametrize(
    ("changes", "experiments"),
    [
        ({"networks": {"dropout": {"efficientnet": 0.5}}}, IMAGES),
        ({"networks": {"dropout": {"vit_s": 0.5}}}, VISION),
        ({"networks": {"renewed": 0.5}}, IMAGES),
        ({"networks": {"enlarged": "nearest"}}, IMAGES | VISION),
        ({"training": {"averages": {"rmsprop": 0.5}}}, set()),
        ({"training": {"warm_up": 0.5}}, {"pairs", "scaled_pairs"}),
        ({"training": {"parts": 2}}, set()),
        ({"blocks": {"limit": 2}}, OF_BLOCKS),
        ({"heterogeneity": {"measuring": {"factors": [1]}}}, {"heterogeneity"}),
        ({"pairs": {"masking": {"share": 0.5}}}, {"pairs"}),
        ({"scaled_pairs": {"embeddings": 1}}, {"scaled_pairs"}),
        ({"pairs": {"embeddings": 1}}, {"pairs"}),
    ],
)
def test_what_depends_on_a_constant_is_computed_anew_and_nothing_else(changes, experiments):
    usual, other = (study.experiments(settings(each), Computation()) for each in ({}, changes))
    found = {
        name
        for name, each in usual.items()
        if [job.settings for job in each.runs.values()]
        != [job.settings for job in other[name].runs.values()]
    }
    assert found == experiments


def test_all_that_has_a_head_depends_on_its_deviation():
    changes = {"networks": {"head_deviation": 0.1}}
    usual, other = (study.experiments(settings(each), Computation()) for each in ({}, changes))
    for name, each in usual.items():
        for run, job in each.runs.items():
            assert job.settings != other[name].runs[run].settings, run


def test_words_have_a_file_for_every_number_and_length():
    changes = case("full_batch", "trec6", **network(words=500))
    changes["experiments"]["full_batch"]["cases"]["longer"] = {
        **network(
            net="tiny", shape={"placement": "pre", "depth": 1, "length": 30}, texts="trec6",
        ),
        "steps": 2, "rates": {"sgd": [0.1]},
    }  # fmt: skip
    found = study.experiments(settings(changes), Computation())["full_batch"]
    assert {*found.data} == {"words-trec6-500-24", "words-trec6-4000-30"}
    for name, job in found.data.items():
        assert name == f"words-trec6-{job.settings.words}-{job.settings.length}"
    for name, job in found.runs.items():
        net = job.settings.net
        assert job.reads == (f"words-trec6-{net.words}-{net.shape.length}",), name


def test_rates_of_the_reference_had_the_least_training_loss():
    tried = pd.read_csv(REFERENCE / "figures/fig6.csv")
    assert tried["is_used"].sum() == 20
    assert tried["is_best"][tried["is_used"]].all()

    later = pd.read_csv(REFERENCE / "figures/later_rates.csv")
    assert later["is_used"].sum() == 8
    assert later["is_best"][later["is_used"]].all()
