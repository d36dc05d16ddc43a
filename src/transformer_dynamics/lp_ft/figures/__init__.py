"""Figures: the programs with `table` and `draw`, and their settings.

A `table` has every number that `draw` shows. `rows` selects rows of metrics, `styles` has the looks
of methods, `typesetting` draws tables.
"""
