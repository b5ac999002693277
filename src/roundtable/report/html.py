"""A session as one HTML file that asks nothing of anybody: no scripts, no requests, every word escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from roundtable.core.events import MoveMade, NoteSaid
from roundtable.core.session import RoundRecord, Session, Turn
from roundtable.core.text.sanitize import one_line
from roundtable.core.values import Decision
from roundtable.report import phrases, provenance
from roundtable.report.agreement_map import agreement_map
from roundtable.report.costs import Cost, costs
from roundtable.report.page_parts import NOBODY, document, seat_colors, table
from roundtable.report.page_parts import line as _line
from roundtable.report.page_parts import words as _words
from roundtable.report.recount import RULE_HEAD, SEAT_HEAD, Recount, rule_rows, seat_rows
from roundtable.report.status import status_words


def page(session: Session, recount: Recount | None = None) -> str:
    """The whole session, the decision on top, with the map of who stands with whom."""
    return document(session, _Page(session).whole(recount))


def round_page(session: Session, record: RoundRecord) -> str:
    """One round of it."""
    return document(session, _Page(session).round(record))


class _Page:
    """The parts of the page, with the colour every seat has."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._colors = seat_colors(session)

    def whole(self, recount: Recount | None) -> Iterator[str]:
        """Everything."""
        session = self._session
        yield from self._heading()
        if session.decision is not None:
            yield from self._decision(session.decision)
        yield from _change(session)
        yield from agreement_map(session)
        if recount is not None:
            yield from _recount(recount)
        yield from self._rounds()
        yield from self._gates()
        yield from self._changes()
        yield from self._bill()

    def round(self, record: RoundRecord) -> Iterator[str]:
        """One round, with what every seat said."""
        heard = f'<span class="soft">{_line(phrases.heard(record))}</span>'
        yield f"<details open><summary>{_line(record.name)} {heard}</summary>"
        for seat in record.opened.order:
            yield from self._turn(record.turns[seat], phrases.offered(record.opened))
        yield "</details>"

    def _class(self, seat: str) -> str:
        return self._colors.get(seat, NOBODY)

    def _who(self, seat: str) -> str:
        return f'<span class="who {self._class(seat)}">{_line(seat)}</span>'

    def _all(self, seats: Sequence[str]) -> str:
        return ", ".join(self._who(seat) for seat in seats)

    def _heading(self) -> Iterator[str]:
        session, charter = self._session, self._session.charter
        yield f'<h1 dir="auto">{_line(charter.question, 160)}</h1>'
        facts = [status_words(session), charter.meeting, phrases.opened(session)]
        facts += [name for name in (session.name, charter.slug) if name]
        tag = f'<span class="tag">{_line(session.status)}</span>'
        yield f'<p class="soft">{tag} {" · ".join(_line(fact) for fact in facts)}</p>'
        yield f"<p>{self._all([seat.name for seat in charter.seats])}</p>"
        if one_line(charter.question, 160) != charter.question:
            yield f"<details><summary>The whole question</summary>{_words(charter.question)}</details>"
        if charter.options:
            yield f"<p>Options: {', '.join(_line(option) for option in charter.options)}</p>"
        for line in phrases.surroundings(charter):
            yield f'<p class="soft">{_line(line)}</p>'

    def _decision(self, decision: Decision) -> Iterator[str]:
        yield "<h2>Decision</h2>"
        counted = phrases.counted(decision)
        if decision.degraded:
            missing = [
                f"Not heard: <b>{_line(it.seat)}</b>, {_line(phrases.fault_line(it.fault))}" for it in decision.missing
            ]
            items = "".join(f"<li>{item}</li>" for item in (*missing, *map(_line, decision.notices)))
            yield f'<div class="card degraded"><b>{_line(phrases.degraded(decision))}</b><ul>{items}</ul></div>'
        for line in filter(None, (*phrases.substitutions(self._session), phrases.one_model(self._session))):
            yield f'<p class="soft">{_line(line)}</p>'
        yield f'<div class="card seat {self._class(decision.author)}">'
        yield f'<p><span class="tag">{_line(phrases.outcome(decision))}</span> {_line(decision.how)}</p>'
        if decision.electorate:
            yield f'<p class="soft">{counted[0].upper()}{counted[1:]}: {self._all(decision.counted) or "nobody"}</p>'
        if decision.position:
            words = ": ".join(_line(it) for it in (decision.winner, decision.position) if it)
            yield f'<p class="position" dir="auto">{words}</p>'
        if decision.text:
            who = self._who(decision.author) if decision.author else ""
            yield f"<p>{phrases.whose_words(who)}</p>{_words(decision.text)}"
        yield "</div>"
        if not phrases.put_together(decision):
            yield from self._votes(decision)
            yield from self._dissent(decision)
        if decision.conformity:
            seats = self._all(decision.conformity)
            yield f"<p>Changed without a named reason, so counted at the blind position: {seats}.</p>"
        if decision.basis:
            yield f'<p class="soft">Rests on: {", ".join(map(_line, decision.basis))}.</p>'

    def _votes(self, decision: Decision) -> Iterator[str]:
        if not decision.proposals:
            return
        yield f'<h3>{phrases.proposals(decision)}</h3><div class="scroll"><table>'
        votes = phrases.votes(decision)
        heads = "".join(f"<th>{head}</th>" for head in phrases.PROPOSAL_HEAD)
        yield f"<tr><th></th>{heads}{''.join(f'<th class=n>{head}</th>' for head in votes)}</tr>"
        for it in decision.proposals:
            won = ' class="won"' if it.id == decision.winner else ""
            counts = "".join(f"<td class=n>{count.get(it.id, 0)}</td>" for count in votes.values())
            text = f'<td dir="auto">{_line(it.text)}</td><td>{self._all(it.authors) or "–"}</td>'
            yield f"<tr{won}><td>{_line(it.id)}</td>{text}{counts}</tr>"
        yield "</table></div>"

    def _dissent(self, decision: Decision) -> Iterator[str]:
        if decision.dissent:
            yield f"<h3>{phrases.minority(decision)}</h3>"
        for it in decision.dissent:
            yield f'<div class="card seat {self._class(it.seat)}"><header>{_line(it.seat)}</header>'
            words = phrases.argument(it)
            stand = f"<p>Stands for: <b>{_line(it.position) or '(no position)'}</b></p>"
            yield f"{stand}{_words(words) if words else ''}</div>"

    def _rounds(self) -> Iterator[str]:
        if self._session.notes or self._session.rounds:
            yield "<h2>Rounds</h2>"
        for item in phrases.in_order(self._session):
            yield from self._note(item) if isinstance(item, NoteSaid) else self.round(item)

    def _note(self, note: NoteSaid) -> Iterator[str]:
        to = f" to {self._all(note.to)}" if note.to else ""
        yield f'<div class="card note">Note from <b>{_line(note.by) or "a person"}</b>{to}{_words(note.text)}</div>'

    def _turn(self, turn: Turn, proposals: Mapping[str, str]) -> Iterator[str]:
        absent = "" if turn.move else " absent"
        yield f'<section class="card seat {self._class(turn.seat)}{absent}">'
        yield f'<header>{_line(turn.seat)}<span class="soft">{_line(phrases.marks(turn))}</span></header>'
        yield from _said(turn.move, proposals) if turn.move else _unsaid(turn)
        yield "</section>"

    def _gates(self) -> Iterator[str]:
        if self._session.gates:
            yield "<h2>Gates</h2>"
        for gate in self._session.gates.values():
            said = self._session.answers.get(gate.id)
            options = ", ".join(map(_line, gate.options))
            answer = f"<b>{_line(said.option)}</b>, by {_line(said.by) or 'a person'}" if said else "not answered"
            words = _words(provenance.said_words(said)) if said and said.text else ""
            yield f'<div class="card"><b>{_line(gate.id)}</b>: {_line(gate.question)}'
            yield f'<p class="soft">{options}</p><p>{answer}</p>{words}</div>'

    def _changes(self) -> Iterator[str]:
        if lines := phrases.changes(self._session):
            yield f"<h2>On the way</h2><ul>{''.join(f'<li>{_line(line)}</li>' for line in lines)}</ul>"

    def _bill(self) -> Iterator[str]:
        bill = costs(self._session)
        if not (bill.total.calls or bill.total.failed):
            return
        yield '<h2>Cost</h2><div class="scroll"><table>'
        heads = "".join(f"<th class=n>{head}</th>" for head in phrases.COST_HEAD)
        yield f"<tr><th></th>{heads}</tr>"
        for line in (*bill.seats, *bill.rounds):
            yield _cost_row(line)
        yield _cost_row(bill.total, ' class="sum"')
        yield "</table></div>"


