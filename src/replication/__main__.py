"""The command `replication`, or `python -m replication`: all that the engine does by itself."""

import gc
from importlib import import_module
from pathlib import Path

import click

from replication.base.places import (
    project_around,
    refuse_foreign_packages,
    refuse_other_installation,
)

COMMANDS = {
    "generate": "replication.documents.generate",
    "new": "replication.new.command",
    "power": "replication.verify.power",
    "quick": "replication.testing.small",
    "report": "replication.report.command",
    "settings": "replication.plan.show_settings",
    "targets": "replication.plan.targets",
    "verify": "replication.verify.command",
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
@click.pass_context
def main(context: click.Context) -> None:
    """Verify, report and plan replications of papers."""
    if context.invoked_subcommand == "new":  # it is about this Python alone
        return
    refuse_foreign_packages()
    if project := project_around(Path.cwd()):
        refuse_other_installation(project)


if __name__ == "__main__":
    # A command ends soon; to look for cycles takes a fifth of the time of a report.
    gc.set_threshold(50_000)
    main(prog_name="replication")
