"""Many wire formats, one verdict: how each is asked for, and how a reply in it is read."""

from __future__ import annotations

from difflib import get_close_matches

from roundtable.core.faults import NotFound
from roundtable.core.replies.code_red import DIAGNOSIS, TRIAGE
from roundtable.core.replies.codec import Codec, Reading
from roundtable.core.replies.council import POSITION, RATINGS, RECONSIDER
from roundtable.core.replies.debate import DEBATE
from roundtable.core.replies.file_changes import CHANGES, CHANGES_IN_PARTS
from roundtable.core.replies.judge import DISCUSSION, MERGE, REVIEW
from roundtable.core.replies.knights import SCORE
from roundtable.core.replies.prose import FREE, Speech, without_thoughts
from roundtable.core.replies.review import FINDINGS, PROOFS
from roundtable.core.replies.second_opinion import OPINION
from roundtable.core.replies.vote import APPROVAL, RANKING
from roundtable.core.values import Expect

__all__ = ["CODECS", "Codec", "Reading", "Speech", "codec", "read"]

CODECS: dict[str, Codec] = {
    each.name: each
    for each in (
        *(POSITION, RECONSIDER, RATINGS),
        *(SCORE, DIAGNOSIS, TRIAGE, DEBATE, OPINION),
        *(DISCUSSION, MERGE, REVIEW, FINDINGS, PROOFS),
        *(RANKING, APPROVAL, CHANGES, CHANGES_IN_PARTS, FREE),
    )
}


def codec(name: str) -> Codec:
    """The codec of that name."""
    if name in CODECS:
        return CODECS[name]
    near = get_close_matches(name, CODECS, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(sorted(CODECS))}."
    raise NotFound(f"There is no codec named {name!r}.", hint)


def read(expect: Expect, reply: str, structured: bool) -> Reading:
    """Read a reply, without its thoughts, in the form that was asked for; `structured` says that a schema held it."""
    chosen = codec(expect.codec)
    answer = without_thoughts(reply)
    if structured and chosen.read_json is not None:
        return chosen.read_json(answer, expect)
    return chosen.read_text(answer, expect)
