"""The formulas of the paper, head by head and token by token, and random weights for them."""

import torch

from transformer_dynamics.recurrent_attention.theory.attention import Weights

FLOATS = torch.float64


def weights(seed, tokens, width, heads, leading=()):
    """Everything that a step reads; leading axes are independent draws."""
    random = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn((*leading, *shape), generator=random, dtype=FLOATS)

    drawn = {name: normal(width, width) for name in ("query", "key", "value", "output")}
    drawn = {name: 1.5 * values / width**0.5 for name, values in drawn.items()}
    gamma = normal(width)
    return drawn | {
        "inputs": 0.5 * normal(tokens, width),
        "gamma": gamma + gamma.sign() * 0.3,
        "eta": 0.7 + 0.1 * normal(),
        "omega": 0.5 + 0.1 * normal(),
    }


def by_planes(w):
    """The same with an omega for every plane instead of one."""
    planes = torch.linspace(-1.0, 1.5, w["gamma"].shape[-1] // 2, dtype=FLOATS)
    kept = {name: values for name, values in w.items() if name != "omega"}
    return kept | {"omegas": w["omega"].unsqueeze(-1) + planes}


def matrices(w):
    """Those of attention among them."""
    return Weights(*(w[name] for name in Weights._fields))


def start(seed, tokens, width, leading=()):
    random = torch.Generator().manual_seed(1000 + seed)
    return torch.randn(*leading, tokens, width, generator=random, dtype=FLOATS)


def unit(tokens, dimension):
    blocks = tokens.unflatten(-1, (-1, dimension))
    return (blocks / blocks.norm(dim=-1, keepdim=True)).flatten(-2)


def msa(x, w, heads):
    """(1)-(2): Concat(SA_1, ..., SA_H) W^O."""
    width = x.shape[-1] // heads
    parts = []
    for head in range(heads):
        block = slice(head * width, (head + 1) * width)
        q, k, v = (x @ w[name][:, block] for name in ("query", "key", "value"))
        p = torch.softmax(q @ k.T / width**0.5, dim=1)
        parts.append(p @ v)
    return torch.cat(parts, dim=1) @ w["output"]


def itrsa(x, w, heads, dimension=None, *, normalised=True):
    """(9)."""
    ahead = x + w["eta"] * (w["inputs"] + msa(x, w, heads))
    return w["gamma"] * unit(ahead, dimension or x.shape[-1]) if normalised else ahead


def projected(x, y, dimension):
    """Proj_X(Y) (5), oscillator by oscillator."""
    done = []
    for token, change in zip(x, y, strict=True):
        parts = []
        for begin in range(0, len(token), dimension):
            a, b = token[begin : begin + dimension], change[begin : begin + dimension]
            parts.append(b - a * (a @ b))
        done.append(torch.cat(parts))
    return torch.stack(done)


def akorn(x, w, heads, dimension):
    """(7)-(8)."""
    turned = torch.empty_like(x)
    omega = w["omegas"] if "omegas" in w else w["omega"]
    turned[:, 0::2], turned[:, 1::2] = omega * x[:, 1::2], -omega * x[:, 0::2]
    update = turned + projected(x, w["inputs"] + msa(x, w, heads), dimension)
    return unit(x + w["eta"] * update, dimension)


def symmetric(x, w):
    """Pi(X + eta Proj_X(C + SA(X)))."""
    update = projected(x, w["inputs"] + msa(x, w, 1), x.shape[-1])
    return unit(x + w["eta"] * update, x.shape[-1])


def symmetric_weights(seed, tokens, width):
    """W^Q = W^V = M = M^T, W^K = W^O = Id."""
    drawn = weights(seed, tokens, width, 1)
    matrix = (drawn["query"] + drawn["query"].T) / 2
    identity = torch.eye(width, dtype=FLOATS)
    return drawn | {"query": matrix, "value": matrix, "key": identity, "output": identity}


def dense(function, x):
    """Its Jacobian by autograd, [S D, S D]."""
    size = x.numel()
    return torch.func.jacrev(function)(x).reshape(size, size)
