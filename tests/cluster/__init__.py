"""The workflow on a real Slurm, which the tests bring up and take down."""
