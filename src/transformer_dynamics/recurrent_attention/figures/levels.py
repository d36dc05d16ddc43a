"""Accuracy and Lyapunov exponents side by side: Figures S.1 (heads) and S.2 (strength of R_E)."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Figure, Measured
from transformer_dynamics.recurrent_attention.figures.conditions import SOLVED_OUT, Label
from transformer_dynamics.recurrent_attention.settings.metrics import OUT, Accuracy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

EXPONENTS = {
    "max": "largest",
    "leading": "mean of the leading ones",
    "nonnull": "mean of all non-null ones",
}
"""Names of the columns of the metric `exponents`."""
AXES = {"figS1": "Heads $H$", "figS2": "Strength of E-multi's penalty"}
"""Labels of the axis that is varied, by kind of figure."""


class Levels(Figure):
    """Accuracy out of distribution and exponents against the varied setting."""

    title: ClassVar[str] = "Recurrent attention, Figures S.1 and S.2: exponents and accuracy"
    columns: ClassVar[tuple[str, ...]] = (
        "level", "H", "lambda", "hard", "T", "seed", "quantity", "value", "mean", "std", "lower",
        "upper",
    )  # fmt: skip
    kind: Literal["figS1", "figS2"]
    """Kind of the figure."""
    levels: dict[Label, str]
    """Conditions by name of their level, from left to right."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the accuracy of all levels, then their exponents."""
        return [
            (name, metric) for metric in ("accuracy", "exponents") for name in self.levels.values()
        ]


def table(figure: Levels, *measured: Measured[Any]) -> "pd.DataFrame":
    """Return values of every seed with their means and standard deviations over seeds.

    Accuracy is that out of distribution after the most loops; exponents are means over boards, T
    their number of steps. lambda is 0 without a regulariser.
    """
    import pandas as pd

    levels = [*figure.levels] * 2
    tables = []
    for level, each in zip(levels, measured, strict=True):
        train = each.job.train
        tables.append(
            _metric_values(each).assign(
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
    return add_ends(found.assign(mean=same.transform("mean"), std=same.transform("std")))[
        list(figure.columns)
    ]


def add_ends(rows: "pd.DataFrame") -> "pd.DataFrame":
    """Add the ends of bars, one standard deviation from the mean; accuracies end at 0 and 1."""
    lower, upper = rows["mean"] - rows["std"], rows["mean"] + rows["std"]
    is_share = rows["quantity"] == "accuracy"
    return rows.assign(
        lower=lower.where(~is_share, lower.clip(0, 1)),
        upper=upper.where(~is_share, upper.clip(0, 1)),
    )


def _metric_values(measured: Measured[Any]) -> "pd.DataFrame":
    """Return columns T, seed, quantity and value of one metric."""
    settings, table = measured.job.settings, measured.table
    if isinstance(settings, Accuracy):
        loops = max(settings.loops)
        rows = table[(table["split"] == OUT) & (table["loops"] == loops)]
        own = rows[["seed", "solved"]].rename(columns={"solved": "accuracy"})
    else:
        loops = settings.steps
        own = (
            table.groupby("seed")[[*EXPONENTS]]
            .mean(skipna=False)
            .rename(columns=EXPONENTS)
            .reset_index()
        )
    return own.melt(id_vars="seed", var_name="quantity").assign(T=loops)


def draw(figure: Levels, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw accuracy and exponents; dots are seeds, bars one standard deviation over them."""
    from replication.figures.style import category_styles
    from replication.figures.typeset import seed_count

    drawing, [[left, right]] = make_panels(1, 2, 2.8)
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
        across = mean["level"].map(places)
        axes.vlines(across, mean["lower"], mean["upper"], color=style.colour, linewidth=0.9)
        axes.plot(across, mean["mean"], **style.look, label=quantity)
    for axes in (left, right):
        axes.set_xticks([*places.values()], _ticks(figure, levels))
        axes.set_xlabel(AXES[figure.kind])
        axes.margins(x=0.08)
    right.axhline(0, color="0.6", linewidth=0.6, linestyle=":", zorder=0)
    # All accuracies that there can be.
    left.set(ylabel=SOLVED_OUT, ylim=(-0.03, 1.03))
    right.set_ylabel("Lyapunov exponent per loop")
    title = (
        f"means of {seed_count(table['seed'])} (dots); bars: \N{PLUS-MINUS SIGN}1 sd, of shares "
    )
    handles, _ = right.get_legend_handles_labels()
    legend_below(drawing, handles, f"{title}within 0 and 1")
    return drawing


def _ticks(figure: Levels, levels: "pd.DataFrame") -> list[str]:
    """Return ticks that say what the models are, whatever the configuration calls them."""
    if figure.kind == "figS1":
        return [str(heads) for heads in levels["H"]]
    rows = zip(levels["lambda"], levels["hard"], strict=True)
    return ["Hard" if hard else f"{strength:g}" for strength, hard in rows]
