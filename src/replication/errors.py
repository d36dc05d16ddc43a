"""The one error that a user is meant to read."""

import click


class InputError(click.ClickException):
    """Something that the user gave or left behind cannot be used.

    Its message says what is wrong, where, and what to do about it. A command line that raises it
    prints the message and exits with status 1.
    """
