"""Methods tell every setting, and of what stands in code only what code does."""

import pytest
import torch

from replication.documents.methods import unnamed_settings
from replication.plan.configuration import configure
from replication.study.registry import read_registry
from replication.study.studies import find_studies
from transformer_dynamics.scan_and_snap_text.settings.training import TextModel
from transformer_dynamics.scan_and_snap_text.training.model import initial_parameters, run_encoder

STUDY = find_studies()["scan_and_snap_text"]
REGISTRY = read_registry(STUDY.folder / "registry.yaml")
SETTINGS = configure({}, find_studies()).scan_and_snap_text


def test_every_setting_is_told():
    assert unnamed_settings(REGISTRY, SETTINGS.model_dump()) == []
    assert {name for method in REGISTRY.methods for name in method.figures} <= {*REGISTRY.figures}


def test_a_claim_names_the_number_of_the_setting_that_it_uses():
    (claim,) = (claim for claim in REGISTRY.claims if claim.id == "T25a")
    assert f"after {SETTINGS.metrics.early} updates" in claim.quantity


def test_the_start_is_as_told():
    start = initial_parameters(TextModel(layers=2), 500, torch.Generator().manual_seed(1))
    assert not start.output.bias.any()
    first, second = start.layers
    assert not first.projection_bias.any()
    assert not first.output_bias.any()
    assert all(map(torch.equal, first, second))


@pytest.mark.parametrize(("positions", "times"), [(True, 5), (False, 4)])
def test_dropout_falls_where_it_is_told(positions, times):
    model = TextModel(layers=1, width=8, hidden=4, positions=positions)
    start = initial_parameters(model, 10, torch.Generator().manual_seed(1))
    dropped = []

    def dropout(tensor: torch.Tensor) -> torch.Tensor:
        dropped.append(tensor)
        return tensor

    run_encoder(model, start.layers, start.embedding[None, :3], dropout)
    assert len(dropped) == times
