"""Numbers and formulas, typeset for readers."""

import math
import re
from collections.abc import Callable, Iterable
from html import unescape
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

if TYPE_CHECKING:
    import pandas as pd

_SMALL = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau phi chi"
    " psi omega"
)
_CAPITAL = "Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega"
GREEK = {name: unescape(f"&{name};") for name in f"{_SMALL} {_CAPITAL}".split()}
_NAMES = "|".join(sorted(GREEK, key=len, reverse=True))
_SYMBOL = re.compile(
    rf"""
    (?<![\w.])
    (?: (?P<greek>{_NAMES}) | (?P<letter>d?[A-Za-z]) )(?P<dot>dot(?=_))?
    (?P<prime>'*)
    (?: _(?P<subscript>[A-Za-z0-9]{{1,4}}|(?<=[A-Z]_)[a-z]{{5,8}})(?P<late_prime>'*) )?
    (?! [\w'] | \.\w )
    """,
    re.VERBOSE,
)
_IN_PARENTHESES = r"[^()]|\((?:[^()]|\([^()]*\))*\)"
"""Content of parentheses, with two levels of parentheses in it."""
_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_MINUS = "\N{MINUS SIGN}"
_TIMES = "\N{MULTIPLICATION SIGN}"
_PRIME = "\N{PRIME}"


def number(value: float, digits: int = 3) -> str:
    """Return a number with significant digits: 1,230, or 0.00123, or a power of ten.

    A ValueError if the number is not finite.
    """
    if not math.isfinite(value):
        raise ValueError(f"{value} is no number that can be shown")
    if value == 0:
        return "0"
    # Text, not a float: the largest floats overflow when they are rounded up.
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    exponent = int(power)
    is_plain = -4 <= exponent < 6
    rounded = float(f"{mantissa}e{power}")
    text = f"{rounded:,.{max(digits - 1 - exponent, 0)}f}" if is_plain else mantissa
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    if not is_plain:
        factor = text.removesuffix("1") if text in {"1", "-1"} else f"{text}{_TIMES}"
        text = f"{factor}10{str(exponent).translate(_SUPERSCRIPT)}"
    return text.replace("-", _MINUS)


def seed_count(seeds: "pd.Series[Any]", *groups: "pd.Series[Any]") -> str:
    """Return the number of different seeds in words for a picture: 5 seeds, or 1 seed.

    Groups are columns that tell parts of the rows apart: 5 to 10 seeds, if these differ.
    """
    known = seeds.dropna()
    counts = known.groupby([*groups]).nunique() if groups else [known.nunique()]
    return count_in_words(counts, "seed")


def count_in_words(counts: Iterable[int], noun: str) -> str:
    """Return how many things there are, for a picture: 5 seeds, 1 seed, or 5 to 10 seeds."""
    least, most = min(counts := [*counts] or [0]), max(counts)
    text = f"{most:.0f}" if least == most else f"{least:.0f} to {most:.0f}"
    return f"{text} {noun}{'' if most == 1 else 's'}"


def power_of_ten(value: float) -> str:
    """Return a power of ten, as an axis names it: 1, 10, 10²."""
    exponent = round(math.log10(value))
    return {-1: "0.1", 0: "1", 1: "10"}.get(exponent, f"10{str(exponent).translate(_SUPERSCRIPT)}")


def typeset(text: str) -> Markup:
    """Return plain text as HTML, with Greek letters, subscripts, powers and signs: eta_Y >= 1e-3.

    A text between two backticks stays as it is.
    """
    plain, *rest = text.split("`", maxsplit=2)
    if len(rest) == 2:
        return typeset(plain) + Markup("<code>{}</code>").format(rest[0]) + typeset(rest[1])
    html = str(escape(text)).replace("&#39;", "'")
    for pattern, replacement in _RULES:
        html = re.sub(pattern, replacement, html)
    return Markup(html)


def _scientific(match: re.Match[str]) -> str:
    """Return a number in print; one too large for float64, such as 1.8e308, stays as it is."""
    value = float(match[0])
    return number(value) if math.isfinite(value) else match[0]


def _symbol(match: re.Match[str]) -> str:
    letter = GREEK[match["greek"]] if match["greek"] else match["letter"]
    quoted = match.string[: match.start()].endswith("'")
    if not (match["greek"] or match["subscript"]) and (quoted or not match["prime"]):
        return match[0]
    early, late = (_PRIME * len(match[name] or "") for name in ("prime", "late_prime"))
    if match["dot"]:
        letter += "\N{COMBINING DOT ABOVE}"
    if not match["subscript"]:
        return letter + early
    # t_0' is t' at 0, beta_nn' is beta at n and n'.
    below, after = (late, "") if match["subscript"][-1].isalpha() else ("", late)
    return f"{letter}{early}<sub>{match['subscript']}{below}</sub>{after}"


def _power(match: re.Match[str]) -> str:
    power = next(group for group in match.groups() if group is not None)
    text = "\N{DAGGER}" if power == "dagger" else power.replace("-", _MINUS)
    return f"<sup>{text}</sup>"


_RULES: tuple[tuple[str | re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    ("&lt;~", "\N{LESS-THAN OR EQUIVALENT TO}"),
    ("&gt;=", "≥"),
    ("&lt;=", "≤"),
    ("!=", "≠"),
    (r"\+-", "±"),
    (r"(?<!\w)sqrt(?:(?=[(\d])| (?=\||[A-Za-z]\b))", "√"),
    (r"(?<![\w.])(-?\d(?:\.\d+)?)e([+-]?\d+)(?!\w)", _scientific),
    # A key of the configuration, such as num_last.
    (
        r"(?<![\w./])[a-z]{2,}(?:_[a-z]{3,})+(?:_\d+)?(?![\w(/]|\.\w)",
        r"<code>\g<0></code>",
    ),
    # A product: f_n.f_n'.
    (r"(?<!\w)([A-Za-z]'*_\w{1,4}'*)\.(?=[A-Za-z]'*_\w)", r"\1·"),
    (_SYMBOL, _symbol),
    # Indices of other things than letters: sum_{k != n}, max_l, ||v||_1, Proj_X and DX_i.
    (
        r"_(?:(?<=\w_)\{([^{}]+)\}"
        r"|(?:(?<=[|)]_)|(?<=\b(?:sum|max|min)_)|(?<=\bProj_)|(?<=\b[A-Z]{2}_))(\w)(?!\w))",
        r"<sub>\1\2</sub>",
    ),
    # The sign of a sum; without an index, sum is a word.
    (r"(?<!\w)sum(?=<sub>)", "\N{N-ARY SUMMATION}"),
    (
        rf"\^(?:\{{([^{{}}]+)\}}|\(((?:{_IN_PARENTHESES})+)\)"
        r"|(-?[0-9]+(?:\.[0-9]+)?|[A-Za-z]+|\*))",
        _power,
    ),
    (r"(?<![\w.)}])-(?=[\d.])", _MINUS),
)
"""Patterns of plain formulas and their print, one after the other."""
