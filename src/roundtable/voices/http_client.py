"""HTTP clients for endpoints and downloads, and the fault of every HTTP failure, for all dialects."""

from __future__ import annotations

import os
import re
import socket
import ssl
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, cast

import httpx2
import msgspec

from roundtable.core.faults import ConfigError, Fault, FaultKind
from roundtable.voices.endpoints import Endpoint
from roundtable.voices.provider_text import MAX_EXCERPT, classify_provider_http_status, excerpt_provider_text


def open_provider_http_client(endpoint: Endpoint) -> httpx2.AsyncClient:
    """Open a client for one endpoint, without redirects, so that a key never reaches another host."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=endpoint.concurrency)
    url = httpx2.URL(endpoint.base_url)
    secure = url.scheme == "https"
    is_local = endpoint.local or url.host in ("127.0.0.1", "::1", "localhost")
    # Plain http skips loading certificates (40 ms); local servers skip the proxy.
    with reject_invalid_proxy_settings():
        return httpx2.AsyncClient(
            verify=load_provider_http_certificates() if secure else False,
            limits=limits,
            trust_env=not is_local,
            follow_redirects=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        )


@contextmanager
def reject_invalid_proxy_settings() -> Generator[None]:
    """Raise ConfigError if a client cannot be created; the message names variables only, as a proxy can have a key."""
    try:
        yield
    except (ValueError, ImportError, httpx2.InvalidURL) as error:
        names = [name for name in os.environ if name.lower() in _PROXY_VARIABLES and os.environ[name]]
        if not names:
            raise
        help = "Correct or unset it."
        if isinstance(error, ImportError):
            help = "A SOCKS proxy needs the package `socksio`. Install it, or set an HTTP proxy."
        raise ConfigError(f"The proxy setting of the environment ({', '.join(names)}) cannot be used.", help) from None


_PROXY_VARIABLES = frozenset({"all_proxy", "http_proxy", "https_proxy", "no_proxy"})


def load_provider_http_certificates() -> ssl.SSLContext | bool:
    """Return the certificate authorities: PIP_CERT if set, else the client's default."""
    bundle = os.environ.get("PIP_CERT", "")
    if bundle and "SSL_CERT_FILE" not in os.environ and os.path.exists(bundle):
        return ssl.create_default_context(cafile=bundle)
    return True


_MAX_RETRY_AFTER = 3600.0

# Servers name the same error in many ways; the first match in code, type or message decides.
_KINDS_BY_WORDS = (
    (
        FaultKind.QUOTA,
        (
            "insufficient_quota",
            "billing_hard_limit",
            "billing_error",
            "insufficient credit",
            "insufficient balance",
            "credit balance",
        ),
    ),
    (
        FaultKind.CONTEXT_OVERFLOW,
        (
            "context_length",
            "exceed_context_size",
            "maximum context",
            "context window",
            "prompt is too long",
            "input token count",
        ),
    ),
    (FaultKind.REFUSED, ("content_filter", "content_policy", "responsibleai", "moderation")),
    # The last text is the answer of a LiteLLM proxy without a database to an unknown key.
    (FaultKind.UNAUTHORIZED, ("invalid_api_key", "authentication_error", "api key not valid", "no connected db")),
    (FaultKind.MISSING, ("model_not_found", "model not found", "no such model")),
    (FaultKind.OVERLOADED, ("overloaded",)),
    (FaultKind.RATE_LIMITED, ("rate_limit", "resource_exhausted")),
)

# Google gives the wait in the body instead of a header.
_RETRY_DELAY = re.compile(rb'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"')


def classify_provider_http_response(
    who: str, status: int, headers: httpx2.Headers, body: bytes, secret: str = ""
) -> Fault:
    """Return the fault for a status other than 200."""
    if 300 <= status < 400:
        return Fault.of(
            FaultKind.MALFORMED,
            f"{who} redirects to another address (HTTP {status}), but Roundtable never sends a key to another host.",
            retryable=False,
            help="Set the endpoint's base_url to the new address.",
        )
    if "text/html" in headers.get("content-type", ""):
        return _create_fault(
            classify_provider_http_status(status), f"{who} answered with a web page (HTTP {status}).", headers
        )
    message, words = _parse_error_body(body)
    where = f"{who}: HTTP {status}"
    excerpt = excerpt_provider_text(message, secret)
    return _create_fault(
        _classify_error(status, words.lower()), f"{where}: {excerpt}" if excerpt else f"{where}.", headers, body
    )


