"""Start a program of the engine with the code and the files that it was planned with.

`python -m replication.run.start --edited FILE MODULE ARGUMENT...` refuses other ones, before the
program runs and again when it has written its files, which Snakemake then removes.
"""

from importlib import import_module
from pathlib import Path

import click

import replication.base.sources  # noqa: F401  first: what follows is loaded by its content
from replication.plan.collecting import Edited


@click.command(help=__doc__, context_settings={"allow_interspersed_args": False})
@click.option("--edited", required=True, type=click.Path(path_type=Path), help="Digests as JSON.")
@click.argument("module")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def main(edited: Path, module: str, arguments: tuple[str, ...]) -> None:
    """Run the program between two looks at its code and files."""
    planned = Edited.parse_json(edited.read_text(encoding="utf-8"), str(edited))
    planned.refuse()
    import_module(module).main.main([*arguments], module, standalone_mode=False)
    planned.refuse()


if __name__ == "__main__":
    main()
