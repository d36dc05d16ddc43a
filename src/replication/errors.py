"""The errors that a user is meant to read."""

import click


class InputError(click.ClickException):
    """Something that the user gave or left behind cannot be used.

    Its message says what is wrong, where, and what to do about it. A command line that raises it
    prints the message and exits with status 1.
    """


class UnmeasurableError(InputError):
    """The data at hand do not say what a claim is about: too few updates, cells or seeds.

    Raised by a measure or by a test, it stops nothing: the claim is not tested, and the message is
    the reason.
    """
