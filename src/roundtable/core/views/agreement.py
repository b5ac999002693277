"""The map of a meeting: the seats around a table, joined where they ended with the same answer.

Nothing hangs on colour alone: every camp has its own sign, lines differ in kind, and the legend says it in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from itertools import combinations
from math import cos, pi, sin

from roundtable.core.session import Session
from roundtable.core.stands import Stand, stands
from roundtable.core.values import Decision
from roundtable.core.views.clean import one_line

WIDTH = 720
MIDDLE = (360, 200)
REACH = (250, 135)
MARGIN = 72
NODE = 24
COLORS = 6
LONGEST_SIGN = 3
LONGEST_NAME = 22

Point = tuple[float, float]


def agreement_map(session: Session) -> Iterator[str]:
    """A figure in HTML, without script; nothing where nobody has said yet where it stands."""
    ways = stands(session)
    if not ways:
        return
    yield "<h2>Who stands with whom</h2>"
    yield '<figure class="card map">'
    yield from _Map(session, ways).figure()
    yield "</figure>"


class _Map:
    def __init__(self, session: Session, ways: Mapping[str, Stand]) -> None:
        self._decision = session.decision
        self._ways = ways
        self._seats = [seat.name for seat in session.charter.seats]
        conforming = self._decision.conformity if self._decision else ()
        self._ends = {seat: way.first if seat in conforming else way.last for seat, way in ways.items()}
        self._texts = {it.id: it.text for it in self._decision.proposals} if self._decision else {}
        camps = dict.fromkeys([*self._ends.values(), *(end for way in ways.values() for end in (way.first, way.last))])
        self._signs = {camp: _sign(camp, place) for place, camp in enumerate(camps, 1)}
        self._colors = {camp: f"c{place % COLORS}" for place, camp in enumerate(camps)}
        turn = 2 * pi / len(self._seats)
        self._places: dict[str, Point] = {
            seat: (MIDDLE[0] + REACH[0] * sin(turn * place), MIDDLE[1] - REACH[1] * cos(turn * place))
            for place, seat in enumerate(self._seats)
        }

    def figure(self) -> Iterator[str]:
        """The drawing, and the same in words under it."""
        heights = [y for _, y in self._places.values()]
        top, bottom = min(heights) - MARGIN, max(heights) + MARGIN
        box = f"0 {top:.0f} {WIDTH} {bottom - top:.0f}"
        yield f'<svg viewBox="{box}" role="img" aria-label="{escape(self._in_words())}">'
        x, y = MIDDLE
        yield f'<ellipse class="board" cx="{x}" cy="{y}" rx="{REACH[0] - 62}" ry="{REACH[1] - 52}"/>'
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
            yield f'<circle class="ring {color}" cx="{x:.0f}" cy="{y:.0f}" r="{NODE + 6}"/>'
        unheard = "" if way else " unheard"
        yield f'<circle class="node {color}{unheard}" cx="{x:.0f}" cy="{y:.0f}" r="{NODE}"/>'
        sign = escape(self._signs[self._ends[seat]]) if way else "?"
        yield f'<text class="mark" x="{x:.0f}" y="{y + 6:.0f}">{sign}</text>'
        name = y - NODE - 30 if y < MIDDLE[1] else y + NODE + 24
        yield f'<text x="{x:.0f}" y="{name:.0f}">{escape(one_line(seat, LONGEST_NAME))}</text>'
        yield f'<text class="small" x="{x:.0f}" y="{name + 16:.0f}">{escape(self._went(way))}</text>'

    def _went(self, way: Stand | None) -> str:
        if way is None:
            return "not heard"
        if not way.moved:
            return "held"
        if self._ends[way.seat] != way.last:
            return f"went to {self._signs[way.last]} without evidence"
        why = {True: ", for a reason", False: ", without evidence", None: ""}[way.reasoned]
        return f"came from {self._signs[way.first]}{why}"

    def _legend(self) -> Iterator[str]:
        yield "<ul>"
        for camp, sign in self._signs.items():
            seats = ", ".join(escape(one_line(it)) for it in self._ends if self._ends[it] == camp)
            won = " (decided)" if _won(self._decision, camp) else ""
            text = escape(one_line(self._texts.get(camp, camp), 160))
            who = f'<span class="soft">{seats or "nobody in the end"}{won}</span>'
            yield f'<li class="{self._colors[camp]}" dir="auto"><b>{escape(sign)}</b>{text} {who}</li>'
        yield "</ul>"
        yield '<p class="soft">A thick line joins seats that ended with the same answer, a dotted one seats that did '
        yield "not; a broken ring marks a seat that moved.</p>"

    def _in_words(self) -> str:
        told = [f"{it.seat} {self._signs[self._ends[it.seat]]}, {self._went(it)}" for it in self._ways.values()]
        return one_line(f"Where the seats ended: {'; '.join(told)}.")


def _sign(camp: str, place: int) -> str:
    """A proposal's own id where it is short enough to be one, else a number."""
    return camp if len(camp) <= LONGEST_SIGN and camp.isalnum() else str(place)


def _won(decision: Decision | None, camp: str) -> bool:
    return decision is not None and decision.settled and camp == decision.winner
