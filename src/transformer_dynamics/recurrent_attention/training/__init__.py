"""Training: networks, how they begin, the loop that trains them.

`loop.py` is the program that trains a condition; it reads from top to bottom like the algorithm.
`token_norms.py` is the program of Figure 1, which trains nothing and draws weights and texts.
Settings, theory and the arrays of boards enter; nothing here looks at validation or test boards.
"""
