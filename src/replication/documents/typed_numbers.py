"""Numbers that somebody typed where they should be cited, see `citation`."""

import re

from jinja2 import nodes

from replication.figures.typeset import GREEK
from replication.judge.citation import ENVIRONMENT

_COUNT = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    "|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty"
    "|hundred|thousand"
)
_WORD = rf"(?:(?:{_COUNT})(?:fold)?|twice|thrice|dozen|million|billion)"
_UNIT = (
    "(?:classes|cores|epochs|hours|layers|minutes|of|percent|runs|seconds|seeds|times|tokens"
    "|updates)"
)
_MEASURED = re.compile(r"\{# measured by .*?#\}.*?\{# end of measured #\}", re.DOTALL)
_NOT_PROSE = re.compile(
    r"\A---$.*?^---$|^```.*?^```|`[^`]*`|"
    r"(?<!\*)\*[^*\s][^*]*\*(?!\*)|(?<=\])\([^)]*\)|<[^>]*>|^\s*\d+\.(?=\s)",
    re.DOTALL | re.MULTILINE,
)
_PLACE = (
    r"\b(?:Appendix|Assumptions?|Corollar(?:y|ies)|Definitions?|Eqs?\.|Figures?|Lemmas?|Sections?"
    r"|Tables?|Theorems?)"
)
_PLACES = r"\b(?:Assumptions|Corollaries|Definitions|Eqs\.|Figures|Lemmas|Sections|Tables|Theorems)"
_SYMBOL = rf"(?<![\w.])(?:{'|'.join(GREEK)}|exp|ln|log|[B-HJ-Zb-z])(?:_\w+)?'*(?!\w)"
_DIGIT = r"(?<![\w.,-])\d(?![\w%]|[.,]\d)"
NAMES = (
    # Figure 6, Eqs. 10-12 and 26, but of Figure 6, 50 seeds the first alone
    rf"{_PLACES}\s\d+\w?(?:(?:-|,\s|,?\sand\s)\d+\w?\b(?!\s(?!of\b){_UNIT}\b))*",
    rf"{_PLACE}\s\d+\w?(?:-\d+\w?\b)?",
    # n - 1, 1/K, 2 B_n, f^2
    rf"(?:{_SYMBOL}(?:\s?/\s?|\s[-+]\s)|\bln\s){_DIGIT}",
    rf"{_DIGIT}(?:\s?/\s?|\s[-+]\s|\s){_SYMBOL}",
    rf"{_DIGIT}(?=\()",
    r"(?<=[\w)])\^\d(?![\w.])",
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


def typed_numbers_in_template(template: str) -> list[str]:
    """Return the typed numbers of a caption or a description, each with the words around it.

    Values that the template computes do not count, nor do the numbers of names (Figure 6, Eq. 10,
    t_0, Enwik-8) and single digits of formulas (n - 1, 1/K, 2 B_n, f^2). Words count from two on.
    """
    return _find_typed(_literal_text(template), NAMES, rf"\d|\b{_WORD}\b")


def typed_numbers_in_document(markdown: str) -> list[str]:
    """Return the typed numbers of a document or its template, each with the words around it.

    Values that a template computes do not count, nor do numbers between comments that name the
    command that measured them. Code, links, titles in italics and metadata before the text are no
    prose. Versions and years are names. A number in words counts if a unit or `of` follows.
    """
    prose = _NOT_PROSE.sub("", _literal_text(_MEASURED.sub("", markdown)))
    return _find_typed(prose, (*VERSIONS, *NAMES), rf"\d|\b{_WORD}(?=\s{_UNIT}\b)")


def _literal_text(template: str) -> str:
    """Return all text outside braces, and constants within them, such as -12 or a quotation."""
    outputs = ENVIRONMENT.parse(template).find_all(nodes.Output)
    return "".join(_text_of_node(node) for output in outputs for node in output.nodes)


def _text_of_node(node: nodes.Expr | None) -> str:
    match node:
        case nodes.TemplateData():
            return node.data
        case nodes.Filter():
            return _text_of_node(node.node)
        case nodes.BinExpr():
            # In the sandbox an operation is no constant, as its result may be large.
            left, right = map(_text_of_node, (node.left, node.right))
            return left if right else ""
        case nodes.Expr():
            try:
                return f" {node.as_const()} "
            except nodes.Impossible:
                return ""
        case _:
            return ""


def _find_typed(text: str, names: tuple[str, ...], pattern: str) -> list[str]:
    # One sign for one, so that places in `plain` are places in the text; ½ is a digit, too.
    plain = "".join("1" if not at.isascii() and at.isnumeric() else at for at in text)
    for name in names:
        plain = re.sub(name, lambda match: "_" * len(match[0]), plain)
    found = re.finditer(rf"(?:{pattern})[\w.,]*", plain, re.IGNORECASE)
    return [" ".join(text[max(at.start() - 20, 0) : at.end() + 20].split()) for at in found]
