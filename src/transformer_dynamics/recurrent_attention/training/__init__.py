"""Training: networks, how they begin, the loop that trains them.

`loop.py` trains a condition; `token_norms.py` is the program of Figure 1, which draws weights and
texts and trains nothing. Settings, theory and the arrays of boards enter; nothing here looks at
validation or test boards.
"""
