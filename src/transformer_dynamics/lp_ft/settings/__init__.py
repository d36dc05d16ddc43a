"""Settings: all that the configuration can say, as pydantic models, and the jobs made of it.

No module here computes anything or imports PyTorch, NumPy or pandas, so that the configuration is
read at once. `labels` has the names of sets, methods and encoders in texts and figures.
"""
