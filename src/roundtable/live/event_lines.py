"""Events as lines of text, for the plain output and above the panels of the live display."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from roundtable.core.change_history import (
    ChangeHistory,
    is_session_approval_gate,
    is_session_confirmation_gate,
    newest_session_change,
)
from roundtable.core.effects import EndStage, StageEnded
from roundtable.core.events import (
    CallFailed,
    CancelAsked,
    ContinueAsked,
    EffectDone,
    EffectFailed,
    EffectStarted,
    Event,
    GateAnswered,
    GateOpened,
    LimitReached,
    MoveMade,
    NoteSaid,
    PauseAsked,
    RoundClosed,
    RoundOpened,
    RunStarted,
    RunStopped,
    SeatMissed,
    SessionAmended,
    SessionOpened,
    StopAsked,
    TurnAsked,
    TurnDelayed,
    TurnInterrupted,
    UnknownEvent,
)
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.replies.file_changes import is_reply_changes_codec
from roundtable.core.session import Session
from roundtable.core.stage_address import StageAddress
from roundtable.core.stages import Stage
from roundtable.core.text.sanitize import sanitize_line, sanitize_text
from roundtable.core.text.wording import add_full_stop_to_text, pluralize
from roundtable.core.values import Charter, Decision, Expect, Gate, MoveStatus, NextStep, Seat
from roundtable.live.gate_options import live_gate_option_hint, live_gate_option_letters, live_gate_option_on_enter
from roundtable.report import phrases
from roundtable.report.change_words import (
    describe_gate_answer_text,
    describe_hunk_place,
    describe_proposed_files,
    render_diffstat,
    render_hunk_lines,
)
from roundtable.report.costs import NO_VALUE, build_cost_report, render_price
from roundtable.report.reasons import decision_sentence, describe_reached_limit, notice_sentences
from roundtable.report.step_words import render_step_result_lines, running_step_sentence


class _StageHeadings:
    """Decides which events begin another stage or another attempt at one."""

    def __init__(self, charter: Charter | None) -> None:
        self._stages = [stage for stage in Stage.list_of(charter) if stage.enabled] if charter else []
        self._now: StageAddress | None = None

    def heading_before(self, event: Event) -> str:
        """The heading to print before an event; empty if none is needed."""
        match event:
            case RoundOpened():
                address = StageAddress.of_step(event.round)
            case EffectStarted():
                address = StageAddress.of_step(event.step)
            case _:
                return ""
        current = next(
            ((number, stage) for number, stage in enumerate(self._stages, 1) if stage.name == address.stage), None
        )
        if current is None or address == self._now:
            return ""
        self._now = address
        number, stage = current
        again = f", attempt {address.attempt}" if address.attempt > 1 else ""
        return sanitize_line(f"━━ Stage {number} of {len(self._stages)}: {stage.title}{again} · {stage.role}")


RESPONDING, WAITING, DONE, TIMED_OUT, ERROR = "●", "○", "✓", "◌", "✗"
_BRIEF_LENGTH = 100
_PARTIAL_LENGTH = 200


class LiveLine(NamedTuple):
    """A line to show, with its tone (`strong dim system decision person fault`), seat and indentation."""

    text: str
    tone: str = ""
    seat: str = ""
    indent: int = 0

    def plain(self) -> str:
        """The line without colors. Every line of a seat's words carries the seat's name, so it cannot be forged."""
        prefix = (f"[{sanitize_line(self.seat)}] " if self.seat else "") + " " * self.indent
        return "\n".join(f"{prefix}{part}".rstrip() for part in sanitize_text(self.text).split("\n"))


class EventNarrator:
    """Turns events into lines as they arrive.

    It remembers why a seat's voices failed until the next one is asked, and which proposals a round offered.
    """

    def __init__(self, charter: Charter | None = None) -> None:
        self._headings = _StageHeadings(charter)
        self._failed: dict[str, dict[str, Fault]] = {}
        self._proposals: dict[str, str] = {}
        self._expect = Expect()

    def lines(self, event: Event) -> list[LiveLine]:
        """The lines for one event; the decision has its own block at the end."""
        head = self._headings.heading_before(event)
        return [*((LiveLine(""), LiveLine(head, "decision")) if head else ()), *self._event_lines(event)]

    def _event_lines(self, event: Event) -> list[LiveLine]:
        match event:
            case CallFailed(delay=None):
                self._failed.setdefault(event.seat, {})[event.voice] = event.fault
                return []
            case TurnAsked(purpose="fallback"):
                return [_fallback_line(event, self._failed.pop(event.seat, {}))]
            case RoundOpened():
                self._failed.clear()
                self._proposals, self._expect = event.prompt.items_by_name("proposals"), event.expect
                return _event_lines_without_state(event)
            case MoveMade():
                return [*self.move_lines(event), LiveLine(_describe_move_figures(event), "dim", event.seat)]
            case _:
                return _event_lines_without_state(event)

    def move_lines(self, move: MoveMade) -> list[LiveLine]:
        """A seat's words and its verdict."""
        lines = (
            _proposed_file_lines(move)
            if is_reply_changes_codec(self._expect.codec)
            else _move_lines(move, self._proposals, self._expect.codec)
        )
        if not move.verdict.counts:
            lines.append(LiveLine(sanitize_line(phrases.describe_unread_reply(move, self._expect)), "fault", move.seat))
        if move.status is MoveStatus.LATE:
            lines.append(
                LiveLine("This answer came too late for the round: it is recorded but not counted.", "fault", move.seat)
            )
        return lines


