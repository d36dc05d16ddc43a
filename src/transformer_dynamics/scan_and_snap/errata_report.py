"""Show where the paper's own statements do not hold: every one of them with its evidence."""

from pathlib import Path

import click
import pandas as pd
from pydantic import TypeAdapter

from replication.markdown import table
from replication.order import Order
from replication.run import measured
from replication.storage import write_text
from transformer_dynamics.scan_and_snap.figures.errata import Errata
from transformer_dynamics.scan_and_snap.sequence_classes import SequenceClasses, sequence_classes
from transformer_dynamics.scan_and_snap.settings import Mixture
from transformer_dynamics.scan_and_snap.theory.errata import all_errata
from transformer_dynamics.scan_and_snap.theory.evidence import Evidence
from transformer_dynamics.scan_and_snap.theory.findings import finding_a, finding_b, finding_c


def all_evidence(
    mixtures: dict[str, Mixture], figure: Errata, metrics: pd.DataFrame
) -> list[Evidence]:
    """E1-E7 and findings A-C, each computed.

    Args:
        mixtures: data models that Assumption 2 is tried on, by name.
        figure: settings of finding A, and the learning rate of finding C.
        metrics: entropy of the long training runs.
    """
    classes: dict[str, SequenceClasses] = {
        name: sequence_classes(mixture) for name, mixture in mixtures.items()
    }
    lowest = metrics["ratio"].min()
    runs = metrics[(metrics["eta_z"] == figure.eta_z) & (metrics["ratio"] == lowest)]
    entropies = {
        int(str(updates)): rows.sort_values("seed")["entropy"].to_numpy()
        for updates, rows in runs.groupby("iteration")
        if int(str(updates)) >= figure.first_update
    }
    return [
        *all_errata(),
        finding_a(figure.num_classes, figure.vocabulary_size, tuple(figure.correlations)),
        finding_b(classes),
        finding_c(entropies),
    ]


def to_markdown(evidence: list[Evidence]) -> str:
    """The table "printed / corrected / evidence"."""
    rows = (
        (
            item.id,
            item.printed,
            item.corrected,
            "<br>".join(f"{name}: {value:.4g}" for name, value in item.evidence.items()),
            "yes" if item.holds else "NO",
        )
        for item in evidence
    )
    return "\n".join(
        [
            "# Errata and findings",
            "",
            "Every number is computed when this file is made: `snakemake errata`.",
            "",
            *table(("id", "printed", "corrected", "evidence", "holds"), rows),
            "",
        ]
    )


@click.command(help=__doc__)
@click.option("--job", required=True, help="Order of the figure's table as JSON.")
@click.option("--mixtures", required=True, help="The configured mixtures as JSON.")
@click.option("--output", required=True, type=click.Path(path_type=Path))
@click.argument("inputs", nargs=-1, type=click.Path(path_type=Path))
def main(job: str, mixtures: str, output: Path, inputs: tuple[Path, ...]) -> None:
    """Write the table as Markdown; Assumption 2 is tried on the mixtures that the authors ran."""
    order = Order.parse_json(job, "--job")
    (runs,) = measured(order, inputs)
    configured = TypeAdapter(dict[str, dict[str, Mixture]]).validate_json(mixtures)["mixtures"]
    released = {name: mixture for name, mixture in configured.items() if mixture.in_released_code}
    figure = Errata.parse(order.settings["figure"], "--job")
    write_text(output, to_markdown(all_evidence(released, figure, runs.table)))


if __name__ == "__main__":
    main()
