"""Show where the paper's own statements do not hold: as the table of a figure, or as Markdown."""

from pathlib import Path

import click

from transformer_dynamics.errors import InputError
from transformer_dynamics.frames import write_csv
from transformer_dynamics.scan_and_snap.errata_tables import (
    all_evidence,
    findings_table,
    to_markdown,
)
from transformer_dynamics.scan_and_snap.experiments import SampleJob
from transformer_dynamics.scan_and_snap.figure_settings import Errata, parse_figure
from transformer_dynamics.scan_and_snap.stages.options import figure_of_runs, read_metrics
from transformer_dynamics.storage import write_text


@click.command(help=__doc__)
@figure_of_runs
@click.option("--mixtures", help="SampleJob whose mixtures are held against Assumption 2, as JSON.")
def main(
    figure: str, settings: str, seeds: str, metrics: Path, mixtures: str | None, output: Path
) -> None:
    """Write the curves of the three findings (.csv) or all statements with their evidence (.md)."""
    drawn = parse_figure(figure)
    if not isinstance(drawn, Errata):
        raise InputError(f"--figure: {drawn.drawing} does not draw the errata")
    job, measured = read_metrics(settings, seeds, metrics)
    if mixtures is None:
        write_csv(output, findings_table(drawn, measured, job))
    else:
        held = SampleJob.parse_json(mixtures, "--mixtures").mixtures
        write_text(output, to_markdown(all_evidence(held, drawn, measured)))


if __name__ == "__main__":
    main()
