"""Codecs for replies of seats: describe a reply format, parse a reply in it, and return a `Verdict`."""

from __future__ import annotations

from difflib import get_close_matches

from roundtable.core.faults import NotFound
from roundtable.core.replies.code_red import DIAGNOSIS_CODEC, TRIAGE_CODEC
from roundtable.core.replies.codec import Codec, ReadReply, truncate_long_reply
from roundtable.core.replies.council import POSITION_CODEC, RATINGS_CODEC, RECONSIDER_CODEC
from roundtable.core.replies.debate import DEBATE_CODEC
from roundtable.core.replies.file_changes import CHANGES_CODEC, CHANGES_IN_PARTS_CODEC
from roundtable.core.replies.judge import JUDGE_DISCUSSION_CODEC, JUDGE_MERGE_CODEC, JUDGE_REVIEW_CODEC
from roundtable.core.replies.knights import SCORE_CODEC
from roundtable.core.replies.prose import FREE_CODEC, ProseStream, strip_reply_thoughts
from roundtable.core.replies.review import FINDINGS_CODEC, PROOFS_CODEC
from roundtable.core.replies.second_opinion import OPINION_CODEC
from roundtable.core.replies.vote import APPROVAL_CODEC, RANKING_CODEC
from roundtable.core.values import Expect

__all__ = ["CODECS", "Codec", "ProseStream", "ReadReply", "find_reply_codec", "parse_seat_reply", "truncate_long_reply"]

CODECS: dict[str, Codec] = {
    each.name: each
    for each in (
        *(POSITION_CODEC, RECONSIDER_CODEC, RATINGS_CODEC),
        *(SCORE_CODEC, DIAGNOSIS_CODEC, TRIAGE_CODEC, DEBATE_CODEC, OPINION_CODEC),
        *(JUDGE_DISCUSSION_CODEC, JUDGE_MERGE_CODEC, JUDGE_REVIEW_CODEC, FINDINGS_CODEC, PROOFS_CODEC),
        *(RANKING_CODEC, APPROVAL_CODEC, CHANGES_CODEC, CHANGES_IN_PARTS_CODEC, FREE_CODEC),
    )
}


def find_reply_codec(name: str) -> Codec:
    """The codec with this name."""
    if name in CODECS:
        return CODECS[name]
    similar = get_close_matches(name, CODECS, n=1)
    hint = f"Did you mean {similar[0]!r}?" if similar else f"Choose one of: {', '.join(sorted(CODECS))}."
    raise NotFound(f"Unknown codec {name!r}.", hint)


def parse_seat_reply(expect: Expect, reply: str, structured: bool) -> ReadReply:
    """Read a reply, without its thoughts, in the requested form; `structured` is whether a schema constrained it."""
    codec = find_reply_codec(expect.codec)
    answer = strip_reply_thoughts(reply)
    if structured and codec.read_json is not None:
        return codec.read_json(answer, expect)
    return codec.read_text(answer, expect)
