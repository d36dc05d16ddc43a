"""Labels of networks, tasks and optimisers in figures, and the styles of optimisers."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.figure import Figure as Drawing

    from replication.figures.style import Style

OPTIMISERS = {
    "sgd": "SGD",
    "sgd_momentum": "SGD-m",
    "signsgd": "SignSGD",
    "signum": "Signum",
    "rmsprop": "RMSProp",
    "adam": "Adam",
}
"""Labels of optimisers, in the order of their styles."""
NETS = {
    "minilm": "MiniLM",
    "mpnet": "MPNet",
    "roberta": "RoBERTa",
    "efficientnet": "EfficientNet",
    "vit_s": "ViT-S",
    "tiny": "small transformer",
}
TASKS = {
    "trec6": "TREC",
    "cola": "CoLA",
    "rte": "RTE",
    "mrpc": "MRPC",
    "sst2": "SST-2",
    "cb": "CB",
    "banking77": "banking77",
    "clinc150": "clinc150",
    "fashion_mnist": "Fashion-MNIST",
    "wikitext2": "WikiText-2",
}
CASES = {"fashion": "Fashion-MNIST, CNN", "full_batch": "TREC, full batch"} | TASKS
"""Labels of cases of the configuration, or of the beginnings of their names."""
SETS = {"all": "all tensors", "matrices": "matrices"}


def network_label(net: str, task: str) -> str:
    """Return the label of a network on its task, in two lines."""
    return f"{NETS.get(net, net)}\n{TASKS.get(task, task)}"


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


def add_optimiser_legend(
    drawing: "Drawing", shown: "Iterable[str]", *, markers: bool = False
) -> None:
    """Add a legend of the optimisers that are drawn, below everything.

    Args:
        drawing: the picture.
        shown: names of optimisers.
        markers: show their markers.
    """
    from matplotlib.lines import Line2D

    given = {*shown}
    lines = [
        Line2D(
            [], [], color=style.colour, linestyle=style.line,
            marker=style.marker if markers else "", label=OPTIMISERS[name],
        )
        for name, style in optimiser_styles().items()
        if name in given
    ]  # fmt: skip
    drawing.legend(
        handles=lines, loc="outside lower center", ncols=len(lines), frameon=False,
        columnspacing=1.2, handlelength=2.8,
    )  # fmt: skip
