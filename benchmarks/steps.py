"""`python -m benchmarks.steps`: each study's costliest steps against the literal ways, as ratios.

One process and one thread. Both ways of a step must agree before they are timed. `--study` measures
only some studies.
"""

from collections.abc import Callable, Iterable

import click
import torch

from benchmarks import gradient_heterogeneity, lp_ft, recurrent_attention, scan_and_snap, text
from benchmarks.turns import Compared, to_markdown
from replication.bundle.computed import processor

STEPS: dict[str, Callable[[], Iterable[Compared]]] = {
    "scan_and_snap": scan_and_snap.compare,
    "scan_and_snap_text": text.compare,
    "recurrent_attention": recurrent_attention.compare,
    "lp_ft": lp_ft.compare,
    "gradient_heterogeneity": gradient_heterogeneity.compare,
}


@click.command(help=__doc__)
@click.option("--study", "studies", multiple=True, type=click.Choice(list(STEPS)), help="Which.")
def main(studies: tuple[str, ...]) -> None:
    """Print a table per study, as each takes a minute or two."""
    torch.set_num_threads(1)
    click.echo(f"{processor()}, torch {torch.__version__}")
    for study in studies or STEPS:
        click.echo(f"\n### `{study}`\n\n{to_markdown(STEPS[study]())}")


if __name__ == "__main__":
    main()
