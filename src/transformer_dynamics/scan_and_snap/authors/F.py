"""Section 7: with the residual connection beta_nn' is not about f_n.f_n' + 1(psi(n) = psi(n'))."""

import numpy as np

M = 1000
print("Paper, Section 7: beta_nn' ~ f_n.f_n' + 1(psi(n) = psi(n')) with a residual connection.")
print("Two queries with two classes each, f_n.f_n' = rho for all pairs; beta_nn' over this,")
print("between queries, divided by beta_nn' over this, within a query:")
query = np.array([0, 0, 1, 1])
same = query[:, None] == query
for rho in (0.05, 0.59, 0.93):
    form = rho + same
    gram = np.where(np.eye(4) > 0, 1, form / 2)  # of LN(f_n + e_m), with 1 on its diagonal
    prime = np.eye(4) - np.linalg.inv(gram)  # E', E1
    others = prime.sum(axis=0) - prime
    beta = M / (M - 1) * prime + M / (M - 1) ** 2 * (1 - others)  # Eq. 88, E3
    print(f"  rho = {rho}: {beta[0, 2] / form[0, 2] / (beta[0, 1] / form[0, 1]):.2g}")
print("A correlation of 1/2 within a query is not small, so that beta_nn' is not about E_nn'.")
