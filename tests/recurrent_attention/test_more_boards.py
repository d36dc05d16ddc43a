"""Conditions that learn boards of another size."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from study_settings import STUDY, configured

from replication.base.errors import InputError
from replication.plan.configuration import merge


def with_more_boards(**changes: Any) -> dict[str, Any]:
    """An overlay in which one condition learns boards of 6x6, with some changes of these."""
    section = configured({}).section(STUDY.name)
    metrics = section.metrics.model_dump(  # type: ignore[attr-defined]
        include={"accuracy", "exponents", "spectrum", "perturbed", "pseudo_energy"}
    )
    givens = {"in_distribution": (20, 24), "out_of_distribution": (16, 18)}
    boards = {
        "size": "6x6", "train": 40, "valid": 10, "test": 25, "held_out": None,
        **{key: {"least": least, "most": most} for key, (least, most) in givens.items()},
    }  # fmt: skip
    large = {
        "boards": boards,
        "width": 24,
        "training": {"updates": 7, "batch_size": 3, "relabel": True},
        "seeds": {"first": 41, "count": 3},
        "metrics": metrics,
    }
    condition = {"kind": "akorn", "heads": 4, "oscillator": 4, "learning_rate": 0.1}
    return {
        "more_boards": {"large": merge(large, changes)},
        "experiments": {"akorn_large": condition | {"boards": "large"}},
        "conditions_of": {
            "pseudo_energy": [*section.conditions_of["pseudo_energy"], "akorn_large"]  # type: ignore[attr-defined]
        },
    }


def test_a_condition_may_learn_boards_of_another_size() -> None:
    configuration = configured(with_more_boards())
    section = configuration.section(STUDY.name)
    experiments = STUDY.experiments(section, configuration.computation)
    found, others = experiments["akorn_large"], experiments["akorn"]
    (run,) = found.runs.values()
    assert run.seeds == (41, 42, 43)
    assert run.reads == ("boards_large",) == tuple(found.data)
    train = run.settings.model_dump()
    assert (train["boards"]["size"], train["model"]["width"]) == ("6x6", 24)
    assert train["training"] == section.training.model_dump() | {  # type: ignore[attr-defined]
        "updates": 7, "batch_size": 3, "relabel": True
    }  # fmt: skip
    # The metrics of all conditions, and those for which it is named; not others.
    assert {*found.metrics} == {
        "accuracy", "exponents", "pseudo_energy", "weights", "fingerprint"
    }  # fmt: skip
    assert {job.reads for job in found.metrics.values()} == {("boards_large",), ()}
    # What has the boards of all is as it was.
    before = configured({})
    assert others == STUDY.experiments(before.section(STUDY.name), before.computation)["akorn"]


def test_what_names_no_boards_is_written_as_before_there_were_others() -> None:
    """Settings that are written as before have the digests that they had."""
    section = configured({}).section(STUDY.name)
    condition = section.experiments["itrsa"]  # type: ignore[attr-defined]
    assert "boards" not in condition.model_dump()
    assert "more_boards" not in section.model_copy(update={"more_boards": {}}).model_dump()


def test_boards_of_another_size_become_small_and_of_one_seed_too() -> None:
    changes = with_more_boards()
    section = configured(changes).section(STUDY.name)
    small = configured(merge(changes, STUDY.call_optional("smallest", section, Path()))).section(
        STUDY.name
    )
    large = small.more_boards["large"]  # type: ignore[attr-defined]
    assert (large.boards.train, large.width, large.training.updates) == (100, 12, 25)
    assert (large.boards.in_distribution.least, large.boards.out_of_distribution.most) == (35, 34)
    assert (large.seeds.count, large.metrics.exponents.boards) == (2, 1)
    assert small.model(small.experiments["akorn_large"]).block == 2  # type: ignore[attr-defined]
    one = merge(changes, STUDY.one_seed(section, Random(0)))
    seeds = configured(one).section(STUDY.name).more_boards["large"].seeds  # type: ignore[attr-defined]
    assert seeds.count == 1
    assert seeds.first in (41, 42, 43)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"experiments": {"akorn_large": {"boards": "larg"}}},
            "experiments > akorn_large > boards: unknown key 'larg'; did you mean 'large'?",
        ),
        (
            {"conditions_of": {"votes": ["akorn", "akorn_more", "akorn_votes", "akorn_large"]}},
            "conditions_of > votes: akorn_large learns large, for which there is no such metric",
        ),
        ({"tuning": {"seed": 42}}, "tuning > seed: must not be one of the seeds that are judged"),
        (
            {"training": {"average": {"decay": 0.9, "every": 8}}},
            "more_boards > large > training: average > every (8) must not be above updates (7)",
        ),
        (
            {"more_boards": {"large": {"width": 30}}},
            "experiments > akorn_large: heads (4) must divide width (30)",
        ),
        (
            {"more_boards": {"large": {"boards": {"out_of_distribution": {"most": 20}}}}},
            "more_boards > large > boards > out_of_distribution > most (20) must be below",
        ),
        (
            {"more_boards": {"large": {"metrics": {"exponents": {"boards": 26}}}}},
            "more_boards > large > metrics > exponents > boards (26) must not be above boards >"
            " test (25)",
        ),
        (
            {"more_boards": {"large": {"metrics": {"exponents": {"leading": 649}}}}},
            "more_boards > large > metrics > exponents > leading (649) must not be above 648",
        ),
        (
            {"more_boards": {"large": {"training": {"batch_size": 200_000}}}},
            "lower more_boards > large > training > batch_size or loops, or width",
        ),
        (
            {"more_boards": {"large": {"training": {"updates": 2 * 10**9}}}},
            "lower more_boards > large > training > updates, batch_size or loops",
        ),
        (
            {"more_boards": {"large": {"metrics": {"accuracy": {"loops": [8, 1_000_001]}}}}},
            "more_boards > large > metrics > accuracy > loops must not be above 1,000,000",
        ),
    ],
)
def test_what_boards_of_another_size_cannot_be_is_refused(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as error:
        configured(merge(with_more_boards(), changes))
    assert message in str(error.value)
