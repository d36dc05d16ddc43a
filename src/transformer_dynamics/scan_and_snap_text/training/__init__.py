"""Training: the transformer, its updates, the record of its attention, and the loop."""
