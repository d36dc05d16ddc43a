"""Methods tell of every setting, in whatever overlay, and of what stands in code alone."""

from math import log10
from random import Random

import pytest

from replication.configuration import merged, read_yaml
from replication.methods import table_of, untold
from replication.registry import read_registry
from replication.study import find_studies
from transformer_dynamics.encoders import head
from transformer_dynamics.gradient_heterogeneity import (
    coordinates,
    curvature,
    efficientnet,
    one_step,
    optimizers,
    schedules,
    study,
    words,
)
from transformer_dynamics.gradient_heterogeneity.claims import (
    along,
    heads,
    noisy_steps,
    quadratics,
    steps,
)
from transformer_dynamics.gradient_heterogeneity.configuration import Settings
from transformer_dynamics.gradient_heterogeneity.figures import fig5
from transformer_dynamics.gradient_heterogeneity.image_files import EDGE
from transformer_dynamics.gradient_heterogeneity.measures import endpoint, spread
from transformer_dynamics.gradient_heterogeneity.net_settings import Shape
from transformer_dynamics.gradient_heterogeneity.optimizer_settings import Optimizer
from transformer_dynamics.gradient_heterogeneity.theory import placement
from transformer_dynamics.gradient_heterogeneity.vit import PATCH

STUDY = find_studies()["gradient_heterogeneity"]
REGISTRY = read_registry(STUDY.folder / "registry.yaml")
SECTION = read_yaml(STUDY.folder / "config.yaml", is_shared=True)
OVERLAYS = ["full", "paper_scale", "minimum"]
SIGNUM, RMSPROP, ADAM = (Optimizer(name) for name in ("signum", "rmsprop", "adam"))
SHAPE = Shape(placement="post", depth=1)


def power(value):
    """A power of ten as texts have it."""
    return f"1e{log10(value):.0f}"


IN_CODE = [
    f"V drawn from N(0, {head.STANDARD_DEVIATION:g}^2)",
    f"EfficientNet's features it has {efficientnet.DROPOUT:g}",
    f"take a share of {efficientnet.FORGOTTEN:g}; ",
    f"A variance has {power(efficientnet.EPSILON)} added",
    f"{round(efficientnet.MEAN[0] * 255)}/255 and {round(efficientnet.DEVIATION[0] * 255)}/255",
    f"images of {EDGE} are enlarged",
    f"ViT-S/{PATCH}",
    f"a variance has {power(placement.EPSILON)} added",
    f"{SHAPE.width} and {SHAPE.heads}.",
    f"{words.MASKED:g} of its words, rounded, are masked",
    f"SGD with momentum has v = {SIGNUM.momentum:g} v + g",
    f"Signum v = {SIGNUM.momentum:g} v + {1 - SIGNUM.momentum:.1g} g",
    f"RMSProp averages g^2 by {RMSPROP.decay:g} without correction",
    f"Adam by {ADAM.momentum:g} and {ADAM.decay:g} with correction",
    f"{power(optimizers.GUARD)} is added to the norm",
    f"the first {schedules.WARM_UP:g} of the steps",
    f"the last of {endpoint.PARTS} equal parts",
    f"averages over {fig5.WINDOW} batches before and after",
    f"counted to {along.HALF:g} of the loss at chance",
    f"averaged over {along.WINDOW} batches before an update",
    f"the first {coordinates.BATCHES} batches of training",
    f"eta median(h)/max(h_b, median(h)/{coordinates.FLOOR})",
    f"relative error of {coordinates.TOLERANCE:g} or {coordinates.PRODUCTS} products",
    f"classes from {heads.MANY} on",
    f"after {curvature.LEAST} products or more",
    f"from 1/{1 / one_step.FACTORS[0]:g} to {one_step.FACTORS[-1]:g}",
    f"tested at {steps.CAUTIOUS:g} eta*",
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
    return Settings.model_validate(merged(SECTION, changes)).model_dump(mode="json")


def overlay(name):
    return read_yaml(STUDY.folder / f"{name}.yaml", is_shared=True)[STUDY.name]


def test_every_setting_is_told():
    assert untold(REGISTRY, settings({})) == []


@pytest.mark.parametrize("name", OVERLAYS)
def test_settings_of_overlays_are_told_too(name):
    found = settings(overlay(name))
    assert untold(REGISTRY, found) == []
    assert len(table_of(REGISTRY, found)) > len(REGISTRY.methods)


@pytest.mark.parametrize("number", range(5))
def test_what_one_seed_leaves_has_all_keys(number):
    left = study.one_seed(Settings.model_validate(SECTION), Random(number))
    assert table_of(REGISTRY, settings(left))


def test_the_smallest_scale_has_all_keys(tmp_path):
    small = study.smallest(Settings.model_validate(SECTION), tmp_path)
    assert table_of(REGISTRY, settings(small))


@pytest.mark.parametrize("said", IN_CODE)
def test_texts_say_what_stands_in_code(said):
    assert sum(said in method.text for method in REGISTRY.methods) == 1


def test_rates_by_curvature_have_one_floor():
    assert coordinates.FLOOR == one_step.FLOOR == spread.FLOOR


def test_the_paper_is_told_with_its_source():
    # The body was not read, so that nobody knows what it does not state.
    for method in REGISTRY.methods:
        known = ("abstract", "released code", "Section 1")
        assert any(source in method.paper for source in known), method.text
