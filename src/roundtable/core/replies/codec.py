"""The type of a codec, and the error for a reply that cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from roundtable.core.faults import RoundtableError
from roundtable.core.values import Expect
from roundtable.core.verdict import Verdict

Schema = dict[str, Any]

MAX_REPLY_CHARACTERS = 1_000_000
"""Maximum characters of a reply that are kept and read; the rest is cut, with a notice."""


class ReadReply(msgspec.Struct, frozen=True):
    """A reply as shown to people and as a verdict; `why` is the problem for the seat that wrote it.

    A `hollow` reply holds nothing that could be sent again in a better form.
    """

    text: str
    verdict: Verdict
    why: str = ""
    hollow: bool = False


class Codec(msgspec.Struct, frozen=True):
    """One wire format.

    A voice constrained by a schema is asked with `json_format` and read with `read_json`; any other is asked with
    `text_format` and read with `read_text`. `spoken` is the schema field with the prose, which is shown while it is
    written.
    """

    name: str
    read_text: Callable[[str, Expect], ReadReply]
    text_format: Callable[[Expect], str]
    read_json: Callable[[str, Expect], ReadReply] | None = None
    json_format: Callable[[Expect], str] | None = None
    schema: Callable[[Expect], Schema] | None = None
    spoken: str = ""


def truncate_long_reply(reply: str) -> str:
    """The reply, or as much of it as may be kept, with a notice at its end."""
    if len(reply) <= MAX_REPLY_CHARACTERS:
        return reply
    notice = f"\n\n[Cut: Roundtable keeps {MAX_REPLY_CHARACTERS:,} of the {len(reply):,} characters of this reply.]"
    return reply[: MAX_REPLY_CHARACTERS - len(notice)] + notice


class UnreadableReply(RoundtableError):
    """A reply whose meaning is ambiguous; its message is sent to the writer."""
