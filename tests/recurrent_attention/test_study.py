"""Settings of the study, and what is refused before anything is computed."""

from typing import Any

import pytest

from replication.configuration import Configuration, configure
from replication.documents import read_yaml
from replication.errors import InputError
from replication.jobs import Jobs
from replication.study import find_studies
from transformer_dynamics.recurrent_attention.tuning_settings import TuningJob

STUDY = find_studies()["recurrent_attention"]


def configured(changes: dict[str, Any], **computation: Any) -> Configuration:
    """The default configuration with some changes."""
    overlay = {STUDY.name: changes, "computation": computation}
    return configure(overlay, {STUDY.name: STUDY})


def overlay(name: str) -> dict[str, Any]:
    """An overlay that stands beside the study's configuration."""
    return read_yaml(STUDY.folder / name)


def test_large_boards_are_refused_without_a_gpu_and_the_cost_is_said() -> None:
    changes = overlay("paper_scale.yaml")
    with pytest.raises(InputError, match=r"9x9 would take one core about [\d,.]+ days to train"):
        Jobs.of(configure(changes, {STUDY.name: STUDY}), {STUDY.name: STUDY})
    with_gpu = changes | {"computation": {"device": "cuda"}}
    jobs = Jobs.of(configure(with_gpu, {STUDY.name: STUDY}), {STUDY.name: STUDY})
    run = jobs.tasks["results/recurrent_attention/runs/itrsa/1-5.npz"].settings
    assert (run["device"], run["model"]["heads"], run["training"]["loops"]) == ("cuda", 8, 16)


def test_six_by_six_has_all_conditions() -> None:
    jobs = Jobs.of(configure(overlay("six_by_six.yaml"), {STUDY.name: STUDY}), {STUDY.name: STUDY})
    for name in configured({}).section(STUDY.name).experiments:  # type: ignore[attr-defined]
        assert f"results/recurrent_attention/runs/{name}/1-5.npz" in jobs.tasks


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
        (
            {"tuning": {"candidates": {"itrsa": {"strengths": [1.0]}}}},
            "candidates > itrsa: the condition has no penalty",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        configured(changes)
    assert message in str(error.value)


def test_what_is_tried_differs_from_its_condition_in_one_number() -> None:
    section = configured({}).section(STUDY.name)
    tried = STUDY.experiments(section, configured({}).computation)["tuning"]
    job = tried.metrics["solved"].settings
    assert isinstance(job, TuningJob)
    assert {candidate.condition for candidate in job.candidates} == {*section.tuning.candidates}  # type: ignore[attr-defined]
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
    assert len({*job.runs.values()}) == len(job.runs) == len(tried.runs)
