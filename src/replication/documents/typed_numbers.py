"""Numbers that somebody typed where they should be cited, see `templates`."""

import re

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


def typed_numbers_in_template(template: str) -> list[str]:
    """Return the typed numerals of a caption or a description, each with the words around it.

    Values that the template computes do not count, nor do the numbers of names (Figure 6, Eq. 10,
    t_0, Enwik-8) and single digits of formulas (n - 1, 1/K, 2 B_n, f^2).
    """
    return _find_typed(template, NAMES)


def typed_numbers_in_document(markdown: str) -> list[str]:
    """Return the typed numerals of a document or its template, each with the words around it.

    Numbers between comments that name the command that measured them do not count either. Code,
    links, titles in italics and metadata before the text are no prose. Versions and years are
    names.
    """
    return _find_typed(_NOT_PROSE.sub("", _COMPUTED.sub("", markdown)), (*VERSIONS, *NAMES))


def _find_typed(template: str, names: tuple[str, ...]) -> list[str]:
    text = plain = _COMPUTED.sub("", template)
    for name in names:
        plain = re.sub(name, lambda match: "_" * len(match[0]), plain)
    found = re.finditer(r"\d[\w.,]*", plain)
    return [" ".join(text[max(at.start() - 20, 0) : at.end() + 20].split()) for at in found]
