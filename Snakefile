# The papers of this repository; rules and targets are the engine's.
LOCK = "requirements-encoders.lock"
# Built as docs/environments.md says: no published image has the packages of the lock.
IMAGE = "transformer-dynamics.sif"

workflow.include("workflow/engine.smk", overwrite_default_target=True)
