"""Methods tell of every setting, and what they say of the code is what it does."""

import numpy as np
import pytest
import torch
from tables import SETTINGS, STUDY
from torch.optim import Adam

from replication.base.strict import read_yaml
from replication.documents.methods import unnamed_settings
from replication.plan.configuration import Computation
from replication.study.registry import Method, read_registry
from transformer_dynamics.recurrent_attention.claims import bounds, energies, rotation
from transformer_dynamics.recurrent_attention.metrics import trained_models as trained
from transformer_dynamics.recurrent_attention.metrics import tuning
from transformer_dynamics.recurrent_attention.settings.boards import FEWEST_GIVENS, POOL_SIZES
from transformer_dynamics.recurrent_attention.theory.energy import STEP
from transformer_dynamics.recurrent_attention.theory.recurrence import normalise_tokens
from transformer_dynamics.recurrent_attention.training.initialization import initial_parameters
from transformer_dynamics.recurrent_attention.training.network import embed_digits
from transformer_dynamics.recurrent_attention.training.state import initial_state
from transformer_dynamics.recurrent_attention.training.token_norms import BOUNDS, READINGS

REGISTRY = read_registry(STUDY.folder / "registry.yaml")
MODELS = {name: SETTINGS.model(each) for name, each in SETTINGS.experiments.items()}
DIGITS = SETTINGS.boards.digits
PAPERS = read_yaml(STUDY.folder / "paper_scale.yaml")[STUDY.name]["boards"]["held_out"]


def said(words: str) -> Method:
    """The one choice that says so."""
    (found,) = [each for each in REGISTRY.methods if words in each.text]
    return found


def listed(numbers) -> str:
    return ", ".join(f"{number:g}" for number in numbers)


def test_every_setting_is_told():
    assert unnamed_settings(REGISTRY, SETTINGS.model_dump(mode="json")) == []


@pytest.mark.parametrize(
    "words",
    [
        f"The {POOL_SIZES['4x4']} grids of 4x4",
        f"a list of {POOL_SIZES['9x9']:,} puzzles with {FEWEST_GIVENS['9x9']} givens, of which that"
        f" overlay holds {PAPERS['test']:,} out for the test and {PAPERS['valid']:,} for"
        " validation",
        f"a share of {SETTINGS.metrics.pseudo_energy.share * 100:g} % of the directions",
        f"ln({np.finfo(np.float64).max:.2g})/T".replace("e+", "e"),
        f"in steps of {STEP:g}",
        f"with {len(energies.DRAWS)} draws each",
        f"with {len(energies.GAUSSIAN)} draws of tokens",
        f"with {len(bounds.DRAWS)} draws each",
        f"on {rotation.DRAWS} draws in each of",
    ],
)
def test_numbers_of_the_code_are_those_that_are_told(words):
    assert said(words)


def test_cases_of_the_theory_are_those_that_are_told():
    *first, last = (f"{scale:g} and {share:g}" for scale, share in energies.FAMILIES)
    heads = energies.HEADS
    assert said(f"s and e are {', '.join(first)}, {last}, with") == said(
        f"{listed(heads[:-1])} or {heads[-1]}, the factors"
    )
    *first, last = map(listed, bounds.SIZES)
    assert said(f"S, D and H are {'; '.join(first)}; and {last}, with")
    *first, last = rotation.DIMENSIONS
    assert said(f"in each of {listed(first)} and {last} dimensions")


def test_readings_of_figure_1_are_as_many_as_are_told():
    assert len(READINGS) == 4
    assert said("is read in three ways")
    # In units of 1/sqrt(D).
    assert {"linear": 1, "xavier": pytest.approx(3**0.5)} == BOUNDS
    assert said("up to 1/sqrt(D), PyTorch's default") == said("up to sqrt(3/D)")
    assert SETTINGS.token_norms.drawn.heads == [1, 8]
    assert said("with one head and with eight")


def test_weights_begin_as_is_told():
    assert said("normal with variance 1/D at first")
    assert said("up to 1/sqrt(number of their inputs) (linear)")
    assert said("Biases of the readout are 0")
    assert said("all of them begin at the values")
    assert said("Each omega begins at the value.")
    common = SETTINGS.models
    assert common.matrices == "linear"
    for model in MODELS.values():
        made = initial_parameters(model, DIGITS, seed=1)
        for name in ("eta", "gamma", "omega"):
            value = np.float32(getattr(common, name))
            assert (made.get(name, value) == value).all()
        for name, values in made.items():
            if "bias" in name or name.endswith("_angles"):
                assert not values.any()
            elif name.endswith("_start"):
                assert values @ values.T == pytest.approx(np.eye(len(values)), abs=1e-5)
            elif values.ndim == 2 and name not in ("embedding", "positions"):
                bound = len(values) ** -0.5
                assert 0.95 * bound < np.abs(values).max() <= bound * (1 + 1e-6)
                assert values.min() < 0


