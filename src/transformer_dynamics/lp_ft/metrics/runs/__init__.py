"""Metrics of trained runs.

Every `measure(job, runs, data)` takes the runs of an experiment as they were trained, and data as
`trained_runs.set_data` takes them. It returns a row or more for each run, which begin with the
columns of `trained_runs.TrainedRun.columns`.
"""
