"""A session or report as one HTML file without scripts and requests; every word is escaped and the style is inline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from roundtable.core.change_history import newest_session_candidates, newest_session_change
from roundtable.core.events import MoveMade, NoteSaid, RoundOpened
from roundtable.core.session import RoundRecord, Session, Turn
from roundtable.core.text.sanitize import sanitize_line, sanitize_text
from roundtable.core.values import Decision
from roundtable.report import change_words, phrases
from roundtable.report.agreement_map import render_agreement_map
from roundtable.report.costs import CostLine, build_cost_report
from roundtable.report.document import (
    BulletList,
    Collapsible,
    DataTable,
    Heading,
    Paragraph,
    ProgramOutput,
    Quote,
    ReportBlock,
)
from roundtable.report.phrases import describe_session_status
from roundtable.report.reasons import decision_sentence, describe_reasons, notice_sentences
from roundtable.report.recount import (
    RULE_RECOUNT_COLUMNS,
    SEAT_RECOUNT_COLUMNS,
    Recount,
    render_rule_recount_rows,
    render_seat_recount_rows,
)

_PAGE_STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fbfaf8; --card: #fff; --ink: #1d1d1f; --soft: #63636b; --line: #e2e0dc; --warn: #8a4b00; --warn-bg: #fff3df;
  --s0: #0b7285; --s1: #9c36b5; --s2: #2b8a3e; --s3: #c92a2a;
  --s4: #1864ab; --s5: #a05a00; --s6: #5f3dc4; --s7: #495057;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #b04a86; --c4: #8a6d00; --c5: #4a4a55;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #16171a; --card: #1f2125; --ink: #e8e6e3; --soft: #a0a0a8; --line: #34363c;
    --warn: #ffc078; --warn-bg: #3a2a12;
    --s0: #66d9e8; --s1: #e599f7; --s2: #8ce99a; --s3: #ffa8a8;
    --s4: #74c0fc; --s5: #ffc078; --s6: #b197fc; --s7: #ced4da;
    --c0: #56b4e9; --c1: #ff9a5c; --c2: #3fd0a0; --c3: #e8a8cc; --c4: #f0e442; --c5: #c8c8d0;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 50rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; -webkit-text-size-adjust: 100%;
}
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .4rem; }
p { margin: .4rem 0; overflow-wrap: anywhere; }
li { overflow-wrap: anywhere; }
.soft { color: var(--soft); font-size: .875rem; }
.words { white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .9rem 1.1rem;
  margin: .7rem 0; }
.seat { border-left: .3rem solid var(--seat, var(--line)); }
.seat > header, .who { color: var(--seat); font-weight: 600; }
.seat > header .soft { font-weight: 400; margin-left: .4rem; }
.s0 { --seat: var(--s0); } .s1 { --seat: var(--s1); } .s2 { --seat: var(--s2); } .s3 { --seat: var(--s3); }
.s4 { --seat: var(--s4); } .s5 { --seat: var(--s5); } .s6 { --seat: var(--s6); } .s7 { --seat: var(--s7); }
.absent { border-style: dashed; border-left-style: solid; }
.tag {
  display: inline-block; border: 1px solid currentColor; border-radius: 1rem; padding: 0 .6rem; font-size: .8rem;
  font-weight: 600;
}
.position { font-size: 1.2rem; font-weight: 600; margin: .6rem 0; }
.degraded { background: var(--warn-bg); color: var(--warn); border-color: currentColor; }
.degraded ul { margin: .4rem 0 0; padding-left: 1.2rem; }
.note { border-style: dotted; }
details > summary { cursor: pointer; font-weight: 600; padding: .3rem 0; overflow-wrap: anywhere; }
details > summary .soft { font-weight: 400; }
.scroll { overflow-x: auto; }
.diff { overflow-x: auto; font-size: .85rem; margin: .5rem 0 0; }
.diff del, .diff ins { text-decoration: none; } .diff del { color: var(--c1); } .diff ins { color: var(--c2); }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 500; }
td.n, th.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
tr.won td, tr.sum td { font-weight: 600; }
tr.sum td { border-bottom: 0; }
.map { margin: .7rem 0; padding: .4rem .6rem .9rem; }
.map svg { display: block; width: 100%; height: auto; max-height: 27rem; }
.map text { fill: var(--ink); font-size: 17px; text-anchor: middle; paint-order: stroke; stroke: var(--card);
  stroke-width: 5px; stroke-linejoin: round; }
.map .left { text-anchor: end; } .map .right { text-anchor: start; }
.map .board { fill: var(--paper); stroke: var(--line); stroke-width: 1.5; }
.map .apart { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 2 6; opacity: .7; }
.map .together { stroke: var(--camp); stroke-width: 4; opacity: .85; }
.map .node { fill: var(--card); stroke: var(--camp, var(--soft)); stroke-width: 3.5; }
.map .node.unheard { stroke-width: 1.5; stroke-dasharray: 4 4; }
.map .ring { fill: none; stroke: var(--camp); stroke-width: 1.5; stroke-dasharray: 5 4; }
.map .mark { font-weight: 700; font-size: 17px; }
.map ul { list-style: none; margin: .5rem 0 0; padding: 0; }
.map li { margin: .25rem 0; overflow-wrap: anywhere; }
.map li b { display: inline-block; min-width: 1.7rem; padding: 0 .35rem; margin-right: .4rem; text-align: center;
  border: 2px solid var(--camp); border-radius: 1rem; }
.c0 { --camp: var(--c0); } .c1 { --camp: var(--c1); } .c2 { --camp: var(--c2); } .c3 { --camp: var(--c3); }
.c4 { --camp: var(--c4); } .c5 { --camp: var(--c5); }
@media print { body { max-width: none; } .card { break-inside: avoid; } }
""".strip()


