"""Variants of experiments: other readings of a paper, under which its claims are judged, too."""

from collections.abc import Mapping
from typing import NamedTuple

BASELINE = "baseline"
"""Name of the variant that is the experiments' own settings."""
AS_PUBLISHED = "as published"
"""Title of the baseline."""


def check_titles(titles: Mapping[str, str]) -> None:
    """Refuse the name of the baseline, and two variants with one title, by a `ValueError`."""
    if BASELINE in titles:
        raise ValueError(
            f"variants > {BASELINE}: this is the name of the experiments' own settings"
        )
    known = {AS_PUBLISHED: BASELINE}
    for name, title in titles.items():
        other = known.setdefault(title, name)
        if other != name:
            raise ValueError(
                f"variants > {name} > title: variant '{other}' has it, too; change one"
            )


class Variant(NamedTuple):
    """One other reading of the paper, or one departure from it."""

    title: str
    """Name of the variant in figures."""
    experiments: dict[str, str]
    """Name of the variant of an experiment, by name of the experiment."""
