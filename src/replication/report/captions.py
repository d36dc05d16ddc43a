"""The texts of figures in Snakemake's own report.

Snakemake takes captions for reStructuredText, and writes other texts into a script. A registry's
texts, or a user's, could thus include a file or bring a script.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replication.judge.verdicts import Verdict
    from replication.plan.jobs import Jobs


def literal(line: str) -> str:
    """Return reStructuredText that shows a line as it is, whatever marks it has.

    The escaped space before it shows nothing: no line is a title, a list or a directive then.
    """
    return r"\ " + re.sub(r"([^\w\s]|_)", r"\\\1", line)


def category_name(title: str) -> str:
    """Return the title of a study as the name of a category: one line, and no end of a script."""
    return " ".join(title.split()).replace("<", "\N{FULLWIDTH LESS-THAN SIGN}")


class Captions(dict[str, str]):
    """Captions of figures as reStructuredText, by their paths below `figures/`, without ending.

    A caption cites computed numbers. So it is made when the report asks for it, and not when jobs
    are planned, which loads no tables.
    """

    def __init__(self, jobs: "Jobs") -> None:
        super().__init__()
        self._jobs = jobs

    def __missing__(self, below: str) -> str:
        """Return the caption of a figure.

        Raises:
            InputError: if the caption cites what is not there.
        """
        from replication.base.tables import read_csv
        from replication.documents.figure_texts import CitedFigure
        from replication.judge.scorecard import read_verdict

        study, name = self._jobs.figures[below]
        text = study.text(name)
        if text is None:
            return ""
        paths = {claim: Path(path) for claim, path in study.files.verdicts.items()}

        def find_verdict(claim: str) -> "Verdict | None":
            path = paths.get(claim)
            return read_verdict(path) if path and path.is_file() else None

        table = read_csv(Path(study.table(name)), ())
        return literal(CitedFigure.of(study, name, table, find_verdict).cite(text).caption)