_COLORS = ("cyan", "magenta", "green", "red", "blue", "orange", "purple", "white")
_NEUTRAL_SEAT_CLASS = f"s{len(_COLORS) - 1}"
"""The style class of content that belongs to no seat."""


def _render_html_document(session: Session, body: Iterable[str]) -> str:
    """The whole HTML file."""
    lines = [
        "<!doctype html>",
        f'<html lang="{escape(session.charter.language)}">',
        "<head>",
        '<meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="referrer" content="no-referrer">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_escape_html_line(session.charter.question, 80)}</title>",
        f"<style>\n{_PAGE_STYLE}\n</style>",
        "</head>",
        "<body>",
        *body,
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def _escape_html_line(text: str, most: int = 0) -> str:
    """One line of text, escaped."""
    return escape(sanitize_line(text, most))


def _render_html_text(text: str) -> str:
    """Somebody's words, escaped, in their own writing direction."""
    return f'<div class="words" dir="auto">{escape(sanitize_text(text).strip()) or "(nothing)"}</div>'


def _seat_color_classes(session: Session) -> dict[str, str]:
    """The style class of each seat."""
    return {
        seat.name: f"s{_COLORS.index(color) if color in _COLORS else place % len(_COLORS)}"
        for place, seat in enumerate(session.charter.seats)
        for color in (seat.color or seat.usual_color,)
    }


def _render_html_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], figures: int = 0, *, summed: bool = False
) -> str:
    """A table. The last `figures` columns hold numbers; the last row is a total if `summed`."""
    marks = [""] * (len(head) - figures) + [" class=n"] * figures
    heads = "".join(f"<th{mark}>{_escape_html_line(name)}</th>" for mark, name in zip(marks, head, strict=True))
    lines = ['<div class="scroll"><table>', f"<tr>{heads}</tr>"]
    for number, row in enumerate(rows, 1):
        of_sum = ' class="sum"' if summed and number == len(rows) else ""
        cells = "".join(f"<td{mark}>{_escape_html_line(cell)}</td>" for mark, cell in zip(marks, row, strict=True))
        lines.append(f"<tr{of_sum}>{cells}</tr>")
    return "\n".join((*lines, "</table></div>"))


def render_blocks_as_html(session: Session, blocks: Iterable[ReportBlock]) -> str:
    """A report as an HTML file."""
    colors = _seat_color_classes(session)
    return _render_html_document(session, (line for block in blocks for line in _block_html(block, colors)))


def _block_html(block: ReportBlock, colors: dict[str, str]) -> Iterator[str]:
    match block:
        case Heading():
            tag = f' <span class="tag">{_escape_html_line(block.tag)}</span>' if block.tag else ""
            yield f'<h{block.level} dir="auto">{_escape_html_line(block.text)}{tag}</h{block.level}>'
        case Paragraph():
            yield (
                f'<p class="soft">{_escape_html_line(block.text)}</p>'
                if block.soft
                else f"<p>{_escape_html_line(block.text)}</p>"
            )
        case Quote():
            header = f"<header>{_escape_html_line(block.by)}</header>" if block.by else ""
            seat = colors.get(block.by, _NEUTRAL_SEAT_CLASS)
            yield f'<section class="card seat {seat}">{header}{_render_html_text(block.text)}</section>'
        case BulletList():
            items = "".join(f'<li dir="auto">{_escape_html_line(line)}</li>' for line in block.lines)
            yield f'<div class="card degraded"><ul>{items}</ul></div>' if block.warning else f"<ul>{items}</ul>"
        case DataTable():
            yield _render_html_table(block.head, block.rows, block.figures, summed=block.summed)
        case ProgramOutput():
            yield f'<pre class="diff">{escape(sanitize_text(block.text).strip())}</pre>'
        case Collapsible():
            yield f"<details><summary>{_escape_html_line(block.summary)}</summary>"
            for inner in block.inside:
                yield from _block_html(inner, colors)
            yield "</details>"


