"""Prepares events for storage and reads them back: redaction, blobs, checks; used by every store."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from typing import Any, NamedTuple, cast

import msgspec

from roundtable.core.events import (
    PERSON_EVENTS,
    SCHEMA_VERSION,
    Event,
    SessionOpened,
    decode_event,
    encode_event,
    event_kind,
)
from roundtable.core.faults import DamagedRecord, NotFound, RecordError, UsageError
from roundtable.core.text.redaction import Redactor
from roundtable.core.values import Digest, compute_digest

LONG_TEXT_BYTES = 8192
"""Texts with more UTF-8 bytes than this are kept as blobs."""

BLOB_LIMIT = 16 * 1024 * 1024

_BLOB = "$blob"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class PackedEvent(NamedTuple):
    """An event ready to be written: redacted, with its long texts moved to `blobs`."""

    kind: str
    event: Event
    data: bytes
    blobs: dict[Digest, bytes]


def store_timestamp() -> str:
    """Return the current UTC time in the format of the record."""
    return datetime.now(UTC).isoformat(timespec="microseconds")[:26] + "Z"


def find_stored_blob_digests(body: str) -> set[Digest]:
    """Return the digests of the blobs that a stored event refers to."""
    return set(_DIGEST.findall(body))


def check_stored_blob_size(data: bytes, limit: int) -> None:
    """Raise UsageError if a text or file is too large to be stored."""
    if len(data) > limit:
        raise UsageError(
            f"A text or file of {len(data):,} bytes exceeds the record's limit of {limit:,} bytes.",
            "Give a smaller file, or only the relevant part of it.",
        )


def check_event_may_be_stored(session: str, event: Event, last: int, leased: bool) -> None:
    """Refuse an event that is not allowed here: an opening comes first and once, and only people write without a
    lease."""
    if isinstance(event, SessionOpened):
        if last:
            raise RecordError(f"Session {session} has already been opened.", "Open a new session with another id.")
    elif not last:
        raise NotFound(f"There is no session {session}.", "List the sessions with: roundtable list")
    elif not leased and not isinstance(event, PERSON_EVENTS):
        raise RecordError(
            f"An event of the kind {event_kind(event)} needs the lease of its session.",
            "This is a bug: please report it.",
        )


def make_stored_slug_unique(event: Event, is_taken: Callable[[str], bool]) -> Event:
    """Return an opening event with a slug that no other session has: a number is appended to a slug that is taken."""
    if not isinstance(event, SessionOpened) or not (slug := event.charter.slug) or not is_taken(slug):
        return event
    free = next(name for number in count(2) if not is_taken(name := f"{slug}-{number}"))
    return SessionOpened(msgspec.structs.replace(event.charter, slug=free))


def pack_event_for_store(event: Event, redactor: Redactor | None) -> PackedEvent:
    """Prepare an event for writing: redact it and move long texts to blobs."""
    try:
        data = encode_event(event)
    except UnicodeEncodeError as error:
        raise UsageError(
            "A text or a file name contains characters that are not valid Unicode.",
            "Save the text as UTF-8, or rename the file.",
        ) from error
    if redactor is not None and (clean := redactor.redact_json(data)) != data:
        data, event = clean, decode_event(clean)
    blobs: dict[Digest, bytes] = {}
    if len(data) > LONG_TEXT_BYTES:  # JSON is never shorter than the text in it
        shortened = _extract_blobs(msgspec.json.decode(data), blobs)
        data = msgspec.json.encode(shortened) if blobs else data
    return PackedEvent(event_kind(event), event, data, blobs)


def unpack_stored_event(data: bytes | str, version: int, fetch: Callable[[Digest], bytes] | None) -> Event:
    """Read a stored event; `fetch` is given if long texts were moved to blobs."""
    try:
        if fetch is not None and version <= SCHEMA_VERSION:
            data = msgspec.json.encode(_restore_blobs(msgspec.json.decode(data), fetch))
        return decode_event(data, version)
    except (msgspec.MsgspecError, UnicodeDecodeError, NotFound, RecursionError, TypeError, KeyError) as error:
        raise DamagedRecord(f"it cannot be decoded ({error}).", "Restore the record from a copy.") from error


def _extract_blobs(node: Any, blobs: dict[Digest, bytes]) -> Any:
    if isinstance(node, str):
        if len(node) * 4 <= LONG_TEXT_BYTES or len(raw := node.encode()) <= LONG_TEXT_BYTES:
            return node
        digest = compute_digest(raw)
        blobs[digest] = raw
        return {_BLOB: digest}
    if isinstance(node, dict):
        # a key that already starts with `$` gets a second one, so that a user's own `$blob` is not taken for ours
        fields = cast("dict[str, Any]", node)
        return {
            f"${key}" if key.startswith("$") else key: _extract_blobs(value, blobs) for key, value in fields.items()
        }
    if isinstance(node, list):
        return [_extract_blobs(item, blobs) for item in cast("list[Any]", node)]
    return node


def _restore_blobs(node: Any, fetch: Callable[[Digest], bytes]) -> Any:
    if isinstance(node, dict):
        fields = cast("dict[str, Any]", node)
        if _BLOB in fields:
            return fetch(fields[_BLOB]).decode()
        return {key.removeprefix("$") if key[:1] == "$" else key: _restore_blobs(v, fetch) for key, v in fields.items()}
    if isinstance(node, list):
        return [_restore_blobs(item, fetch) for item in cast("list[Any]", node)]
    return node
