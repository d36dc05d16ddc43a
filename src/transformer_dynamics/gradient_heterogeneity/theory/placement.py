"""Place of layer normalisation, and the gradients of a transformer at initialisation.

    Post-LN   x <- LN(x + f(x))         after every branch f; one more LN before the first
    Pre-LN    x <- x + f(LN(x))         before every branch; one more LN after the last

Both have the same tensors, so that one draw initialises a matched pair. With xh = LN(x) of gain 1,

    J_LN(x) = diag(gain)(I - 11^T/d - xh xh^T/d)/sd(x)                                      (1)
    Post-LN   dx_L/dx_0 = prod_l J_LN(x_l + f_l) (I + J_f)                                  (2)
    Pre-LN    dx_L/dx_0 = prod_l (I + J_f J_LN(x_l))                                        (3)

For x of variance 1, a branch of variance s^2 and J_f with root mean square singular value j, both
independent of x, a Post-LN factor has sqrt((1 - 2/d)(1 + j^2)/(1 + s^2)): it is geometric in depth
unless j = s. The stream of Pre-LN grows by s^2 at every branch, and J_LN falls as 1/sd(x).
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from replication.base.errors import InputError
from transformer_dynamics.gradient_heterogeneity.theory.heterogeneity import Floats

Parameters = dict[str, Tensor]
"""Tensors of a stack by name: `0.query`, `0.query_bias`, `0.first_gain`, ..., `tokens`, `head`."""
Kind = Literal["matrix", "embedding", "normalisation", "head", "bias"]
"""Kind of a tensor. Gains are `normalisation`; its shifts are biases."""
SQUARE = ("query", "key", "value", "output")
"""Matrices [d, d] of a layer's attention."""
BRANCHES = ("first", "second")
"""Branches of a layer, each with a normalisation: attention, then the feed-forward part."""
EPSILON = 1e-12
"""Number that is added to a variance, as in BERT."""


class Stack(NamedTuple):
    """A transformer encoder with a linear head."""

    placement: Literal["post", "pre"]
    """Place of the normalisation."""
    depth: int
    """L layers, each of two branches."""
    heads: int
    """H, a divisor of d."""


class Sizes(NamedTuple):
    """Sizes of the tensors of a stack."""

    width: int
    """d; the feed-forward part has 4 d."""
    vocabulary: int
    """Number of tokens."""
    length: int
    """T, the largest number of tokens of a text."""
    classes: int
    """C, the number of classes."""


def initial_parameters(
    depth: int,
    sizes: Sizes,
    random: np.random.Generator,
    deviation: float | None = None,
    embeddings: float = 1.0,
) -> Parameters:
    """Draw random parameters in float64, the same for both placements. Gains are 1, biases 0.

    The scale of embeddings matters to Pre-LN alone: it is where the stream starts.

    Args:
        depth: L.
        sizes: of the tensors.
        random: generator of the draws.
        deviation: standard deviation of all matrices; without it they are those of PyTorch's
            layers, U(+-1/sqrt(inputs)), and U(+-sqrt(6/(4 d))) for query, key and value.
        embeddings: standard deviation of embeddings, 1 in PyTorch and .02 in BERT.
    """
    d = sizes.width

    def normal(rows: int, columns: int, scale: float) -> Tensor:
        return torch.from_numpy(random.normal(0.0, scale, (rows, columns)))

    def matrix(rows: int, columns: int, half: float | None = None) -> Tensor:
        if deviation is not None:
            return normal(rows, columns, deviation)
        half = columns**-0.5 if half is None else half
        return torch.from_numpy(random.uniform(-half, half, (rows, columns)))

    body = {
        "tokens": normal(sizes.vocabulary, d, embeddings),
        "positions": normal(sizes.length, d, embeddings),
    }
    body |= _normalisation("edge", d)
    for layer in range(depth):
        joint = (6 / (4 * d)) ** 0.5
        linear = {name: matrix(d, d, joint) for name in SQUARE[:3]}
        linear |= {"output": matrix(d, d), "in": matrix(4 * d, d), "out": matrix(d, 4 * d)}
        body |= {f"{layer}.{name}": tensor for name, tensor in linear.items()}
        body |= {
            f"{layer}.{name}_bias": tensor.new_zeros(len(tensor)) for name, tensor in linear.items()
        }
        for branch in BRANCHES:
            body |= _normalisation(f"{layer}.{branch}", d)
    head = matrix(sizes.classes, d)
    return body | {"head": head, "head_bias": head.new_zeros(sizes.classes)}


def _normalisation(name: str, width: int) -> Parameters:
    one = torch.ones(width, dtype=torch.float64)
    return {f"{name}_gain": one, f"{name}_shift": torch.zeros_like(one)}


