"""The errors that a user is meant to read."""

import click

OUT_OF_REGIME = "it is not in the regime of the claim"
"""How the reason of an `OutOfRegimeError` ends."""


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


class OutOfRegimeError(UnmeasurableError):
    """What was trained is not in the regime that a claim is about, however much of it there is.

    A study's conformance takes that for a finding, and every other unmeasured claim for a mistake.
    """

    def __init__(self, why: str) -> None:
        """Say why, in what was measured."""
        super().__init__(f"{why}: {OUT_OF_REGIME}")
