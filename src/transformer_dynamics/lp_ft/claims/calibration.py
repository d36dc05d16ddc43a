"""Whether long heads are overconfident, and what temperature scaling does (Tables 3, 14, 15).

On sets with enough test samples, see `FEW`.
"""

from collections.abc import Sequence

import pandas as pd

from replication.base.errors import UnmeasurableError
from transformer_dynamics.lp_ft.claims.contrasts import (
    FEW,
    TEST,
    Trained,
    by_place,
    differences,
    evidence,
    ln,
    of_methods,
    told_apart,
)
from transformer_dynamics.lp_ft.figures.labels import METHODS
from transformer_dynamics.lp_ft.run_settings import Method

OTHERS: tuple[Method, ...] = ("ft", "lora", "lp_lora")
"""What LP-FT's improvement is compared with."""


def larger_error(calibration: Trained) -> pd.DataFrame:
    """ECE of LP-FT minus that of FT, before temperature scaling."""
    return differences(_of(calibration, is_scaled=False), "ece", [("lp_ft", "ft")])


def larger_error_of_adapters(calibration: Trained) -> pd.DataFrame:
    """ECE of LP-LoRA minus that of LoRA, before temperature scaling."""
    return differences(_of(calibration, is_scaled=False), "ece", [("lp_lora", "lora")])


def larger_largest_error(calibration: Trained) -> pd.DataFrame:
    """MCE of LP-FT minus that of FT, before temperature scaling."""
    return differences(_of(calibration, is_scaled=False), "mce", [("lp_ft", "ft")])


def higher_temperature(calibration: Trained) -> pd.DataFrame:
    """Log of T of LP-FT minus that of FT; T > 1 takes off confidence."""
    rows = _of(calibration, is_scaled=True)
    rows = rows.assign(ln_temperature=ln(rows["temperature"]))
    return differences(rows, "ln_temperature", [("lp_ft", "ft")])


def equal_error_after_scaling(calibration: Trained) -> pd.DataFrame:
    """ECE of LP-FT minus that of FT, after temperature scaling."""
    return differences(_of(calibration, is_scaled=True), "ece", [("lp_ft", "ft")])


def improvement(calibration: Trained) -> pd.DataFrame:
    """What temperature scaling takes off the ECE of LP-FT."""
    falls = _falls(calibration, "ece", ["lp_ft"])
    return evidence({f"{name}: {METHODS['lp_ft']}": fall["lp_ft"] for name, fall in falls.items()})


def larger_improvement(calibration: Trained) -> pd.DataFrame:
    """What temperature scaling takes off the ECE of LP-FT minus what it takes off the others'.

    One by one: the largest of three would be above its own mean by chance.
    """
    return _improvement(calibration, "ece")


def larger_improvement_of_the_largest(calibration: Trained) -> pd.DataFrame:
    """The same of MCE."""
    return _improvement(calibration, "mce")


def _improvement(calibration: Trained, column: str) -> pd.DataFrame:
    falls = _falls(calibration, column, ["lp_ft", *OTHERS])
    return evidence(
        {
            f"{name}: over {METHODS[each]}": fall["lp_ft"] - fall[each]
            for name, fall in falls.items()
            for each in OTHERS
        }
    )


def _falls(calibration: Trained, column: str, methods: Sequence[Method]) -> dict[str, pd.DataFrame]:
    """[seed, method] what temperature scaling takes off an error, by place."""
    before, after = (
        dict(by_place(_of(calibration, is_scaled=is_scaled))) for is_scaled in (False, True)
    )
    return {
        name: of_methods(own, column, methods) - of_methods(after[name], column, methods)
        for name, own in before.items()
    }


def _of(calibration: Trained, *, is_scaled: bool) -> pd.DataFrame:
    """Rows of test sets that are large enough.

    Raises:
        UnmeasurableError: if there is none.
    """
    rows = told_apart(calibration.table, split=TEST, is_scaled=is_scaled)
    rows = rows[~rows["texts"].isin(FEW)]
    if rows.empty:
        raise UnmeasurableError("no set has 500 test samples, on which calibration is judged")
    return rows
