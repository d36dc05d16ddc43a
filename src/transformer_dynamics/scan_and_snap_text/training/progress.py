"""The state of a run between two updates, which a checkpoint keeps."""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from replication.study.devices import device
from transformer_dynamics.scan_and_snap_text.settings.training import TextTrainJob
from transformer_dynamics.scan_and_snap_text.training.model import (
    Layer,
    Parameters,
    initial_parameters,
)
from transformer_dynamics.scan_and_snap_text.training.output_layer import OutputLayer
from transformer_dynamics.scan_and_snap_text.training.recorder import Record
from transformer_dynamics.scan_and_snap_text.training.updates import torch_generator

Arrays = dict[str, NDArray[Any]]


class Progress(NamedTuple):
    """The state of a run between two updates."""

    parameters: Parameters
    """Current parameters; updates change them in place."""
    losses: list[float]
    """Mean cross-entropy of each batch before its update, in nats."""
    records: list[Record]

    def arrays(self) -> Arrays:
        """Return all that is needed to go on, as arrays by name."""
        named: Arrays = {"losses": np.array(self.losses)}
        named |= {
            name: tensor.cpu().numpy() for name, tensor in _name_parameters(self.parameters).items()
        }
        for field in Record._fields:
            for index, record in enumerate(self.records):
                named[f"records/{index}/{field}"] = getattr(record, field)
        return named


def initial_progress(job: TextTrainJob, seed: int, vocabulary_size: int) -> Progress:
    """Return the state before the first update; raise InputError if the device is not there."""
    place = device(job.device)
    random = torch_generator(seed, "initialization")
    embedding, layers, output = initial_parameters(job.model, vocabulary_size, random)
    parameters = Parameters(
        embedding.to(place),
        [Layer(*(tensor.to(place) for tensor in layer)) for layer in layers],
        OutputLayer(*(tensor.to(place) for tensor in output)),
    )
    return Progress(parameters, [], [])


def restore_progress(arrays: Arrays, job: TextTrainJob, vocabulary_size: int) -> Progress:
    """Return the state that `Progress.arrays` kept."""
    parameters = initial_progress(job, 0, vocabulary_size).parameters
    for name, tensor in _name_parameters(parameters).items():
        tensor.copy_(torch.from_numpy(arrays[name]))
    count = sum(name.startswith("records/") for name in arrays) // len(Record._fields)
    records = [
        Record(*(arrays[f"records/{index}/{field}"] for field in Record._fields))
        for index in range(count)
    ]
    return Progress(parameters, arrays["losses"].tolist(), records)


def _name_parameters(parameters: Parameters) -> dict[str, Tensor]:
    """Return every parameter by name."""
    layers = {
        f"layers/{index}/{name}": tensor
        for index, layer in enumerate(parameters.layers)
        for name, tensor in layer._asdict().items()
    }
    output = {f"output/{name}": tensor for name, tensor in parameters.output._asdict().items()}
    return {"embedding": parameters.embedding, **layers, **output}
