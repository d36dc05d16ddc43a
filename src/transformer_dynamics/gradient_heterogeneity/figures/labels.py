"""Names, colours and legends that all figures of this study share: each thing has one of each."""

from typing import TYPE_CHECKING

from replication.figures.panels import legend_below

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from replication.figures.style import Style

OPTIMISERS = {
    "sgd": "SGD",
    "sgd_momentum": "SGD-m",
    "signsgd": "SignSGD",
    "signum": "Signum",
    "rmsprop": "RMSProp",
    "adam": "Adam",
    "block_rates": "SGD, a rate by block",
}
"""Labels of optimisers, in the order of their styles."""
DIRECTIONS = {"gradient": "sgd", "sign": "signsgd", "block_rates": "block_rates"}
"""Optimiser that follows a direction, in whose style the direction is drawn."""
PLACEMENTS = {"post": "Post-LN", "pre": "Pre-LN"}
"""Labels of places of normalisation, in the order of their styles."""
HEAD_PARTS = {"common": "mean row of $V$", "centred": "$V$ minus mean row", "total": "whole $V$"}
"""Labels of the parts of a head V, a row per class; softmax does not see the mean row."""
FINAL_LOSS = "final training loss (nats)"
"""Label of the loss of a fixed part of the training samples after the last step."""
NETS = {
    "minilm": "MiniLM",
    "mpnet": "MPNet",
    "roberta": "RoBERTa",
    "efficientnet": "EfficientNet",
    "vit_s": "ViT-S",
    "tiny": "small transformer",
}
TASKS = {
    "trec6": "TREC-6",
    "cola": "CoLA",
    "rte": "RTE",
    "mrpc": "MRPC",
    "sst2": "SST-2",
    "cb": "CB",
    "banking77": "BANKING77",
    "clinc150": "CLINC150",
    "fashion_mnist": "Fashion-MNIST",
    "wikitext2": "WikiText-2",
}
CASES = {"fashion": "Fashion-MNIST, CNN", "full_batch": "TREC-6, full batch"} | TASKS
"""Labels of cases of the configuration, or of the beginnings of their names."""
SETS = {"all": "all tensors", "matrices": "matrices"}


def network_label(net: str, task: str) -> str:
    """Return the label of a network on its task."""
    return f"{NETS.get(net, net)}, {TASKS.get(task, task)}"


def case_label(name: str) -> str:
    """Return the label of a case of the configuration."""
    if name in CASES:
        return CASES[name]
    first, _, rest = name.partition("_")
    return f"{CASES.get(first, first)} {rest.replace('_', ' ')}".strip()


def optimiser_styles() -> "dict[str, Style]":
    """Return the styles of optimisers, the same in all figures."""
    from replication.figures.style import category_styles

    return dict(category_styles(OPTIMISERS))


def direction_styles(directions: "Iterable[str]") -> "dict[str, Style]":
    """Return the styles of directions, each that of the optimiser that follows it."""
    styles = optimiser_styles()
    return {name: styles[DIRECTIONS[name]] for name in directions}


def add_legend(
    drawing: "Drawing",
    handles: "Sequence[Artist]",
    title: str,
    beside: "Sequence[Axes]" = (),
    **more: "Any",
) -> None:
    """Add a legend, whose title says what dots, bars and bands are.

    It stands in the empty panel `beside`, else below everything; `more` goes to Matplotlib.
    """
    if len(beside):
        beside[0].legend(
            handles=handles, title=title, loc="center", frameon=False, handlelength=2.8
        )
        return
    legend_below(drawing, handles, title, **{"handlelength": 2.8, "columnspacing": 1.2} | more)


def marker_handle(label: str, style: "Style", **more: "Any") -> "Artist":
    """Return the mark of a legend that has no line."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **style.look | {"linestyle": "none"} | more)


def add_optimiser_legend(
    drawing: "Drawing",
    shown: "Iterable[str]",
    title: str,
    *,
    markers: bool = False,
    beside: "Sequence[Axes]" = (),
) -> None:
    """Add a legend of the optimisers that are drawn, perhaps with markers; see `add_legend`."""
    from matplotlib.lines import Line2D

    given = {*shown}
    lines = [
        Line2D([], [], label=OPTIMISERS[name], **style.look | ({} if markers else {"marker": ""}))
        for name, style in optimiser_styles().items()
        if name in given
    ]  # fmt: skip
    add_legend(drawing, lines, title, beside)