def _event_lines_without_state(event: Event) -> list[LiveLine]:
    match event:
        case SeatMissed():
            lines = [LiveLine(f"{live_fault_glyph(event.fault)} {live_fault_line(event.fault)}", "fault", event.seat)]
            partial = sanitize_line(phrases.render_partial_answer_excerpt(event.partial, _PARTIAL_LENGTH))
            return lines + ([LiveLine(f"Partial answer: {partial}", "dim", event.seat)] if partial else [])
        case CallFailed() | TurnAsked() | TurnDelayed() | TurnInterrupted():
            return _call_lines(event)
        case SessionOpened():
            return _opening_lines(event)
        case RoundOpened():
            findings = event.prompt.lists.get("findings", ())
            return [_round_line(event), *(LiveLine(sanitize_line(finding), "dim", indent=2) for finding in findings)]
        case RoundClosed() | LimitReached():
            return [_round_line(event)]
        case GateOpened():
            return live_gate_lines(event.gate)
        case EffectStarted() | EffectDone() | EffectFailed():
            return _step_lines(event)
        case RunStarted():
            return [LiveLine("Resumed.", "dim")] if event.resumed else []
        case RunStopped():
            return [LiveLine(f"The run stopped: {sanitize_line(event.reason)}.", "system")]
        case UnknownEvent():
            return [LiveLine(f"Skipped an event of a newer version: {sanitize_line(event.kind_name)}", "dim")]
        case _:
            return _person_lines(event)


def live_earlier_event_lines(event: Event) -> list[LiveLine]:
    """One line for an event from before a resume; none for most events."""
    match event:
        case MoveMade():
            summary = (
                event.verdict.position
                or event.verdict.target
                or "; ".join(describe_proposed_files(event.text))
                or event.text
            )
            return [
                LiveLine(f"{live_round_label(event.round)}: {sanitize_line(summary, _BRIEF_LENGTH)}", "dim", event.seat)
            ]
        case SeatMissed():
            words = sanitize_line(live_fault_line(event.fault), _BRIEF_LENGTH)
            return [
                LiveLine(f"{live_round_label(event.round)}: {live_fault_glyph(event.fault)} {words}", "dim", event.seat)
            ]
        case SessionOpened():
            return _opening_lines(event)
        case RoundOpened():
            return [_round_line(event)._replace(tone="dim")]
        case NoteSaid() | GateAnswered():
            return _person_lines(event)
        case _:
            return []


# --- seats ---------------------------------------------------------------------------------------


def _proposed_file_lines(move: MoveMade) -> list[LiveLine]:
    """The files a seat wants to write; `show` prints its whole reply."""
    files = describe_proposed_files(move.text)
    if not files:
        return [LiveLine(phrases.render_partial_answer_excerpt(move.text.strip(), _PARTIAL_LENGTH), seat=move.seat)]
    return [
        LiveLine("Proposed files:", seat=move.seat),
        *(LiveLine(f"  {sanitize_line(file)}", seat=move.seat) for file in files),
    ]


def _move_lines(move: MoveMade, proposals: Mapping[str, str], codec: str) -> list[LiveLine]:
    verdict, lines = move.verdict, list[LiveLine]()
    if verdict.ratings:
        return [LiveLine(f"Ballot: {sanitize_line(phrases.describe_ratings(verdict))}", seat=move.seat)]
    lines.append(LiveLine(move.text.strip(), seat=move.seat))
    confidence = f", {verdict.confidence:.0%} sure" if verdict.confidence is not None else ""
    if words := phrases.describe_position(verdict, proposals):
        lines.append(LiveLine(f"Position: {sanitize_line(words)}{confidence}", "strong", move.seat))
        confidence = ""
    if details := phrases.describe_verdict_details(verdict, codec):
        lines.append(LiveLine(f"{sanitize_line(details)}{confidence}", seat=move.seat))
    if verdict.error:
        lines.append(LiveLine(f"Because: {sanitize_line(verdict.error)}", seat=move.seat))
    return lines


