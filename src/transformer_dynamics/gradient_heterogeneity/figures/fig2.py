"""Figure 2: inequality of gradients, as Lorenz curves and Gini coefficients."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from replication.figures.panels import make_panels
from replication.study.contract import ExperimentFigure, Measured

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from matplotlib.figure import Figure as Drawing

DEFINITIONS = {
    "gini_norm": r"of norms $\Vert g_b\Vert$",
    "gini_density": r"of densities $r_b$",
}
"""Labels of definitions of inequality."""


class Fig2(ExperimentFigure):
    """Inequality of the norms of gradients beside that of their densities."""

    metrics: ClassVar[tuple[str, ...]] = ("tensors", "spread")
    title: ClassVar[str] = "Gradient heterogeneity, Figure 2: Lorenz curves and Ginis"
    columns: ClassVar[tuple[str, ...]] = (
        "part", "net", "task", "state", "definition", "set", "seed", "place", "share_of_tensors",
        "share_of_sum", "gini", "mean",
    )  # fmt: skip
    kind: Literal["fig2"]
    """Kind of the figure."""
    experiment: str = "heterogeneity"
    """Experiment of the networks."""
    state: Literal["pretrained", "tuned"] = "pretrained"
    """State of the networks: before fine-tuning, with a random head, or after it."""


def table(figure: Fig2, tensors: Measured[Any], spread: Measured[Any]) -> "pd.DataFrame":
    """Compute Lorenz curves and Ginis.

    Part `lorenz`: means over batches and seeds of curves over matrices.

    Part `gini`: G B/(B - 1) of every seed and set with its mean over seeds, at a place per network,
    task and set.
    """
    import pandas as pd

    found = pd.concat([*_lorenz(figure, tensors.table), _ginis(figure, spread.table)])
    return found.reset_index(drop=True).reindex(columns=list(figure.columns))


def _lorenz(figure: Fig2, table: "pd.DataFrame") -> "Iterator[pd.DataFrame]":
    """Yield the curves of norms and of densities of every network and task.

    Seeds whose training was lost are left out.
    """
    import numpy as np
    import pandas as pd

    from transformer_dynamics.gradient_heterogeneity.theory.heterogeneity import densities, lorenz

    rows = table.query("state == @figure.state and kind == 'matrix'")
    known = rows.assign(known=np.isfinite(rows["norm"])).groupby(["net", "task", "seed"])["known"]
    rows = rows[known.transform("all")]
    for (net, task), own in rows.groupby(["net", "task"], sort=False):
        wide = own.pivot(index=["seed", "batch"], columns="tensor", values="norm")
        sizes = own.drop_duplicates("tensor").set_index("tensor")["params"][wide.columns]
        norms = wide.to_numpy()
        for definition, values in (
            ("gini_norm", norms), ("gini_density", densities(norms, sizes)),
        ):  # fmt: skip
            curve = lorenz(values).mean(axis=0)
            told = {"part": "lorenz", "net": net, "task": task, "state": figure.state}
            what = {"definition": definition, "set": "matrices"}
            line = {"share_of_tensors": np.linspace(0, 1, len(curve)), "share_of_sum": curve}
            yield pd.DataFrame(told | what | line)


def _ginis(figure: Fig2, table: "pd.DataFrame") -> "pd.DataFrame":
    rows = table[(table["state"] == figure.state) & table["metric"].isin([*DEFINITIONS])]
    rows = rows.assign(gini=rows["value"] * rows["blocks"] / (rows["blocks"] - 1), part="gini")
    names = dict.fromkeys(zip(rows["net"], rows["task"], strict=True))
    order = {key: place for place, key in enumerate(names)}
    places = [
        order[net, task] + (0.0 if chosen == "matrices" else 0.3)
        for net, task, chosen in zip(rows["net"], rows["task"], rows["set"], strict=True)
    ]
    same = rows.groupby(["net", "task", "metric", "set"])["gini"]
    return rows.assign(place=places, mean=same.transform("mean")).rename(
        columns={"metric": "definition"}
    )


def draw(figure: Fig2, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw Lorenz curves above, Ginis below; full marks are matrices, hollow ones all tensors."""
    from replication.figures.style import category_styles
    from replication.figures.typeset import seed_count
    from transformer_dynamics.gradient_heterogeneity.figures.labels import (
        SETS,
        add_legend,
        marker_handle,
        network_label,
    )

    names = list(dict.fromkeys(zip(table["net"], table["task"], strict=True)))
    styles = dict(category_styles(names))
    drawing, grid = make_panels(2, 2, 5.0, sharey="row")
    for above, below, (definition, label) in zip(*grid, DEFINITIONS.items(), strict=True):
        own = table[table["definition"] == definition]
        above.plot([0, 1], [0, 1], ":", color="0.5", linewidth=0.8)
        for net, task in names:
            style = styles[net, task]
            rows = own[(own["net"] == net) & (own["task"] == task)]
            curve = rows[rows["part"] == "lorenz"]
            above.plot(
                curve["share_of_tensors"], curve["share_of_sum"], color=style.colour,
                linestyle=style.line,
            )  # fmt: skip
            dots = rows[rows["part"] == "gini"]
            for chosen, face in (("matrices", style.colour), ("all", "white")):
                part = dots[dots["set"] == chosen]
                below.scatter(
                    part["place"], part["gini"], s=5, color=style.colour, alpha=0.35, linewidths=0
                )
                mean = part.drop_duplicates("place")
                below.plot(
                    mean["place"], mean["mean"], linestyle="none", marker=style.marker,
                    color=style.colour, markerfacecolor=face,
                )  # fmt: skip
        above.set(title=label, xlabel="Share of matrices, smallest first")
        below.set_xticks([])
        below.set_ylim(0, 1)
    grid[0, 0].set_ylabel("Share of the sum")
    grid[1, 0].set_ylabel("Gini coefficient")
    handles = [
        marker_handle(network_label(*name), style, linestyle=style.line)
        for name, style in styles.items()
    ]
    grey = next(iter(styles.values()))._replace(colour=(0.3, 0.3, 0.3))
    handles += [
        marker_handle(SETS["matrices"], grey),
        marker_handle(f"{SETS['all']} but biases", grey, markerfacecolor="white"),
    ]
    seeds = seed_count(table["seed"])
    title = f"means over {seeds}; below, small dots are seeds"
    add_legend(drawing, handles, title, ncols=2, handlelength=3.5)
    return drawing
