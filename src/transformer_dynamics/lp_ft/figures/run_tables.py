"""Tables of runs: features (1, 11, 12, 13), accuracy (8, 10) and calibration (3, 14, 15)."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from replication.base.errors import InputError
from replication.base.strict import refuse_repeated, unknown_key
from replication.study.contract import Figure, Measured
from transformer_dynamics.lp_ft.figures.rows import check_one_run
from transformer_dynamics.lp_ft.figures.typesetting import (
    PRINTED,
    Cell,
    ColumnHead,
    Entry,
    Part,
    draw_table,
    format_number,
    make_part,
    shade_orders,
)
from transformer_dynamics.lp_ft.settings.labels import METHOD_LABELS, TRAINED_ON, set_label
from transformer_dynamics.lp_ft.settings.metrics import MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

GAIN = "Fall by temperature scaling, percentage points"
"""Heading of the columns of gains."""
QUANTITIES = {
    "cosine_similarity": ColumnHead("", r"$\mathrm{CS}(F)$"),
    "difference": ColumnHead("", r"$\mathrm{Diff}(F)$"),
    "discriminant_ratio": ColumnHead("", r"$\mathrm{FDR}(F)$"),
    "norm": ColumnHead("", r"$\mathrm{Norm}(C)$"),
    "accuracy": ColumnHead("", "Accuracy, %"),
    "ece": ColumnHead("ECE, %", "before"),
    "ece_scaled": ColumnHead("ECE, %", "scaled"),
    "ece_gain": ColumnHead(GAIN, "of ECE"),
    "mce": ColumnHead("MCE, %", "before"),
    "mce_scaled": ColumnHead("MCE, %", "scaled"),
    "mce_gain": ColumnHead(GAIN, "of MCE"),
}
"""Head of each quantity where a row is a method; a gain is that of temperature scaling."""
OF_METRIC = {
    "features": ["cosine_similarity", "difference", "discriminant_ratio", "norm"],
    "accuracy": ["accuracy"],
    "calibration": ["ece", "ece_scaled", "ece_gain", "mce", "mce_scaled", "mce_gain"],
}
"""Quantities of each metric."""
ERRORS = {"ece", "ece_scaled", "mce", "mce_scaled"}
"""Quantities of which less is better."""
IN_PERCENT = {"accuracy", "matthews", "ece", "mce"}
"""Metrics between 0 and 1, or -1 and 1; as in the paper, tables have them times 100."""
BY_CORRELATION = {"cola"}
"""Sets whose accuracy is Matthews' correlation."""
Quantity = Literal[
    "cosine_similarity", "difference", "discriminant_ratio", "norm", "accuracy", "ece",
    "ece_scaled", "ece_gain", "mce", "mce_scaled", "mce_gain",
]  # fmt: skip
TableMethod = Literal["pretrained", "lp", "ft", "lora", "lp_ft", "lp_lora"]


class RunTable(Figure):
    """Means and deviations over seeds, with the paper's numbers below."""

    title: ClassVar[str] = "LP-FT: tables of trained runs"
    columns: ClassVar[tuple[str, ...]] = (
        "trained_on", "set", "method", "quantity", "samples", "seed", "value", "mean", "deviation",
    )  # fmt: skip
    published_columns: ClassVar[tuple[str, ...]] = ("table", "value", "deviation")
    kind: Literal[
        "table1", "table3", "table8", "table10", "table11", "table12", "table13", "table14",
        "table15",
    ]  # fmt: skip
    """Name of the table."""
    experiment: str = "main"
    """Experiment of the runs."""
    metric: Literal["features", "accuracy", "calibration"]
    """Metric whose columns are the quantities."""
    quantities: Annotated[list[Quantity], Field(min_length=1), AfterValidator(refuse_repeated)]
    """Quantities that are shown."""
    methods: Annotated[list[TableMethod], Field(min_length=1), AfterValidator(refuse_repeated)]
    """Methods that are shown."""
    splits: Literal["own", "all", "shifted"] = "own"
    """Test sets: own ones; with those out of distribution; or both where there are any of these."""
    rows: Literal["sets", "methods"] = "sets"
    """Kind of a row: a set, with methods beside each other, or one method on one set."""

    @model_validator(mode="after")
    def _check_metric(self) -> Self:
        for quantity in self.quantities:
            if quantity not in OF_METRIC[self.metric]:
                raise ValueError(f"quantities: {unknown_key(quantity, OF_METRIC[self.metric])}")
        if self.metric != "features" and "pretrained" in self.methods:
            raise ValueError(f"methods: pretrained has no {self.metric}; leave it out")
        return self

    def sources(self) -> list[tuple[str, str]]:
        """Return the experiment with its metric, and for calibration with accuracy.

        The metric of accuracy has the numbers of samples.
        """
        counted = ["accuracy"] if self.metric == "calibration" else []
        return [(self.experiment, metric) for metric in (self.metric, *counted)]


