"""The errors that betterhalf raises, each with the exit code of its command."""

from __future__ import annotations


class BetterhalfError(Exception):
    """Tells what was expected, what came and what to do; never shown as a traceback.

    Attributes:
        exit_code: what the command returns (2 usage or bad input, 4 the tool or the
            reference failed).
    """

    exit_code = 4


class UsageError(BetterhalfError):
    """The user's input cannot be used; nothing was started or written."""

    exit_code = 2


class StoreError(BetterhalfError):
    """A file of a run store is missing, damaged or written by a newer release."""

    exit_code = 2


class LossScaleError(BetterhalfError):
    """Too many steps in a row had gradients that were not finite; none was taken."""
