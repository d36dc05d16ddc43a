"""Proposition 5.1, its limit for large steps, and the bound of attention's own Jacobian (5.1)."""

from typing import NamedTuple

import torch
from torch import Tensor

from replication.base.random_streams import generator
from replication.study.evidence import Cases, evidence
from transformer_dynamics.recurrent_attention.attention import Weights
from transformer_dynamics.recurrent_attention.model_settings import Model
from transformer_dynamics.recurrent_attention.models import Parameters, drive, normalise
from transformer_dynamics.recurrent_attention.theory.bounds import (
    Bounded,
    attention_bound,
    large_step_bound,
    large_step_limit,
    proposition_5_1,
    shortest,
)
from transformer_dynamics.recurrent_attention.theory.jacobian import inverse_temperature

SIZES = ((4, 6, 1), (9, 16, 1), (9, 16, 4), (16, 16, 2))
"""S, D, H."""
DRAWS = range(3)
ETA = (1.0, 10.0, 100.0, 1e4, 1e6)
COUPLINGS = (10.0, 30.0, 100.0, 300.0, 1000.0)
"""a = beta W^Q W^K^T of the example, in which D = H = 1."""


class Case(NamedTuple):
    """A state of a random model."""

    name: str
    """Its size and draw."""
    model: Model
    """ItrSA."""
    parameters: Parameters
    """Its `eta` and `gamma`."""
    weights: Weights
    """Of attention."""
    tokens: Tensor
    """X [S, D], an output of RMSNorm."""
    inputs: Tensor
    """C [S, D]."""


def random_case(tokens: int, width: int, heads: int, draw: int, scale: float = 1.0) -> Case:
    """Weights N(0, scale^2/D), inputs N(0, 1), |gamma| in (0.5, 1.5) with random signs, eta = 1."""
    random = generator(draw, f"{tokens} tokens of {width} channels in {heads} heads")

    def normal(*shape: int) -> Tensor:
        return torch.from_numpy(random.normal(size=shape))

    model = Model(kind="itrsa", width=width, heads=heads)
    weights = Weights(*(scale * normal(width, width) / width**0.5 for _ in Weights._fields))
    gamma = torch.from_numpy(random.uniform(0.5, 1.5, width)) * normal(width).sign()
    parameters = {"gamma": gamma, "eta": torch.ones((), dtype=torch.float64)}
    inputs = normal(tokens, width)
    start = normalise(model, parameters, normal(tokens, width))
    name = f"S = {tokens}, D = {width}, H = {heads}, draw {draw}"
    return Case(name, model, parameters, weights, start, inputs)


def coupled(coupling: float) -> tuple[Tensor, Weights, int, float]:
    """Tokens 0, 1, -1 of one channel, weights 1, but W^Q = a; H and beta, which are 1, too."""
    one = torch.ones(1, 1, dtype=torch.float64)
    tokens = torch.tensor([[0.0], [1.0], [-1.0]], dtype=torch.float64)
    return tokens, Weights(coupling * one, one, one, one), 1, 1.0


def at_eta(case: Case, eta: float) -> Case:
    """The same with steps of another length."""
    step = torch.tensor(eta, dtype=torch.float64)
    return case._replace(parameters={**case.parameters, "eta": step})


def bound_of_attention(case: Case, *, printed: bool) -> Bounded:
    """|J_MSA|_2 of a case and its bound."""
    model = case.model
    return attention_bound(
        case.tokens, case.weights, model.heads, inverse_temperature(model), printed=printed
    )


@evidence
def by_radius() -> Cases:
    """|J|_2 over (max|gamma|/R)(1 + |eta| |J_MSA|_2), with R = min |x_i + eta DX_i|."""
    for case in _cases():
        for eta in (0.1, 1.0, 10.0):
            found = proposition_5_1(*at_eta(case, eta)[1:])
            yield f"{case.name}, eta = {eta:g}", _ratio(found)


@evidence
def of_large_steps() -> Cases:
    """|J|_2 over max|gamma| (1 + eta |J_MSA|_2)/(eta e - max|gamma|), where this is positive."""
    for case in _cases():
        largest, shortest = (float(each) for each in _lengths(case))
        for eta in ETA:
            if eta * shortest > largest:
                found = large_step_bound(*at_eta(case, eta)[1:])
                yield f"{case.name}, eta = {eta:g}", _ratio(found)


@evidence
def limit_of_large_steps() -> Cases:
    """|J|_2 at eta = 10^6 over |blockdiag(diag(gamma) P_i/|DX_i|) J_MSA|_2."""
    for case in _cases():
        found = proposition_5_1(*at_eta(case, ETA[-1])[1:])
        yield case.name, found.norm / large_step_limit(*case[1:])


@evidence
def printed_attention_bound() -> Cases:
    """|J_MSA|_2 over its bound as printed, three tokens of one channel."""
    for coupling in COUPLINGS:
        yield f"a = {coupling:g}", _ratio(attention_bound(*coupled(coupling), printed=True))


@evidence
def squared_attention_bound() -> Cases:
    """|J_MSA|_2 over its bound with the norm of W^Q W^K^T squared."""
    for coupling in COUPLINGS:
        yield f"a = {coupling:g}", _ratio(attention_bound(*coupled(coupling), printed=False))
    for scale in (1.0, 3.0):
        for size in SIZES:
            for draw in DRAWS:
                case = random_case(*size, draw, scale)
                found = bound_of_attention(case, printed=False)
                yield f"{case.name}, weights times {scale:g}", _ratio(found)


@evidence
def excess_over_the_printed_bound() -> Cases:
    """|J_MSA|_2 over the bound as printed, at a coupling over that at a tenth of it."""
    for coupling in (1e2, 1e3, 1e4):
        found = [
            _ratio(attention_bound(*coupled(a), printed=True)) for a in (coupling / 10, coupling)
        ]
        yield f"a = {coupling:g}", found[1] / found[0]


def _cases() -> list[Case]:
    return [random_case(*size, draw) for size in SIZES for draw in DRAWS]


def _lengths(case: Case) -> tuple[Tensor, Tensor]:
    """max|gamma| and e = min |DX_i|."""
    change = drive(case.model, case.weights, case.tokens, case.inputs)
    return case.parameters["gamma"].abs().amax(), shortest(change)


def _ratio(found: Bounded) -> float:
    return float(found.norm / found.bound)
