"""Kernels at the start of fine-tuning (Tables 2 and 9, Figures 2, 7, 8 and 9)."""

from math import log

import pandas as pd

from replication.errors import UnmeasurableError
from transformer_dynamics.lp_ft.claims.contrasts import (
    Kernels,
    Seeds,
    evidence,
    ln,
    of_methods,
    of_sets,
    told_apart,
)
from transformer_dynamics.lp_ft.figures.labels import METHODS
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
            found = {}
            for seed, own in rows.groupby("seed"):
                wide = own.pivot(index="index", columns="method", values="value")
                if not {method, other} <= {*wide}:
                    raise UnmeasurableError(f"there is no kernel of {METHODS[method]}")
                seen = wide[wide[other] >= SEEN].clip(lower=SMALLEST)
                found[seed] = float(ln(seen[method] / seen[other]).abs().mean() / log(10))
            cells[f"{name}: {METHODS[method]}"] = pd.Series(found, dtype=float)
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
