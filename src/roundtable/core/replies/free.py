"""Plain speech: nothing is read into it."""

from __future__ import annotations

from roundtable.core.replies.codec import Codec, Reading
from roundtable.core.values import Expect
from roundtable.core.verdict import Verdict


def _read(reply: str, expect: Expect) -> Reading:
    return Reading(reply.strip(), Verdict())


FREE = Codec("free", read_text=_read, text_format=lambda expect: "")