def render_session_page(session: Session, recount: Recount | None = None) -> str:
    """The whole session, with the decision first and the agreement map."""
    return _render_html_document(session, _Page(session).whole(recount))


def render_round_page(session: Session, record: RoundRecord) -> str:
    """One round as an HTML file."""
    return _render_html_document(session, _Page(session).round(record))


class _Page:
    """The parts of a session page, with the color of each seat."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._colors = _seat_color_classes(session)

    def whole(self, recount: Recount | None) -> Iterator[str]:
        """All parts."""
        session = self._session
        yield from self._heading()
        if session.decision is not None:
            yield from self._decision(session.decision)
        yield from _change_html(session)
        yield from render_agreement_map(session)
        if recount is not None:
            yield from _recount_html(recount)
        yield from self._rounds()
        yield from self._gates()
        yield from self._changes()
        yield from self._bill()

    def round(self, record: RoundRecord) -> Iterator[str]:
        """One round, with every seat's words."""
        result = f'<span class="soft">{_escape_html_line(phrases.describe_round_result(record))}</span>'
        yield f"<details open><summary>{_escape_html_line(record.name)} {result}</summary>"
        for seat in record.opened.order:
            yield from self._turn(record.turns[seat], record.opened)
        yield "</details>"

    def _class(self, seat: str) -> str:
        return self._colors.get(seat, _NEUTRAL_SEAT_CLASS)

    def _who(self, seat: str) -> str:
        return f'<span class="who {self._class(seat)}">{_escape_html_line(seat)}</span>'

    def _all(self, seats: Sequence[str]) -> str:
        return ", ".join(self._who(seat) for seat in seats)

    def _heading(self) -> Iterator[str]:
        session, charter = self._session, self._session.charter
        yield f'<h1 dir="auto">{_escape_html_line(charter.question, 160)}</h1>'
        facts = [describe_session_status(session), charter.meeting, phrases.describe_session_opening_time(session)]
        facts += [name for name in (session.name, charter.slug) if name]
        tag = f'<span class="tag">{_escape_html_line(session.status)}</span>'
        yield f'<p class="soft">{tag} {" · ".join(_escape_html_line(fact) for fact in facts)}</p>'
        yield f"<p>{self._all([seat.name for seat in charter.seats])}</p>"
        if sanitize_line(charter.question, 160) != charter.question:
            yield f"<details><summary>The whole question</summary>{_render_html_text(charter.question)}</details>"
        if charter.options:
            yield f"<p>Options: {', '.join(_escape_html_line(option) for option in charter.options)}</p>"
        for line in phrases.describe_session_context(charter):
            yield f'<p class="soft">{_escape_html_line(line)}</p>'

    def _decision(self, decision: Decision) -> Iterator[str]:
        yield "<h2>Decision</h2>"
        counted = phrases.describe_counted_seats(decision)
        if decision.degraded:
            absences = [
                f"No answer: <b>{_escape_html_line(absence.seat)}</b>, "
                f"{_escape_html_line(phrases.describe_fault(absence.fault))}"
                for absence in decision.missing
            ]
            lines = (*absences, *map(_escape_html_line, notice_sentences(decision)))
            items = "".join(f"<li>{line}</li>" for line in lines)
            heading = _escape_html_line(phrases.render_degraded_decision_heading(decision))
            yield f'<div class="card degraded"><b>{heading}</b><ul>{items}</ul></div>'
        for line in filter(
            None, (*phrases.describe_voice_substitutions(self._session), phrases.describe_shared_voice(self._session))
        ):
            yield f'<p class="soft">{_escape_html_line(line)}</p>'
        yield f'<div class="card seat {self._class(decision.author)}">'
        ended = _escape_html_line(phrases.describe_decision_outcome(decision))
        yield f'<p><span class="tag">{ended}</span> {_escape_html_line(decision_sentence(decision))}</p>'
        if decision.electorate:
            yield f'<p class="soft">{counted[0].upper()}{counted[1:]}: {self._all(decision.counted) or "nobody"}</p>'
        if decision.position:
            words = ": ".join(_escape_html_line(part) for part in (decision.winner, decision.position) if part)
            yield f'<p class="position" dir="auto">{words}</p>'
        if decision.text:
            author = self._who(decision.author) if decision.author else ""
            yield f"<p>{phrases.render_decision_text_heading(author)}</p>{_render_html_text(decision.text)}"
        yield "</div>"
        if not decision.is_compiled:
            yield from self._votes(decision)
            yield from self._dissent(decision)
        if decision.conformity:
            seats = self._all(decision.conformity)
            changed = "These seats changed their position without a reason, so their blind position was counted"
            yield f"<p>{changed}: {seats}.</p>"
        if decision.basis:
            yield f'<p class="soft">Based on: {", ".join(map(_escape_html_line, decision.basis))}.</p>'

    def _votes(self, decision: Decision) -> Iterator[str]:
        if not decision.proposals:
            return
        yield f'<h3>{phrases.render_proposals_heading(decision)}</h3><div class="scroll"><table>'
        votes = phrases.render_vote_counts_by_heading(decision)
        heads = "".join(f"<th>{head}</th>" for head in phrases.PROPOSAL_COLUMNS)
        yield f"<tr><th></th>{heads}{''.join(f'<th class=n>{head}</th>' for head in votes)}</tr>"
        for proposal in decision.proposals:
            won = ' class="won"' if proposal.id == decision.winner else ""
            counts = "".join(f"<td class=n>{count.get(proposal.id, 0)}</td>" for count in votes.values())
            text = (
                f'<td dir="auto">{_escape_html_line(proposal.text)}</td><td>{self._all(proposal.authors) or "–"}</td>'
            )
            yield f"<tr{won}><td>{_escape_html_line(proposal.id)}</td>{text}{counts}</tr>"
        yield "</table></div>"

    def _dissent(self, decision: Decision) -> Iterator[str]:
        if decision.dissent:
            yield f"<h3>{phrases.render_dissent_heading(decision)}</h3>"
        for dissent in decision.dissent:
            yield f'<div class="card seat {self._class(dissent.seat)}">'
            yield f"<header>{_escape_html_line(dissent.seat)}</header>"
            argument = phrases.render_dissent_argument(dissent)
            position = f"<p>Position: <b>{_escape_html_line(dissent.position) or '(no position)'}</b></p>"
            yield f"{position}{_render_html_text(argument) if argument else ''}</div>"

    def _rounds(self) -> Iterator[str]:
        if self._session.notes or self._session.rounds:
            yield "<h2>Rounds</h2>"
        for item in phrases.report_rounds_and_notes_in_order(self._session):
            yield from self._note(item) if isinstance(item, NoteSaid) else self.round(item)

    def _note(self, note: NoteSaid) -> Iterator[str]:
        to = f" to {self._all(note.to)}" if note.to else ""
        by = _escape_html_line(note.by) or "a person"
        yield f'<div class="card note">Note from <b>{by}</b>{to}{_render_html_text(note.text)}</div>'

    def _turn(self, turn: Turn, opened: RoundOpened) -> Iterator[str]:
        absent = "" if turn.move else " absent"
        yield f'<section class="card seat {self._class(turn.seat)}{absent}">'
        label = _escape_html_line(phrases.describe_turn(turn))
        yield f'<header>{_escape_html_line(turn.seat)}<span class="soft">{label}</span></header>'
        yield from _reply_html(turn.move, opened) if turn.move else _missing_reply_html(turn)
        yield "</section>"

    def _gates(self) -> Iterator[str]:
        if self._session.gates:
            yield "<h2>Gates</h2>"
        for gate in self._session.gates.values():
            answer = self._session.answers.get(gate.id)
            options = ", ".join(map(_escape_html_line, gate.options))
            result, words = "not answered", ""
            if answer is not None:
                result = f"<b>{_escape_html_line(answer.option)}</b>, by {_escape_html_line(answer.by) or 'a person'}"
                words = _render_html_text(change_words.describe_gate_answer_text(answer)) if answer.text else ""
            yield f'<div class="card"><b>{_escape_html_line(gate.id)}</b>: {_escape_html_line(gate.question)}'
            yield f'<p class="soft">{options}</p><p>{result}</p>{words}</div>'

    def _changes(self) -> Iterator[str]:
        if lines := phrases.describe_session_changes(self._session):
            items = "".join(f"<li>{_escape_html_line(line)}</li>" for line in lines)
            yield f"<h2>Changes during the session</h2><ul>{items}</ul>"

    def _bill(self) -> Iterator[str]:
        bill = build_cost_report(self._session)
        if not (bill.total.calls or bill.total.failed):
            return
        yield '<h2>Cost</h2><div class="scroll"><table>'
        heads = "".join(f"<th class=n>{head}</th>" for head in phrases.COST_COLUMNS)
        yield f"<tr><th></th>{heads}</tr>"
        for line in (*bill.seats, *bill.rounds):
            yield _cost_row_html(line)
        yield _cost_row_html(bill.total, ' class="sum"')
        yield "</table></div>"


