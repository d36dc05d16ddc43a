"""Make the table of a figure from the metrics of its experiments on text."""

from pathlib import Path

import click
import pandas as pd
from pydantic import Field

from transformer_dynamics.frames import read_table, write_csv
from transformer_dynamics.scan_and_snap.wikitext.config import Fig7, Fig10, TextFigureSettings
from transformer_dynamics.scan_and_snap.wikitext.experiments import TextMeasureJob
from transformer_dynamics.strict import Strict


class TableJob(Strict):
    """What the table of a figure depends on."""

    figure: TextFigureSettings
    """The figure."""
    sources: list[TextMeasureJob] = Field(min_length=1)
    """What made the tables of metrics, in the order of the figure's experiments."""


@click.command(help=__doc__)
@click.option("--settings", required=True, help="TableJob as JSON.")
@click.option("--output", required=True, type=click.Path(path_type=Path))
@click.argument("metrics", nargs=-1, required=True, type=click.Path(path_type=Path))
def main(settings: str, output: Path, metrics: tuple[Path, ...]) -> None:
    """Write exactly the numbers that the figure draws."""
    job = TableJob.parse_json(settings, "--settings")
    tables = [
        read_table(path, source.provenance())
        for source, path in zip(job.sources, metrics, strict=True)
    ]
    write_csv(output, figure_table(job.figure, pd.concat(tables, ignore_index=True)))


def figure_table(figure: TextFigureSettings, metrics: pd.DataFrame) -> pd.DataFrame:
    """The rows and columns of the metrics that a figure shows, in its order."""
    if isinstance(figure, Fig7):
        shown = metrics["iteration"].isin(figure.iterations) & (metrics["seed"] == figure.seed)
        columns = ["layers", "iteration", "query_position", "key_position", "attention"]
        table = metrics.loc[shown, [*columns, "query_word", "key_word"]]
        return table.sort_values(columns[:-1], ignore_index=True)
    if isinstance(figure, Fig10):
        columns = ["corpus", "learning_rate", "seed", "epochs", "attention_entropy", "perplexity"]
        return metrics[columns].sort_values(columns[:3], ignore_index=True)
    return metrics


if __name__ == "__main__":
    main()
