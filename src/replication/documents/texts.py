"""Texts of figures and documents: the numbers that they cite, and those that somebody typed."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from replication.judge.templates import fill_template, verdict_finder
from replication.judge.verdicts import Verdict
from replication.plan.study_jobs import StudyJobs
from replication.study.registry import SCORECARD, FigureText

_COMPUTED = re.compile(
    r"\{# measured by .*?#\}.*?\{# end of measured #\}|\{([{%#]).*?[}%#]\}", re.DOTALL
)
_NOT_PROSE = re.compile(
    r"\A---$.*?^---$|^```.*?^```|`[^`]*`|"
    r"(?<!\*)\*[^*\s][^*]*\*(?!\*)|(?<=\])\([^)]*\)|<[^>]*>|^\s*\d+\.(?=\s)",
    re.DOTALL | re.MULTILINE,
)
NAMES = (
    # Figure 6, Eqs. 10-12 and 26, but of Figure 6, 50 seeds the first alone
    r"\b(?:Appendix|Assumption|Corollar(?:y|ies)|Definition|Eq|Figure|Lemma|Section|Table|Theorem)"
    r"s?\.?\s\d+\w?(?:-\d+\w?)?(?:(?:,\s\d+(?:-\d+)?\w?)*,?\sand\s\d+\w?\b)?",
    # n - 1, 1/K, 2 B_n, ln 2, f^2, 2(1 + omega_1)
    r"(?<![\w.,-])\d(?:\s?/\s?|\s[-+]\s)(?=[A-Za-z(])",
    r"[A-Za-z)](?:\s?/\s?|\s[-+]\s)\d(?![\w%]|[.,]\d)",
    r"(?<=[\w)])\^\d(?![\w.])",
    r"(?<![\w.,-])\d(?=\(|\s(?:[A-Z]|[A-Za-z]+_\w+|exp|ln|log)\b)",
    r"\bln\s\d(?![\w%]|[.,]\d)",
    # t_0, E6, Enwik-8
    r"[A-Za-z][A-Za-z_]*[_-]?\d\w*",
)
"""Patterns of names that hold numerals."""
VERSIONS = (
    r"\b[A-Z][\w-]*(?:\s[A-Z]+)?\s\d+(?:\.\d+)+\b",
    r"\b\d+\.\d+\.\d+\b",
    r"\barXiv:[\d.]+",
    r"\b(?:19|20)\d\d\b",
)
"""Patterns of versions and years, which are names in documents: Python 3.11, 2.8.0, 2024."""


def figure_settings(settings: Mapping[str, Any], figure: str) -> Mapping[str, Any]:
    """Return the settings of a figure from its study's; the engine's scorecard has none."""
    return {} if figure == SCORECARD else settings["figures"][figure]


def cite_figure(
    study: StudyJobs,
    name: str,
    text: FigureText,
    table: pd.DataFrame,
    find_verdict: Callable[[str], Verdict | None],
) -> FigureText:
    """Return texts of a figure with the numbers that they cite; see `fill_template`.

    `table` has the numbers that the figure draws; `find_verdict` takes the number of a claim.
    """
    settings, names = study.settings.model_dump(mode="json"), study.study.names
    known = {
        "table": table,
        "figure": figure_settings(settings, name),
        "settings": settings,
        "n_seeds": study.number_of_seeds(name),
        "verdict": verdict_finder(find_verdict),
        "called": lambda value: names.get(value, value),
    }
    where = f"{study.study.name}: figure {name}"
    parts = {
        # One paragraph: statements that print nothing leave no gaps.
        part: " ".join(fill_template(getattr(text, part), f"{where}: {part}", known).split())
        for part in ("drawn", "caption")
    }
    return text.model_copy(update=parts)


def typed_numbers_in_template(template: str, names: tuple[str, ...] = NAMES) -> list[str]:
    """Return the typed numerals of a caption or a description, each with the words around it.

    Values that the template computes do not count, nor do the numbers of names (Figure 6, Eq. 10,
    t_0, Enwik-8) and single digits of formulas (n - 1, 1/K, 2 B_n, f^2).
    """
    text = plain = _COMPUTED.sub("", template)
    for name in names:
        plain = re.sub(name, lambda match: "_" * len(match[0]), plain)
    found = re.finditer(r"\d[\w.,]*", plain)
    return [" ".join(text[max(at.start() - 20, 0) : at.end() + 20].split()) for at in found]


def typed_numbers_in_document(markdown: str) -> list[str]:
    """Return the typed numerals of a document or its template, each with the words around it.

    Numbers between comments that name the command that measured them do not count either. Code,
    links, titles in italics and metadata before the text are no prose. Versions and years are
    names.
    """
    prose = _NOT_PROSE.sub("", _COMPUTED.sub("", markdown))
    return typed_numbers_in_template(prose, (*VERSIONS, *NAMES))