def test_blanks_have_an_embedding_and_begin_with_noise_that_has_the_norm_of_the_model():
    assert said("A blank has an embedding of its own")
    assert said("normal noise on blanks")
    model = MODELS["itrsa"]
    drawn = initial_parameters(model, DIGITS, 1)
    lengths = np.linalg.norm(drawn["embedding"], axis=1)
    assert lengths.shape == (DIGITS + 1,)
    assert lengths == pytest.approx(1, abs=0.4)
    parameters = {name: torch.from_numpy(values) for name, values in drawn.items()}
    givens = torch.zeros(1, DIGITS**2, dtype=torch.int64)
    givens[0, 0] = 1
    shown = trained.BoardTensors(givens, torch.ones_like(givens))
    noise = trained.initial_noise(trained.SPLIT, 0, shown, model)
    for each in (model, MODELS["itrsa_unnormalised"]):
        inputs, start = trained.initial_conditions(each, parameters, shown)
        assert torch.equal(inputs, embed_digits(parameters, givens))
        at_blanks = normalise_tokens(each, parameters, noise)[0, 1:]
        assert torch.allclose(start[0, 1:], at_blanks)
        assert torch.allclose(start[0, 0], normalise_tokens(each, parameters, inputs)[0, 0])


def test_adam_is_as_is_told():
    assert said("The learning rate is the same in all updates")
    job = SETTINGS.train_job(SETTINGS.experiments["itrsa"], Computation())
    optimiser = initial_state(job, [1]).optimiser
    assert type(optimiser) is Adam
    assert "The numbers of Adam are PyTorch's defaults" in said("Adam's numbers").why
    assert (
        optimiser.defaults == Adam(optimiser.param_groups[0]["params"], job.learning_rate).defaults
    )


def test_what_is_varied_has_the_rate_of_what_it_varies():
    assert said("N, H and R_Spec are varied at the rate of the model that is varied")
    figures, conditions = SETTINGS.figures, SETTINGS.experiments
    by_size = [name for names in figures["fig4"].panels.values() for name in names]
    spectral = [
        name
        for name, each in conditions.items()
        if each.penalty and each.penalty.kind == "spectral"
    ]
    varied = [*by_size, *figures["figS1"].levels.values(), *spectral]
    for each in map(conditions.get, varied):
        assert each.learning_rate == conditions[each.kind].learning_rate


def test_penalties_and_grids_are_as_is_told():
    text = said("Learning rates and lambdas are tried one at a time")
    assert "1e-6, is not on the grid, those of the others are" in text.why
    paper = {"energy_multi": 1e-4, "itrsa_spectral": 1e-4, "akorn_spectral": 1e-5}
    tried = SETTINGS.tuning.candidates
    assert 1e-6 not in tried["energy_single"].strengths
    assert all(strength in tried[name].strengths for name, strength in paper.items())
    assert "twice the loops" in text.text
    assert SETTINGS.tuning.loops == 2 * SETTINGS.training.loops
    assert (tuning.SPLIT, trained.SPLIT) == ("valid_out", "test_out")
    assert said("E-multi with orthogonal W^V and W^O at every lambda")
    levels = SETTINGS.figures["figS2"].levels
    assert {MODELS[name].projections for key, name in levels.items() if key != "Hard"} == {
        "orthogonal"
    }
    assert {MODELS[name].heads for name in levels.values()} == {MODELS["itrsa"].heads}


def test_seeds_behind_choices_and_draws_are_as_many_as_are_told():
    """Rates of ItrSA are chosen on four seeds, others and lambdas on one; four share a draw."""
    tried = SETTINGS.tuning.candidates
    assert {tried[f"{name}_drawn_1"].seeds.count for name in ("itrsa", "unnormalised")} == {4}
    others = ("akorn", "symmetric", "itrsa_spectral", "akorn_spectral")
    assert {tried[name].seeds for name in others} == {None}
    told = [s.departs for abstract in REGISTRY.abstracts for s in abstract.sentences if s.departs]
    rates = {reason["learning_rate"] for reason in told}
    assert all("on four seeds, those of AKOrN and symmetric attention on one" in s for s in rates)
    scales = {claim.id: claim.scale for claim in REGISTRY.claims}
    for words, numbers in {
        "chosen on one seed": ("J17c", "J17d"),
        "not chosen anew on any seed": ("J17a", "J17b", "J36", "J36a"),
    }.items():
        assert all(words in scales[number] for number in numbers)
    drawn = [each for name, each in SETTINGS.more_boards.items() if name.startswith("drawn")]
    assert {each.seeds.count for each in drawn} == {4}
    assert "four seeds share one of two or four draws" in REGISTRY.seeds_share


def test_givens_are_as_is_told():
    boards = SETTINGS.boards
    why = said("Training boards have as many givens").why
    assert why.startswith("Out of distribution the range begins with the fewest givens")
    assert boards.out_of_distribution.least == FEWEST_GIVENS[boards.size]
    assert boards.out_of_distribution.most < boards.in_distribution.least
