"""Evidence of claims, as `registry.yaml` names it.

A module has the evidence of one topic: a function takes the metrics that a claim names, and returns
a table with one value per seed, or per case that is computed. `quadratics`, `noisy_steps` and
`drift_laws` need no run.
"""