def table(
    figure: RunTable, measured: Measured[MetricJob], *counted: Measured[MetricJob]
) -> "pd.DataFrame":
    """Return every seed, with mean and standard deviation over those whose value is finite.

    `set` is the test set, `trained_on` the set that was trained on, `samples` the number of test
    samples. Pre-trained is the start of LP: its features, the random head.
    """
    import pandas as pd

    whole = measured.table
    for each in counted:
        keys = ["texts", "split"]
        samples = each.table[[*keys, "samples"]].drop_duplicates(keys)
        whole = whole.merge(samples, on=keys, validate="many_to_one")
    rows = _select_test_sets(figure, whole)
    scaled = ["is_scaled"] if "is_scaled" in rows else []
    check_one_run(rows, figure.kind, "trained_on", "set", "method", "seed", *scaled)
    tables = []
    for method in figure.methods:
        own = rows[rows["method"] == ("lp" if method == "pretrained" else method)]
        if method == "pretrained":
            own = own.assign(norm=own["start_norm"])
        if "difference" in own and method in {"pretrained", "lp"}:
            # These features have not moved, which is no result.
            own = own.drop(columns="difference")
        tables.append(_long_values(own, list(figure.quantities)).assign(method=method))
    found = pd.concat(tables, ignore_index=True)
    if found.empty:
        raise InputError(
            f"lp_ft > figures > {figure.kind}: {figure.experiment} trains none of its methods"
        )
    same = found.groupby(["trained_on", "set", "method", "quantity"])["value"]
    found = found.assign(mean=same.transform("mean"), deviation=same.transform("std"))
    order = list(dict.fromkeys(zip(rows["trained_on"], rows["set"], strict=True)))
    pairs = zip(found["trained_on"], found["set"], strict=True)
    found = found.assign(
        row=[order.index(each) for each in pairs],
        of_method=found["method"].map(list(METHOD_LABELS).index),
        of_quantity=found["quantity"].map(list(figure.quantities).index),
    ).sort_values(["row", "of_method", "of_quantity", "seed"], ignore_index=True)
    return found[list(figure.columns)]


