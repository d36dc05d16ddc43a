"""Tables 2 and 9: ranks, norms and regressions of the kernels of four methods, and FT ratios."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from replication.base.strict import REMOVABLE
from replication.study.contract import Figure, Measured
from transformer_dynamics.encoders.settings import TextName
from transformer_dynamics.lp_ft.figures.rows import check_set_names
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
from transformer_dynamics.lp_ft.settings.labels import METHOD_LABELS, PRETRAINED, set_label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

METRICS = ("kernel_sizes", "kernel_regression", "ft_ratio")
"""Metrics of every set, in this order."""
SIZES = {
    "rank": "rank_float32",
    "rank_coarse": "rank_coarse",
    "rank_float64": "rank_float64",
    "cap": "cap",
    "frobenius": "frobenius",
    "diagonal": "diagonal",
    "off_diagonal": "off_diagonal",
}
"""Quantity, after the name of its kernel, to column of `kernel_sizes`."""
_OWN, _WHOLE = r"$P$, or $F$ of a method", r"$P+F$"
HEADS = {
    "f_rank": ColumnHead(_OWN, "rank"),
    "f_frobenius": ColumnHead(_OWN, r"norm"),
    "f_logit_train": ColumnHead(_OWN, "train"),
    "f_logit_test": ColumnHead(_OWN, "test"),
    "f_argmax_test": ColumnHead(_OWN, "class"),
    "ntk_rank": ColumnHead(_WHOLE, "rank"),
    "ntk_logit_train": ColumnHead(_WHOLE, "train"),
    "ntk_logit_test": ColumnHead(_WHOLE, "test"),
    "ntk_argmax_test": ColumnHead(_WHOLE, "class"),
    "ft_ratio": ColumnHead("", "FT ratio"),
}
"""Quantities that are shown; those of P stand in the columns of F."""


class Table2(Figure):
    """Kernels at the start of fine-tuning, with the paper's numbers below."""

    title: ClassVar[str] = "LP-FT, Tables 2 and 9: kernels"
    columns: ClassVar[tuple[str, ...]] = (
        "set", "method", "quantity", "seed", "value", "mean", "deviation",
    )  # fmt: skip
    published_columns: ClassVar[tuple[str, ...]] = ("table", "value", "deviation")
    kind: Literal["table2"]
    """Name of the table."""
    kernels: Annotated[dict[TextName, str], Field(min_length=1), REMOVABLE]
    """Experiment by set."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the experiment of each set with each of three metrics."""
        return [(name, metric) for name in self.kernels.values() for metric in METRICS]


def table(figure: Table2, *measured: Measured[Any]) -> "pd.DataFrame":
    """Return every seed, with mean and standard deviation over seeds.

    Quantities are named after their kernel: `p_`, `f_` and `ntk_` (of P + F). `rank` is with the
    tolerance of float32, `cap` the largest that it can be; `logit_train` and `logit_test` are the
    paper's accuracy over pairs of sample and class, `argmax_train` and `argmax_test` that over
    samples, both in percent. P is that of the method `pretrained`.
    """
    import pandas as pd

    own = measured[:: len(METRICS)]
    check_set_names(figure.kind, dict(zip(figure.kernels, own, strict=True)))
    tables = []
    for place, name in enumerate(figure.kernels):
        sizes, regression, ratio = (each.table for each in measured[3 * place : 3 * place + 3])
        both = pd.concat([*_size_rows(sizes), *_regression_rows(regression), _ratio_rows(ratio)])
        tables.append(both.assign(set=name))
    found = pd.concat(tables, ignore_index=True)
    found["method"] = found["method"].replace("all", PRETRAINED)
    same = found.groupby(["set", "method", "quantity"])["value"]
    found = found.assign(mean=same.transform("mean"), deviation=same.transform("std"))
    return found[list(figure.columns)]


def _size_rows(rows: "pd.DataFrame") -> Iterator["pd.DataFrame"]:
    for quantity, column in SIZES.items():
        names = rows["kernel"].str.lower() + f"_{quantity}"
        yield rows[["seed", "method"]].assign(quantity=names, value=rows[column].astype(float))


def _regression_rows(rows: "pd.DataFrame") -> Iterator["pd.DataFrame"]:
    for kind in ("logit", "argmax"):
        names = rows["kernel"].str.lower() + f"_{kind}_" + rows["split"]
        yield rows[["seed", "method"]].assign(quantity=names, value=100 * rows[kind])


def _ratio_rows(rows: "pd.DataFrame") -> "pd.DataFrame":
    return rows[["seed", "method"]].assign(quantity="ft_ratio", value=rows["ft_ratio"])


def draw(
    figure: Table2, table: "pd.DataFrame", published: "pd.DataFrame | None" = None
) -> "Drawing":
    """Draw numbers of this project above, printed ones below."""
    seeds = table["seed"].nunique()
    several = f"means over {seeds} draws of samples" if seeds > 1 else "one draw of samples"
    means = table.drop_duplicates(["set", "method", "quantity"])
    parts = [_table_part(f"Computed here ({several})", means, 1)]
    if published is not None:
        parts.append(_table_part(PRINTED, published.assign(mean=published["value"]), 2))
    return draw_table(list(HEADS.values()), parts, "of the rows of a set")


def _table_part(title: str, rows: "pd.DataFrame", digits: int) -> Part:
    """Make rows under one heading, percentages with so many digits after the point."""
    rows = rows.assign(column=rows["quantity"].str.replace(r"^p_", "f_", regex=True))
    rows = rows[rows["column"].isin(list(HEADS))]
    own = [_quantity_digits(column, digits) for column in rows["column"]]
    order = shade_orders(rows, own, ["set", "column"])
    entries = []
    for name, method, column, mean, own_digits, shade in zip(
        *(rows[key].tolist() for key in ("set", "method", "column", "mean")),
        own,
        order,
        strict=True,
    ):
        label = "$P$" if method == PRETRAINED else METHOD_LABELS[method]
        entries.append(
            Entry(
                (set_label(name), label),
                column,
                Cell(format_number(mean, digits=own_digits), shade),
            )
        )
    return make_part(title, entries, list(HEADS))


def _quantity_digits(column: str, digits: int) -> int | None:
    if column == "ft_ratio":
        return 4
    if "rank" in column:
        return 0
    return None if "frobenius" in column else digits
