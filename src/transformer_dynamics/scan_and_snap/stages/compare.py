"""Hold training against the theory and the population flow."""

from pathlib import Path

import click

from transformer_dynamics.scan_and_snap.comparison import comparison_table, turning_table
from transformer_dynamics.scan_and_snap.experiments import MeasureJob
from transformer_dynamics.scan_and_snap.figure_settings import PhaseTransition, parse_figure
from transformer_dynamics.seeds import parse_seeds
from transformer_dynamics.storage import read_table, write_csv


@click.command(help=__doc__)
@click.option("--figure", required=True, help="Settings of the figure as JSON.")
@click.option("--settings", required=True, help="MeasureJob of the metrics as JSON.")
@click.option("--seeds", required=True, help="Such as 1-10,12.")
@click.option("--metrics", required=True, type=click.Path(path_type=Path))
@click.option("--output", required=True, type=click.Path(path_type=Path))
def main(figure: str, settings: str, seeds: str, metrics: Path, output: Path) -> None:
    """Write exactly the numbers that the figure draws."""
    drawn = parse_figure(figure)
    job = MeasureJob.parse_json(settings, "--settings")
    measured = read_table(metrics, job.provenance(parse_seeds(seeds)))
    table = turning_table if isinstance(drawn, PhaseTransition) else comparison_table
    write_csv(output, table(measured, job))


if __name__ == "__main__":
    main()
