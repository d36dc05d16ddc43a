"""Effects of linear probing before anything is fine-tuned (Sec. 4.2 and 5.3)."""

from collections.abc import Callable, Sequence

import pandas as pd

from replication.base.errors import OutOfRegimeError
from replication.study.evidence import seed_rows
from transformer_dynamics.lp_ft.claims.contrasts import (
    HeadMetric,
    RunMetric,
    SeedValues,
    group_by_run,
    ln,
    method_differences,
    method_values,
    rows_where,
    tables_by_set,
)

SAMPLES = {"all": "all samples", "subset": "a subset"}
"""Samples of the probe, in names of comparisons."""
PROBE, RANDOM = ("probe", "probe"), ("random", "random")
"""Direction and norm of the heads from which LP-FT and FT start."""
LONG_RANDOM, SHORT_PROBE = ("random", "probe"), ("probe", "random")
"""Direction and norm of the heads that differ from `RANDOM` and `PROBE` in their norm alone."""


def smaller_errors(delta: RunMetric) -> pd.DataFrame:
    """Return the log of mean ||delta_i|| at the start of FT over that of LP-FT."""
    rows = delta.table.assign(ln_delta=ln(delta.table["delta"]))
    return method_differences(rows, "ln_delta", [("ft", "lp_ft")])


def rows_near_the_random_head(head_rows: RunMetric) -> pd.DataFrame:
    """Return the mean cosine of the rows of V after FT and in the random head."""
    return method_values(_mean_over_rows(head_rows), "random_cosine", ["ft"])


def rows_away_from_the_random_head(head_rows: RunMetric) -> pd.DataFrame:
    """Return the mean cosine of the rows of V after LP-FT and in the random head.

    LP-FT does not begin with the random head.
    """
    return method_values(_mean_over_rows(head_rows), "random_cosine", ["lp_ft"])


def larger_ratio(*heads: HeadMetric) -> pd.DataFrame:
    """Return the FT ratio from the probe minus that from the random head."""
    return _contrast_over_samples(heads, "ft_ratio", lambda ratio: ratio[PROBE] - ratio[RANDOM])


def ratio_of_long_random_heads(*heads: HeadMetric) -> pd.DataFrame:
    """Return the FT ratio from a random direction with the probe's norm.

    Only sets with a long probe are taken.
    """
    return _contrast_over_samples(
        _sets_with_long_probe(heads), "ft_ratio", lambda ratio: ratio[LONG_RANDOM]
    )


def ratio_by_direction(*heads: HeadMetric) -> pd.DataFrame:
    """Return the FT ratio from the probe's direction minus that from a random one.

    Both heads have the random head's norm. Only sets with a long probe are taken: elsewhere its
    direction with that norm is nearly the probe itself.
    """
    return _contrast_over_samples(
        _sets_with_long_probe(heads), "ft_ratio", lambda ratio: ratio[SHORT_PROBE] - ratio[RANDOM]
    )


def larger_p_term_on_fewer_samples(*heads: HeadMetric) -> pd.DataFrame:
    """Return the log of the probe's P term on a subset of its samples over that on all of them."""
    return _subset_over_all(heads, PROBE)


def smaller_p_term_of_other_heads(*heads: HeadMetric) -> pd.DataFrame:
    """Return the log of the P term on a subset of samples over that on all, of another head.

    This head has a random direction with the probe's norm.
    """
    return _subset_over_all(heads, LONG_RANDOM)


def more_change_in_the_first_step(*heads: HeadMetric) -> pd.DataFrame:
    """Return the log of the change of features in one step, from the probe over the random head.

    The step is linearised. Only sets with a long probe are taken.
    """
    return _contrast_over_samples(
        _sets_with_long_probe(heads),
        "feature_change",
        lambda change: ln(change[PROBE] / change[RANDOM]),
    )


def less_change_per_logit(*heads: HeadMetric) -> pd.DataFrame:
    """Return the log of change of features over that of logits, probe minus random head.

    Changes are those of one linearised step. Only sets with a long probe are taken.
    """
    long = _sets_with_long_probe(heads)
    features, logits = (
        _pivot_by_samples(long, column) for column in ("feature_change", "logit_change")
    )
    cells = {}
    for name, both in features.items():
        for samples, told in SAMPLES.items():
            share = both[samples] / logits[name][samples]
            cells[f"{name}, {told}"] = ln(share[PROBE] / share[RANDOM])
    return seed_rows(cells.items())


def _sets_with_long_probe(heads: Sequence[HeadMetric]) -> list[HeadMetric]:
    """Return the sets whose probe is `metrics > long_probe` times as long as the random head.

    The penalty decides the length of a probe. A claim on long heads says nothing of a short one.

    Raises:
        OutOfRegimeError: if there is none.
    """
    found = [each for each in heads if _norm_growth(each) >= each.job.long_probe]
    if not found:
        least = " or ".join(sorted({f"{each.job.long_probe:g}" for each in heads}))
        raise OutOfRegimeError(f"no probe is {least} times as long as the random head")
    return found


def _norm_growth(heads: HeadMetric) -> float:
    """Return ||V|| of the probe over that of the random head, median over seeds."""
    norms = heads.table.pivot_table(index="seed", columns=["direction", "norm"], values="head_norm")
    return float((norms[PROBE] / norms[RANDOM]).median())


def _contrast_over_samples(
    heads: Sequence[HeadMetric], column: str, contrast: Callable[[pd.DataFrame], SeedValues]
) -> pd.DataFrame:
    """Return a contrast of heads, on all and on some samples of every set."""
    return seed_rows(
        (f"{name}, {told}", contrast(both[samples]))
        for name, both in _pivot_by_samples(heads, column).items()
        for samples, told in SAMPLES.items()
    )


def _subset_over_all(heads: Sequence[HeadMetric], head: tuple[str, str]) -> pd.DataFrame:
    return seed_rows(
        (name, ln(both["subset"][head] / both["all"][head]))
        for name, both in _pivot_by_samples(heads, "p_term").items()
    )


def _pivot_by_samples(
    heads: Sequence[HeadMetric], column: str
) -> dict[str, dict[str, pd.DataFrame]]:
    """Pivot a column to [seed, (direction, norm)], of all and of some samples of every set."""
    return {
        name: {
            samples: rows_where(table, samples=samples).pivot(
                index="seed", columns=["direction", "norm"], values=column
            )
            for samples in SAMPLES
        }
        for name, table in tables_by_set(heads)
    }


def _mean_over_rows(head_rows: RunMetric) -> pd.DataFrame:
    return group_by_run(head_rows.table)[["random_cosine"]].mean().reset_index()