def tensor_kind(name: str) -> Kind:
    """Return the kind of the tensor of a name."""
    last = name.rpartition(".")[2]
    if last in {"tokens", "positions"}:
        return "embedding"
    if last == "head":
        return "head"
    ends: dict[str, Kind] = {"bias": "bias", "shift": "bias", "gain": "normalisation"}
    return ends.get(last.rpartition("_")[2], "matrix")


def logits(stack: Stack, parameters: Mapping[str, Tensor], tokens: Tensor) -> Tensor:
    """Return the logits of every position: tokens [n, T] to [n, T, C]."""
    return head_logits(parameters, final_states(stack, parameters, tokens))


def head_logits(parameters: Mapping[str, Tensor], state: Tensor) -> Tensor:
    """Return the logits of states: [..., d] to [..., C]."""
    return torch.nn.functional.linear(state, parameters["head"], parameters["head_bias"])


def final_states(
    stack: Stack, parameters: Mapping[str, Tensor], tokens: Tensor, real: Tensor | None = None
) -> Tensor:
    """Return the states that the head sees: tokens [n, T] to [n, T, d].

    Args:
        stack: placement and depth.
        parameters: theta.
        tokens: [n, T].
        real: [n, T] whether a token is no padding, which nothing attends to; all if left out.
    """
    state = embed_tokens(stack, parameters, tokens)
    for layer in range(stack.depth):
        for branch in BRANCHES:
            state = next_state(stack, parameters, f"{layer}.{branch}", state, real)
    return normalise(parameters, "edge", state) if stack.placement == "pre" else state


def embed_tokens(stack: Stack, parameters: Mapping[str, Tensor], tokens: Tensor) -> Tensor:
    """Return x_0 [n, T, d] of tokens [n, T].

    Raises:
        InputError: for an unknown placement.
    """
    if stack.placement not in {"post", "pre"}:
        raise InputError(f"normalisation stands post or pre, not {stack.placement}")
    state = parameters["tokens"][tokens] + parameters["positions"][: tokens.shape[-1]]
    return normalise(parameters, "edge", state) if stack.placement == "post" else state


def next_state(
    stack: Stack,
    parameters: Mapping[str, Tensor],
    branch: str,
    state: Tensor,
    real: Tensor | None = None,
) -> Tensor:
    """Return x_(l+1) [..., T, d] of x_l, through a branch such as `0.first`."""
    if stack.placement == "post":
        added = apply_branch(stack, parameters, branch, state, real)
        return normalise(parameters, branch, state + added)
    inner = normalise(parameters, branch, state)
    return state + apply_branch(stack, parameters, branch, inner, real)


