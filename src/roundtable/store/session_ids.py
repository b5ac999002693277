"""Ids of new sessions, which sort by time."""

from __future__ import annotations

import os
import time
from uuid import UUID


def generate_stored_session_id() -> str:
    """Return a UUIDv7: 48 bits of milliseconds, then random bits."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds << 80) | int.from_bytes(os.urandom(10))
    value = (value & ~(0xF << 76)) | (0x7 << 76)
    value = (value & ~(0x3 << 62)) | (0x2 << 62)
    return str(UUID(int=value))
