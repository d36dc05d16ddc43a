"""Tables of trained runs and of measured tensors."""
