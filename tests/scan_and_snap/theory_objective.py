"""The objective in the limit of long sequences, for automatic differentiation."""

import numpy as np
import torch


def objective(classes, y, z, residual=False):
    """J = mean over n of ln softmax(Y^T LN(c_n))_{x_{T+1}}, c_n ~ P(l|n) exp(z_ml) (Eqs. 2 and 5).

    With `residual`, LN(LN(c_n) + e_m) in place of LN(c_n).
    """
    num_classes = len(classes.support)
    probabilities = torch.zeros(num_classes, classes.vocabulary_size, dtype=torch.float64)
    probabilities.scatter_(
        1, torch.from_numpy(classes.support), torch.from_numpy(classes.probabilities)
    )
    c = torch.softmax(torch.log(probabilities) + z[classes.query], dim=1)
    f = c / c.norm(dim=1, keepdim=True)
    if residual:
        queries = classes.query_tokens[classes.query]
        f = f + torch.nn.functional.one_hot(torch.from_numpy(queries), classes.vocabulary_size)
        f = f / f.norm(dim=1, keepdim=True)
    log_alpha = torch.log_softmax(f @ y, dim=1)
    return log_alpha[np.arange(num_classes), classes.next_tokens].mean()


def gradients(classes, y, z, residual=False):
    """J, dJ/dY and dJ/dZ."""
    parts = [torch.tensor(part, dtype=torch.float64, requires_grad=True) for part in (y, z)]
    value = objective(classes, *parts, residual)
    return (value.item(), *(g.numpy() for g in torch.autograd.grad(value, parts)))
