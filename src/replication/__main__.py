"""The command `replication`, or `python -m replication`: all that the engine does by itself."""

import gc
from importlib import import_module

import click

import replication.base.sources  # noqa: F401  first: what follows is loaded by its content

COMMANDS = {
    "changes": "replication.verify.changed_numbers",
    "check": "replication.plan.check_overlays",
    "crate": "replication.documents.reference_crate",
    "fetch": "replication.run.fetch",
    "generate": "replication.documents.generate",
    "history": "replication.verify.history",
    "lock": "replication.new.lock",
    "new": "replication.new.command",
    "pictures": "replication.verify.changed_pictures",
    "power": "replication.verify.power",
    "quick": "replication.testing.quick",
    "recover": "replication.plan.recover",
    "report": "replication.report.command",
    "settings": "replication.plan.show_settings",
    "slurm": "replication.plan.slurm",
    "targets": "replication.plan.list_targets",
    "times": "replication.plan.record_times",
    "verify": "replication.verify.levels",
    "watch": "replication.testing.watch",
}
"""Module of each command, which has a function `main`."""


class Commands(click.Group):
    """Commands whose modules are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name, none if there is no such command."""
        if cmd_name not in COMMANDS:
            return None
        return import_module(COMMANDS[cmd_name]).main  # type: ignore[no-any-return]


@click.group(cls=Commands)
def main() -> None:
    """Verify, report and plan replications of papers."""


if __name__ == "__main__":
    # A command ends soon; to look for cycles takes a fifth of the time of a report.
    gc.set_threshold(50_000)
    main(prog_name="replication")
