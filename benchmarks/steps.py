"""`python -m benchmarks.steps`: each study's costliest steps against the literal ways, as ratios.

One process and one thread; of every step it is first shown that both ways agree. `--study` measures
only some studies.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import click
import torch

from benchmarks import gradient_heterogeneity, lp_ft, recurrent_attention, scan_and_snap, text
from benchmarks.turns import Compared, printed
from replication.verification.machine import processor

MINILM = Path("results/datasets/minilm")
STEPS: dict[str, Callable[[], Iterable[Compared]]] = {
    "scan_and_snap": scan_and_snap.compare,
    "scan_and_snap_text": text.compare,
    "recurrent_attention": recurrent_attention.compare,
    "lp_ft": lambda: lp_ft.compare(lp_ft.published(MINILM) or lp_ft.untrained()),
    "gradient_heterogeneity": gradient_heterogeneity.compare,
}


@click.command(help=__doc__)
@click.option("--study", "studies", multiple=True, type=click.Choice(list(STEPS)), help="Which.")
def main(studies: tuple[str, ...]) -> None:
    """Print a table per study, as each takes a minute or two."""
    torch.set_num_threads(1)
    click.echo(f"{processor()}, torch {torch.__version__}")
    for study in studies or STEPS:
        click.echo(f"\n### `{study}`\n\n{printed(STEPS[study]())}")
    if not studies or "lp_ft" in studies:
        which = "MiniLM" if lp_ft.published(MINILM) else "an untrained one of MiniLM's shape"
        click.echo(f"\nThe encoder was {which}.")


if __name__ == "__main__":
    main()
