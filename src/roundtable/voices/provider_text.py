"""Faults for HTTP statuses, and quotes of provider texts; shared by HTTP voices and agents."""

from __future__ import annotations

from roundtable.core.faults import FaultKind
from roundtable.core.text.redaction import Redactor
from roundtable.core.text.sanitize import sanitize_line

MAX_EXCERPT = 240

_BY_STATUS = {
    401: FaultKind.UNAUTHORIZED,
    402: FaultKind.QUOTA,
    403: FaultKind.UNAUTHORIZED,
    404: FaultKind.MISSING,
    408: FaultKind.TIMEOUT,
    409: FaultKind.SERVER,
    413: FaultKind.CONTEXT_OVERFLOW,
    425: FaultKind.SERVER,
    429: FaultKind.RATE_LIMITED,
    503: FaultKind.OVERLOADED,
    529: FaultKind.OVERLOADED,
}


def classify_provider_http_status(status: int) -> FaultKind:
    """Return the kind of fault for an HTTP status."""
    return _BY_STATUS.get(status, FaultKind.SERVER if status >= 500 else FaultKind.MALFORMED)


def excerpt_provider_text(text: str, *secrets: str) -> str:
    """Return a provider's text as one short line without keys."""
    text = sanitize_line(Redactor(secrets).redact(text))
    # Cut between words: half of an unknown key would not be recognized and redacted.
    return text if len(text) <= MAX_EXCERPT else text[:MAX_EXCERPT].rpartition(" ")[0] + "…"
