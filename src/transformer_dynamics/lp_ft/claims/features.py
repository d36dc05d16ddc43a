"""Change of features, and the scatter of classes in them (Tables 1, 11 and 12)."""

import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.evidence import seed_rows
from transformer_dynamics.lp_ft.claims.contrasts import (
    TEST,
    RunMetric,
    SeedValues,
    check_equal_rates,
    group_by_place,
    ln,
    method_differences,
    pivot_methods,
    rows_where,
)

OWN_HEADS = {"random": "the random head", "probe": "the probe"}
"""Heads that give a norm or a direction, in names of comparisons."""


def less_change(features: RunMetric) -> pd.DataFrame:
    """Return the log of Diff(F) of FT over that of LP-FT, on every test set."""
    return method_differences(_with_logarithms(features), "ln_difference", [("ft", "lp_ft")])


def less_change_of_adapters(features: RunMetric) -> pd.DataFrame:
    """Return the log of Diff(F) of LoRA over that of LP-LoRA, on every test set."""
    return method_differences(_with_logarithms(features), "ln_difference", [("lora", "lp_lora")])


def less_change_at_equal_rates(features: RunMetric) -> pd.DataFrame:
    """Return the log of Diff(F) of FT over that of LP-FT, at every rate that both have."""
    rows = _with_logarithms(features)
    cells = {}
    for name, own in group_by_place(rows):
        for rate, equal in own.groupby("rate"):
            wide = pivot_methods(equal, "ln_difference", ("ft", "lp_ft"))
            cells[f"{name}: rate {rate:g}"] = wide["ft"] - wide["lp_ft"]
    return seed_rows(cells.items())


def less_change_by_direction(features: RunMetric) -> pd.DataFrame:
    """Return the log of Diff(F) from the random direction over the probe's, at either norm.

    Rates are equal: directions are those of two methods, each of which may have its own.
    """
    check_equal_rates(_with_logarithms(features))
    found = _by_direction_and_norm(features)
    return seed_rows(
        (f"{name}: norm of {told}", found[name, "ft", norm] - found[name, "lp_ft", norm])
        for name in dict.fromkeys(key[0] for key in found)
        for norm, told in OWN_HEADS.items()
    )


def less_change_by_norm(features: RunMetric) -> pd.DataFrame:
    """Return the log of Diff(F) from the random norm over the probe's, in either direction."""
    found = _by_direction_and_norm(features)
    directions = {"ft": OWN_HEADS["random"], "lp_ft": OWN_HEADS["probe"]}
    return seed_rows(
        (
            f"{name}: direction of {told}",
            found[name, method, "random"] - found[name, method, "probe"],
        )
        for name in dict.fromkeys(key[0] for key in found)
        for method, told in directions.items()
    )


def higher_similarity(features: RunMetric) -> pd.DataFrame:
    """Return the similarity CS(F) of LP-FT minus that of FT, on the test samples."""
    rows = rows_where(features.table, split=TEST)
    return method_differences(rows, "cosine_similarity", [("lp_ft", "ft")])


def higher_similarity_of_adapters(features: RunMetric) -> pd.DataFrame:
    """Return the similarity CS(F) of LP-LoRA minus that of LoRA, on the test samples."""
    rows = rows_where(features.table, split=TEST)
    return method_differences(rows, "cosine_similarity", [("lp_lora", "lora")])


def kept_similarity(features: RunMetric) -> pd.DataFrame:
    """Return the distance of CS(F) from its untrained value, of FT minus that of LP-FT.

    Rows of LP have the untrained features.
    """
    cells = {}
    for name, own in group_by_place(rows_where(features.table, split=TEST)):
        wide = pivot_methods(own, "cosine_similarity", ("lp", "ft", "lp_ft"))
        cells[name] = (wide["ft"] - wide["lp"]).abs() - (wide["lp_ft"] - wide["lp"]).abs()
    return seed_rows(cells.items())


def lower_discriminant_ratio(features: RunMetric) -> pd.DataFrame:
    """Return the log of FDR(F) of FT over that of LP-FT, on test samples of the set itself.

    Sets with too few samples for a regular scatter within classes are left out.
    """
    rows = _rows_above_noise(rows_where(features.table, split=TEST))
    return method_differences(rows, "ln_discriminant_ratio", [("ft", "lp_ft")])


def lower_discriminant_ratio_of_adapters(features: RunMetric) -> pd.DataFrame:
    """Return the log of FDR(F) of LoRA over that of LP-LoRA, where there are enough samples."""
    rows = _rows_above_noise(rows_where(features.table, split=TEST))
    return method_differences(rows, "ln_discriminant_ratio", [("lora", "lp_lora")])


def higher_discriminant_ratio_elsewhere(features: RunMetric) -> pd.DataFrame:
    """Return the log of FDR(F) of LP-FT over that of FT, on test samples out of distribution."""
    rows = features.table
    rows = _rows_above_noise(rows[rows["split"] != TEST])
    return method_differences(rows, "ln_discriminant_ratio", [("lp_ft", "ft")])


def _with_logarithms(features: RunMetric) -> pd.DataFrame:
    rows = features.table[features.table["method"] != "lp"]
    return rows.assign(ln_difference=ln(rows["difference"]))


def _rows_above_noise(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows with n > h + C + 1 samples, of which noise has a finite FDR."""
    kept = rows[rows["noise_floor"].notna()]
    if kept.empty:
        raise UnmeasurableError("no test set has more samples than features have coordinates")
    return kept.assign(ln_discriminant_ratio=ln(kept["discriminant_ratio"]))


def _by_direction_and_norm(features: RunMetric) -> dict[tuple[str, str, str], SeedValues]:
    """Return the log of Diff(F) by place, method (which gives the direction) and norm."""
    rows = _with_logarithms(features)
    found = {}
    for name, own in group_by_place(rows):
        for norm in OWN_HEADS:
            wide = pivot_methods(rows_where(own, norm_of=norm), "ln_difference", ("ft", "lp_ft"))
            found.update({(name, method, norm): wide[method] for method in ("ft", "lp_ft")})
    return found
