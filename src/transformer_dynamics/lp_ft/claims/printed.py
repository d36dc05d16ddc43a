"""Printed tables, held against each other and against the theory."""

from collections.abc import Iterator
from math import log

import pandas as pd

from replication.study.evidence import Cases, evidence
from transformer_dynamics.lp_ft.settings.labels import METHOD_LABELS, SET_LABELS
from transformer_dynamics.lp_ft.theory.ft_ratio import ratio_of_adapters, ratio_of_norms

KERNEL_SAMPLES = {("cb", "train"): 225, ("cb", "test"): 56} | {
    (name, "train"): 250 for name in ("rte", "boolq", "wic")
}
"""Number N of samples of the kernels of Tables 2 and 9 by set and split, if known: NC is 675 and
500, and the test set of CB has 56 samples."""
KERNEL_CLASSES = {"cb": 3, "rte": 2, "boolq": 2, "wic": 2}
"""Number of classes C by set."""
MAJORITY = {"sst2": (444, 872), "mrpc": (279, 408), "wsc": (66, 104)}
"""Number of samples of the commonest class, and of all samples, of the published validation
sets."""
CB_IN_TABLE_7 = 57
"""Number of test samples of CB that Table 7 has."""
SEEDS = 5
"""Number of seeds of the means of Table 8."""
STARTS = {
    "lp": "pretrained",
    "ft": "pretrained",
    "lora": "pretrained",
    "lp_ft": "lp",
    "lp_lora": "lp",
}
"""Row that has the start of each method's head, by method."""


def rounding_error(samples: int) -> float:
    """Return by how many samples a percentage with two decimals can miss a whole number."""
    return samples * 0.005 / 100


@evidence
def ratios_of_norms(printed: pd.DataFrame) -> Cases:
    """Yield FN(F)/(FN(P) + FN(F)) minus the FT ratio, both as printed, of FT and LP-FT."""
    for name, found in _group_by_set(printed):
        for method in ("ft", "lp_ft"):
            norms = ratio_of_norms(found["pretrained", "p_frobenius"], found[method, "f_frobenius"])
            yield f"{SET_LABELS[name]}, {METHOD_LABELS[method]}", norms - found[method, "ft_ratio"]


@evidence
def ratios_of_adapters(printed: pd.DataFrame) -> Cases:
    """Yield the log of FT ratios of adapters, from full ones and FN(F), over the printed ones."""
    for name, found in _group_by_set(printed):
        for method, other in (("lora", "ft"), ("lp_lora", "lp_ft")):
            scalar = found[method, "f_frobenius"] / found[other, "f_frobenius"]
            expected = ratio_of_adapters(found[other, "ft_ratio"], scalar)
            yield (
                f"{SET_LABELS[name]}, {METHOD_LABELS[method]}",
                log(expected / found[method, "ft_ratio"]),
            )


@evidence
def ratio_of_norms_with_adapters(printed: pd.DataFrame) -> Cases:
    """Yield the printed FT ratio minus FN(F)/(FN(P) + FN(F)), of LP-LoRA."""
    for name, found in _group_by_set(printed):
        norms = ratio_of_norms(found["pretrained", "p_frobenius"], found["lp_lora", "f_frobenius"])
        yield SET_LABELS[name], found["lp_lora", "ft_ratio"] - norms


@evidence
def lowest_rank_of_the_sum(printed: pd.DataFrame) -> Cases:
    """Yield the printed rank of P + F minus that of F: of each set the lowest of all methods."""
    for name, found in _group_by_set(printed):
        methods = {method for method, quantity in found if quantity == "ntk_rank"}
        yield (
            SET_LABELS[name],
            min(found[each, "ntk_rank"] - found[each, "f_rank"] for each in methods),
        )


@evidence
def ranks_over_caps(printed: pd.DataFrame) -> Cases:
    """Yield the printed rank of F after linear probing over N rank V.

    Rank V is 1 where C = 2, else C - 1.
    """
    for name, found in _group_by_set(printed):
        cap = KERNEL_SAMPLES[name, "train"] * (KERNEL_CLASSES[name] - 1)
        for method in ("lp_ft", "lp_lora"):
            yield f"{SET_LABELS[name]}, {METHOD_LABELS[method]}", found[method, "f_rank"] / cap


