"""Figures: settings, table and picture of one figure per file.

`table` turns metrics or theory into the numbers that are drawn, `draw` those into a picture.
`elements.py` has the parts that several figures share.
"""
