"""Everything that can go wrong, in two families that never mix.

Faults are values: the outside world failed (a model, a network, a child process). A voice ends its reply with one, the
engine records it, a decision names it. Faults are never raised.

Exceptions are for our own bugs and for mistakes that the person can correct:

    RoundtableError                 everything we raise on purpose; carries `help` and an exit code
    ├── UsageError                  an invalid argument, file or setting                  exit 2
    │   ├── ConfigError             a config file holds something we cannot use
    │   ├── NotFound                no such session, seat, gate, model or meeting
    │   └── NotTrusted              a workspace needs `roundtable trust` first
    ├── RecordError                 the record cannot be used as requested                exit 1
    │   ├── RecordMismatch          the meeting no longer matches its own record          exit 2
    │   ├── RecordTooNew            written by a newer version than this one              exit 2
    │   └── LeaseLost               another process has taken over the session            exit 5
    └── SessionHeld                 another live process runs this session                exit 5
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from roundtable.core.usage import Usage


class FaultKind(StrEnum):
    """The ways in which a seat can fail to answer."""

    TIMEOUT = "timeout"
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    SERVER = "server"
    UNAUTHORIZED = "unauthorized"
    QUOTA = "quota"
    REFUSED = "refused"
    CONTEXT_OVERFLOW = "context_overflow"
    EMPTY = "empty"
    MALFORMED = "malformed"
    TRUNCATED = "truncated"
    UNREACHABLE = "unreachable"
    CANCELLED = "cancelled"
    PERMISSION = "permission"
    MISSING = "missing"
    CRASHED = "crashed"


_POLICY: dict[FaultKind, tuple[bool, str]] = {
    FaultKind.TIMEOUT: (False, "Give the seat more time with --timeout or limits.seat_timeout, or use a faster voice."),
    FaultKind.RATE_LIMITED: (True, "Wait a little, lower the endpoint's concurrency, or add a fallback voice."),
    FaultKind.OVERLOADED: (True, "The provider is overloaded. Try again later, or add a fallback voice."),
    FaultKind.SERVER: (True, "The provider had an internal error. Try again later, or add a fallback voice."),
    FaultKind.UNAUTHORIZED: (
        False,
        "Check the API key or log in again. `roundtable doctor --deep` sends a test question to every seat.",
    ),
    FaultKind.QUOTA: (False, "The account has no credit left. Add credit, or add a fallback voice."),
    FaultKind.REFUSED: (False, "The model declined to answer. Rephrase the question or change the seat."),
    FaultKind.CONTEXT_OVERFLOW: (False, "The prompt is larger than the model's context window. Give less context."),
    FaultKind.EMPTY: (True, "The model returned an empty answer. Try again, or use another voice."),
    FaultKind.MALFORMED: (
        True,
        "The response was not in the expected format. Check the dialect and the URL of the endpoint.",
    ),
    FaultKind.TRUNCATED: (True, "The answer was cut off. Raise the token limit, or ask for a shorter answer."),
    FaultKind.UNREACHABLE: (True, "No server answered at this address. Start the server, or check the URL."),
    FaultKind.CANCELLED: (False, "The call was cancelled on request."),
    FaultKind.PERMISSION: (False, "The agent asked for a permission that cannot be granted in a meeting."),
    FaultKind.MISSING: (False, "The program, model or file is missing. `roundtable doctor` shows what to install."),
    FaultKind.CRASHED: (True, "The voice stopped unexpectedly. Run with --debug for details."),
}


class Fault(msgspec.Struct, frozen=True, omit_defaults=True):
    """One failure of the outside world: its message, whether a retry can help, help for the person, and its usage."""

    kind: FaultKind
    message: str
    retryable: bool = False
    help: str = ""
    retry_after: float = 0.0
    usage: Usage = Usage()

    @classmethod
    def of(
        cls, kind: FaultKind, message: str, *, retryable: bool | None = None, help: str = "", retry_after: float = 0.0
    ) -> Fault:
        """Create a fault; values that are not given follow from its kind."""
        may_retry, advice = _POLICY[kind]
        return cls(kind, message, may_retry if retryable is None else retryable, help or advice, retry_after)


class RoundtableError(Exception):
    """Base of every exception raised on purpose: a message that names the problem, and help for solving it."""

    exit_code = 1

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.help = help


class UsageError(RoundtableError):
    """The request is invalid."""

    exit_code = 2


class ConfigError(UsageError):
    """A config file cannot be used."""


class NotFound(UsageError):
    """Something that was named does not exist."""


class NotTrusted(UsageError):
    """A workspace wants to name programs or endpoints, and the person has not trusted it yet."""


class RecordError(RoundtableError):
    """The record cannot be used as requested."""


class DamagedRecord(RecordError):
    """A fact or a blob of the record cannot be read."""


class RecordMismatch(RecordError):
    """A meeting asks for something else than its record contains under this name."""

    exit_code = 2


class RecordTooNew(RecordError):
    """The record was written by a newer version."""

    exit_code = 2


class LeaseLost(RecordError):
    """Another process has taken over the session; this one writes nothing more."""

    exit_code = 5


class SessionHeld(RoundtableError):
    """Another live process runs this session."""

    exit_code = 5
