"""Proposition 5.1, its limit for large steps, and the bound of attention's own Jacobian (5.1)."""

from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from replication.base.random_streams import generator
from replication.study.evidence import Cases, evidence
from transformer_dynamics.recurrent_attention.settings.models import Model
from transformer_dynamics.recurrent_attention.theory.attention import Weights
from transformer_dynamics.recurrent_attention.theory.bounds import (
    NormAndBound,
    attention_bound,
    large_step_bound,
    large_step_limit,
    proposition_5_1,
    shortest_length,
)
from transformer_dynamics.recurrent_attention.theory.jacobian import (
    multiply_blocks,
    normalisation_jacobian,
)
from transformer_dynamics.recurrent_attention.theory.recurrence import (
    Parameters,
    drive,
    inverse_temperature,
    normalise_tokens,
)

SIZES = ((4, 6, 1), (9, 16, 1), (9, 16, 4), (16, 16, 2))
"""Sizes S, D and H of drawn cases."""
DRAWS = range(3)
ETA = (1.0, 10.0, 100.0, 1e4, 1e6)
COUPLINGS = (10.0, 30.0, 100.0, 300.0, 1000.0)
"""Couplings a = beta W^Q W^K^T of the example, in which D = H = 1."""


class Case(NamedTuple):
    """A state of a random model."""

    name: str
    """Name of the case: its sizes and the number of its draw."""
    model: Model
    """Model of the kind ItrSA, with its sizes."""
    parameters: Parameters
    """Parameters `eta` and `gamma`."""
    weights: Weights
    """Matrices of attention."""
    tokens: Tensor
    """Tokens X [S, D], an output of RMSNorm."""
    inputs: Tensor
    """Inputs C [S, D]."""


def random_case(tokens: int, width: int, heads: int, draw: int, scale: float = 1.0) -> Case:
    """Draw a case: weights N(0, scale^2/D), inputs N(0, 1), |gamma| in (0.5, 1.5), eta = 1."""
    random = generator(draw, f"{tokens} tokens of {width} channels in {heads} heads")

    def normal(*shape: int) -> Tensor:
        return torch.from_numpy(random.normal(size=shape))

    model = Model(kind="itrsa", width=width, heads=heads)
    weights = Weights(*(scale * normal(width, width) / width**0.5 for _ in Weights._fields))
    gamma = torch.from_numpy(random.uniform(0.5, 1.5, width)) * normal(width).sign()
    parameters = {"gamma": gamma, "eta": torch.ones((), dtype=torch.float64)}
    inputs = normal(tokens, width)
    start = normalise_tokens(model, parameters, normal(tokens, width))
    name = f"S = {tokens}, D = {width}, H = {heads}, draw {draw}"
    return Case(name, model, parameters, weights, start, inputs)


def coupled_tokens(coupling: float) -> tuple[Tensor, Weights, int, float]:
    """Return tokens 0, 1, -1 of one channel, weights 1 with W^Q = a, H = 1 and beta = 1."""
    one = torch.ones(1, 1, dtype=torch.float64)
    tokens = torch.tensor([[0.0], [1.0], [-1.0]], dtype=torch.float64)
    return tokens, Weights(coupling * one, one, one, one), 1, 1.0


def change_eta(case: Case, eta: float) -> Case:
    """Return the case with steps of another length."""
    step = torch.tensor(eta, dtype=torch.float64)
    return case._replace(parameters={**case.parameters, "eta": step})


@evidence
def jacobian_of_normalisation() -> Cases:
    """Return the largest error of Lemma A.3 over its largest entry."""
    for case in _random_cases():
        number, width = case.inputs.numel(), case.model.width
        step = partial(normalise_tokens, case.model, case.parameters)
        found = torch.func.jacrev(step)(case.inputs).reshape(number, number)
        blocks = normalisation_jacobian(case.inputs, width, case.parameters["gamma"])
        stated = multiply_blocks(blocks, torch.eye(number, dtype=found.dtype))
        yield case.name, (found - stated).abs().max() / stated.abs().max()


@evidence
def radius_bound() -> Cases:
    """Return |J|_2 over (max|gamma|/R)(1 + |eta| |J_MSA|_2), with R = min |x_i + eta DX_i|."""
    for case in _random_cases():
        for eta in (0.1, 1.0, 10.0):
            found = proposition_5_1(*change_eta(case, eta)[1:])
            yield f"{case.name}, eta = {eta:g}", _norm_over_bound(found)


@evidence
def large_step_ratio() -> Cases:
    """Return |J|_2 over max|gamma| (1 + eta |J_MSA|_2)/(eta e - max|gamma|), if positive."""
    for case in _random_cases():
        largest, shortest = (float(each) for each in _extreme_lengths(case))
        for eta in ETA:
            if eta * shortest > largest:
                found = large_step_bound(*change_eta(case, eta)[1:])
                yield f"{case.name}, eta = {eta:g}", _norm_over_bound(found)


@evidence
def limit_of_large_steps() -> Cases:
    """Return |J|_2 at eta = 10^6 over |blockdiag(diag(gamma) P_i/|DX_i|) J_MSA|_2."""
    for case in _random_cases():
        found = proposition_5_1(*change_eta(case, ETA[-1])[1:])
        yield case.name, found.norm / large_step_limit(*case[1:])


@evidence
def printed_attention_bound() -> Cases:
    """Return |J_MSA|_2 over its bound as printed, three tokens of one channel."""
    for coupling in COUPLINGS:
        yield f"a = {coupling:g}", _coupled_ratio(coupling, printed=True)


@evidence
def squared_attention_bound() -> Cases:
    """Return |J_MSA|_2 over its bound with the norm of W^Q W^K^T squared."""
    for coupling in COUPLINGS:
        yield f"a = {coupling:g}", _coupled_ratio(coupling, printed=False)
    for scale in (1.0, 3.0):
        for size in SIZES:
            for draw in DRAWS:
                case = random_case(*size, draw, scale)
                beta = inverse_temperature(case.model)
                weights, heads = case.weights, case.model.heads
                found = attention_bound(case.tokens, weights, heads, beta, printed=False)
                yield f"{case.name}, weights times {scale:g}", _norm_over_bound(found)


@evidence
def excess_over_the_printed_bound() -> Cases:
    """Return |J_MSA|_2 over its printed bound, at a coupling over that at a tenth of it."""
    for coupling in (1e2, 1e3, 1e4):
        before = _coupled_ratio(coupling / 10, printed=True)
        yield f"a = {coupling:g}", _coupled_ratio(coupling, printed=True) / before


def _coupled_ratio(coupling: float, *, printed: bool) -> float:
    return _norm_over_bound(attention_bound(*coupled_tokens(coupling), printed=printed))


def _random_cases() -> list[Case]:
    return [random_case(*size, draw) for size in SIZES for draw in DRAWS]


def _extreme_lengths(case: Case) -> tuple[Tensor, Tensor]:
    """Return the max|gamma| and e = min |DX_i|."""
    change = drive(case.model, case.weights, case.tokens, case.inputs)
    return case.parameters["gamma"].abs().amax(), shortest_length(change)


def _norm_over_bound(found: NormAndBound) -> float:
    return float(found.norm / found.bound)
