"""Settings: all that the configuration can say of corpora, training and metrics.

Pydantic models only; they check their values and compute nothing.
"""
