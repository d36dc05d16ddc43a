# The papers of this repository; rules and targets are the engine's.
try:
    from replication.base.places import SNAKEFILE
except ModuleNotFoundError:
    raise SystemExit(
        "The engine is not installed for this Python: run `make environment`, then `.venv/bin/snakemake`."
    ) from None
# Built as docs/environments.md says: no published image has the packages of the lock.
IMAGE = "transformer-dynamics.sif"

workflow.include(SNAKEFILE, overwrite_default_target=True)
