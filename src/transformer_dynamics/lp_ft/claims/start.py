"""Effects of linear probing before anything is fine-tuned (Sec. 5.3)."""

import pandas as pd

from replication.base.errors import OutOfRegimeError
from transformer_dynamics.lp_ft.claims.contrasts import HeadMetric, of_sets

SAMPLES = {"all": "all samples", "subset": "a subset"}
"""Samples of the probe, in names of comparisons."""
PROBE, RANDOM = ("probe", "probe"), ("random", "random")
"""Direction and norm of the heads from which LP-FT and FT start."""


def of_heads(*heads: HeadMetric, long_probe: bool = False) -> pd.DataFrame:
    """Return the rows of heads: `head` has direction and norm, as random_probe.

    The penalty decides the length of a probe, and a claim on long heads says nothing of a short
    one. Then sets are taken whose probe is `metrics > long_probe` times as long as the random head;
    an `OutOfRegimeError` if there is none.
    """
    found = [each for each in heads if not long_probe or _norm_growth(each) >= each.job.long_probe]
    if long_probe and not found:
        least = " or ".join(sorted({f"{each.job.long_probe:g}" for each in heads}))
        raise OutOfRegimeError(f"no probe is {least} times as long as the random head")
    rows = of_sets(*found)
    return rows.assign(
        head=rows["direction"] + "_" + rows["norm"], given=rows["samples"].map(SAMPLES)
    )


def _norm_growth(heads: HeadMetric) -> float:
    """Return ||V|| of the probe over that of the random head, median over seeds."""
    norms = heads.table.pivot_table(index="seed", columns=["direction", "norm"], values="head_norm")
    return float((norms[PROBE] / norms[RANDOM]).median())
