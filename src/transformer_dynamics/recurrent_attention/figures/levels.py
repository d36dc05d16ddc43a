"""Accuracy and Lyapunov exponents side by side: Figures S.1 (heads) and S.2 (strength of R_E)."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from replication.study.contract import Figure, Measured
from transformer_dynamics.recurrent_attention.labels import Label
from transformer_dynamics.recurrent_attention.measure_settings import Accuracy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

EXPONENTS = {
    "max": "largest",
    "leading": "mean of the leading ones",
    "nonnull": "mean of all non-null ones",
}
"""Columns of the metric `exponents`, and what they are called."""
AXES = {"figS1": "Heads $H$", "figS2": r"Strength $\lambda$ of E-multi"}
"""What is varied, by drawing."""


class Levels(Figure):
    """Accuracy out of distribution and exponents against what is varied."""

    title: ClassVar[str] = "Recurrent attention, Figures S.1 and S.2: exponents and accuracy"
    columns: ClassVar[tuple[str, ...]] = (
        "level", "H", "lambda", "hard", "T", "seed", "quantity", "value", "mean", "std",
    )  # fmt: skip
    drawing: Literal["figS1", "figS2"]
    """Which drawing."""
    levels: dict[Label, str]
    """Condition by name of its level, from left to right."""

    def sources(self) -> list[tuple[str, str]]:
        """Accuracy of all levels, then their exponents."""
        return [
            (name, metric) for metric in ("accuracy", "exponents") for name in self.levels.values()
        ]


def table(figure: Levels, *measured: Measured[Any]) -> "pd.DataFrame":
    """Values of every seed with their means and standard deviations over seeds.

    Accuracy is that out of distribution after the most loops; exponents are means over boards, T
    their number of steps. lambda is 0 without a regulariser.
    """
    import pandas as pd

    levels = [*figure.levels] * 2
    tables = []
    for level, each in zip(levels, measured, strict=True):
        train = each.job.train
        tables.append(
            _values(each).assign(
                **{
                    "level": level,
                    "H": train.model.heads,
                    "lambda": train.penalty.strength if train.penalty else 0.0,
                    "hard": train.model.projections == "hard",
                }
            )
        )
    found = pd.concat(tables, ignore_index=True)
    same = found.groupby(["level", "quantity"])["value"]
    found = found.assign(mean=same.transform("mean"), std=same.transform("std"))
    return found[list(figure.columns)]


def _values(measured: Measured[Any]) -> "pd.DataFrame":
    """Columns T, seed, quantity and value of one metric."""
    how, table = measured.job.how, measured.table
    if isinstance(how, Accuracy):
        loops = max(how.loops)
        rows = table[(table["split"] == "out of distribution") & (table["loops"] == loops)]
        own = rows[["seed", "solved"]].rename(columns={"solved": "accuracy"})
    else:
        loops = how.steps
        own = table.groupby("seed")[[*EXPONENTS]].mean().rename(columns=EXPONENTS).reset_index()
    return own.melt(id_vars="seed", var_name="quantity").assign(T=loops)


def draw(figure: Levels, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Left accuracy, right exponents; dots are seeds, bars one standard deviation over them."""
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH, category_styles

    drawing, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 2.6), layout="constrained")
    styles = dict(category_styles(["accuracy", *EXPONENTS.values()]))
    # A table that was read has numbers where all levels are named by numbers.
    levels = table.drop_duplicates("level")
    places = {level: place for place, level in enumerate(levels["level"])}
    for quantity, style in styles.items():
        axes = left if quantity == "accuracy" else right
        rows = table[table["quantity"] == quantity]
        axes.scatter(
            rows["level"].map(places), rows["value"], s=5, color=style.colour, alpha=0.35,
            linewidths=0,
        )  # fmt: skip
        mean = rows.drop_duplicates("level")
        axes.errorbar(
            mean["level"].map(places), mean["mean"], mean["std"], color=style.colour,
            linestyle=style.line, marker=style.marker, capsize=2, elinewidth=0.8, label=quantity,
        )  # fmt: skip
    for axes in (left, right):
        axes.set_xticks([*places.values()], _ticks(figure, levels))
        axes.set_xlabel(AXES[figure.drawing])
        axes.margins(x=0.08)
    right.axhline(0, color="0.6", linewidth=0.6, linestyle=":", zorder=0)
    # All accuracies that there can be, and the whole of bars that reach beyond them.
    least, most = left.get_ylim()
    left.set(ylabel="Accuracy out of distribution", ylim=(min(least, -0.03), max(most, 1.03)))
    right.set_ylabel(r"Exponent $\lambda_i$ per step")
    handles, labels = right.get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return drawing


def _ticks(figure: Levels, levels: "pd.DataFrame") -> list[str]:
    """What the models of the levels are, whatever the configuration calls them."""
    if figure.drawing == "figS1":
        return [str(heads) for heads in levels["H"]]
    rows = zip(levels["lambda"], levels["hard"], strict=True)
    return ["Hard" if hard else f"{strength:g}" for strength, hard in rows]
