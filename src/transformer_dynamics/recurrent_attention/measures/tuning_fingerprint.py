"""What tells the candidates apart."""

from collections.abc import Iterable, Sequence

import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.measures.fingerprint import fingerprint
from transformer_dynamics.recurrent_attention.measures.trained import Boards
from transformer_dynamics.recurrent_attention.tuning_settings import TuningJob


def measure(job: TuningJob, runs: Iterable[Run], data: Sequence[Boards]) -> pd.DataFrame:
    """The fingerprint of every candidate and seed.

    Args:
        job: not used.
        runs: one per candidate.
        data: not used.

    Returns:
        Columns candidate, seed, digest, loss and eta, see `fingerprint`.
    """
    rows = [fingerprint(run).assign(candidate=run.name) for run in runs]
    return pd.concat(rows, ignore_index=True)