@evidence
def accuracies_of_samples(printed: pd.DataFrame) -> Cases:
    """Yield how far printed accuracies are from whole numbers of samples.

    Accuracies are those of kernel regression. The furthest one is taken, in units of what rounding
    to two decimals can do.
    """
    yield from _accuracies(printed, of_classes=False)


@evidence
def accuracies_of_classes(printed: pd.DataFrame) -> Cases:
    """Yield how far printed accuracies are from whole numbers of pairs of sample and class.

    Accuracies are those of kernel regression. The furthest one is taken, in units of what rounding
    to two decimals can do.
    """
    yield from _accuracies(printed, of_classes=True)


def _accuracies(printed: pd.DataFrame, *, of_classes: bool) -> Cases:
    for (name, split), samples in KERNEL_SAMPLES.items():
        size = samples * (KERNEL_CLASSES[name] if of_classes else 1)
        rows = printed[
            (printed["set"] == name) & printed["quantity"].str.endswith(f"logit_{split}")
        ]
        counts = rows["value"] / 100 * size
        furthest = float((counts - counts.round()).abs().max())
        yield f"{SET_LABELS[name]}, {split}", furthest / rounding_error(size)


@evidence
def accuracy_above_the_majority(accuracies: pd.DataFrame) -> Cases:
    """Yield printed accuracies minus the share of the commonest class, in percentage points.

    Only accuracies without a deviation over seeds are taken.
    """
    rows = accuracies[accuracies["set"].isin(MAJORITY) & (accuracies["deviation"] == 0)]
    for name, method, value in rows[["set", "method", "value"]].itertuples(index=False):
        commonest, samples = MAJORITY[name]
        yield f"{SET_LABELS[name]}, {METHOD_LABELS[method]}", value - 100 * commonest / samples


@evidence
def norm_growth(norms: pd.DataFrame) -> Cases:
    """Yield the log of the printed ||V|| after training over that before, of all methods."""
    for name, found in _group_by_set(norms):
        for method, start in STARTS.items():
            ratio = found[method, "norm"] / found[start, "norm"]
            yield f"{SET_LABELS[name]}, {METHOD_LABELS[method]}", log(ratio)


@evidence
def furthest_printed_twice(values: pd.DataFrame) -> Cases:
    """Yield the largest |ln| of the ratio of values that are printed twice, of each set.

    They are printed in Table 1, and in Table 12 or 13.
    """
    first, second = (values[(values["table"] == 1) == is_first] for is_first in (True, False))
    both = first.merge(second, on=["set", "method", "quantity"], suffixes=("", "_again"))
    for name, rows in both.groupby("set", sort=False):
        pairs = zip(rows["value"], rows["value_again"], strict=True)
        yield SET_LABELS[str(name)], max(abs(log(value / again)) for value, again in pairs)


@evidence
def gains_of_lp_ft(accuracies: pd.DataFrame) -> Cases:
    """Yield the printed accuracy of LP-FT minus that of FT, in percentage points."""
    for name, found in _group_by_set(accuracies):
        values = {method: value for (method, _), value in found.items()}
        yield SET_LABELS[name], values["lp_ft"] - values["ft"]


@evidence
def samples_of_cb(accuracies: pd.DataFrame) -> Cases:
    """Yield how far printed mean accuracies on CB are from whole numbers of samples.

    The distance is in units of what rounding can do.
    """
    size = SEEDS * CB_IN_TABLE_7
    rows = accuracies[accuracies["set"] == "cb"]
    for method, value in rows[["method", "value"]].itertuples(index=False):
        count = value / 100 * size
        yield METHOD_LABELS[method], abs(count - round(count)) / rounding_error(size)


@evidence
def sets_with_unequal_settings(settings: pd.DataFrame) -> Cases:
    """Yield the number of sets where FT and LP-FT differ in rate or batch size (Table 6)."""
    differ = [
        any(
            found["ft", quantity] != found["lp_ft", quantity] for quantity in ("rate", "batch_size")
        )
        for _, found in _group_by_set(settings)
    ]
    yield f"of {len(differ)} sets", sum(differ)


def _group_by_set(table: pd.DataFrame) -> Iterator[tuple[str, dict[tuple[str, str], float]]]:
    """Yield every set with its printed values by method and quantity."""
    for name, rows in table.groupby("set", sort=False):
        keys = zip(rows["method"], rows["quantity"], strict=True)
        yield str(name), dict(zip(keys, rows["value"].astype(float), strict=True))
