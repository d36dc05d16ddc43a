"""Conformance: what every study must do to be computed, judged and drawn.

One function runs all checks on anybody's study. Two commands help to write one: `quick` computes
it at its smallest scale, `watch` draws a figure again when a file changes.
"""

__all__ = ["conformance", "quick", "small", "watch"]
