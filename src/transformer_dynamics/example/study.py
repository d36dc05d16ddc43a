"""The example: its settings and its metrics."""

from typing import Annotated

from replication.study.contract import Figure, FiguresOf, Seeded, StudySettings
from replication.study.curves import Curves
from transformer_dynamics.example.settings import TrainJob

METRICS = ("error", "half_life")
"""Metrics of every experiment; no program reads this file, so a new one reruns no other."""
DATA = "problem"
"""Setting of a training that the program of the data is given."""


class Settings(StudySettings):
    """An invented paper: gradient descent learns large directions first."""

    experiments: dict[str, Seeded[TrainJob]]
    """The experiments by name."""
    figures: Annotated[dict[str, Figure], FiguresOf(__package__, Curves)]
    """The figures by name: `figures/<study>/<name>.pdf`."""
