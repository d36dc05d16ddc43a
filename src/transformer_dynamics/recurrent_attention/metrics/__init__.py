"""Metrics: tables of numbers of trained models, one program with `measure` each.

Metrics of weights or of Figure 1 read no boards. `trained_models.py` has the functions that the
others share. Settings, theory and networks enter; nothing is trained, and no metric reads another
one.
"""
