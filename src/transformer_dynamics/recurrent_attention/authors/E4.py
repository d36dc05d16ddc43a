"""W^Q^T W^K (version 1, Eqs. 11 and 13) is not the transpose of A = W^Q W^K^T."""

import numpy as np

Q, K = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 2.0]])

print("Paper, v1 Eqs. 11 and 13: W^Q^T W^K stands for the transpose of A = W^Q W^K^T.")
print(f"One head, W^Q = {Q.tolist()}, W^K = {K.tolist()}:")
print(f"A         = W^Q W^K^T = {(Q @ K.T).tolist()}")
print(f"A^T       = W^K W^Q^T = {(K @ Q.T).tolist()}")
print(f"as printed, W^Q^T W^K = {(Q.T @ K).tolist()}")
print("So it is another matrix; with more heads it is D_H x D_H, and A is D x D.")