def classify_provider_error(who: str, error: Any, secret: str = "") -> Fault:
    """Return the fault for an error object inside a stream or in place of a reply."""
    message, words = _extract_error_message({"error": error})
    code: Any = cast(dict[str, Any], error).get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 0
    excerpt = excerpt_provider_text(message, secret) or "an error without a message"
    return _create_fault(_classify_error(status, words.lower()), f"{who}: {excerpt}")


def _classify_error(status: int, words: str) -> FaultKind:
    # A rate-limit message may mention the context or a quota: the status is more reliable.
    for kind, signs in _KINDS_BY_WORDS:
        if any(sign in words for sign in signs) and (status != 429 or kind is FaultKind.QUOTA):
            return kind
    return classify_provider_http_status(status) if status else FaultKind.SERVER


def _create_fault(kind: FaultKind, message: str, headers: httpx2.Headers | None = None, body: bytes = b"") -> Fault:
    wait = parse_provider_retry_after(headers.get("retry-after", "")) if headers is not None else 0.0
    if not wait and (delay := _RETRY_DELAY.search(body)):
        wait = parse_provider_retry_after(delay.group(1).decode())
    # A repeated request would be rejected again.
    retryable = False if kind is FaultKind.MALFORMED else None
    return Fault.of(kind, message, retryable=retryable, retry_after=wait)


def classify_provider_http_exception(who: str, error: Exception, began: bool) -> Fault:
    """Return the fault for a broken connection; `began` says whether the reply had started.

    The message holds only the type of the error: its text may contain a header with the key.
    """
    name = type(error).__name__
    if isinstance(error, httpx2.ConnectTimeout | httpx2.ConnectError):
        return Fault.of(FaultKind.UNREACHABLE, f"{who} cannot be reached ({_find_cause(error)}).")
    if isinstance(error, httpx2.TimeoutException):
        return Fault.of(FaultKind.TIMEOUT, f"{who} stopped answering.")
    if isinstance(error, httpx2.DecodingError):
        return Fault.of(FaultKind.MALFORMED, f"{who} sent an answer that cannot be decompressed.", retryable=False)
    if isinstance(error, httpx2.UnsupportedProtocol | httpx2.InvalidURL | httpx2.LocalProtocolError):
        return Fault.of(
            FaultKind.UNREACHABLE,
            f"{who} cannot be called: the address or the request is invalid ({name}).",
            retryable=False,
        )
    if began:
        return Fault.of(FaultKind.TRUNCATED, f"{who} was cut off in the middle of its answer ({name}).")
    return Fault.of(FaultKind.UNREACHABLE, f"{who} closed the connection without an answer ({name}).")


def _find_cause(error: BaseException) -> str:
    """Return the most concrete reason in the chain: `Connection refused` rather than `All attempts failed`."""
    reason = type(error).__name__
    current: BaseException | None = error
    while current is not None:
        if isinstance(current, socket.gaierror | ssl.SSLError):
            reason = current.strerror or str(current)
        elif isinstance(current, OSError) and current.errno:
            reason = os.strerror(current.errno)
        current = current.__cause__ or current.__context__
    return excerpt_provider_text(reason)


def parse_provider_retry_after(value: str, now: datetime | None = None) -> float:
    """Return the seconds of a Retry-After header, which holds seconds or a date; 0 if it holds neither."""
    value = value.strip()
    if not value:
        return 0.0
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
        except (ValueError, IndexError):
            return 0.0
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        seconds = (moment - (now or datetime.now(UTC))).total_seconds()
    return min(max(seconds, 0.0), _MAX_RETRY_AFTER) if seconds == seconds else 0.0


def _parse_error_body(body: bytes) -> tuple[str, str]:
    """Return an error's message, and all its words for classification."""
    try:
        data: Any = msgspec.json.decode(body)
    except msgspec.DecodeError:
        text = body[: MAX_EXCERPT * 4].decode(errors="replace")
        return text, text
    return _extract_error_message(data)


def _extract_error_message(data: Any) -> tuple[str, str]:
    """Return message and words of a decoded error object, in any of the shapes that servers use."""
    items: list[Any] = cast(list[Any], data) if isinstance(data, list) else [data]
    first = items[0] if items else ""
    if not isinstance(first, dict):
        return str(first), str(first)
    table = cast(dict[str, Any], first)
    inner: Any = table.get("error", table)
    if not isinstance(inner, dict):
        return str(inner), str(inner)
    error = cast(dict[str, Any], inner)
    message = str(error.get("message") or error.get("detail") or error.get("error") or "")
    return message, " ".join(str(error.get(key, "")) for key in ("code", "type", "status")) + " " + message
