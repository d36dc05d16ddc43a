"""Overconfidence of long heads, and the effect of temperature scaling (Tables 3, 14, 15).

Sets with few test samples are left out, see `is_judged`.
"""

from collections.abc import Sequence

import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.evidence import seed_rows
from transformer_dynamics.lp_ft.claims.contrasts import (
    TEST,
    RunMetric,
    group_by_place,
    is_judged,
    ln,
    method_differences,
    pivot_methods,
    rows_where,
)
from transformer_dynamics.lp_ft.settings.labels import METHOD_LABELS
from transformer_dynamics.lp_ft.settings.runs import Method

OTHERS: tuple[Method, ...] = ("ft", "lora", "lp_lora")
"""Methods whose improvement is compared with that of LP-FT."""


def larger_error(calibration: RunMetric) -> pd.DataFrame:
    """Return the ECE of LP-FT minus that of FT, before temperature scaling."""
    return method_differences(_judged_rows(calibration, is_scaled=False), "ece", [("lp_ft", "ft")])


def larger_error_of_adapters(calibration: RunMetric) -> pd.DataFrame:
    """Return the ECE of LP-LoRA minus that of LoRA, before temperature scaling."""
    return method_differences(
        _judged_rows(calibration, is_scaled=False), "ece", [("lp_lora", "lora")]
    )


def larger_largest_error(calibration: RunMetric) -> pd.DataFrame:
    """Return the MCE of LP-FT minus that of FT, before temperature scaling."""
    return method_differences(_judged_rows(calibration, is_scaled=False), "mce", [("lp_ft", "ft")])


def higher_temperature(calibration: RunMetric) -> pd.DataFrame:
    """Return the log of the temperature T of LP-FT minus that of FT.

    T > 1 takes off confidence.
    """
    rows = _judged_rows(calibration, is_scaled=True)
    rows = rows.assign(ln_temperature=ln(rows["temperature"]))
    return method_differences(rows, "ln_temperature", [("lp_ft", "ft")])


def equal_error_after_scaling(calibration: RunMetric) -> pd.DataFrame:
    """Return the ECE of LP-FT minus that of FT, after temperature scaling."""
    return method_differences(_judged_rows(calibration, is_scaled=True), "ece", [("lp_ft", "ft")])


def improvement(calibration: RunMetric) -> pd.DataFrame:
    """Return the fall of the ECE of LP-FT by temperature scaling."""
    falls = _falls(calibration, "ece", ["lp_ft"])
    return seed_rows(
        (f"{name}: {METHOD_LABELS['lp_ft']}", fall["lp_ft"]) for name, fall in falls.items()
    )


def larger_improvement(calibration: RunMetric) -> pd.DataFrame:
    """Return the fall of ECE by temperature scaling, of LP-FT minus that of each other method.

    Methods are compared one by one: the largest of three would be above its own mean by chance.
    """
    return _improvement(calibration, "ece")


def larger_improvement_of_the_largest(calibration: RunMetric) -> pd.DataFrame:
    """Return the fall of MCE by temperature scaling, of LP-FT minus that of each other method."""
    return _improvement(calibration, "mce")


def _improvement(calibration: RunMetric, column: str) -> pd.DataFrame:
    falls = _falls(calibration, column, ["lp_ft", *OTHERS])
    return seed_rows(
        (f"{name}: over {METHOD_LABELS[each]}", fall["lp_ft"] - fall[each])
        for name, fall in falls.items()
        for each in OTHERS
    )


def _falls(
    calibration: RunMetric, column: str, methods: Sequence[Method]
) -> dict[str, pd.DataFrame]:
    """Return [seed, method] the fall of an error by temperature scaling, by place."""
    before, after = (
        dict(group_by_place(_judged_rows(calibration, is_scaled=is_scaled)))
        for is_scaled in (False, True)
    )
    return {
        name: pivot_methods(own, column, methods) - pivot_methods(after[name], column, methods)
        for name, own in before.items()
    }


def _judged_rows(calibration: RunMetric, *, is_scaled: bool) -> pd.DataFrame:
    """Return the rows of test sets that are large enough.

    Raises:
        UnmeasurableError: if there is none.
    """
    rows = rows_where(calibration.table, split=TEST, is_scaled=is_scaled)
    rows = rows[is_judged(rows["texts"], calibration)]
    if rows.empty:
        raise UnmeasurableError("no set has 500 test samples, on which calibration is judged")
    return rows