def _describe_move_figures(move: MoveMade) -> str:
    """Tokens, cost and duration of a move, such as `412 tokens, free, 1.2 s`."""
    return f"{move.usage.tokens:,} tokens, {render_price(move.usage)}, {move.timing.total:.1f} s"


def live_fault_line(fault: Fault) -> str:
    """A fault in one line: its kind, its message and its help."""
    kind = "timed out" if fault.kind is FaultKind.TIMEOUT else fault.kind.replace("_", " ")
    return sanitize_line(f"{kind}: {add_full_stop_to_text(fault.message)} {fault.help}")


def live_fault_glyph(fault: Fault) -> str:
    """The sign of a seat that failed."""
    return {FaultKind.TIMEOUT: TIMED_OUT, FaultKind.CANCELLED: WAITING}.get(fault.kind, ERROR)


def _call_lines(event: CallFailed | TurnAsked | TurnDelayed | TurnInterrupted) -> list[LiveLine]:
    match event:
        case TurnDelayed():
            return [LiveLine(sanitize_line(event.words), "dim", event.seat)]
        case CallFailed():
            retry = f"Retrying in {event.delay:.1f} s." if event.delay is not None else ""
            words = f"{event.fault.kind.replace('_', ' ')}: {add_full_stop_to_text(event.fault.message)}"
            return [LiveLine(sanitize_line(f"{words} {retry}"), "fault", event.seat)]
        case TurnInterrupted():
            recorded = f" after {pluralize(len(event.partial.split()), 'word')}" if event.partial else ""
            return [LiveLine(f"The answer was interrupted{recorded}.", "dim", event.seat)]
        case TurnAsked():
            words = "Its reply could not be read; asking again."
            return [LiveLine(words, "dim", event.seat)] if event.purpose == "repair" else []


def _fallback_line(asked: TurnAsked, failed: dict[str, Fault]) -> LiveLine:
    """Why the previous voices failed, and which voice is asked next."""
    if not failed:
        return LiveLine(sanitize_line(f"Asking {asked.voice} again."), "dim", asked.seat)
    causes = " ".join(f"{voice}: {add_full_stop_to_text(fault.message)}" for voice, fault in failed.items())
    return LiveLine(sanitize_line(f"{causes} Asking the next voice, {asked.voice}."), "fault", asked.seat)


# --- the session ---------------------------------------------------------------------------------


def live_round_label(round: str) -> str:
    """The name of a round without its stage."""
    return sanitize_line(round.rpartition("/")[2])


def _opening_lines(event: SessionOpened) -> list[LiveLine]:
    charter = event.charter
    seats = ", ".join(f"{seat.name} ({_describe_voices(seat)})" for seat in charter.seats)
    lines = [
        LiveLine(f"Question: {sanitize_line(charter.question)}", "strong"),
        LiveLine(f"Seats: {sanitize_line(seats)}", "dim"),
    ]
    if charter.options:
        lines.append(LiveLine(f"Options: {sanitize_line(', '.join(charter.options))}", "dim"))
    return lines + [LiveLine(sanitize_line(line), "dim") for line in phrases.describe_session_context(charter)]


def _describe_voices(seat: Seat) -> str:
    judge = f"; judges with {seat.judge}" if seat.judge else ""
    return (", then ".join(seat.voices) or "no voice") + judge


def _round_line(event: RoundOpened | RoundClosed | LimitReached) -> LiveLine:
    match event:
        case RoundOpened():
            secret = " (secret ballot)" if event.turns.secret else ""
            secret = " (the judge)" if event.turns.judging else secret
            return LiveLine(f"Round {event.round}{secret}: {', '.join(event.electorate)}", "system")
        case RoundClosed():
            asked = len(event.counted) + len(event.missing)
            closing = "" if event.how == "all" else f", closed by {event.how}"
            quorum = "" if event.quorate else "; quorum not reached"
            answered = f"{len(event.counted)} of {asked} answered"
            return LiveLine(f"Round {event.round} closed: {answered}{closing}{quorum}.", "dim")
        case LimitReached():
            return LiveLine(f"Round {event.round} was not held: {describe_reached_limit(event)}.", "system")


