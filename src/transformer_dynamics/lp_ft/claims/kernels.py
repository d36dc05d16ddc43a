"""Kernels at the start of fine-tuning (Tables 2 and 9, Figures 2, 7, 8 and 9)."""

from math import log
from typing import Any

import pandas as pd

from replication.base.errors import UnmeasurableError
from transformer_dynamics.lp_ft.claims.contrasts import (
    Kernels,
    Seeds,
    evidence,
    ln,
    of_methods,
    of_sets,
    told_apart,
)
from transformer_dynamics.lp_ft.figures.labels import METHODS, PRETRAINED
from transformer_dynamics.lp_ft.figures.spectra import is_drawn
from transformer_dynamics.lp_ft.run_settings import Method

ADAPTED: dict[Method, Method] = {"lora": "ft", "lp_lora": "lp_ft"}
"""Methods with adapters, and those whose head they share."""
TUNED: tuple[Method, ...] = ("ft", "lora", "lp_ft", "lp_lora")
SEEN = 1e-3
"""Singular values, over the largest, that a figure tells apart."""
SMALLEST = 1e-16
"""Resolution of a singular value over the largest."""


def larger_ratio(*ratios: Kernels) -> pd.DataFrame:
    """FT ratio of LP-FT minus that of FT."""
    cells = {}
    for name, table in of_sets(ratios):
        wide = of_methods(table, "ft_ratio", ("lp_ft", "ft"))
        cells[name] = wide["lp_ft"] - wide["ft"]
    return evidence(cells)


def higher_rank(*sizes: Kernels) -> pd.DataFrame:
    """Rank over the largest that it can have, of F of LP-FT minus that of P.

    Singular values count from 1e-3 of the largest on.
    """
    cells = {}
    for name, table in of_sets(sizes):
        share = table.assign(share=table["rank_coarse"] / table["cap"])
        cells[name] = _of(share, "lp_ft", "F", "share") - _of(share, "all", "P", "share")
    return evidence(cells)


def higher_accuracy_of_logits(*regressions: Kernels) -> pd.DataFrame:
    """Share of right pairs of a test sample and a class, of F of LP-FT minus that of P."""
    return _accuracy(regressions, "logit")


def higher_accuracy(*regressions: Kernels) -> pd.DataFrame:
    """Share of test samples whose class is right, of F of LP-FT minus that of P."""
    return _accuracy(regressions, "argmax")


def similarity_of_adapters(*measured: Kernels) -> pd.DataFrame:
    """Cosine of F^LoRA and F, mean over the drawn A."""
    cells = {}
    for name, table in of_sets(measured):
        rows = told_apart(table, parameters="all")
        for method in ADAPTED:
            own = told_apart(rows, method=method)
            cells[f"{name}: {METHODS[method]}"] = own.groupby("seed")["cosine"].mean()
    return evidence(cells)


def scalar_of_adapters(*measured: Kernels) -> pd.DataFrame:
    """<F^LoRA, F>/<F, F> of the adapted matrices over sigma^2 r (alpha/r)^2, mean over A."""
    cells = {}
    for name, table in of_sets(measured):
        rows = told_apart(table, parameters="adapted")
        for method in ADAPTED:
            own = told_apart(rows, method=method)
            ratio = own["scalar"] / own["expected"]
            cells[f"{name}: {METHODS[method]}"] = ratio.groupby(own["seed"]).mean()
    return evidence(cells)


def distance_of_spectra(*spectra: Kernels) -> pd.DataFrame:
    """Mean |log10| of the ratio of singular values of F^LoRA and F, each over its largest.

    Over the indices at which that of F is visible.
    """
    cells = {}
    for name, table in of_sets(spectra):
        rows = told_apart(table, kernel="F")
        for method, other in ADAPTED.items():
            cells[f"{name}: {METHODS[method]}"] = _distance(rows, method, other)
    return evidence(cells)


