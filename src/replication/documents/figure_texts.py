"""The texts of a figure, with the numbers that they cite."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import pandas as pd

from replication.judge.templates import fill_template, verdict_finder
from replication.judge.verdicts import Verdict
from replication.plan.study_jobs import StudyJobs
from replication.study.registry import SCORECARD, FigureText


def figure_settings(settings: Mapping[str, Any], figure: str) -> Mapping[str, Any]:
    """Return the settings of a figure from the study's section of the configuration.

    The engine's own figure, the scorecard, has none.
    """
    return {} if figure == SCORECARD else settings["figures"][figure]


@dataclass(frozen=True)
class CitedFigure:
    """A figure with the values that its texts can cite."""

    study: str
    """Name of the figure's study."""
    name: str
    """Name of the figure."""
    settings: Mapping[str, Any]
    """The study's section of the configuration, as plain data."""
    n_seeds: int | str
    """Number of seeds that the figure shows, such as 5 to 10 where its parts have numbers of their
    own."""
    table: pd.DataFrame
    """Numbers that the figure draws."""
    find_verdict: Callable[[str], Verdict | None]
    """Function from the number of a claim of the study to its verdict."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of values in texts."""

    @classmethod
    def of(
        cls,
        study: StudyJobs,
        name: str,
        table: pd.DataFrame,
        find_verdict: Callable[[str], Verdict | None],
    ) -> Self:
        """Return a figure of a study; the arguments are as the fields."""
        settings = study.settings.model_dump(mode="json")
        number, own = study.number_of_seeds(name), study.study
        return cls(own.name, name, settings, number, table, find_verdict, own.names)

    def cite(self, text: FigureText) -> FigureText:
        """Return the texts of the figure with the numbers that they cite; see `fill_template`."""
        known = {
            "table": self.table,
            "figure": figure_settings(self.settings, self.name),
            "settings": self.settings,
            "n_seeds": self.n_seeds,
            "verdict": verdict_finder(self.find_verdict),
            "called": lambda value: self.names.get(value, value),
        }
        where = f"{self.study}: figure {self.name}"
        parts = {
            # One paragraph: statements that print nothing leave no gaps.
            part: " ".join(fill_template(getattr(text, part), f"{where}: {part}", known).split())
            for part in ("drawn", "caption")
        }
        return text.model_copy(update=parts)
