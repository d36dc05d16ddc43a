"""Texts of a receipt: strangers send them in, and they are shown on pages."""

import re
import unicodedata
from typing import Annotated

from pydantic import AfterValidator, Field

from replication.base.process import ARITHMETIC

LONGEST_TEXT = 300
"""Largest number of letters of a text."""
LONGEST_PART = 150
"""Largest number of letters of the name of a machine's part."""
MOST_MARKS = 3
"""Largest number of marks, such as accents, on one letter: no script stacks more."""
INVISIBLE_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters that show as an empty place, although they count as printable."""
WEB_ADDRESS = re.compile(r"https?://\S*")
FOLDER_NAME = re.compile(r"(?<![\w./~])(?://?[^/\s]+/|~[\w.-]*/|\.\./)|:[/\\]|\\\\\w")
"""Pattern of names of folders outside the project, in a text without addresses."""
MARKUP_LETTERS = frozenset(r"<>[]{}|`\&*$")
"""Letters of the markup of HTML and Markdown."""
PLAIN_LETTERS = "A-Za-z0-9 ()+.,/:;@'=!_-"
"""Letters of the names of a machine's parts, as a character class."""


def names_folder(text: str) -> bool:
    """Say whether a text names a folder outside the project."""
    return bool(FOLDER_NAME.search(WEB_ADDRESS.sub("", text)))


def _refuse_folder(text: str) -> str:
    if names_folder(text):
        raise ValueError("a receipt must not name a folder of the machine")
    return text


def is_plain(text: str) -> bool:
    """Say whether a text is one line of visible letters, none with a tower of marks.

    Letters that hide or turn the following text count as not printable.
    """
    marks = "".join("m" if unicodedata.category(letter)[0] == "M" else " " for letter in text)
    is_seen = text.isprintable() and not INVISIBLE_LETTERS.intersection(text)
    return is_seen and "m" * (MOST_MARKS + 1) not in marks


def _refuse_unreadable(text: str) -> str:
    if not is_plain(text):
        raise ValueError("must be one line of printable letters, each with few accents")
    return text


def _refuse_markup(text: str) -> str:
    if found := sorted(MARKUP_LETTERS.intersection(text)):
        raise ValueError(f"must be without {' '.join(found)}")
    return text


def _refuse_outer_spaces(text: str) -> str:
    if text.strip() != text:
        raise ValueError("must have no spaces around it")
    return text


def _refuse_other_variable(name: str) -> str:
    if name not in ARITHMETIC:
        raise ValueError("is no variable that changes arithmetic")
    return name


Text = Annotated[
    str,
    Field(max_length=LONGEST_TEXT),
    AfterValidator(_refuse_unreadable),
    AfterValidator(_refuse_folder),
]
Word = Annotated[
    Text, Field(min_length=1), AfterValidator(_refuse_markup), AfterValidator(_refuse_outer_spaces)
]
"""Words of people about themselves, in any script, without markup of HTML and Markdown."""
Part = Annotated[Text, Field(max_length=LONGEST_PART, pattern=f"^[{PLAIN_LETTERS}]*$")]
"""Name of a machine's part: plain letters, which, shown as code, are no markup anywhere."""
Variable = Annotated[str, AfterValidator(_refuse_other_variable)]
"""Name of an environment variable by which libraries compute as another processor would."""
Package = Annotated[str, Field(max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
"""Name of a package."""
Version = Annotated[str, Field(max_length=60, pattern=r"^[A-Za-z0-9][A-Za-z0-9.!+_-]*$")]
"""Version of a package, or `missing`."""
