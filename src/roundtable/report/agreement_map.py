"""The map of a meeting: the seats around a table, joined where they ended with the same answer.

Nothing hangs on colour alone: every camp has its own sign, lines differ in kind, and the legend says it in words.

Where each seat began and ended, whatever form the meeting asked for: what recounts and the map are made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import combinations
from math import cos, pi, sin

from roundtable.core.decide.positions import NEW_PROPOSAL, has_named_reason, normalize_position
from roundtable.core.replies import find_codec
from roundtable.core.session import RoundRecord, Session
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.values import Decision, Expect, Move, Proposal, Value
from roundtable.core.verdict import Stance, Verdict

NODE_RADIUS = 24
LEAST_SEAT_DISTANCE = 3 * NODE_RADIUS
"""The least distance between two seats, from middle to middle."""
LEAST_TABLE_RADIUS = 110
"""From the middle of the table to a seat; more where there are many."""
LABEL_ROOM = (160, 40)
"""The room that names have beside the seats, and above and below them."""
CAMP_COLOR_COUNT = 6
LONGEST_CAMP_SIGN = 3
LONGEST_SEAT_NAME = 13

Point = tuple[float, float]


def render_agreement_map(session: Session) -> Iterator[str]:
    """A figure in HTML, without script; nothing where nobody has said yet where it stands."""
    ways = trace_seat_positions(session)
    if not ways:
        return
    yield "<h2>Who stands with whom</h2>"
    yield '<figure class="card map">'
    yield from _Map(session, ways).figure()
    yield "</figure>"


class _Map:
    def __init__(self, session: Session, ways: Mapping[str, SeatPositions]) -> None:
        self._decision = session.decision
        self._ways = ways
        self._seats = [seat.name for seat in session.charter.seats]
        conforming = self._decision.conformity if self._decision else ()
        self._ends = {seat: way.first if seat in conforming else way.last for seat, way in ways.items()}
        self._texts = {it.id: it.text for it in self._decision.proposals} if self._decision else {}
        camps = dict.fromkeys([*self._ends.values(), *(end for way in ways.values() for end in (way.first, way.last))])
        self._signs = {camp: _sign(camp, place) for place, camp in enumerate(camps, 1)}
        self._colors = {camp: f"c{place % CAMP_COLOR_COUNT}" for place, camp in enumerate(camps)}
        turn = 2 * pi / len(self._seats)
        self._reach = max(LEAST_TABLE_RADIUS, LEAST_SEAT_DISTANCE / 2 / sin(turn / 2) if len(self._seats) > 1 else 0)
        self._places: dict[str, Point] = {
            seat: (self._reach * sin(turn * place), -self._reach * cos(turn * place))
            for place, seat in enumerate(self._seats)
        }

    def figure(self) -> Iterator[str]:
        """The drawing, and the same in words under it."""
        wide, high = (self._reach + NODE_RADIUS + room for room in LABEL_ROOM)
        box = f"{-wide:.0f} {-high:.0f} {2 * wide:.0f} {2 * high:.0f}"
        yield f'<svg viewBox="{box}" role="img" aria-label="{escape(self._in_words())}">'
        yield f'<circle class="board" r="{self._reach - 2 * NODE_RADIUS:.0f}"/>'
        yield from self._lines()
        for seat in self._seats:
            yield from self._seat(seat)
        yield "</svg>"
        yield from self._legend()

    def _lines(self) -> Iterator[str]:
        """Those who differ first, so that those who agree lie above them."""
        ends = self._ends
        for one, other in sorted(combinations(ends, 2), key=lambda pair: ends[pair[0]] == ends[pair[1]]):
            kind = f"together {self._colors[ends[one]]}" if ends[one] == ends[other] else "apart"
            (x1, y1), (x2, y2) = self._places[one], self._places[other]
            yield f'<line class="{kind}" x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}"/>'

    def _seat(self, seat: str) -> Iterator[str]:
        x, y = self._places[seat]
        way = self._ways.get(seat)
        color = self._colors[self._ends[seat]] if way else ""
        if way and way.moved:
            yield f'<circle class="ring {color}" cx="{x:.0f}" cy="{y:.0f}" r="{NODE_RADIUS + 6}"/>'
        unheard = "" if way else " unheard"
        yield f'<circle class="node {color}{unheard}" cx="{x:.0f}" cy="{y:.0f}" r="{NODE_RADIUS}"/>'
        sign = escape(self._signs[self._ends[seat]]) if way else "?"
        yield f'<text class="mark" x="{x:.0f}" y="{y + 6:.0f}">{sign}</text>'
        side, x, y = self._beside(x, y)
        yield f'<text class="{side}" x="{x:.0f}" y="{y:.0f}">{escape(sanitize_line(seat, LONGEST_SEAT_NAME))}</text>'

    def _beside(self, x: float, y: float) -> tuple[str, float, float]:
        """Where the name of a seat begins or ends: away from the table, where no other seat is."""
        right, down = x / self._reach, y / self._reach
        if abs(right) < 0.25:
            return "", x, y + (NODE_RADIUS + 26 if down > 0 else -NODE_RADIUS - 14)
        return (
            ("right", x + NODE_RADIUS + 12, y + 5 + 10 * down)
            if right > 0
            else ("left", x - NODE_RADIUS - 12, y + 5 + 10 * down)
        )

    def _went(self, way: SeatPositions) -> str:
        if not way.moved:
            return "held"
        if self._ends[way.seat] != way.last:
            return f"went to {self._signs[way.last]} without evidence"
        why = {True: ", for a reason", False: ", without evidence", None: ""}[way.reasoned]
        return f"came from {self._signs[way.first]}{why}"

    def _legend(self) -> Iterator[str]:
        yield "<ul>"
        for camp, sign in self._signs.items():
            seats = ", ".join(escape(self._with_way(it)) for it in self._ends if self._ends[it] == camp)
            won = " (decided)" if _won(self._decision, camp) else ""
            text = escape(sanitize_line(self._texts.get(camp, camp), 160))
            who = f'<span class="soft">{seats or "nobody in the end"}{won}</span>'
            yield f'<li class="{self._colors[camp]}" dir="auto"><b>{escape(sign)}</b>{text} {who}</li>'
        if unheard := [sanitize_line(seat) for seat in self._seats if seat not in self._ways]:
            yield f'<li><b>?</b><span class="soft">not heard: {escape(", ".join(unheard))}</span></li>'
        yield "</ul>"
        yield '<p class="soft">A thick line joins seats that ended with the same answer, a dotted one seats that did '
        yield "not; a broken ring marks a seat that moved.</p>"

    def _with_way(self, seat: str) -> str:
        way = self._ways[seat]
        return f"{sanitize_line(seat)} ({self._went(way)})" if way.moved else sanitize_line(seat)

    def _in_words(self) -> str:
        told = [f"{it.seat} {self._signs[self._ends[it.seat]]}, {self._went(it)}" for it in self._ways.values()]
        return sanitize_line(f"Where the seats ended: {'; '.join(told)}.")


def _sign(camp: str, place: int) -> str:
    """A proposal's own id where it is short enough to be one, else a number."""
    return camp if len(camp) <= LONGEST_CAMP_SIGN and camp.isalnum() else str(place)


