"""Cost of unequal gradients of blocks to gradient descent, which depends on their curvatures."""

import numpy as np

# L(theta) = sum_b h_b |theta_b|^2 / 2 with 4 blocks of 1 entry each. The step that lowers L most
# along the gradient g lowers it by |g|^4 / (2 sum_b h_b g_b^2).


def best_decrease(gradient: np.ndarray, curvatures: np.ndarray) -> float:
    """Find the largest decrease along the gradient, by trying rates on the loss itself."""
    theta = gradient / curvatures
    rates = np.linspace(0, 2 / curvatures.min(), 200_001)[:, None]
    loss = 0.5 * (curvatures * (theta - rates * gradient) ** 2).sum(axis=1)
    return float(loss[0] - loss.min())


equal = np.ones(4)
unequal = np.array([1.0, 3.0, 9.0, 18.0])
unequal *= np.linalg.norm(equal) / np.linalg.norm(unequal)

print("Abstract, version 1: 'gradient heterogeneity hinders gradient-based optimization,")
print("including SGD'; it names no condition on curvature (the body was not at hand).")
print("Four blocks, the same ||g||; unequal norms of blocks:", np.round(unequal, 3))
print("Best decrease of a step by gradients, unequal gradients over equal ones:")
for name, curvatures in (
    ("curvature follows them, h_b = ||g_b||  ", unequal),
    ("equal curvature, h_b = 1               ", equal),
    ("curvature opposes them, h_b = 1/||g_b||", 1 / unequal),
):
    ratio = best_decrease(unequal, curvatures) / best_decrease(equal, curvatures)
    print(f"  {name}  {ratio:.3f}")
print("So unequal gradients alone cost gradient descent nothing; they hinder it where curvature")
print("is large where gradients are, as version 3 says ('together with Hessian heterogeneity').")
