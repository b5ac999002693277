"""Make a codec out of a schema and a function that reads its fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from roundtable.core.replies import fields
from roundtable.core.replies.codec import Codec, Reading, Schema, Unreadable
from roundtable.core.replies.relaxed_json import Fields, Found
from roundtable.core.replies.schema import ANSWER, block_format, field_format
from roundtable.core.replies.tags import last_object, sections, without
from roundtable.core.values import Expect
from roundtable.core.verdict import ParseStatus, Verdict

ReadFields = Callable[[Fields, Expect], Verdict | None]
"""Reads a block: None where it is no answer; raises Unreadable where its writer can be told what is wrong."""
ReadTags = Callable[[str, Expect], Verdict | None]

FAILED = Verdict(parse=ParseStatus.FAILED)
"""The verdict of a reply nobody could read: it stands for nothing and counts for nothing."""


def form(
    name: str,
    schema: Callable[[Expect], Schema],
    keys: tuple[str, ...],
    read_fields: ReadFields,
    *,
    tags: Sequence[str] = (),
    read_tags: ReadTags | None = None,
    tag_format: Callable[[Expect], str] | None = None,
) -> Codec:
    """A codec that reads a block of fields, and tags where it asks for them.

    `keys` must all be there before a block counts: one whose objections were cut off is not a vote.
    """

    def read_text(reply: str, expect: Expect) -> Reading:
        """Tags come first where they were asked for: a block beside them may be quoted from a file."""
        block = last_object(reply, keys)
        if block is not None and tags and read_tags is not None:
            beside = without(reply, block)
            verdict = read_tags(beside, expect) if sections(beside, tags, bare=True) else None
            if verdict is not None and verdict.counts:
                return Reading(reply.strip(), verdict)
        return read(reply, expect)

    def read(reply: str, expect: Expect) -> Reading:
        block = last_object(reply, keys)
        if block is not None:
            try:
                verdict, why = _verdict(block, expect, read_fields), ""
            except Unreadable as unreadable:
                verdict, why = FAILED, unreadable.message
            return Reading(_prose(reply, block) or verdict.position or reply.strip(), verdict, why)
        if read_tags is not None:
            return Reading(reply.strip(), read_tags(reply, expect) or FAILED)
        started = last_object(reply, (ANSWER,))
        return Reading((_prose(reply, started) if started else "") or reply.strip(), FAILED)

    def text_format(expect: Expect) -> str:
        return tag_format(expect) if tag_format else block_format(schema(expect))

    return Codec(
        name,
        read_text=read_text,
        text_format=text_format,
        read_json=read,
        json_format=lambda expect: field_format(schema(expect)),
        schema=schema,
        spoken=ANSWER if ANSWER in schema(Expect())["properties"] else "",
    )


def _verdict(block: Found, expect: Expect, read_fields: ReadFields) -> Verdict:
    verdict = read_fields(block.value, expect) or FAILED
    if block.repaired and verdict.parse is ParseStatus.EXACT:
        return msgspec.structs.replace(verdict, parse=ParseStatus.REPAIRED)
    return verdict


def _prose(reply: str, block: Found) -> str:
    """What people read: the words around the block and in its prose field; nothing where there are none."""
    parts = (without(reply, block), fields.text(block.value.get(ANSWER)))
    return "\n\n".join(part for part in parts if part)
