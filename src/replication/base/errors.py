"""The errors that a user is meant to read."""

import click

OUT_OF_REGIME = "it is not in the regime of the claim"
"""End of the reason of an `OutOfRegimeError`."""
WRONG_TABLE = "mend the function that returns it"
"""End of the message of a `WrongTableError`."""


class InputError(click.ClickException):
    """An input or a file of the user cannot be used.

    Its message names the mistake, the place and the remedy. A command line that raises it
    prints the message and exits with status 1.
    """


class UnmeasurableError(InputError):
    """The data do not suffice to measure a claim: too few updates, comparisons or seeds.

    Functions of evidence and tests raise this error, which stops nothing: the claim is not tested,
    and the message is the reason.
    """


class OutOfRegimeError(UnmeasurableError):
    """The trained models are not in the regime of a claim, and more data would not change that.

    The conformance of a study accepts this error, and takes every other unmeasured claim for a
    mistake.
    """

    def __init__(self, why: str) -> None:
        """Take the reason, in terms of the measured values."""
        super().__init__(f"{why}: {OUT_OF_REGIME}")


class WrongTableError(UnmeasurableError):
    """A study's function returned something else than the table that is needed.

    Of a claim, the error stops nothing at first, so that the others get their verdicts; the
    scorecard and the reference refuse the claim by the end of the reason.
    """

    def __init__(self, why: str) -> None:
        """Take the mistake: the function, and what is expected."""
        super().__init__(f"{why}; {WRONG_TABLE}")