def _change(session: Session) -> Iterator[str]:
    if tried := provenance.candidates(session):
        yield "<h2>Candidates</h2>"
        yield table(provenance.CANDIDATE_HEAD, provenance.candidate_rows(tried))
        yield f'<p class="soft">{_line(tried.how)}</p>'
    carried = provenance.carried(session)
    if carried is None:
        return
    yield "<h2>The change</h2>"
    told = (*provenance.became_words(carried), *provenance.plan_lines(carried.planned))
    yield f"<ul>{''.join(f'<li>{_line(it)}</li>' for it in told)}</ul>"
    if carried.rehearsed and carried.rehearsed.checks:
        yield table(provenance.CHECK_HEAD, provenance.check_rows(carried.rehearsed))
    if carried.took:
        yield table(provenance.TOOK_HEAD, provenance.took_rows(carried.took))
    for it in carried.hunks:
        yield f'<div class="card"><b>{_line(it.hunk.id)}</b>: {_line(provenance.provenance_words(it))}'
        yield _diff(provenance.diff_lines(it.hunk))
        yield f"<p>As it was written instead:</p>{_diff(it.rewritten)}</div>" if it.rewritten else "</div>"


def _diff(lines: Sequence[str]) -> str:
    tags = {"-": "del", "+": "ins", " ": "span"}
    marked = "\n".join(f"<{tags[line[0]]}>{escape(line)}</{tags[line[0]]}>" for line in lines)
    return f'<pre class="diff">{marked}</pre>'


