"""Metrics: tables of what trained models are measured by, one program with `measure` each.

`measure` takes the job (the condition, and settings of the metric), the trained models, and the
boards; metrics of weights or of Figure 1 read no boards.

`trained_models.py` has what they share: parameters of runs, boards, the noise that tokens begin
with, trajectories and the share of solved boards.
Settings, theory and networks enter; nothing is trained, and no metric reads another one.
"""
