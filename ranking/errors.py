"""What can go wrong in a ranking, as a small tree under `RankingError`."""

from __future__ import annotations


class RankingError(ValueError):
    """Base of every error this package raises on purpose."""


class InvalidVote(RankingError):
    """A vote that cannot be counted; names the row and the value.

    Attributes:
        reason: What is wrong with it, without the row.
        row: Position of the vote in the input, counted from 0, or None when the
            input as a whole is unusable (empty, one model).
        value: The offending value.
    """

    def __init__(self, message: str, *, row: int | None = None, value: object = None) -> None:
        super().__init__(message if row is None else f"row {row}: {message}")
        self.reason = message
        self.row = row
        self.value = value


class UnreadableFile(RankingError):
    """A file that is no table, or whose table cannot be made out; says what to do."""


class UnknownModel(RankingError, KeyError):
    """A model that is not on a board; names those that may have been meant."""

    def __str__(self) -> str:
        # A KeyError would show the message as a quoted string.
        return str(self.args[0])


class NoMaximum(RankingError):
    """The likelihood has no maximum: the votes do not tie all models together."""


class NotConverged(RankingError):
    """The fit did not reach its tolerance."""


class TooFewVoters(RankingError):
    """One voter cast all votes, or nearly all: how voters differ is unknown."""