def _change_html(session: Session) -> Iterator[str]:
    if candidates := newest_session_candidates(session):
        yield "<h2>Candidates</h2>"
        yield _render_html_table(change_words.CANDIDATE_COLUMNS, change_words.render_candidate_table_rows(candidates))
        yield f'<p class="soft">{_escape_html_line(describe_reasons(candidates.how))}</p>'
    carried = newest_session_change(session)
    if carried is None:
        return
    yield "<h2>The change</h2>"
    lines = (*change_words.describe_change_outcome(carried), *change_words.describe_change_plan(carried.planned))
    yield f"<ul>{''.join(f'<li>{_escape_html_line(line)}</li>' for line in lines)}</ul>"
    if carried.rehearsed and carried.rehearsed.checks:
        yield _render_html_table(
            change_words.CHECK_COLUMNS, change_words.render_check_result_table_rows(carried.rehearsed)
        )
    if carried.took:
        yield _render_html_table(change_words.TAKEN_PART_COLUMNS, change_words.render_taken_part_rows(carried.took))
    for hunk in carried.hunks:
        origin = _escape_html_line(change_words.describe_hunk_provenance(session, hunk))
        yield f'<div class="card"><b>{_escape_html_line(hunk.hunk.id)}</b>: {origin}'
        yield _diff_html(change_words.render_hunk_lines(hunk.hunk))
        yield f"<p>The person wrote instead:</p>{_diff_html(hunk.rewritten)}</div>" if hunk.rewritten else "</div>"


