"""Build a codec from a schema and a function that reads its fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from roundtable.core.replies import fields
from roundtable.core.replies.codec import Codec, ReadReply, Schema, UnreadableReply
from roundtable.core.replies.relaxed_json import FoundObject, JsonFields
from roundtable.core.replies.schema import ANSWER_FIELD, reply_block_instructions, reply_field_instructions
from roundtable.core.replies.tags import (
    find_last_reply_json_object,
    find_tagged_reply_sections,
    remove_reply_json_block,
)
from roundtable.core.values import Expect
from roundtable.core.verdict import ParseStatus, Stance, Verdict

ReadFields = Callable[[JsonFields, Expect], Verdict | None]
"""Reads a block; None if it is no answer. Raises UnreadableReply with the problem for the seat."""
ReadTags = Callable[[str, Expect], Verdict | None]

FAILED_VERDICT = Verdict(parse=ParseStatus.FAILED)
"""The verdict of a reply that could not be read; it never counts."""


def build_structured_reply_codec(
    name: str,
    schema: Callable[[Expect], Schema],
    keys: tuple[str, ...],
    read_fields: ReadFields,
    *,
    tags: Sequence[str] = (),
    read_tags: ReadTags | None = None,
    tag_format: Callable[[Expect], str] | None = None,
    agrees_whole: bool = False,
) -> Codec:
    """A codec that reads a block of fields, or tags if it asks for them.

    A block counts only if it has all `keys`: a vote whose objections were cut off is no vote. With `agrees_whole`, a
    block that agrees counts only if nothing of it was cut off.
    """

    def read_text(reply: str, expect: Expect) -> ReadReply:
        """Read tags first if they were requested: a JSON block next to them may be quoted from a file."""
        block = find_last_reply_json_object(reply, keys)
        if block is not None and tags and read_tags is not None:
            prose = remove_reply_json_block(reply, block)
            verdict = read_tags(prose, expect) if find_tagged_reply_sections(prose, tags, bare=True) else None
            if verdict is not None and verdict.counts:
                return ReadReply(reply.strip(), verdict)
        return read(reply, expect)

    def read(reply: str, expect: Expect) -> ReadReply:
        block = find_last_reply_json_object(reply, keys)
        if block is not None:
            try:
                verdict, problem = _read_verdict(block, expect, read_fields), ""
                if agrees_whole and block.truncated and verdict.stance is Stance.SUPPORT:
                    verdict = FAILED_VERDICT
            except UnreadableReply as unreadable:
                verdict, problem = FAILED_VERDICT, unreadable.message
            return ReadReply(_displayed_prose(reply, block) or verdict.position or reply.strip(), verdict, problem)
        if read_tags is not None:
            return ReadReply(reply.strip(), read_tags(reply, expect) or FAILED_VERDICT)
        unfinished = find_last_reply_json_object(reply, (ANSWER_FIELD,))
        return ReadReply((_displayed_prose(reply, unfinished) if unfinished else "") or reply.strip(), FAILED_VERDICT)

    def text_format(expect: Expect) -> str:
        return tag_format(expect) if tag_format else reply_block_instructions(schema(expect))

    return Codec(
        name,
        read_text=read_text,
        text_format=text_format,
        read_json=read,
        json_format=lambda expect: reply_field_instructions(schema(expect)),
        schema=schema,
        spoken=ANSWER_FIELD if ANSWER_FIELD in schema(Expect())["properties"] else "",
    )


def _read_verdict(block: FoundObject, expect: Expect, read_fields: ReadFields) -> Verdict:
    verdict = read_fields(block.value, expect) or FAILED_VERDICT
    if block.repaired and verdict.parse is ParseStatus.EXACT:
        return msgspec.structs.replace(verdict, parse=ParseStatus.REPAIRED)
    return verdict


def _displayed_prose(reply: str, block: FoundObject) -> str:
    """The words around the block and in its prose field; may be empty."""
    parts = (remove_reply_json_block(reply, block), fields.read_reply_text_field(block.value.get(ANSWER_FIELD)))
    return "\n\n".join(part for part in parts if part)