def _won(decision: Decision | None, camp: str) -> bool:
    return decision is not None and decision.is_decided and camp == decision.winner


STANCE_WORDS = {Stance.SUPPORT: "agrees", Stance.AMEND: "has open points", Stance.OPPOSE: "objects"}
"""Where a form has nothing to stand for but agreement itself."""


class SeatPositions(Value, frozen=True):
    """One seat's way through the meeting; both ends are the same where it held.

    `reasoned` says whether a seat that moved named an error or a fact; None where the form had no place for one.
    """

    seat: str
    first: str
    last: str
    reasoned: bool | None = None

    @property
    def moved(self) -> bool:
        """Whether it ended elsewhere than it began."""
        return self.first != self.last


def trace_seat_positions(session: Session) -> dict[str, SeatPositions]:
    """By seat, in the order of the table; a seat that never said where it stands is not among them."""
    proposals = session.decision.proposals if session.decision else ()
    taken: dict[str, list[tuple[str, bool | None]]] = {}
    for record, move in _counted(session):
        if stand := position_of_move(move, proposals):
            asked = _asks_for_reasons(record.opened.expect)
            taken.setdefault(move.seat, []).append((stand, has_named_reason(move) if asked else None))
    order = (seat.name for seat in session.charter.seats)
    return {seat: _way(seat, taken[seat]) for seat in order if seat in taken}


def position_of_move(move: Move, proposals: Sequence[Proposal]) -> str:
    """What a move stands for: the id of a proposal where there is one, else the position or stance itself."""
    said = move.verdict
    own = next((it.id for it in proposals if move.seat in it.authors), "")
    if said.target == NEW_PROPOSAL:
        return _known(said.position, proposals) or said.position
    if said.target and said.stance is not Stance.OPPOSE:
        return resolve_proposal_id(said.target, proposals)
    if named := said.key or _favourite(said):
        return named
    if said.position:
        return own or _known(said.position, proposals) or normalize_position(said.position)
    objects = said.stance is Stance.OPPOSE and said.score is None
    return own if own and objects else STANCE_WORDS.get(said.stance, "")


def resolve_proposal_id(name: str, proposals: Sequence[Proposal]) -> str:
    """A proposal's id, where one of its authors may be named instead."""
    if any(it.id == name for it in proposals):
        return name
    return next((it.id for it in proposals if name in it.authors), name)


def _counted(session: Session) -> Iterator[tuple[RoundRecord, Move]]:
    for record in session.rounds.values():
        if record.closed is not None:
            for move in record.result(record.closed).moves:
                if move.verdict.counts:
                    yield record, move


def _favourite(said: Verdict) -> str:
    return said.ranking[0] if said.ranking else ""


def _known(position: str, proposals: Sequence[Proposal]) -> str:
    words = normalize_position(position)
    return next((it.id for it in proposals if normalize_position(it.text) == words), "")


def _asks_for_reasons(expect: Expect) -> bool:
    schema = find_codec(expect.codec).schema
    return schema is not None and not {"error", "evidence"}.isdisjoint(schema(expect).get("properties", {}))


def _way(seat: str, taken: list[tuple[str, bool | None]]) -> SeatPositions:
    """From the first stand to the last; the reason is the one given where it came to the last one."""
    first, last = taken[0][0], taken[-1][0]
    if first == last:
        return SeatPositions(seat, first, last)
    arrived = max(place for place in range(1, len(taken)) if taken[place - 1][0] != last and taken[place][0] == last)
    return SeatPositions(seat, first, last, taken[arrived][1])
