"""Methods tell of every setting, and the numbers in them are those of the code."""

import pytest
import yaml
from claim_tables import REGISTRY, STUDY

from replication.documents.methods import methods_table, unnamed_settings
from replication.plan.configuration import configure
from transformer_dynamics.encoders import calibration, texts
from transformer_dynamics.lp_ft.claims import (
    adapters,
    contrasts,
    head_norm,
    scale,
    tangent_kernel,
    temperature,
)
from transformer_dynamics.lp_ft.metrics.runs import tsne
from transformer_dynamics.lp_ft.metrics.start import drawn_indices
from transformer_dynamics.lp_ft.settings.labels import set_label
from transformer_dynamics.lp_ft.training import classifier


def listed(numbers):
    """Numbers as a text lists them."""
    *first, last = [f"{number:g}" for number in numbers]
    return f"{', '.join(first)} and {last}"


@pytest.mark.parametrize("overlay", [None, "minimum", "full", "paper_scale"])
def test_every_setting_is_told(overlay):
    changes = (
        yaml.safe_load((STUDY.folder / f"{overlay}.yaml").read_text())["lp_ft"] if overlay else {}
    )
    found = configure({"lp_ft": changes}, {"lp_ft": STUDY}).section("lp_ft")
    settings = found.model_dump(mode="json")
    assert unnamed_settings(REGISTRY, settings) == []
    assert len(methods_table(REGISTRY, settings)) == len(REGISTRY.methods) + 7


def phrases():
    """Parts of texts with the numbers of the code in them."""
    classes, widths, samples = zip(*head_norm.SIZES, strict=True)
    yield f"of CR {texts.HELD_OUT['cr']:,} texts"
    assert classifier.ADAPTED_LAYERS == ("query", "value", "attn.q", "attn.v")
    yield "every matrix of queries and of values"
    assert scale.COMMON_NORMS == ("shortest", "middle", "longest")
    yield "at the least, the middle and the largest ln norm that both curves have"
    yield f"|ln T| at most {calibration.LARGEST_LOG:g}."
    yield f"standard deviation of {tsne.SPREAD:g}"
    first, step = drawn_indices.FIRST_INDICES, drawn_indices.INDEX_STEP
    yield f"the first {first} indices and every {step}th of the others"
    yield (
        f"{tangent_kernel.SAMPLES} training samples, {tangent_kernel.OTHERS} other ones and"
        f" {tangent_kernel.CLASSES} classes"
    )
    ranks = ", ".join(map(str, adapters.RANKS))
    assert adapters.GAPS == (0.3, 2 / 3)
    yield f"{adapters.DRAWS} draws of A for each r of {ranks} and e of 0.3 and 2/3"
    yield f"inputs of {adapters.WIDTH} coordinates and length c = {adapters.LENGTH:g}"
    yield f"with sigma of {adapters.DEVIATION:g} and normal or uniform entries"
    yield f"Student's t with {adapters.HEAVY:g} degrees of freedom"
    yield (f"{listed(classes)} classes of {listed(widths)} features and {listed(samples)} samples")
    yield f"Means scatter {listed(head_norm.SEPARATIONS)} times"
    yield f"{head_norm.STEPS} steps of {head_norm.ETA:g} from"
    yield f"means over {len(head_norm.DRAWS)} draws"
    yield f"compared on {len(head_norm.FRESH_DRAWS)} other draws"
    sizes = [number for number, _ in temperature.SIZES]
    yield f"of {listed(sizes)} classes, times {listed(temperature.FACTORS)}."
    small = sorted(map(set_label, contrasts.SMALL_TEST_SETS))
    yield f"500 test samples; {', '.join((small[0], small[2]))} and {small[1]} are shown beside"


def test_numbers_in_texts_are_those_of_the_code():
    told = [method.text for method in REGISTRY.methods]
    wrong = [phrase for phrase in phrases() if sum(phrase in text for text in told) != 1]
    assert wrong == []


def test_networks_of_the_theory_are_as_told():
    (told,) = (each.text for each in REGISTRY.methods if "three random networks" in each.text)
    linear, perceptron, transformer = (
        tangent_kernel.draw_case(name).network.body for name in tangent_kernel.NETWORKS
    )
    width, inputs = linear["B"].shape
    assert f"a linear map of {inputs} inputs to {width} features" in told
    assert perceptron["W_1"].shape == (width, inputs)
    assert perceptron["W_2"].shape == (width, width)
    assert f"two layers of {width}" in told
    tokens, own = transformer["tokens"].shape
    length, _ = transformer["positions"].shape
    assert f"of width {own} with two heads, on {length} of {tokens} tokens" in told
