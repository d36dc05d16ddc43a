"""Kernels at the start of fine-tuning (Tables 2 and 9, Figures 2, 7, 8 and 9)."""

from math import log
from typing import Any

import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.evidence import seed_rows
from transformer_dynamics.lp_ft.claims.contrasts import (
    KernelMetric,
    SeedValues,
    SpectrumMetric,
    ln,
    metric_set_label,
    rows_where,
    tables_by_set,
)
from transformer_dynamics.lp_ft.metrics.start.drawn_indices import drawn_mask
from transformer_dynamics.lp_ft.settings.labels import METHOD_LABELS, PRETRAINED
from transformer_dynamics.lp_ft.settings.runs import Method

ADAPTED: dict[Method, Method] = {"lora": "ft", "lp_lora": "lp_ft"}
"""Methods with adapters, and those whose head they share."""
TUNED_METHODS: tuple[Method, ...] = ("ft", "lora", "lp_ft", "lp_lora")
SMALLEST = 1e-16
"""Resolution of a singular value over the largest."""


def distance_of_spectra(*spectra: SpectrumMetric) -> pd.DataFrame:
    """Return the mean |log10| of the ratio of singular values of F^LoRA and F.

    Each is over the largest of its kernel. The mean is over the indices at which that of F counts.
    """
    cells = {}
    for each in spectra:
        rows = rows_where(each.table, kernel="F")
        for method, other in ADAPTED.items():
            distance = _spectrum_distance(rows, method, other, each.job.rank_tolerance)
            cells[f"{metric_set_label(each)}: {METHOD_LABELS[method]}"] = distance
    return seed_rows(cells.items())


def _spectrum_distance(rows: pd.DataFrame, method: str, other: str, least: float) -> SeedValues:
    """Return the mean |log10| of the ratio of a method's singular values to another's.

    It is over the indices at which those of the other method count.

    Raises:
        UnmeasurableError: if one of them is not there.
    """
    found = {}
    for seed, own in rows.groupby("seed"):
        wide = own.pivot(index="index", columns="method", values="value")
        if not {method, other} <= {*wide}:
            raise UnmeasurableError(f"there is no kernel of {METHOD_LABELS[method]}")
        seen = wide[wide[other] >= least].clip(lower=SMALLEST)
        found[seed] = float(ln(seen[method] / seen[other]).abs().mean() / log(10))
    return pd.Series(found, dtype=float)


def smaller_angle_than_p(*measured: Any) -> pd.DataFrame:
    """Return the log of the sine between F and P over that between F and F^LoRA.

    The sine is the part of F that no multiple of the other matrix gives. With F^LoRA it is found by
    the mean cosine over draws of A, with P by the norms of P, of F and of their sum.

    Args:
        measured: `KernelMetric` of adapters, and sizes of kernels; sets that have both are taken.
    """
    sizes = dict(tables_by_set(each for each in measured if "frobenius" in each.table))
    cells = {}
    for name, table in tables_by_set(each for each in measured if "cosine" in each.table):
        if name not in sizes:
            continue
        rows = rows_where(table, parameters="all")
        for method, other in ADAPTED.items():
            own = rows_where(rows, method=method)
            cosine = own["cosine"].groupby(own["seed"]).mean()
            p, f, both = (
                _kernel_values(sizes[name], *which, "frobenius")
                for which in (("all", "P"), (other, "F"), (other, "NTK"))
            )
            control = (both**2 - p**2 - f**2) / (2 * p * f)
            cells[f"{name}: {METHOD_LABELS[method]}"] = ln(_sine(control) / _sine(cosine))
    return seed_rows(cells.items())


def _sine(cosine: SeedValues) -> SeedValues:
    return (1 - cosine**2).clip(lower=0) ** 0.5


def nearer_spectra(*spectra: SpectrumMetric) -> pd.DataFrame:
    """Return the log of the distance of P's singular values to F's over that of F^LoRA's.

    Distances are those of `distance_of_spectra`, at the indices that Figures 2 and 7 draw.
    """
    cells = {}
    for measured in spectra:
        rows = measured.table[drawn_mask(measured.table["index"])]
        least = measured.job.rank_tolerance
        p = rows_where(rows, kernel="P").assign(method=PRETRAINED)
        rows = pd.concat([rows_where(rows, kernel="F"), p])
        for method, other in ADAPTED.items():
            far, near = (
                _spectrum_distance(rows, each, other, least) for each in (PRETRAINED, method)
            )
            cells[f"{metric_set_label(measured)}: {METHOD_LABELS[method]}"] = ln(far / near)
    return seed_rows(cells.items())


def place_of_the_sum(*sizes: KernelMetric) -> pd.DataFrame:
    """Return the place of the rank of P + F of LP-FT: 0 is the rank of P, 1 that of F.

    Singular values count from `metrics > rank_tolerance` of the largest on. NaN if both have the
    same rank.
    """
    cells = {}
    for name, table in tables_by_set(sizes):
        p, f, both = (
            _kernel_values(table, *which, "rank_coarse").astype(float)
            for which in (("all", "P"), ("lp_ft", "F"), ("lp_ft", "NTK"))
        )
        cells[name] = (both - p) / (f - p).where(f != p)
    return seed_rows(cells.items())


def _kernel_values(table: pd.DataFrame, method: str, kernel: str, column: str) -> SeedValues:
    """Return a column of one kernel by seed.

    Raises:
        UnmeasurableError: if it is not there.
    """
    rows = rows_where(table, method=method, kernel=kernel)
    if rows.empty:
        raise UnmeasurableError(f"there is no kernel {kernel} of {method}")
    return rows.set_index("seed")[column]
