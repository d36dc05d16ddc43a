"""Figures: settings, table and drawing of one figure per file.

`table` turns metrics into the numbers that are drawn, `draw` those into a drawing.
"""
