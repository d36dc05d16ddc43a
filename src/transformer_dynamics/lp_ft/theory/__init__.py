"""Theory: the paper's symbols, equations and propositions as functions, in float64.

Each module names its place in the paper. Everything here is checked on small networks against
autograd; nothing knows of encoders, texts or files.
"""
