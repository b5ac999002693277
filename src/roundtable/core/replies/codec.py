"""What every codec is: a way to ask for a verdict, and a way to read one.

What is wrong with a reply that cannot be taken for what was asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from roundtable.core.faults import RoundtableError
from roundtable.core.values import Expect
from roundtable.core.verdict import Verdict

Schema = dict[str, Any]


class ReadReply(msgspec.Struct, frozen=True):
    """A reply as people read it, and as rules read it; `why` tells its speaker what could not be read in it.

    A `hollow` one holds nothing that could be sent again in a better form.
    """

    text: str
    verdict: Verdict
    why: str = ""
    hollow: bool = False


class Codec(msgspec.Struct, frozen=True):
    """One wire format of the one verdict.

    A voice that can be held to a schema is asked with `json_format` and read with `read_json`; any
    other is asked with `text_format` and read with `read_text`. `spoken` names the schema's field that
    is prose for people, which is shown while it is being written.
    """

    name: str
    read_text: Callable[[str, Expect], ReadReply]
    text_format: Callable[[Expect], str]
    read_json: Callable[[str, Expect], ReadReply] | None = None
    json_format: Callable[[Expect], str] | None = None
    schema: Callable[[Expect], Schema] | None = None
    spoken: str = ""


class UnreadableReply(RoundtableError):
    """A reply in which it is not plain what is meant; its message is what the writer is told."""
