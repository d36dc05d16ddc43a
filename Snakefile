# The papers of this repository; rules and targets are the engine's, see workflow/engine.smk.
from replication.base.places import SNAKEFILE

LOCK = "requirements-encoders.lock"
# Built as docs/environments.md says: no published image has the packages of the lock.
IMAGE = "transformer-dynamics.sif"


rule plain:
    default_target: True
    input:
        lambda wildcards: PLAIN(wildcards),


include: SNAKEFILE
