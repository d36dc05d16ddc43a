"""Images as arrays."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from transformer_dynamics.gradient_heterogeneity import image_files
from transformer_dynamics.gradient_heterogeneity.net_settings import ImagesJob


def sample(job: ImagesJob, seeds: list[int], sources: Sequence[Path]) -> dict[str, NDArray[Any]]:
    """Read a set of images.

    Args:
        job: which one.
        seeds: not used: each run draws its samples from all of them.
        sources: its files, see `sources`.

    Returns:
        `train_pixels` and `test_pixels` [n, 28, 28], bytes; `train_labels` and `test_labels` [n].

    Raises:
        InputError: if a file cannot be read.
    """
    train, test = image_files.read(sources)
    found: dict[str, NDArray[Any]] = {}
    for name, part in (("train", train), ("test", test)):
        found |= {f"{name}_{field}": values for field, values in part._asdict().items()}
    return found