def _select_test_sets(figure: RunTable, rows: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows of the test sets that are shown, with columns `set` and `trained_on`."""
    rows = rows[rows["split"] != "validation"]
    is_own = rows["split"] == "test"
    rows = rows.assign(
        trained_on=rows["texts"],
        set=rows["split"].where(~is_own, rows["texts"]),
    )
    is_shown = {
        "own": is_own,
        "all": is_own | ~is_own,
        "shifted": rows["texts"].isin(rows.loc[~is_own, "texts"]),
    }
    shown = rows[is_shown[figure.splits]]
    if shown.empty:
        raise InputError(
            f"lp_ft > figures > {figure.kind}: no run of {figure.experiment} is tested out of"
            " distribution; set splits: own"
        )
    return shown


def _long_values(rows: "pd.DataFrame", quantities: list[str]) -> "pd.DataFrame":
    """Return columns trained_on, set, samples, seed, quantity and value of one method."""
    import pandas as pd

    keys = ["trained_on", "set", "samples", "seed"]
    by_correlation = rows["set"].isin(BY_CORRELATION)
    if "matthews" in rows:
        rows = rows.assign(accuracy=rows["accuracy"].where(~by_correlation, rows["matthews"]))
    if "is_scaled" in rows:
        # Rows before and after scaling become columns.
        before, after = (rows[rows["is_scaled"] == scaled].set_index(keys) for scaled in (0, 1))
        both = {name: before[name] for name in ("ece", "mce")}
        both |= {f"{name}_scaled": after[name] for name in ("ece", "mce")}
        both |= {f"{name}_gain": before[name] - after[name] for name in ("ece", "mce")}
        rows = pd.DataFrame(both).reset_index()
    known = [name for name in quantities if name in rows]
    found = rows.melt(id_vars=keys, value_vars=known, var_name="quantity")
    # One head is tested on several sets.
    found = found[(found["quantity"] != "norm") | (found["set"] == found["trained_on"])]
    unit = [100 if _is_percentage(name) else 1 for name in found["quantity"]]
    return found.assign(value=found["value"] * unit)


def _is_percentage(quantity: str) -> bool:
    return quantity.partition("_")[0] in IN_PERCENT


def draw(
    figure: RunTable, table: "pd.DataFrame", published: "pd.DataFrame | None" = None
) -> "Drawing":
    """Draw numbers of this project above, printed ones below."""
    from replication.figures.typeset import seed_count

    seeds = seed_count(table["seed"])
    several = f"mean and standard deviation of {seeds}" if seeds != "1 seed" else seeds
    means = table.drop_duplicates(["trained_on", "set", "method", "quantity"])
    parts = [_table_part(figure, f"Trained here ({several})", means, 1)]
    if published is not None:
        trained_on = published["set"].replace(TRAINED_ON)
        printed = published.assign(trained_on=trained_on, mean=published["value"])
        parts.append(_table_part(figure, PRINTED, _add_gains(printed), 2))
    compared = "of the methods on a set"
    if ERRORS & {*figure.quantities}:
        compared += "; scaled: temperature scaling"
    ends = ("highest", "lowest") if {*figure.quantities} <= ERRORS else ("lowest", "highest")
    return draw_table(list(_column_heads(figure).values()), parts, compared, ends)


def _add_gains(printed: "pd.DataFrame") -> "pd.DataFrame":
    """Add the differences that temperature scaling makes to printed values."""
    import pandas as pd

    tables = [printed]
    wide = printed.pivot(index=["trained_on", "set", "method"], columns="quantity", values="mean")
    for name in ("ece", "mce"):
        if {name, f"{name}_scaled"} <= {*wide}:
            gain = (wide[name] - wide[f"{name}_scaled"]).rename("mean").reset_index()
            tables.append(gain.assign(quantity=f"{name}_gain", deviation=float("nan")))
    return pd.concat(tables, ignore_index=True)


def _column_heads(figure: RunTable) -> dict[tuple[str, str], ColumnHead]:
    """Return heads of columns by method (none if a row is a method) and quantity."""
    if figure.rows == "methods":
        return {("", quantity): QUANTITIES[quantity] for quantity in figure.quantities}
    methods = [method for method in METHOD_LABELS if method in figure.methods]
    if len(figure.quantities) == 1:
        return {
            (method, figure.quantities[0]): ColumnHead("", METHOD_LABELS[method])
            for method in methods
        }
    return {
        (method, quantity): ColumnHead(METHOD_LABELS[method], QUANTITIES[quantity].name)
        for method in methods
        for quantity in figure.quantities
    }


def _table_part(figure: RunTable, title: str, rows: "pd.DataFrame", digits: int) -> Part:
    """Make rows under one heading, percentages with so many digits after the point."""
    rows = rows.assign(quantity=rows["quantity"].replace("matthews", "accuracy"))
    rows = rows[rows["method"].isin(figure.methods) & rows["quantity"].isin(figure.quantities)]
    own = [digits if _is_percentage(quantity) else None for quantity in rows["quantity"]]
    order = shade_orders(rows, own, ["trained_on", "set", "quantity"], ERRORS)
    names = ["trained_on", "set", "method", "quantity", "mean", "deviation"]
    entries = []
    for *place, mean, deviation, own_digits, shade in zip(
        *(rows[name].tolist() for name in names), own, order, strict=True
    ):
        trained_on, name, method, quantity = place
        row = _row_name(figure, trained_on, name)
        cell = Cell(format_number(mean, deviation, own_digits), shade)
        if figure.rows == "methods":
            entries.append(Entry((row, METHOD_LABELS[method]), ("", quantity), cell))
        else:
            entries.append(Entry((row,), (method, quantity), cell))
    return make_part(title, entries, list(_column_heads(figure)))


def _row_name(figure: RunTable, trained_on: str, name: str) -> str:
    is_correlation = name in BY_CORRELATION and figure.metric == "accuracy"
    label = set_label(name) + (" (MCC)" if is_correlation else "")
    return label if trained_on == name else f"{label}, from {set_label(trained_on)}"
