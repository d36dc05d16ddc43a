"""Claims: programs of evidence, tables that a claim of `registry.yaml` is judged by.

A function takes metrics of conditions, or nothing where the claim is about theory, and returns a
row per seed or per case. `seed_values.py` has what claims about conditions share.
Settings, theory and names of metrics enter; nothing is drawn.
"""
