"""Figures: settings, table and picture of one figure per file.

`table` turns metrics into the numbers that are drawn, `draw` those into a picture.
"""
