"""Metrics of trained runs.

Every `measure(job, runs, data)` takes the runs of an experiment as they were trained, and tokens
and features of each set of `job.sets` in turn. It returns a row or more for each run, which begin
with the columns of `trained_runs.TrainedRun.columns`.
"""
