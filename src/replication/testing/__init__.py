"""Conformance: what every study must do to be computed, judged and drawn.

One function runs all checks on anybody's study. The command `quick` computes one at its smallest
scale.
"""