def _step_lines(event: EffectStarted | EffectDone | EffectFailed) -> list[LiveLine]:
    match event:
        case EffectStarted(effect=EndStage()):
            return []
        case EffectStarted():
            return [LiveLine(running_step_sentence(event.effect), "dim")]
        case EffectDone(result=StageEnded()):
            return [LiveLine(line, "strong") for line in render_step_result_lines(event.result)]
        case EffectDone():
            return [LiveLine(line, "dim") for line in render_step_result_lines(event.result)]
        case EffectFailed():
            return [LiveLine(f"The step failed: {live_fault_line(event.fault)}", "fault")]


def live_gate_lines(gate: Gate) -> list[LiveLine]:
    """A gate and its options, by number, name and letter.

    Gates for hunks and typed phrases are answered by name only.
    """
    lines = [LiveLine(f"Gate {gate.id}: {sanitize_line(gate.question)}", "system")]
    if is_session_approval_gate(gate) or is_session_confirmation_gate(gate):
        return [*lines, LiveLine(f"{', '.join(gate.options)}. The default is {gate.default}.", indent=2)]
    keys = live_gate_option_letters(gate)
    usual = " (default)" if live_gate_option_on_enter(gate) else " (default when headless)"
    for number, option in enumerate(gate.options, 1):
        details = live_gate_option_hint(gate, option)
        key = f" ({keys[option]})" if option in keys else ""
        mark = usual if option == gate.default else ""
        lines.append(
            LiveLine(f"{number}. {sanitize_line(option)}{key}{': ' if details else ''}{details}{mark}", indent=2)
        )
    return lines


def _person_lines(event: Event) -> list[LiveLine]:
    match event:
        case NoteSaid():
            to = f" to {', '.join(event.to)}" if event.to else ""
            return [
                LiveLine(f"Note from {_person_name(event.by)}{to}:", "person"),
                LiveLine(event.text.strip(), "person", indent=2),
            ]
        case PauseAsked():
            return [LiveLine(f"{_person_name(event.by)} paused the session; no new turn starts.", "person")]
        case ContinueAsked():
            return [LiveLine(f"{_person_name(event.by)} resumed the session.", "person")]
        case CancelAsked():
            reason = f": {sanitize_line(event.reason)}" if event.reason else ""
            return [LiveLine(f"{_person_name(event.by)} cancelled the session{reason}.", "person")]
        case StopAsked():
            return [LiveLine(f"{_person_name(event.by)} stopped the program.", "person")]
        case GateAnswered():
            reason = f": {sanitize_line(describe_gate_answer_text(event))}" if event.text else ""
            return [
                LiveLine(
                    f"Gate {event.gate}: {sanitize_line(event.option)}{reason} ({_person_name(event.by)}).", "person"
                )
            ]
        case SessionAmended():
            return [LiveLine(f"{_person_name(event.by)} amended the session: {_describe_amendment(event)}.", "person")]
        case _:
            return []


def _describe_amendment(event: SessionAmended) -> str:
    """The changes of an amendment in one line, such as `seat gpt off, new limits`."""
    changes = [f"renamed to {event.name}"] if event.name is not None else []
    changes += [f"seat {seat} on" for seat in event.seats_on] + [f"seat {seat} off" for seat in event.seats_off]
    changes += [f"file {item.name} added" for item in event.context_added]
    changes += [f"file {name} removed" for name in event.context_removed]
    changes += ["new limits"] if event.limits is not None else []
    return sanitize_line(", ".join(changes) or "nothing")


def _person_name(by: str) -> str:
    return sanitize_line(by) or "a person"


# --- the decision --------------------------------------------------------------------------------


def live_decision_lines(session: Session, address: str) -> Iterator[LiveLine]:
    """The decision as a block of lines: notices first, then the result, votes, text, dissent and cost."""
    decision = session.decision
    if decision is None:
        return
    yield LiveLine("")
    yield from _notice_lines(decision)
    for line in phrases.describe_voice_substitutions(session):
        yield LiveLine(sanitize_line(line), "fault")
    position = f": {sanitize_line(decision.position)}" if decision.position else ""
    outcome = phrases.describe_decision_outcome(decision)
    headline = f"Decision {outcome}{position}" if decision.is_decided else f"No decision ({outcome})"
    yield LiveLine(headline, "decision")
    yield LiveLine(sanitize_line(decision_sentence(decision)))
    if basis := sanitize_line(f"{_counted_sentence(decision)} {phrases.describe_shared_voice(session)}"):
        yield LiveLine(basis)
    change = newest_session_change(session)
    if change is not None:
        yield from _change_lines(session, change, address)
    elif decision.is_compiled:
        yield from _text_lines(decision)
    else:
        yield from _vote_lines(decision)
        yield from _text_lines(decision)
        yield from _dissent_lines(decision)
    if change is None and (next := phrases.describe_next_step(decision)):
        yield LiveLine(sanitize_line(next), "system")
    yield from _cost_lines(session)
    yield LiveLine(f"Show the session again: roundtable show {address}", "dim")


