"""Made-up files and weights with which networks take seconds."""

import gzip

import numpy as np

from replication.base.random_streams import generator
from transformer_dynamics.gradient_heterogeneity.settings.data import SOURCES
from transformer_dynamics.gradient_heterogeneity.settings.networks import Shape

TEXT = """
 = A heading =

 the cat sat on the mat . The cat <unk> the dog
 a dog sat ; the cat ran and the dog ran and the mat ran
"""
SHAPE = {"depth": 2, "width": 8, "heads": 2, "length": 6, "deviation": 0.4, "embeddings": 0.5}


class Memory:
    """A checkpoint that is always due, or never, and may interrupt."""

    def __init__(self, found=None, last=None):
        self.found, self.left = found, last

    def read(self):
        return self.found

    def is_due(self):
        return self.left is not None

    def write(self, arrays):
        self.found = {name: np.array(values) for name, values in arrays.items()}
        self.left -= 1
        if self.left == 0:
            raise InterruptedError


def shape(placement="post", **changes):
    return Shape(placement=placement, **(SHAPE | changes))


def write_images(folder, train=40, test=12):
    """Fashion-MNIST's files with random pixels; the label is one of the first two classes."""
    folder.mkdir(exist_ok=True)
    random = generator(0, "made-up images")
    for file, number in zip(SOURCES["fashion_mnist"], (train, train, test, test), strict=True):
        size = (number, 28, 28) if "images" in file else (number,)
        values = random.integers(0, 256 if "images" in file else 2, size).astype(np.uint8)
        (folder / file).write_bytes(gzip.compress(idx(values)))
    return folder


def idx(values):
    head = bytes((0, 0, 8, values.ndim)) + np.array(values.shape, ">u4").tobytes()
    return head + values.tobytes()
