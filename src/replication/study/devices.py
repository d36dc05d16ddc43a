"""Devices of PyTorch."""

import os

import torch

from replication.base.errors import InputError


def device(name: str) -> torch.device:
    """Return a device that gives the same bits every time; an `InputError` if it is not there."""
    # The order of a sum depends on the number of threads.
    torch.set_num_threads(1)
    if name == "cuda":
        if not torch.cuda.is_available():
            raise InputError(
                "device cuda: PyTorch finds no GPU here; run it where there is one, or set"
                " computation > device: cpu"
            )
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
    return torch.device(name)