def _notice_lines(decision: Decision) -> Iterator[LiveLine]:
    if not decision.degraded:
        return
    yield LiveLine(phrases.render_degraded_decision_heading(decision), "fault")
    for absence in decision.missing:
        sign = live_fault_glyph(absence.fault)
        yield LiveLine(
            f"{sign} {sanitize_line(absence.seat)} did not answer: {live_fault_line(absence.fault)}",
            "fault",
            indent=2,
        )
    for notice in notice_sentences(decision):
        yield LiveLine(sanitize_line(notice), "fault", indent=2)


def _counted_sentence(decision: Decision) -> str:
    if not decision.electorate:
        return ""
    seats = ", ".join(f"{seat}†" if seat in decision.conformity else seat for seat in decision.counted)
    mark = "; † counted at the blind position because the change had no stated reason" if decision.conformity else ""
    asked = pluralize(len(decision.electorate), "seat")
    return f"Counted {len(decision.counted)} of {asked}{f' ({seats}{mark})' if seats else ''}."


def _vote_lines(decision: Decision) -> Iterator[LiveLine]:
    if not decision.proposals or not (decision.blind_vote or decision.tally):
        return
    yield LiveLine("Votes (blind → final):" if decision.blind_vote else "Votes:", "system")
    width = max(len(proposal.id) for proposal in decision.proposals)
    for proposal in decision.proposals:
        mark = "*" if proposal.id == decision.winner else " "
        blind = f"{decision.blind_vote.get(proposal.id, 0):>2} → " if decision.blind_vote else ""
        final = decision.tally.get(proposal.id, 0)
        yield LiveLine(f"{mark}{proposal.id:<{width}}  {blind}{final:<2}  {sanitize_line(proposal.text)}", indent=1)


def _text_lines(decision: Decision) -> Iterator[LiveLine]:
    if decision.text:
        yield LiveLine(phrases.render_decision_text_heading(sanitize_line(decision.author)), "system")
        yield LiveLine(decision.text.strip(), indent=2)


def _change_lines(session: Session, change: ChangeHistory, address: str) -> Iterator[LiveLine]:
    """The files that were written, or all hunks of a dry run."""
    if change.applied:
        yield LiveLine("Written:", "system")
        yield from (LiveLine(sanitize_line(line), indent=2) for line in render_diffstat(change.approved_hunks()))
        if session.charter.opened_in:
            yield LiveLine(
                f"The change is in {sanitize_line(session.charter.workspace)}; run `roundtable undo` there to undo it.",
                "system",
            )
        return
    if session.charter.settings.get("dry_run"):
        for hunk in change.planned.hunks:
            yield LiveLine(f"{sanitize_line(hunk.path)}: {describe_hunk_place(hunk)}", "system")
            yield from (LiveLine(line, "dim" if line[:1] == " " else "", indent=2) for line in render_hunk_lines(hunk))
    if session.decision and session.decision.next_step == NextStep.LATER:
        yield LiveLine(f"Write the change with: roundtable apply {address}", "system")


def _dissent_lines(decision: Decision) -> Iterator[LiveLine]:
    if decision.dissent:
        yield LiveLine(f"{phrases.render_dissent_heading(decision)}:", "system")
    for dissent in decision.dissent:
        position = sanitize_line(dissent.position) or "(no position)"
        yield LiveLine(f"{sanitize_line(dissent.seat)}: {position}", "strong", indent=2)
        if argument := phrases.render_dissent_argument(dissent):
            yield LiveLine(argument, indent=4)


def _cost_lines(session: Session) -> Iterator[LiveLine]:
    total = build_cost_report(session).total
    if total.price != NO_VALUE:
        yield LiveLine(f"Cost: {total.price}, {total.tokens:,} tokens.", "dim")


def live_lines_as_text(lines: Iterable[LiveLine]) -> str:
    """Lines as plain text for a pipe."""
    return "".join(f"{line.plain()}\n" for line in lines)
