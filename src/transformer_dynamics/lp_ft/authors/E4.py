"""The head of Appendix A.2.3 is in the derivatives of the features and is then applied again."""

import numpy as np

random = np.random.default_rng(0)
x, x_i = random.normal(size=(2, 5))
a = random.normal(size=(2, 5))
v = random.normal(size=(3, 3))
inner = (a @ x) @ (a @ x_i) * np.eye(3)
logits = v @ inner @ v.T
again = v @ (v @ inner @ v.T) @ v.T

print("Paper, A.2.3: dphi/dB^LoRA = A x (x) V, and F^LoRA = V_0 (dphi dphi^T) V_0^T.")
print("Derivatives of phi(x) = (B_0 + B^LoRA A) x are A x (x) Id; with C = h = 3 and random V:")
print(f"  ||F^LoRA|| = |<A x, A x_i>| ||V V^T|| = {np.linalg.norm(logits):.4g}")
print(f"  ||F^LoRA|| with V in the derivatives, too: {np.linalg.norm(again):.4g}")
print("  With C = 2 and h = 3, V (V ...) does not exist: (2 x 3) times (2 x 2).")
print("So V has to go from the derivatives; the result <A x, A x_i> V V^T stands.")
