"""Keys that the lowest layer attends to along training on WikiText."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from replication.study.contract import Figure
from transformer_dynamics.scan_and_snap_text.settings.training import Names

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from replication.study.contract import Measured

PANELS = {
    "entropy_share": ("Entropy\nover that of uniform attention", 1.0),
    "change": ("Change of attention in\n100 updates (total variation)", None),
    "diagonal": ("Attention on the query\nitself over uniform", 1.0),
    "first": ("Attention on the first\nposition over uniform", 1.0),
    "function_words": ("Attention on function\nwords over uniform", 1.0),
    "rare_words": ("Attention on rare words\nover uniform", 1.0),
    "distinctness": ("Rank correlation of attention\nand distinctness of the key", 0.0),
}
"""Columns that are drawn, what they are, and what uniform attention gives."""
KEY = ("corpus", "model", "learning_rate", "seed", "iteration")


class WikitextDynamics(Figure):
    """Keys that the lowest layer attends to along training."""

    title: ClassVar[str] = "Scan and Snap: what attention is spent on along training on WikiText"
    columns: ClassVar[tuple[str, ...]] = (
        *KEY, "entropy", *PANELS, *(f"{column}_mean" for column in PANELS),
    )  # fmt: skip
    kind: Literal["wikitext_dynamics", "wikitext_switches"]
    """Kind of the figure: of whole models, or of models that lack a part beside a whole one."""
    experiments: Names
    """Names of the experiments that are drawn."""
    models: Names
    """Names of their models that are drawn, the order of the curves."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the dynamics of each experiment."""
        return [(name, "dynamics") for name in self.experiments]


def table(figure: WikitextDynamics, *measured: "Measured[Any]") -> "pd.DataFrame":
    """Return one row per run and update that all models reached, with means over seeds."""
    import pandas as pd

    rows = pd.concat([item.table for item in measured], ignore_index=True)
    rows = rows[rows["model"].isin(figure.models)]
    rows = rows[rows["iteration"] <= rows.groupby("model")["iteration"].max().min()]
    rows = rows.sort_values(
        "model", key=lambda names: names.map(figure.models.index), kind="stable"
    )
    of_a_model = rows.groupby(["model", "iteration"])
    means = {f"{column}_mean": of_a_model[column].transform("mean") for column in PANELS}
    found: pd.DataFrame = rows.assign(**means)[list(figure.columns)]
    return found.reset_index(drop=True)


def draw(figure: WikitextDynamics, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a panel per quantity, and per model a thin line per seed, a thick one for the mean."""
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH

    drawing, grid = plt.subplots(3, 3, figsize=(WIDTH, 5), sharex=True, layout="constrained")
    for axes, (column, (label, uniform)) in zip(grid.flat, PANELS.items(), strict=False):
        _draw_panel(axes, table, column)
        if uniform is not None:
            axes.axhline(uniform, color="black", linestyle=":", linewidth=0.8, label="uniform")
        axes.set_title(label, fontsize="small")
    shown, empty = grid.flat[: len(PANELS)], grid.flat[len(PANELS) :]
    for axes in shown[-grid.shape[1] :]:
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("update")
    for axes in empty:
        axes.set_axis_off()
    handles, labels = shown[0].get_legend_handles_labels()
    empty[0].legend(handles, labels, loc="center", frameon=False)
    return drawing


def _draw_panel(axes: "Axes", table: "pd.DataFrame", column: str) -> None:
    from replication.figures.style import category_styles

    for model, (colour, line, _) in category_styles(table["model"].unique()):
        rows = table[table["model"] == model]
        for _, run in rows.groupby("seed"):
            axes.plot(run["iteration"], run[column], color=colour, linewidth=0.4, alpha=0.3)
        mean = rows.drop_duplicates("iteration")
        label = str(model).replace("_", " ")
        axes.plot(
            mean["iteration"], mean[f"{column}_mean"], color=colour, linestyle=line, linewidth=1.6,
            label=label,
        )  # fmt: skip
