"""Many wire formats, one verdict: how each is asked for, and how a reply in it is read."""

from __future__ import annotations

from difflib import get_close_matches

from roundtable.core.codecs.ballots import APPROVAL, RANKING
from roundtable.core.codecs.base import Codec, Reading
from roundtable.core.codecs.changes import CHANGES, CHANGES_IN_PARTS
from roundtable.core.codecs.council import POSITION, RATINGS, RECONSIDER
from roundtable.core.codecs.debate import DEBATE
from roundtable.core.codecs.diagnosis import DIAGNOSIS, TRIAGE
from roundtable.core.codecs.findings import FINDINGS, PROOFS
from roundtable.core.codecs.free import FREE
from roundtable.core.codecs.judges import DISCUSSION, MERGE, REVIEW
from roundtable.core.codecs.opinion import OPINION
from roundtable.core.codecs.scores import SCORE
from roundtable.core.codecs.speech import Speech
from roundtable.core.codecs.thoughts import without_thoughts
from roundtable.core.faults import NotFound
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
