"""The table of jobs, made from the configuration: each file's path, and how the file is made.

Snakemake's rules read this table: inputs, settings, digests, cost, and the targets that a user may
name. No module here computes a result.
"""

__all__ = [
    "collecting",
    "command_line",
    "configuration",
    "cost",
    "interruption",
    "jobs",
    "limits",
    "metric_types",
    "orders",
    "other_settings",
    "paper_settings",
    "progress",
    "rule_inputs",
    "schema",
    "show_settings",
    "slurm",
    "stale_files",
    "study_jobs",
    "targets",
    "tasks",
    "times",
]
