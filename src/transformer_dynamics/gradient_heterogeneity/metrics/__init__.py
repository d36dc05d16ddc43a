"""Tables of trained runs and of measured networks.

Each program has `measure(job, runs, data)`: the job names the settings of all runs of an
experiment, `runs` are what `training` returned, and `data` is read by `head_drift` alone.
`trained_runs` and `measured_states` read the runs for the others. Nothing here needs PyTorch.
"""
