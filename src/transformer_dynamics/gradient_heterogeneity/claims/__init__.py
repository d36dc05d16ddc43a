"""Evidence for claims, as `registry.yaml` names it."""
