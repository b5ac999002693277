"""Points that seats make during a meeting: which are agreed and which are open."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from roundtable.core.decide.positions import normalize_position
from roundtable.core.values import Round
from roundtable.core.verdict import Issue

MAX_POINT_LENGTH = 200
MAX_OPEN_POINTS = 24

_NAMED = re.compile(r"\W{0,3}(P\d{1,4})[*_`\])]{0,3}\s?(?:[:：]|\W{0,3}\Z)")
"""An id alone, or before a colon: `P99 latency` and `P1 incidents` are words of a point."""

_NO_MARKUP = str.maketrans("<>", "()")
"""Points are read out beside our own words, and must not close a tag there."""


class DebatePoint(msgspec.Struct, frozen=True):
    """A point with a permanent id; its author is its first supporter."""

    id: str
    text: str
    supporters: tuple[str, ...]

    @property
    def line(self) -> str:
        """The point as seats see it."""
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


def collect_debate_points(rounds: Sequence[Round]) -> DebatePoints:
    """Compute the points from the rounds.

    A point is agreed once every counted seat of the newest round, at least two, supports it and no blocking issue names
    it, or once a proof confirmed it. A seat that named a point supports it until it calls it an issue.
    """
    texts: dict[str, str] = {}
    supporters: dict[str, dict[str, None]] = {}
    ids: dict[str, str] = {}
    for round in rounds:
        for move in round.moves:
            for said in move.verdict.points if move.verdict.counts else ():
                id = _meant(said, ids, texts)
                if id:
                    supporters.setdefault(id, {})[move.seat] = None
    made = [DebatePoint(id, text, tuple(supporters[id])) for id, text in texts.items()]
    proven = [claim.text for round in rounds for move in round.moves for claim in move.verdict.claims if claim.held]
    shown = {_meant(text, dict(ids), dict(texts)) for text in proven}
    agreed = [point for point in made if point.id in shown or _agreed(point, rounds[-1])]
    return DebatePoints(tuple(agreed), tuple(point for point in made if point not in agreed))


def _meant(said: str, ids: dict[str, str], texts: dict[str, str]) -> str:
    """Return the id of the named point, or of a new one; empty if an unknown id is named."""
    named = _NAMED.match(said)
    if named:
        return named[1] if named[1] in texts else ""
    words = normalize_position(said)
    if words and words not in ids:
        ids[words] = f"P{len(texts) + 1}"
        texts[ids[words]] = " ".join(said.split())[:MAX_POINT_LENGTH].translate(_NO_MARKUP)
    return ids.get(words, "")


def _agreed(point: DebatePoint, newest: Round) -> bool:
    counted = [move for move in newest.moves if move.verdict.counts]
    disputed = any(_names(issue, point) for move in counted for issue in move.verdict.issues if issue.blocking)
    return len(point.supporters) > 1 and not disputed and {move.seat for move in counted} <= set(point.supporters)


def _names(issue: Issue, point: DebatePoint) -> bool:
    """Return whether an issue names this point by its id or its words."""
    by_id = point.id in (issue.id, *re.findall(r"\bP\d{1,4}\b", issue.text))
    return by_id or normalize_position(point.text) in normalize_position(issue.text).translate(_NO_MARKUP)
