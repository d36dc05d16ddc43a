"""Claims: functions that return the evidence by which a claim is judged.

`registry.yaml` names them. They read metrics or compute with the theory; none trains.
"""
