"""Points that seats make in a debate, with permanent ids: which of them are agreed, and which are open."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from roundtable.core.decide.positions import normalize_counted_position
from roundtable.core.values import Round
from roundtable.core.verdict import Issue

MAX_POINT_LENGTH = 200
MAX_OPEN_POINTS = 24

_POINT_ID = re.compile(r"\W{0,3}(P\d{1,4})[*_`\])]{0,3}\s?(?:[:：]|\W{0,3}\Z)")
"""A point that is named by its id: alone or before a colon. In `P99 latency`, `P99` is a word and not an id."""

_BRACKETS_REPLACED = str.maketrans("<>", "()")
"""Angle brackets are replaced, so that a point cannot close a tag of the prompt that quotes it."""


class DebatePoint(msgspec.Struct, frozen=True):
    """A point with a permanent id; its author is its first supporter."""

    id: str
    text: str
    supporters: tuple[str, ...]

    @property
    def line(self) -> str:
        """The point as seats see it, such as `P1: Keep the index.`"""
        return f"{self.id}: {self.text}"


class DebatePoints(msgspec.Struct, frozen=True):
    """All points after the newest round."""

    agreed: tuple[DebatePoint, ...] = ()
    open: tuple[DebatePoint, ...] = ()

    def settled(self) -> tuple[str, ...]:
        """The agreed points, shown at the start of the next turn."""
        return tuple(point.line for point in self.agreed)

    def reading(self) -> tuple[str, ...]:
        """The newest open points with the ids by which seats can name them."""
        return tuple(point.line for point in self.open[-MAX_OPEN_POINTS:])


def decide_debate_points(rounds: Sequence[Round]) -> DebatePoints:
    """Compute the points from the rounds.

    A point is agreed if a proof confirmed it. It is also agreed if every counted seat of the newest round, and at least
    two seats, made or named it, and no blocking issue of that round is about it.
    """
    texts: dict[str, str] = {}
    supporters: dict[str, dict[str, None]] = {}
    ids: dict[str, str] = {}
    for round in rounds:
        for move in round.moves:
            for point_text in move.verdict.points if move.verdict.counts else ():
                id = _id_of_point(point_text, ids, texts)
                if id:
                    supporters.setdefault(id, {})[move.seat] = None
    points = [DebatePoint(id, text, tuple(supporters[id])) for id, text in texts.items()]
    proven_texts = [
        claim.text for round in rounds for move in round.moves for claim in move.verdict.claims if claim.held
    ]
    proven_ids = {_id_of_point(text, dict(ids), dict(texts)) for text in proven_texts}
    agreed = [point for point in points if point.id in proven_ids or _is_agreed(point, rounds[-1])]
    return DebatePoints(tuple(agreed), tuple(point for point in points if point not in agreed))


def _id_of_point(text: str, ids: dict[str, str], texts: dict[str, str]) -> str:
    """Return the id of the point that a text names or repeats, or of a new point; empty if it names an unknown id."""
    named = _POINT_ID.match(text)
    if named:
        return named[1] if named[1] in texts else ""
    words = normalize_counted_position(text)
    if words and words not in ids:
        ids[words] = f"P{len(texts) + 1}"
        texts[ids[words]] = " ".join(text.split())[:MAX_POINT_LENGTH].translate(_BRACKETS_REPLACED)
    return ids.get(words, "")


def _is_agreed(point: DebatePoint, newest: Round) -> bool:
    """Return whether all counted seats of a round support a point that no blocking issue is about."""
    counted = [move for move in newest.moves if move.verdict.counts]
    disputed = any(_names_point(issue, point) for move in counted for issue in move.verdict.issues if issue.blocking)
    return len(point.supporters) > 1 and not disputed and {move.seat for move in counted} <= set(point.supporters)


def _names_point(issue: Issue, point: DebatePoint) -> bool:
    """Return whether an issue contains the id or the words of a point."""
    by_id = point.id in (issue.id, *re.findall(r"\bP\d{1,4}\b", issue.text))
    return by_id or normalize_counted_position(point.text) in normalize_counted_position(issue.text).translate(
        _BRACKETS_REPLACED
    )
