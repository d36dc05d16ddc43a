"""Proposition 5.1, its limit for large steps, and the bound of attention's own Jacobian (5.1)."""

from typing import NamedTuple

import torch
from torch import Tensor

from replication.cases import Cases, evidence
from replication.generators import generator
from transformer_dynamics.recurrent_attention.theory.bounds import (
    Bounded,
    attention_bound,
    large_step_bound,
    large_step_limit,
    proposition_5_1,
)
from transformer_dynamics.recurrent_attention.theory.jacobian import (
    Weights,
    attention,
    normalise,
)

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
    tokens: Tensor
    """[S, D] an output of RMSNorm."""
    weights: Weights
    """Of a step of ItrSA."""
    heads: int
    """H."""


def random_case(tokens: int, width: int, heads: int, draw: int, scale: float = 1.0) -> Case:
    """Weights N(0, scale^2/D), inputs N(0, 1), |gamma| in (0.5, 1.5) with random signs, eta = 1."""
    random = generator(draw, f"{tokens} tokens of {width} channels in {heads} heads")

    def normal(*shape: int) -> Tensor:
        return torch.from_numpy(random.normal(size=shape))

    weights = {
        name: scale * normal(width, width) / width**0.5
        for name in ("query", "key", "value", "output")
    }
    weights["gamma"] = torch.from_numpy(random.uniform(0.5, 1.5, width)) * normal(width).sign()
    weights["inputs"] = normal(tokens, width)
    weights["eta"] = torch.ones((), dtype=torch.float64)
    start = normalise(normal(tokens, width), gamma=weights["gamma"])
    return Case(f"S = {tokens}, D = {width}, H = {heads}, draw {draw}", start, weights, heads)


def coupled(coupling: float) -> tuple[Tensor, Weights]:
    """Tokens 0, 1, -1 of one channel, weights 1, but W^Q = a."""
    weights = {name: torch.ones(1, 1, dtype=torch.float64) for name in ("key", "value", "output")}
    weights["query"] = torch.full((1, 1), coupling, dtype=torch.float64)
    return torch.tensor([[0.0], [1.0], [-1.0]], dtype=torch.float64), weights


def at_eta(case: Case, eta: float) -> Case:
    """The same with steps of another length."""
    return case._replace(weights={**case.weights, "eta": torch.tensor(eta, dtype=torch.float64)})


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
        yield f"a = {coupling:g}", _ratio(attention_bound(*coupled(coupling), 1, printed=True))


@evidence
def squared_attention_bound() -> Cases:
    """|J_MSA|_2 over its bound with the norm of W^Q W^K^T squared."""
    for coupling in COUPLINGS:
        yield f"a = {coupling:g}", _ratio(attention_bound(*coupled(coupling), 1, printed=False))
    for scale in (1.0, 3.0):
        for size in SIZES:
            for draw in DRAWS:
                case = random_case(*size, draw, scale)
                found = attention_bound(*case[1:], printed=False)
                yield f"{case.name}, weights times {scale:g}", _ratio(found)


@evidence
def excess_over_the_printed_bound() -> Cases:
    """|J_MSA|_2 over the bound as printed, at a coupling over that at a tenth of it."""
    for coupling in (1e2, 1e3, 1e4):
        found = [
            _ratio(attention_bound(*coupled(a), 1, printed=True)) for a in (coupling / 10, coupling)
        ]
        yield f"a = {coupling:g}", found[1] / found[0]


def _cases() -> list[Case]:
    return [random_case(*size, draw) for size in SIZES for draw in DRAWS]


def _lengths(case: Case) -> tuple[Tensor, Tensor]:
    """max|gamma| and e = min |DX_i|."""
    update = case.weights["inputs"] + attention(case.tokens, case.weights, case.heads)
    return case.weights["gamma"].abs().amax(), torch.linalg.vector_norm(update, dim=-1).amin()


def _ratio(found: Bounded) -> float:
    return float(found.norm / found.bound)
