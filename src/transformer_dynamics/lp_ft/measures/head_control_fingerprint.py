"""What tells FT ratios of heads apart."""

from collections.abc import Iterable, Sequence

import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.lp_ft.kernel_settings import MeasureHeadControl
from transformer_dynamics.lp_ft.measures.kernel_fingerprint import fingerprints


def measure(job: MeasureHeadControl, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Digest of all bits of a seed, and the norm of all that is computed.

    Args:
        job: not used.
        runs: as `head_control.train` returns them.
        data: not used.

    Returns:
        Columns seed, digest, norm.
    """
    return fingerprints(runs, "steps")