def _distance(rows: pd.DataFrame, method: str, other: str) -> Seeds:
    """Mean |log10| of the ratio of a method's singular values to another's, where these are seen.

    Raises:
        UnmeasurableError: if one of them is not there.
    """
    found = {}
    for seed, own in rows.groupby("seed"):
        wide = own.pivot(index="index", columns="method", values="value")
        if not {method, other} <= {*wide}:
            raise UnmeasurableError(f"there is no kernel of {METHODS[method]}")
        seen = wide[wide[other] >= SEEN].clip(lower=SMALLEST)
        found[seed] = float(ln(seen[method] / seen[other]).abs().mean() / log(10))
    return pd.Series(found, dtype=float)


def nearer_than_p(*measured: Any) -> pd.DataFrame:
    """Log of the part of F that no multiple of P gives over that no multiple of F^LoRA gives.

    These are sines of the angles between matrices: with F^LoRA by the mean cosine over draws of A,
    with P by the norms of P, of F and of their sum.

    Args:
        measured: `Kernels` of adapters, and sizes of kernels; sets that have both are taken.
    """
    sizes = dict(of_sets(each for each in measured if "frobenius" in each.table))
    cells = {}
    for name, table in of_sets(each for each in measured if "cosine" in each.table):
        if name not in sizes:
            continue
        rows = told_apart(table, parameters="all")
        for method, other in ADAPTED.items():
            own = told_apart(rows, method=method)
            cosine = own["cosine"].groupby(own["seed"]).mean()
            p, f, both = (
                _of(sizes[name], *which, "frobenius")
                for which in (("all", "P"), (other, "F"), (other, "NTK"))
            )
            control = (both**2 - p**2 - f**2) / (2 * p * f)
            cells[f"{name}: {METHODS[method]}"] = ln(_sine(control) / _sine(cosine))
    return evidence(cells)


def _sine(cosine: Seeds) -> Seeds:
    return (1 - cosine**2).clip(lower=0) ** 0.5


def nearer_spectra(*spectra: Kernels) -> pd.DataFrame:
    """Log of the distance of the singular values of P to those of F over that of F^LoRA.

    Distances are those of `distance_of_spectra`, at the indices that Figures 2 and 7 draw.
    """
    cells = {}
    for name, table in of_sets(spectra):
        rows = table[is_drawn(table["index"])]
        p = told_apart(rows, kernel="P").assign(method=PRETRAINED)
        rows = pd.concat([told_apart(rows, kernel="F"), p])
        for method, other in ADAPTED.items():
            far, near = (_distance(rows, each, other) for each in (PRETRAINED, method))
            cells[f"{name}: {METHODS[method]}"] = ln(far / near)
    return evidence(cells)


def place_of_the_sum(*sizes: Kernels) -> pd.DataFrame:
    """Where the rank of P + F of LP-FT lies: 0 is the rank of P, 1 that of F.

    Singular values count from 1e-3 of the largest on. NaN if both have the same rank.
    """
    cells = {}
    for name, table in of_sets(sizes):
        p, f, both = (
            _of(table, *which, "rank_coarse").astype(float)
            for which in (("all", "P"), ("lp_ft", "F"), ("lp_ft", "NTK"))
        )
        cells[name] = (both - p) / (f - p).where(f != p)
    return evidence(cells)


def larger_diagonal(*sizes: Kernels) -> pd.DataFrame:
    """Log of the mean trace norm of blocks (x, x) over that of others, of F minus that of P."""
    cells = {}
    for name, table in of_sets(sizes):
        ratio = table.assign(ratio=ln(table["diagonal"] / table["off_diagonal"]))
        p = _of(ratio, "all", "P", "ratio")
        for method in TUNED:
            cells[f"{name}: {METHODS[method]}"] = _of(ratio, method, "F", "ratio") - p
    return evidence(cells)


def _accuracy(regressions: tuple[Kernels, ...], column: str) -> pd.DataFrame:
    cells = {}
    for name, table in of_sets(regressions):
        rows = told_apart(table, split="test")
        cells[name] = _of(rows, "lp_ft", "F", column) - _of(rows, "all", "P", column)
    return evidence(cells)


def _of(table: pd.DataFrame, method: str, kernel: str, column: str) -> Seeds:
    """A column of one kernel by seed.

    Raises:
        UnmeasurableError: if it is not there.
    """
    rows = told_apart(table, method=method, kernel=kernel)
    if rows.empty:
        raise UnmeasurableError(f"there is no kernel {kernel} of {method}")
    return rows.set_index("seed")[column]
