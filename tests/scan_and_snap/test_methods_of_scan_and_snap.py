"""Methods tell every setting, and of what stands in code only the values that code has."""

import inspect
import random

import numpy as np
import pytest
import torch
from settings_of_the_paper import PAPER, REGISTRY

from replication.documents.methods import unnamed_settings
from transformer_dynamics.scan_and_snap.claims import attention_flow, sampling
from transformer_dynamics.scan_and_snap.claims.coupling import ALLOWED
from transformer_dynamics.scan_and_snap.claims.examples import OVERLAPPING
from transformer_dynamics.scan_and_snap.claims.growth import C0
from transformer_dynamics.scan_and_snap.data import sequences
from transformer_dynamics.scan_and_snap.theory.assumptions import assumption_2
from transformer_dynamics.scan_and_snap.theory.integration import integrate
from transformer_dynamics.scan_and_snap.theory.population import population_flow

SINGLE, SEVERAL = (attention_flow.WITHIN[name].model_dump() for name in attention_flow.WITHIN)
TIMES = attention_flow.SINCE_START[1:]


def listed(values, last=", "):
    *first, end = (f"{value:g}" for value in values)
    return last.join([", ".join(first), end]) if first else end


def test_every_setting_is_told():
    assert unnamed_settings(REGISTRY, PAPER.model_dump()) == []


@pytest.mark.parametrize(
    "words",
    [
        f"with M = {attention_flow.VOCABULARY_SIZE} and distinct tokens of weights"
        f" {listed(SINGLE['distinct_weights'])}.",
        f"common token of weight {listed(SINGLE['common_weights'])},",
        f"common tokens of weights {listed(SEVERAL['common_weights'])}.",
        f"eta_Y = {attention_flow.ETA_Y:g} and eta_Y/eta_Z ="
        f" {listed(attention_flow.FAST, ' and ')}.",
        f"{len(TIMES)} times from {TIMES[0]:g} to {TIMES[-1]:g} t_0",
        f"R1 to R3 have ratios {listed(attention_flow.SLOW, ' and ')}.",
        f"K = {listed([size for size, _ in OVERLAPPING], ' and ')} classes",
        f"with K = {listed([size for size, *_ in ALLOWED], ' and ')}.",
        f"M = {sampling.SIZE} and eta_Y = {sampling.ETA_Y:g}",
        f"judged with C_0 = {C0[1]:g}.",
    ],
)
def test_a_number_that_stands_in_code_is_that_of_the_code(words):
    assert sum(words in f"{method.text} {method.why}" for method in REGISTRY.methods) == 1


def test_claims_name_the_numbers_of_the_settings_that_they_use():
    claims, measures = {claim.id: claim for claim in REGISTRY.claims}, PAPER.metrics
    assert claims["T10b"].quantity.endswith(f"over eps up to {measures.small_error.largest:g}")
    for claim in ("T20a", "T20f"):
        assert f"t_0 is below {measures.least_t_0:g} updates" in claims[claim].note
    assert (measures.parts, "in six equal parts" in claims["T15f"].quantity) == (6, True)
    assert (measures.learnt, "below a tenth" in claims["T21c"].quantity) == (10, True)


def test_what_code_has_without_a_name_is_as_told():
    assert '"DOP853"' in inspect.getsource(integrate)
    assert inspect.signature(population_flow).parameters["tolerance"].default == 1e-9
    assert SINGLE["distinct_weights"] == SEVERAL["distinct_weights"]
    numbers = [mixture.num_classes for mixture in attention_flow.WITHIN.values()]
    assert numbers == [3, 2]
    assert assumption_2(np.zeros((2, 2)), 600).smallest_limit == pytest.approx(0.1)


def test_the_stream_of_the_authors_is_that_of_two_generators():
    """Python's is set to the seed, PyTorch's to the seed plus two and draws both layers first."""
    mixture, experiment = PAPER.mixtures["syn_small"], PAPER.experiments["syn_small_sgd"]
    one_batch = experiment.sampling.model_copy(update={"steps": 1, "batch_size": 2})
    drawn = sequences.draw_sequences(mixture, one_batch, seed=7)
    classes = random.Random(7)
    assert drawn.classes[0].tolist() == [classes.choice(range(2)) for _ in range(2)]
    weights = torch.cat([torch.ones(10), torch.linspace(0.1, 1, 10)])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7 + 2)
        for _ in range(2):
            torch.nn.Linear(mixture.vocabulary_size, mixture.vocabulary_size, bias=False)
        for counts in drawn.counts[0]:
            tokens = torch.multinomial(weights / weights.sum(), 127, replacement=True)
            assert counts.tolist() == torch.bincount(tokens, minlength=20).tolist()
