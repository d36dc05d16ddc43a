"""Methods tell every setting, and of what stands in code only the values that code has."""

import pytest
import torch

from replication.configuration import configure
from replication.methods import untold
from replication.registry import read_registry
from replication.study import find_studies
from transformer_dynamics.scan_and_snap_text import attention, distinctness
from transformer_dynamics.scan_and_snap_text.claims import dynamics
from transformer_dynamics.scan_and_snap_text.model import encode, initial
from transformer_dynamics.scan_and_snap_text.settings import TextModel

STUDY = find_studies()["scan_and_snap_text"]
REGISTRY = read_registry(STUDY.folder / "registry.yaml")
SETTINGS = configure({}, find_studies()).scan_and_snap_text


def test_every_setting_is_told():
    assert untold(REGISTRY, SETTINGS.model_dump()) == []
    assert {name for method in REGISTRY.methods for name in method.figures} <= {*REGISTRY.figures}


@pytest.mark.parametrize(
    "words",
    [
        f"the {attention.FUNCTION_WORDS} most frequent words, rare ones occur fewer than"
        f" {attention.RARE} times",
        f"fewer than {attention.FEWEST_KEYS} known keys",
        f"The {distinctness.FREQUENT_NEXT} most frequent next words",
        f"Words that occur fewer than {distinctness.FEWEST} times",
        f"entropy after {dynamics.EARLY} updates",
    ],
)
def test_a_number_that_stands_in_code_is_that_of_the_code(words):
    assert sum(words in method.text for method in REGISTRY.methods) == 1


def test_the_start_is_as_told():
    start = initial(TextModel(layers=2), 500, torch.Generator().manual_seed(1))
    assert not start.output.bias.any()
    first, second = start.layers
    assert not first.projection_bias.any()
    assert not first.output_bias.any()
    assert all(map(torch.equal, first, second))


@pytest.mark.parametrize(("positions", "times"), [(True, 5), (False, 4)])
def test_dropout_falls_where_it_is_told(positions, times):
    model = TextModel(layers=1, width=8, hidden=4, positions=positions)
    start = initial(model, 10, torch.Generator().manual_seed(1))
    dropped = []

    def dropout(tensor: torch.Tensor) -> torch.Tensor:
        dropped.append(tensor)
        return tensor

    encode(model, start.layers, start.embedding[None, :3], dropout)
    assert len(dropped) == times
