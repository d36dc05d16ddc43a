"""Theory: the paper's equations, exact and without training, a file per concept.

Only the settings of a model are imported: they say which of the recurrences it is.
"""
