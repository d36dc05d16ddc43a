"""Figures: one module per figure of the paper, or of this study.

A module has its settings, `table`, the numbers that are drawn, and `draw`; `conditions.py` and
`pseudo_energy_curves.py` are shared. All other rooms may be imported. Libraries are imported inside
functions: the settings of all figures are read at every start.
"""
