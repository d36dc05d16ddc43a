"""Fashion-MNIST: its files as arrays, and samples of it."""

import gzip
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.base.errors import InputError
from replication.base.random_streams import generator
from transformer_dynamics.gradient_heterogeneity.settings.data import SOURCES, ImagesJob
from transformer_dynamics.gradient_heterogeneity.settings.networks import ImageNetworkSetting

CLASSES = 10
"""Number C of classes."""
EDGE = 28
"""Number of pixels along an edge."""
BYTES = 8
"""Number that stands for the type of an array of bytes in the format idx."""


class Images(NamedTuple):
    """Labelled images."""

    pixels: NDArray[np.uint8]
    """[n, 28, 28] Brightness of pixels from black, 0, to white."""
    labels: NDArray[np.int64]
    """[n] Number of each image's class."""

    def take(self, indices: NDArray[np.int64]) -> "Images":
        """Return the images at some places, in the order given."""
        return Images(self.pixels[indices], self.labels[indices])


def read_images(paths: Sequence[Path]) -> tuple[Images, Images]:
    """Read the published training and test sets from four files, in the order of `SOURCES`.

    Raises an `InputError` if one is not there or not of its format.
    """
    names = SOURCES["fashion_mnist"]
    missing = [str(path) for path in paths if not path.is_file()]
    if missing or len(paths) != len(names):
        raise InputError(
            f"{missing[0] if missing else 'Fashion-MNIST'}: the files {', '.join(names)} are"
            f" needed; fetch them with `snakemake results/datasets/fashion_mnist/{names[0]}`, or"
            " name a folder with them"
        )
    arrays = [_read_idx(path) for path in paths]
    parts = []
    for pixels, labels in (arrays[:2], arrays[2:]):
        is_square = pixels.shape[1:] == (EDGE, EDGE)
        if not is_square or labels.shape != pixels.shape[:1] or not labels.size:
            raise InputError(
                f"{paths[0].parent}: images of shape {pixels.shape} and labels of shape"
                f" {labels.shape} are not those of Fashion-MNIST; fetch them again"
            )
        if labels.max() >= CLASSES:
            raise InputError(
                f"{paths[0].parent}: a label is {labels.max()}, but classes are 0 to"
                f" {CLASSES - 1}; fetch it again"
            )
        parts.append(Images(pixels, labels.astype(np.int64)))
    return parts[0], parts[1]


def _read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an array of bytes: two zeros, type, number of axes, lengths, and the bytes."""
    try:
        content = gzip.decompress(path.read_bytes())
        magic, axes = content[:3], content[3]
        shape = np.frombuffer(content, ">u4", axes, 4)
        if magic != bytes((0, 0, BYTES)):
            raise ValueError(f"it begins with {magic!r}")
        return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)
    except (ValueError, IndexError, EOFError, OSError, zlib.error) as error:
        raise InputError(f"{path}: is no compressed idx file ({error}); fetch it again") from error


def sample(job: ImagesJob, seeds: list[int], sources: Sequence[Path]) -> dict[str, NDArray[Any]]:
    """Read a set of images from four files, in the order of `SOURCES`.

    The arrays are `train_pixels` and `test_pixels` [n, 28, 28], bytes, and `train_labels` and
    `test_labels` [n]. No seed is used: each run draws its samples from all of them. Raises an
    `InputError` if a file cannot be read.
    """
    train, test = read_images(sources)
    return {
        f"{name}_{field}": values
        for name, part in (("train", train), ("test", test))
        for field, values in part._asdict().items()
    }


def image_samples(
    choice: ImageNetworkSetting, seed: int, data: Mapping[str, NDArray[Any]]
) -> tuple[Images, Images, Images]:
    """Draw the training, validation and test samples of a seed from the arrays of `sample`.

    All seeds have the same test samples. Raises an `InputError` if there are too few images.
    """
    whole = Images(data["train_pixels"], data["train_labels"])
    test = Images(data["test_pixels"], data["test_labels"])
    wanted = choice.train + choice.validation
    if wanted > len(whole.labels) or choice.test > len(test.labels):
        raise InputError(
            f"Fashion-MNIST: there are {len(whole.labels)} training images and {len(test.labels)}"
            f" test images, but {wanted} and {choice.test} are asked for; ask for less"
        )
    order = generator(seed, "samples of fashion_mnist").permutation(len(whole.labels))
    held = generator(0, "test samples of fashion_mnist").permutation(len(test.labels))
    return (
        whole.take(order[: choice.train]),
        whole.take(order[choice.train : wanted]),
        test.take(held[: choice.test]),
    )
