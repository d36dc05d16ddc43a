"""The table of jobs, made from the configuration: each file's path, and how the file is made.

Snakemake's rules read this table: inputs, settings, digests, cost, and the targets that a user may
name. No module here computes a result.
"""

__all__ = [
    "command_line",
    "configuration",
    "cost",
    "interruption",
    "jobs",
    "keys_in_files",
    "limits",
    "other_settings",
    "paper_settings",
    "progress",
    "rules",
    "schema",
    "show_settings",
    "slurm",
    "steps",
    "study_jobs",
    "study_settings",
    "study_steps",
    "targets",
    "times",
]