def _recount(recount: Recount) -> Iterator[str]:
    yield "<h2>Counted again</h2>"
    yield "<h3>Without each seat</h3>"
    yield table(SEAT_HEAD, seat_rows(recount))
    yield "<h3>By other rules</h3>"
    yield table(RULE_HEAD, rule_rows(recount))


def _said(made: MoveMade, proposals: Mapping[str, str]) -> Iterator[str]:
    said = made.verdict
    if position := phrases.stands_for(said, proposals):
        yield f'<p dir="auto">Stands for <b>{_line(position)}</b></p>'
    if reasons := phrases.because(said):
        yield f'<p dir="auto">Because: {_line(reasons)}</p>'
    if weighed := phrases.weighs(said):
        yield f'<p dir="auto">{_line(weighed)}</p>'
    if said.ratings:
        yield f"<p>Rates {_line(phrases.rates(said))}</p>"
    words = phrases.speech(made)
    if words or not said.ratings:
        yield _words(words)


def _unsaid(turn: Turn) -> Iterator[str]:
    if turn.missed is not None:
        yield f"<p>{_line(phrases.fault_line(turn.missed.fault))}</p>"
    if turn.partial:
        yield f'<p class="soft">{phrases.kept(turn)}</p>{_words(phrases.glimpse(turn.partial))}'


def _cost_row(line: Cost, attributes: str = "") -> str:
    cells = "".join(f"<td class=n>{cell}</td>" for cell in line.cells())
    return f"<tr{attributes}><td>{_line(line.name)}</td>{cells}</tr>"
