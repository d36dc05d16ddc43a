"""R_E-multi = 0 does not make W^V_h W^O_h of the heads symmetric (Section 6.2)."""

import numpy as np

VALUE, OUTPUT = np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0]])  # orthogonal, D = H = 2, D_H = 1


def penalty(v: np.ndarray, o: np.ndarray) -> float:
    """Return R_E-multi = |W^V W^O - (W^V W^O)^T|_F^2."""
    product = v @ o
    return float(((product - product.T) ** 2).sum())


print('Paper, Section 6.2: "If R_E-multi = 0, W^V_h W^O_h becomes symmetric".')
print(f"D = H = 2, W^V = {VALUE.tolist()}, W^O = {OUTPUT.tolist()}:")
print(f"R_E-multi = {penalty(VALUE, OUTPUT):g}")
for h in range(2):
    product = VALUE[:, h : h + 1] @ OUTPUT[h : h + 1]
    is_symmetric = (product == product.T).all()
    print(f"W^V_{h + 1} W^O_{h + 1} = {product.tolist()}, symmetric: {is_symmetric}")
print(f"their sum = {(VALUE @ OUTPUT).tolist()}")
print("So R_E-multi makes the sum over heads symmetric, and not its terms.")
