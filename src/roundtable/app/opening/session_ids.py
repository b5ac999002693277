"""Names for new sessions: an id that sorts by time, and a slug people can read."""

from __future__ import annotations

import os
import time
import unicodedata
from uuid import UUID

from roundtable.core.text.sanitize import is_folder_name_letter

SLUG_WORDS = 6
SLUG_BYTES = 80


def new_session_id() -> str:
    """A UUIDv7: 48 bits of milliseconds, then chance."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds << 80) | int.from_bytes(os.urandom(10))
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    value = (value & ~(0x3 << 62)) | (0x2 << 62)
    return str(UUID(int=value))


def make_session_slug(question: str, day: str) -> str:
    """`2026-11-15-rest-or-graphql`; letters of any script stay, and Latin ones lose their accents."""
    letters = "".join(map(_plain, unicodedata.normalize("NFKC", question))).lower()
    words = "".join(letter if is_folder_name_letter(letter) else " " for letter in letters).split()[:SLUG_WORDS]
    slug = "-".join([day, *(words or ["meeting"])])
    return slug.encode()[:SLUG_BYTES].decode(errors="ignore").rstrip("-")


def _plain(letter: str) -> str:
    return unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode() or letter
