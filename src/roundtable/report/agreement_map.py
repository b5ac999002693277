"""Where each seat began and ended, and a drawing of the seats joined by agreement.

The drawing does not depend on color alone: each camp has its own sign, lines differ in style, and the legend says the
result in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from itertools import combinations
from math import cos, pi, sin

from roundtable.core.decide.seat_positions import SeatPositions, seat_positions_up_to_decision
from roundtable.core.session import Session
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.values import Decision

_NODE_RADIUS = 24
_LEAST_SEAT_DISTANCE = 3 * _NODE_RADIUS
"""Distance between the centers of two neighboring seats."""
_LEAST_TABLE_RADIUS = 110
"""Distance of a seat from the center of the table; larger if there are many seats."""
_LABEL_ROOM = (160, 40)
"""Width left of and right of the drawing, and height above and below it, reserved for names."""
_CAMP_COLOR_COUNT = 6
_LONGEST_CAMP_SIGN = 3
_LONGEST_SEAT_NAME = 13

Point = tuple[float, float]


def render_agreement_map(session: Session) -> Iterator[str]:
    """Render the map as an HTML figure without scripts; nothing if no seat has a position yet."""
    paths = seat_positions_up_to_decision(session)
    if not paths:
        return
    yield "<h2>Which seats agree</h2>"
    yield '<figure class="card map">'
    yield from _MapDrawing(session, paths).figure()
    yield "</figure>"


class _MapDrawing:
    def __init__(self, session: Session, paths: Mapping[str, SeatPositions]) -> None:
        self._decision = session.decision
        self._paths = paths
        self._seats = [seat.name for seat in session.charter.seats]
        conforming = self._decision.conformity if self._decision else ()
        self._ends = {seat: path.first if seat in conforming else path.last for seat, path in paths.items()}
        self._texts = {proposal.id: proposal.text for proposal in self._decision.proposals} if self._decision else {}
        camps = dict.fromkeys(
            [*self._ends.values(), *(end for path in paths.values() for end in (path.first, path.last))]
        )
        self._signs = {camp: _camp_sign(camp, place) for place, camp in enumerate(camps, 1)}
        self._colors = {camp: f"c{place % _CAMP_COLOR_COUNT}" for place, camp in enumerate(camps)}
        turn = 2 * pi / len(self._seats)
        self._reach = max(_LEAST_TABLE_RADIUS, _LEAST_SEAT_DISTANCE / 2 / sin(turn / 2) if len(self._seats) > 1 else 0)
        self._places: dict[str, Point] = {
            seat: (self._reach * sin(turn * place), -self._reach * cos(turn * place))
            for place, seat in enumerate(self._seats)
        }

    def figure(self) -> Iterator[str]:
        """The drawing and its legend."""
        wide, high = (self._reach + _NODE_RADIUS + room for room in _LABEL_ROOM)
        box = f"{-wide:.0f} {-high:.0f} {2 * wide:.0f} {2 * high:.0f}"
        yield f'<svg viewBox="{box}" role="img" aria-label="{escape(self._describe())}">'
        yield f'<circle class="board" r="{self._reach - 2 * _NODE_RADIUS:.0f}"/>'
        yield from self._lines()
        for seat in self._seats:
            yield from self._seat(seat)
        yield "</svg>"
        yield from self._legend()

    def _lines(self) -> Iterator[str]:
        """Lines between seats that differ first, so that lines of agreement are drawn above them."""
        ends = self._ends
        for first, second in sorted(combinations(ends, 2), key=lambda pair: ends[pair[0]] == ends[pair[1]]):
            kind = f"together {self._colors[ends[first]]}" if ends[first] == ends[second] else "apart"
            (x1, y1), (x2, y2) = self._places[first], self._places[second]
            yield f'<line class="{kind}" x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}"/>'

    def _seat(self, seat: str) -> Iterator[str]:
        x, y = self._places[seat]
        path = self._paths.get(seat)
        color = self._colors[self._ends[seat]] if path else ""
        if path and path.moved:
            yield f'<circle class="ring {color}" cx="{x:.0f}" cy="{y:.0f}" r="{_NODE_RADIUS + 6}"/>'
        unheard = "" if path else " unheard"
        yield f'<circle class="node {color}{unheard}" cx="{x:.0f}" cy="{y:.0f}" r="{_NODE_RADIUS}"/>'
        sign = escape(self._signs[self._ends[seat]]) if path else "?"
        yield f'<text class="mark" x="{x:.0f}" y="{y + 6:.0f}">{sign}</text>'
        side, x, y = self._label_position(x, y)
        yield f'<text class="{side}" x="{x:.0f}" y="{y:.0f}">{escape(sanitize_line(seat, _LONGEST_SEAT_NAME))}</text>'

    def _label_position(self, x: float, y: float) -> tuple[str, float, float]:
        """The text anchor and position of a name: outside of the table, where no other seat is."""
        right, down = x / self._reach, y / self._reach
        if abs(right) < 0.25:
            return "", x, y + (_NODE_RADIUS + 26 if down > 0 else -_NODE_RADIUS - 14)
        return (
            ("right", x + _NODE_RADIUS + 12, y + 5 + 10 * down)
            if right > 0
            else ("left", x - _NODE_RADIUS - 12, y + 5 + 10 * down)
        )

    def _describe_move(self, path: SeatPositions) -> str:
        if not path.moved:
            return "unchanged"
        if self._ends[path.seat] != path.last:
            return f"moved to {self._signs[path.last]} without evidence"
        reason = {True: " for a stated reason", False: " without evidence", None: ""}[path.reasoned]
        return f"moved from {self._signs[path.first]}{reason}"

    def _legend(self) -> Iterator[str]:
        yield "<ul>"
        for camp, sign in self._signs.items():
            seats = ", ".join(escape(self._seat_with_move(seat)) for seat in self._ends if self._ends[seat] == camp)
            won = " (decided)" if _is_winner(self._decision, camp) else ""
            text = escape(sanitize_line(self._texts.get(camp, camp), 160))
            seats_at_end = f'<span class="soft">{seats or "no seat at the end"}{won}</span>'
            yield f'<li class="{self._colors[camp]}" dir="auto"><b>{escape(sign)}</b>{text} {seats_at_end}</li>'
        if unheard := [sanitize_line(seat) for seat in self._seats if seat not in self._paths]:
            yield f'<li><b>?</b><span class="soft">no answer: {escape(", ".join(unheard))}</span></li>'
        yield "</ul>"
        yield '<p class="soft">A thick line joins seats that ended with the same answer, a dotted line seats that '
        yield "did not. A broken ring marks a seat that changed its answer.</p>"

    def _seat_with_move(self, seat: str) -> str:
        path = self._paths[seat]
        return f"{sanitize_line(seat)} ({self._describe_move(path)})" if path.moved else sanitize_line(seat)

    def _describe(self) -> str:
        lines = [
            f"{path.seat} {self._signs[self._ends[path.seat]]}, {self._describe_move(path)}"
            for path in self._paths.values()
        ]
        return sanitize_line(f"Final positions: {'; '.join(lines)}.")


def _camp_sign(camp: str, place: int) -> str:
    """The id of a proposal if it is short, otherwise a number."""
    return camp if len(camp) <= _LONGEST_CAMP_SIGN and camp.isalnum() else str(place)


def _is_winner(decision: Decision | None, camp: str) -> bool:
    return decision is not None and decision.is_decided and camp == decision.winner
