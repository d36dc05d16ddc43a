"""Metrics of kernels and heads at the start of fine-tuning.

Every `measure(job, runs, data)` takes what `training.kernels` or `training.head_control` returned
for each seed, and needs no data.
"""
