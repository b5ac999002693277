"""Names for new sessions: an id that sorts by time, and a slug people can read."""

from __future__ import annotations

import os
import re
import time
import unicodedata
from uuid import UUID

SLUG_WORDS = 6


def new_session_id() -> str:
    """A UUIDv7: 48 bits of milliseconds, then chance."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds << 80) | int.from_bytes(os.urandom(10))
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    value = (value & ~(0x3 << 62)) | (0x2 << 62)
    return str(UUID(int=value))


def slug_of(question: str, day: str) -> str:
    """`2026-11-15-rest-or-graphql`."""
    plain = unicodedata.normalize("NFKD", question).encode("ascii", "ignore").decode()
    words = re.findall(r"[a-z0-9]+", plain.lower())[:SLUG_WORDS]
    return "-".join([day, *words])[:80] if words else f"{day}-meeting"
