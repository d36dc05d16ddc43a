"""Settings: all that the configuration can say of data, training and metrics.

Pydantic models only; they check what they hold and compute nothing.
"""