def apply_branch(
    stack: Stack,
    parameters: Mapping[str, Tensor],
    branch: str,
    state: Tensor,
    real: Tensor | None = None,
) -> Tensor:
    """Return f(x) [..., T, d]: attention for `first`, W_out gelu(W_in x) for `second`."""
    layer, _, which = branch.rpartition(".")

    def linear(name: str, inputs: Tensor) -> Tensor:
        weight, bias = parameters[f"{layer}.{name}"], parameters[f"{layer}.{name}_bias"]
        return torch.nn.functional.linear(inputs, weight, bias)

    if which == "second":
        return linear("out", torch.nn.functional.gelu(linear("in", state)))
    size = state.shape[-1] // stack.heads
    query, key, value = (
        linear(name, state).reshape(*state.shape[:-1], stack.heads, size).transpose(-3, -2)
        for name in SQUARE[:3]
    )
    scores = query @ key.mT / size**0.5
    if real is not None:
        scores = scores.masked_fill(~real[..., None, None, :], -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    return linear("output", (weights @ value).transpose(-3, -2).flatten(-2))


def normalise(parameters: Mapping[str, Tensor], name: str, state: Tensor) -> Tensor:
    """Return LN(x) = gain (x - mean)/sd + shift over the last axis."""
    gain, shift = parameters[f"{name}_gain"], parameters[f"{name}_shift"]
    return torch.nn.functional.layer_norm(state, gain.shape, gain, shift, EPSILON)


def normalisation_jacobian(state: Tensor, gain: Tensor) -> Tensor:
    """Return (1), with sd^2 = var + `EPSILON`.

    Args:
        state: [..., d] x.
        gain: [d].

    Returns:
        [..., d, d].
    """
    d = state.shape[-1]
    centred = state - state.mean(dim=-1, keepdim=True)
    deviation = (centred.square().mean(dim=-1, keepdim=True) + EPSILON).sqrt()
    unit = (centred / deviation).unsqueeze(-1)
    inner = torch.eye(d).to(state) - 1 / d - unit @ unit.mT / d
    return gain.unsqueeze(-1) * inner / deviation.unsqueeze(-1)


def branch_jacobian(
    stack: Stack, parameters: Mapping[str, Tensor], branch: str, state: Tensor
) -> Tensor:
    """Return J_f of one sequence x [T, d]: [T d, T d]."""

    def flat(x: Tensor) -> Tensor:
        return apply_branch(stack, parameters, branch, x.reshape(state.shape)).flatten()

    found: Tensor = torch.func.jacrev(flat)(state.flatten())
    return found


def step_jacobian(
    stack: Stack, parameters: Mapping[str, Tensor], branch: str, state: Tensor
) -> Tensor:
    """Return one factor of (2) or (3) for one sequence x_l [T, d]: dx_(l+1)/dx_l [T d, T d]."""
    gain = parameters[f"{branch}_gain"]
    one = torch.eye(state.numel()).to(state)
    if stack.placement == "post":
        inner = branch_jacobian(stack, parameters, branch, state)
        after = state + apply_branch(stack, parameters, branch, state)
        return _block_product(normalisation_jacobian(after, gain), one + inner)
    inner = branch_jacobian(stack, parameters, branch, normalise(parameters, branch, state))
    return one + _block_product(normalisation_jacobian(state, gain).mT, inner.mT).mT


def _block_product(blocks: Tensor, matrix: Tensor) -> Tensor:
    """Multiply a block-diagonal matrix of blocks [T, d, d] and a matrix [T d, n]."""
    return (blocks @ matrix.reshape(*blocks.shape[:2], -1)).reshape(matrix.shape)


class Factor(NamedTuple):
    """One branch of a stack, seen by one sequence."""

    branch: str
    """Name of the branch, such as `0.first`."""
    stream: float
    """Variance of x_l."""
    added: float
    """s^2, variance of f."""
    inner: float
    """j, root mean square singular value of J_f."""
    found: float
    """Root mean square singular value of dx_(l+1)/dx_l."""
    whole: float
    """Root mean square singular value of dx_(l+1)/dx_0."""

    def predicted_gain(self, width: int) -> float:
        """Return the gain of Post-LN, sqrt((1 - 2/d)(1 + j^2)/(1 + s^2)) for d = width."""
        return float(((1 - 2 / width) * (1 + self.inner**2) / (1 + self.added)) ** 0.5)


def factors(stack: Stack, parameters: Mapping[str, Tensor], tokens: Tensor) -> list[Factor]:
    """Return the factor of every branch in order, for one sequence [T]."""
    state = embed_tokens(stack, parameters, tokens)
    whole = torch.eye(state.numel()).to(state)
    found = []
    for layer in range(stack.depth):
        for which in BRANCHES:
            branch = f"{layer}.{which}"
            reads = state if stack.placement == "post" else normalise(parameters, branch, state)
            added = apply_branch(stack, parameters, branch, reads)
            jacobian = step_jacobian(stack, parameters, branch, state)
            whole = jacobian @ whole
            inner = branch_jacobian(stack, parameters, branch, reads)
            lengths = (_gain(inner), _gain(jacobian), _gain(whole))
            found.append(Factor(branch, _variance(state), _variance(added), *lengths))
            state = next_state(stack, parameters, branch, state)
    return found


def _variance(state: Tensor) -> float:
    """Return the variance over channels, mean over positions."""
    return float(state.var(dim=-1, correction=0).mean())


def _gain(jacobian: Tensor) -> float:
    """Return the root mean square singular value of a square matrix."""
    return float(torch.linalg.matrix_norm(jacobian) / len(jacobian) ** 0.5)


def gradients(
    stack: Stack, parameters: Mapping[str, Tensor], tokens: Tensor, labels: Tensor
) -> Parameters:
    """Return the gradient of the mean cross-entropy over all positions.

    Args:
        stack: placement and depth.
        parameters: theta.
        tokens: [n, T].
        labels: [n, T].
    """

    def loss(tensors: Parameters) -> Tensor:
        found = logits(stack, tensors, tokens)
        return torch.nn.functional.cross_entropy(found.flatten(0, -2), labels.flatten())

    return dict(torch.func.grad(loss)(dict(parameters)))


class Norms(NamedTuple):
    """Gradient norms of tensors."""

    names: list[str]
    """[B] names of the tensors."""
    norms: Floats
    """[B] ||g_b||."""
    sizes: Floats
    """[B] P_b."""


def gradient_norms(gradient: Mapping[str, Tensor], kinds: tuple[Kind, ...]) -> Norms:
    """Return ||g_b|| and P_b of all tensors of some kinds.

    Args:
        gradient: by name.
        kinds: for instance all but `bias`, or `matrix` alone.
    """
    names = [name for name in gradient if tensor_kind(name) in kinds]
    norms = [float(torch.linalg.vector_norm(gradient[name])) for name in names]
    sizes = [float(gradient[name].numel()) for name in names]
    return Norms(names, np.array(norms), np.array(sizes))
