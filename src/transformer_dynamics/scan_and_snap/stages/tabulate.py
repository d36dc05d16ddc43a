"""Make the table of a figure from the metrics of its experiment."""

from pathlib import Path

import click

from transformer_dynamics.errors import InputError
from transformer_dynamics.frames import write_csv
from transformer_dynamics.scan_and_snap.figure_settings import FromRuns, parse_figure
from transformer_dynamics.scan_and_snap.stages.options import figure_of_runs, read_metrics
from transformer_dynamics.scan_and_snap.tables import figure_table


@click.command(help=__doc__)
@figure_of_runs
def main(figure: str, settings: str, seeds: str, metrics: Path, output: Path) -> None:
    """Write exactly the numbers that the figure draws."""
    drawn = parse_figure(figure)
    if not isinstance(drawn, FromRuns):
        raise InputError(f"--figure: {drawn.drawing} shows no training runs")
    job, measured = read_metrics(settings, seeds, metrics)
    write_csv(output, figure_table(drawn, measured, job))


if __name__ == "__main__":
    main()
