"""The table of jobs, made from the configuration: each file's path, and how the file is made.

Snakemake's rules read this table: inputs, settings, digests, cost, and the targets that a user may
name. No module here computes a result.
"""
