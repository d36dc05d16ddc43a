"""Figures: settings, table and drawing of one figure per file.

`table` turns metrics or theory into the numbers that are drawn, `draw` those into a drawing.
`elements.py` has what several of them need.
"""
