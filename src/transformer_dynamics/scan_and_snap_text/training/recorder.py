"""Records of a model along training: the attention of its lowest layer."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from replication.base.errors import InputError
from transformer_dynamics.scan_and_snap_text.data.corpus import Columns, Corpus, cut_columns
from transformer_dynamics.scan_and_snap_text.settings.training import TextTrainJob
from transformer_dynamics.scan_and_snap_text.training.model import Parameters, run_encoder
from transformer_dynamics.scan_and_snap_text.training.output_layer import cross_entropy


class Record(NamedTuple):
    """Record of a model, without dropout; T is the length of a chunk."""

    shown: NDArray[np.floating]
    """[T, T] Attention of position i on position j on the shown chunk of the training text."""
    sampled: NDArray[np.floating]
    """[chunks, B, T, T] Attention on the first chunks of every column of the validation text."""
    entropy: NDArray[np.floating]
    """[T] Mean entropy of a position's attention over the whole validation text, in nats."""
    validation_loss: NDArray[np.floating]
    """[] Mean cross-entropy over the whole validation text, in nats; nan before the last update."""


class Recorder:
    """Records a model's attention on fixed text."""

    def __init__(self, job: TextTrainJob, corpus: Corpus, text: Columns) -> None:
        """Choose the text; raise InputError if there is too little of it."""
        self._model, length = job.model, job.training.chunk_length
        valid = cut_columns(corpus.valid, job.evaluation.batch_size)
        full = (len(valid.words) - 1) // length
        if full < job.evaluation.sampled_chunks:
            raise InputError(
                f"the validation text has {full} chunks, {job.evaluation.sampled_chunks} are asked"
                " for; lower evaluation.sampled_chunks"
            )
        if (len(text.words) - 1) // length <= job.evaluation.shown_chunk:
            raise InputError(
                "the training text has too few chunks for evaluation.shown_chunk"
                f" {job.evaluation.shown_chunk}; lower it"
            )
        self._shown = text.chunk(job.evaluation.shown_chunk, length)[0][:1]
        # A shorter last chunk is left out: its positions would count less.
        self._valid = [valid.chunk(index, length) for index in range(full)]
        self._num_sampled = job.evaluation.sampled_chunks
        self._epsilon = job.evaluation.entropy_epsilon

    @torch.inference_mode()
    def record(self, parameters: Parameters, *, is_last: bool) -> Record:
        """Return the record of a model; its loss, which is costly, only if it `is_last`."""
        sampled, entropies, losses = [], [], []
        if not is_last:
            parameters = parameters._replace(layers=parameters.layers[:1])
        for index, (words, targets) in enumerate(self._valid):
            hidden, attention = self._run_encoder(parameters, words)
            entropies.append(_attention_entropy(attention, self._epsilon).mean(dim=0).cpu())
            if index < self._num_sampled:
                sampled.append(attention.cpu().numpy())
            if is_last:
                place = torch.from_numpy(targets).to(hidden.device, torch.int64).flatten()
                loss = cross_entropy(hidden.flatten(0, 1), parameters.output, place)
                losses.append(float(loss.mean()))
        return Record(
            shown=self._run_encoder(parameters, self._shown)[1][0].cpu().numpy(),
            sampled=np.stack(sampled),
            entropy=torch.stack(entropies).mean(dim=0).numpy(),
            validation_loss=np.array(np.mean(losses) if is_last else np.nan),
        )

    def _run_encoder(
        self, parameters: Parameters, words: NDArray[np.integer]
    ) -> tuple[Tensor, Tensor]:
        """Return hidden states of the highest layer and attention of the lowest one."""
        embedded = parameters.embedding[torch.from_numpy(words).to(parameters.embedding.device)]
        encoded = run_encoder(self._model, parameters.layers, embedded, lambda tensor: tensor)
        return encoded.hidden, encoded.attention[0]


def _attention_entropy(attention: Tensor, epsilon: float) -> Tensor:
    """Return -sum_j a_j ln(a_j + epsilon) over the last axis, as in the released code."""
    return -(attention * (attention + epsilon).log()).sum(dim=-1)