def _diff_html(lines: Sequence[str]) -> str:
    tags = {"-": "del", "+": "ins", " ": "span"}
    marked = "\n".join(f"<{tags[line[0]]}>{escape(line)}</{tags[line[0]]}>" for line in lines)
    return f'<pre class="diff">{marked}</pre>'


def _recount_html(recount: Recount) -> Iterator[str]:
    yield "<h2>Recount</h2>"
    yield "<h3>Without each seat</h3>"
    yield _render_html_table(SEAT_RECOUNT_COLUMNS, render_seat_recount_rows(recount))
    yield "<h3>By other rules</h3>"
    yield _render_html_table(RULE_RECOUNT_COLUMNS, render_rule_recount_rows(recount))


def _reply_html(move: MoveMade, opened: RoundOpened) -> Iterator[str]:
    verdict = move.verdict
    if position := phrases.describe_position(verdict, opened.prompt.items_by_name("proposals")):
        yield f'<p dir="auto">Position: <b>{_escape_html_line(position)}</b></p>'
    if reasons := phrases.describe_verdict_reasons(verdict):
        yield f'<p dir="auto">Because: {_escape_html_line(reasons)}</p>'
    if details := phrases.describe_verdict_details(verdict, opened.expect.codec):
        yield f'<p dir="auto">{_escape_html_line(details)}</p>'
    if verdict.ratings:
        yield f"<p>Rates {_escape_html_line(phrases.describe_ratings(verdict))}</p>"
    words = phrases.render_reply_text(move)
    if words or not verdict.ratings:
        yield _render_html_text(words)


def _missing_reply_html(turn: Turn) -> Iterator[str]:
    if turn.missed is not None:
        yield f"<p>{_escape_html_line(phrases.describe_fault(turn.missed.fault))}</p>"
    if turn.partial:
        excerpt = phrases.render_partial_answer_excerpt(turn.partial)
        yield f'<p class="soft">{phrases.render_partial_answer_heading(turn)}</p>{_render_html_text(excerpt)}'


def _cost_row_html(line: CostLine, attributes: str = "") -> str:
    cells = "".join(f"<td class=n>{cell}</td>" for cell in line.cells())
    return f"<tr{attributes}><td>{_escape_html_line(line.name)}</td>{cells}</tr>"
