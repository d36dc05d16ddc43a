"""Methods tell of every setting, in whatever overlay, and of what stands in code alone."""

from math import log10
from random import Random

import pytest

from replication.documents.methods import methods_table, unnamed_settings
from replication.plan.configuration import merge, read_yaml
from replication.study.registry import read_registry
from replication.study.studies import find_studies
from transformer_dynamics.gradient_heterogeneity import study
from transformer_dynamics.gradient_heterogeneity.claims import (
    heads,
    loss_curves,
    noisy_steps,
    one_step,
    quadratics,
)
from transformer_dynamics.gradient_heterogeneity.data import efficientnet
from transformer_dynamics.gradient_heterogeneity.data.images import EDGE
from transformer_dynamics.gradient_heterogeneity.data.vit import PATCH
from transformer_dynamics.gradient_heterogeneity.figures import fig5
from transformer_dynamics.gradient_heterogeneity.settings.configuration import Settings
from transformer_dynamics.gradient_heterogeneity.theory import placement
from transformer_dynamics.gradient_heterogeneity.training import optimisers

STUDY = find_studies()["gradient_heterogeneity"]
REGISTRY = read_registry(STUDY.folder / "registry.yaml")
SECTION = read_yaml(STUDY.folder / "config.yaml")
OVERLAYS = ["full", "paper_scale", "minimum"]


def power(value):
    """A power of ten as texts have it."""
    return f"1e{log10(value):.0f}"


IN_CODE = [
    f"A variance has {power(efficientnet.EPSILON)} added",
    f"{round(efficientnet.MEAN[0] * 255)}/255 and {round(efficientnet.DEVIATION[0] * 255)}/255",
    f"images of {EDGE} are enlarged",
    f"ViT-S/{PATCH}",
    f"a variance has {power(placement.EPSILON)} added",
    f"{power(optimisers.GUARD)} is added to the norm",
    f"averages over {fig5.WINDOW} batches before and after",
    f"counted to {loss_curves.HALF:g} of the loss at chance",
    f"averaged over {loss_curves.WINDOW} batches before an update",
    f"classes from {heads.MANY} on",
    f"tested at {one_step.CAUTIOUS:g} eta*",
    f"{quadratics.DRAWS} are drawn for steps",
    f"{', '.join(f'{f:g}' for f in quadratics.FACTORS[:-1])} and {quadratics.FACTORS[-1]:g} times",
    f"{quadratics.DESCENTS} for whole descents to epsilon = {quadratics.TARGET:g}",
    f"{noisy_steps.DRAWS} quadratics for bounds",
    f"{noisy_steps.SAMPLED} with {noisy_steps.SAMPLES} draws",
    f"sigma of {quadratics.SPREADS[0]}, {quadratics.SPREADS[1]} and {quadratics.SPREADS[2]}",
    f"{quadratics.BLOCKS} blocks of {quadratics.ENTRIES} entries",
]
"""What methods say of values that are no settings, in the words that they have for them."""


def settings(changes):
    return Settings.model_validate(merge(SECTION, changes)).model_dump(mode="json")


def overlay(name):
    return read_yaml(STUDY.folder / f"{name}.yaml")[STUDY.name]


def test_every_setting_is_told():
    assert unnamed_settings(REGISTRY, settings({})) == []


@pytest.mark.parametrize("name", OVERLAYS)
def test_settings_of_overlays_are_told_too(name):
    found = settings(overlay(name))
    assert unnamed_settings(REGISTRY, found) == []
    assert len(methods_table(REGISTRY, found)) > len(REGISTRY.methods)


@pytest.mark.parametrize("number", range(5))
def test_what_one_seed_leaves_has_all_keys(number):
    left = study.one_seed(Settings.model_validate(SECTION), Random(number))
    assert methods_table(REGISTRY, settings(left))


def test_the_smallest_scale_has_all_keys(tmp_path):
    small = study.smallest(Settings.model_validate(SECTION), tmp_path)
    assert methods_table(REGISTRY, settings(small))


@pytest.mark.parametrize("said", IN_CODE)
def test_texts_say_what_stands_in_code(said):
    assert sum(said in method.text for method in REGISTRY.methods) == 1


def test_rates_by_curvature_have_one_limit_and_one_way_to_be_measured():
    found = Settings.model_validate(SECTION)
    measured = [found.heterogeneity.measuring]
    pairs = (found.pairs, found.scaled_pairs)
    measured += [case.measuring for each in pairs for case in each.cases.values()]
    assert {each.limit for each in measured} == {found.blocks.limit}
    assert {each.least for each in measured} == {found.blocks.least}


def test_the_paper_is_told_with_its_source():
    # The body was not read, so that nobody knows what it does not state.
    for method in REGISTRY.methods:
        known = ("abstract", "released code", "Section 1")
        assert any(source in method.paper for source in known), method.text
