"""Hold training against the theory and the population flow."""

from pathlib import Path

import click

from transformer_dynamics.frames import write_csv
from transformer_dynamics.scan_and_snap.comparison import comparison_table, turning_table
from transformer_dynamics.scan_and_snap.figure_settings import PhaseTransition, parse_figure
from transformer_dynamics.scan_and_snap.stages.options import figure_of_runs, read_metrics


@click.command(help=__doc__)
@figure_of_runs
def main(figure: str, settings: str, seeds: str, metrics: Path, output: Path) -> None:
    """Write exactly the numbers that the figure draws."""
    turning = isinstance(parse_figure(figure), PhaseTransition)
    job, measured = read_metrics(settings, seeds, metrics)
    table = turning_table if turning else comparison_table
    write_csv(output, table(measured, job))


if __name__ == "__main__":
    main()
