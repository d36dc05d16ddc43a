"""Theory: the paper's equations, exact and without training.

Attention (1)-(2) and the recurrences (3)-(9), their Jacobians in closed form, Lyapunov exponents,
bounds of norms, energies and the pseudo-energy enter, a file per concept.
Only the settings of a model are imported: they say which of the recurrences it is.
"""
