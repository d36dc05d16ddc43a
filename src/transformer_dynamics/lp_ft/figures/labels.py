"""What sets, methods and quantities are called in figures, and how methods look in all of them."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from replication.base.errors import InputError
from replication.study.contract import Measured

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing
    from matplotlib.lines import Line2D

    from replication.figures.style import Style

METHODS = {
    "pretrained": "Pre-trained",
    "lp": "LP",
    "ft": "FT",
    "lora": "LoRA",
    "lp_ft": "LP-FT",
    "lp_lora": "LP-LoRA",
}
"""In the order in which they are drawn."""
SETS = {
    "cb": "CB",
    "rte": "RTE",
    "cola": "CoLA",
    "sst2": "SST-2",
    "mrpc": "MRPC",
    "trec6": "TREC-6",
    "cr": "CR",
    "sst2_sentences": "SST-2 sentences",
    "sst5": "SST-5",
    "subj": "Subj",
    "banking77": "BANKING77",
    "clinc150": "CLINC150",
    "boolq": "BoolQ",
    "wic": "WiC",
    "wsc": "WSC",
    "amazon": "Amazon",
    "dynasent": "DynaSent",
    "semeval": "SemEval",
}
"""The study's, and those that the paper alone has."""
RUN = ("texts", "method", "optimiser", "clip", "rate", "batch_size", "norm_of", "factor", "seed")
"""Columns that tell runs apart."""
ENCODERS = {"minilm": "MiniLM", "mpnet": "MPNet", "roberta": "RoBERTa-base"}
"""All that there are."""
SOURCES = {"dynasent": "amazon", "semeval": "amazon", "sst5": "amazon"}
"""What the paper trains on before it tests on sets out of distribution."""
CLASSES = {
    "cb": ("entailment", "contradiction", "neutral"),
    "rte": ("entailment", "not entailment"),
    "cr": ("negative", "positive"),
}
"""Of sets whose kernels are drawn, see `encoders.texts`."""
PRETRAINED = "pretrained"
"""Whose P is: it is the same for all methods, which metrics of kernels call `all`."""
DIFFERENCE = r"Feature change $\mathrm{Diff}(F)$"
"""Axis of the mean of ||phi(x) - phi_0(x)||."""
CLASS_COLOURS = ("#cc79a7", "#009e73", "#4d4d4d", "#e69f00", "#56b4e9", "#0072b2")
"""Of classes in one figure; those that methods have in others come last."""
_LOOKS = {
    "pretrained": ("0.35", (0, (3, 1, 1, 1)), "v"),
    "lp": ("#009e73", "-.", "P"),
    # Of one hue what starts from the same head; light and dashed what trains adapters.
    "ft": ("#0072b2", "-", "o"),
    "lora": ("#56b4e9", "--", "s"),
    "lp_ft": ("#d55e00", "-", "^"),
    "lp_lora": ("#e69f00", "--", "D"),
}
"""Colour, line and marker."""


def chosen(rows: "pd.DataFrame", figure: str, **cells: str | float) -> "pd.DataFrame":
    """The rows in which columns have these values.

    Args:
        rows: of a metric.
        figure: what is drawn.
        cells: value by column.

    Raises:
        InputError: if there are none.
    """
    for column, value in cells.items():
        known = rows[column].unique().tolist()
        rows = rows[rows[column] == value]
        if rows.empty:
            raise InputError(
                f"lp_ft > figures > {figure}: no run has {column} {value}; there is"
                f" {', '.join(map(str, known))}"
            )
    return rows


def check_one_run(rows: "pd.DataFrame", figure: str, *keys: str) -> None:
    """Refuse to take runs together that a figure does not tell apart.

    Args:
        rows: of a metric.
        figure: what is drawn.
        keys: columns that the figure tells apart, the seed among them.

    Raises:
        InputError: says in what they differ.
    """
    if rows.duplicated(list(keys)).any():
        same = rows.groupby(list(keys))
        others = [name for name in RUN if name in rows and name not in keys]
        differ = [name for name in others if same[name].nunique().max() > 1]
        raise InputError(
            f"lp_ft > figures > {figure}: its experiment has several runs of a seed that the figure"
            f" does not tell apart, as their {' and '.join(differ)} differ(s); name another"
            " experiment"
        )


def check_sets(figure: str, named: Mapping[str, Measured[Any]]) -> None:
    """Refuse to draw a set under another one's name.

    Args:
        figure: what is drawn.
        named: metric of one set by the set's name.

    Raises:
        InputError: names the set that it is of.
    """
    for name, each in named.items():
        if (own := each.job.runs.texts.name) != name:
            raise InputError(
                f"lp_ft > figures > {figure}: the experiment under {name} is of {own}; write it"
                f" under {own}"
            )


def style(method: str) -> "Style":
    """How a method looks."""
    from matplotlib.colors import to_rgb

    from replication.figures.style import Style

    colour, line, marker = _LOOKS[method]
    return Style(to_rgb(colour), line, marker)


def called(name: str) -> str:
    """What a set is called."""
    return SETS.get(name, name)


def kernel_called(method: str) -> str:
    """P, or F of a method."""
    return "$P$" if method == PRETRAINED else f"$F$, {METHODS[method]}"


def class_names(name: str, labels: Iterable[int]) -> list[str]:
    """What classes of a set are called, or their numbers."""
    known = CLASSES.get(name, ())
    return [known[label] if label < len(known) else f"class {label}" for label in labels]


def in_order(methods: Iterable[str]) -> list[str]:
    """Methods, each once, in the order in which they are drawn."""
    found = set(methods)
    return [method for method in METHODS if method in found]


def handle(method: str) -> "Line2D":
    """Of a method in a legend."""
    from matplotlib.lines import Line2D

    look = style(method)
    return Line2D(
        [], [], color=look.colour, linestyle=look.line, marker=look.marker, label=METHODS[method]
    )


def legend(drawing: "Drawing", methods: Iterable[str]) -> None:
    """Name methods below everything that is drawn."""
    handles = [handle(method) for method in in_order(methods)]
    drawing.legend(
        handles=handles, loc="outside lower center", ncols=max(len(handles), 1), frameon=False
    )
