"""Errors a user can do something about: each names the input, and the next step."""

from enum import IntEnum

__all__ = [
    "EdgeError",
    "EvidenceError",
    "ExitCode",
    "ProfileError",
    "TargetUnreachableError",
    "UnauthorisedError",
    "UsageError",
]


class ExitCode(IntEnum):
    """Exit codes of every command of the toolkit."""

    OK = 0
    FAULT = 1
    USAGE = 2
    CONTRACT = 3
    ADVISORY = 4
    TIMEOUT = 5
    UNREACHABLE = 6
    UNAUTHORISED = 7
    INTERRUPTED = 130


class EdgeError(Exception):
    """An error with a next step.

    Attributes:
        message: What was wrong, and where (file, key, object).
        next_step: What the user does now; one sentence or command.
        exit_code: The exit code that a command ends with.
    """

    exit_code: ExitCode = ExitCode.FAULT

    def __init__(self, message: str, next_step: str) -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step

    def __str__(self) -> str:
        return f"{self.message} ({self.next_step})"


class UsageError(EdgeError):
    """The command line or a configuration value is wrong."""

    exit_code = ExitCode.USAGE


class ProfileError(EdgeError):
    """A profile is unknown, unreadable or has a wrong key or value."""

    exit_code = ExitCode.USAGE


class EvidenceError(EdgeError):
    """A recording is missing, truncated, or of another schema."""

    exit_code = ExitCode.USAGE


class TargetUnreachableError(EdgeError):
    """The cluster or host to look at cannot be reached at all."""

    exit_code = ExitCode.UNREACHABLE


class UnauthorisedError(EdgeError):
    """The target was reached and refused the credentials."""

    exit_code = ExitCode.UNAUTHORISED
