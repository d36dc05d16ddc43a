"""What networks, tasks, optimisers and definitions are called in figures, and how they look."""

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
"""All, in the order of their styles."""
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
"""Of the configuration, or how their names begin."""
SETS = {"all": "all tensors", "matrices": "matrices"}


def called(net: str, task: str) -> str:
    """A network on its task, in two lines."""
    return f"{NETS.get(net, net)}\n{TASKS.get(task, task)}"


def case(name: str) -> str:
    """What a case of the configuration is called."""
    if name in CASES:
        return CASES[name]
    first, _, rest = name.partition("_")
    return f"{CASES.get(first, first)} {rest.replace('_', ' ')}".strip()


def optimiser_styles() -> "dict[str, Style]":
    """The same in all figures."""
    from replication.figures.style import category_styles

    return dict(category_styles(OPTIMISERS))


def legend_of_optimisers(
    drawing: "Drawing", shown: "Iterable[str]", *, markers: bool = False
) -> None:
    """A legend below everything, of the optimisers that are drawn.

    Args:
        drawing: what has it.
        shown: names of optimisers.
        markers: whether they have markers.
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
