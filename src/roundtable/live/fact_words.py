"""Facts in words: what the plain output prints and the live display puts above its panels.

Where a long meeting is: a heading whenever another stage, or another attempt at one, begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

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
from roundtable.core.session import Session
from roundtable.core.stages import charter_stages, parse_stage_attempt
from roundtable.core.text.sanitize import sanitize_line, sanitize_text
from roundtable.core.values import Charter, Decision, Expect, Gate, MoveStatus, NextStep, Seat
from roundtable.live.gate_options import describe_gate_option, gate_option_letters, gate_option_on_enter
from roundtable.report import phrases
from roundtable.report.costs import NO_VALUE, format_price, summarize_costs
from roundtable.report.figures import format_sentence
from roundtable.report.provenance import (
    ChangeProgress,
    asks_for_file_changes,
    describe_gate_answer_text,
    describe_hunk_place,
    describe_proposed_files,
    is_approval_gate,
    is_confirmation_gate,
    list_taken_hunks,
    render_diffstat,
    render_hunk_lines,
    summarize_change,
)
from roundtable.report.step_words import describe_running_step, render_step_result_lines


class StageHeadings:
    """Tells the stages of one session apart by the names of their rounds and steps."""

    def __init__(self, charter: Charter | None) -> None:
        self._stages = [it for it in charter_stages(charter) if it.enabled] if charter else []
        self._now = ""

    def head(self, event: Event) -> str:
        """The heading that belongs before a fact, if one does."""
        match event:
            case RoundOpened():
                name = event.round.partition("/")[0]
            case EffectStarted():
                name = event.step.partition("/")[0]
            case _:
                return ""
        of, attempt = parse_stage_attempt(name)
        found = next(((number, it) for number, it in enumerate(self._stages, 1) if it.name == of), None)
        if found is None or name == self._now:
            return ""
        self._now = name
        number, stage = found
        again = f", attempt {attempt}" if attempt > 1 else ""
        return sanitize_line(f"━━ Stage {number} of {len(self._stages)}: {stage.title}{again} · {stage.role}")


RESPONDING, WAITING, DONE, TIMED_OUT, ERROR = "●", "○", "✓", "◌", "✗"
BRIEF_LENGTH = 100
PARTIAL_LENGTH = 200


class LiveLine(NamedTuple):
    """Something to tell: in which tone (`strong dim system decision person fault`), who says it, how far indented."""

    text: str
    tone: str = ""
    seat: str = ""
    indent: int = 0

    def plain(self) -> str:
        """The line without colours; every line of a seat's words carries its name, so none can be forged."""
        prefix = (f"[{sanitize_line(self.seat)}] " if self.seat else "") + " " * self.indent
        return "\n".join(f"{prefix}{part}".rstrip() for part in sanitize_text(self.text).split("\n"))


class FactNarrator:
    """Tells facts as they come: why a seat's voices failed with the next one it asks, a choice with what was chosen."""

    def __init__(self, charter: Charter | None = None) -> None:
        self._heads = StageHeadings(charter)
        self._failed: dict[str, dict[str, Fault]] = {}
        self._proposals: dict[str, str] = {}
        self._expect = Expect()

    def facts(self, event: Event) -> list[LiveLine]:
        """What is worth telling of one fact; the decision has its own block at the end."""
        head = self._heads.head(event)
        return [*((LiveLine(""), LiveLine(head, "decision")) if head else ()), *self._told(event)]

    def _told(self, event: Event) -> list[LiveLine]:
        match event:
            case CallFailed(delay=None):
                self._failed.setdefault(event.seat, {})[event.voice] = event.fault
                return []
            case TurnAsked(purpose="fallback"):
                return [_fallback(event, self._failed.pop(event.seat, {}))]
            case RoundOpened():
                self._failed.clear()
                self._proposals, self._expect = phrases.parse_offered_proposals(event), event.expect
                return _facts(event)
            case MoveMade():
                return [*self.move(event), LiveLine(describe_move_figures(event), "dim", event.seat)]
            case _:
                return _facts(event)

    def move(self, move: MoveMade) -> list[LiveLine]:
        """What a seat said, then what that comes to."""
        lines = _wish(move) if asks_for_file_changes(self._expect) else _move(move, self._proposals)
        if not move.verdict.counts:
            lines.append(LiveLine(sanitize_line(phrases.explain_unread_reply(move, self._expect)), "fault", move.seat))
        if move.status is MoveStatus.LATE:
            lines.append(LiveLine("Too late for this round: kept, not counted.", "fault", move.seat))
        return lines


def _facts(event: Event) -> list[LiveLine]:
    match event:
        case SeatMissed():
            lines = [LiveLine(f"{fault_glyph(event.fault)} {describe_live_fault(event.fault)}", "fault", event.seat)]
            partial = sanitize_line(phrases.excerpt_partial_answer(event.partial, PARTIAL_LENGTH))
            return lines + ([LiveLine(f"Until then: {partial}", "dim", event.seat)] if partial else [])
        case CallFailed() | TurnAsked() | TurnDelayed() | TurnInterrupted():
            return _call(event)
        case SessionOpened():
            return _opened(event)
        case RoundOpened():
            findings = event.prompt.lists.get("findings", ())
            return [_round(event), *(LiveLine(sanitize_line(it), "dim", indent=2) for it in findings)]
        case RoundClosed() | LimitReached():
            return [_round(event)]
        case GateOpened():
            return render_gate_lines(event.gate)
        case EffectStarted() | EffectDone() | EffectFailed():
            return _effect(event)
        case RunStarted():
            return [LiveLine("Resumed.", "dim")] if event.resumed else []
        case RunStopped():
            return [LiveLine(f"The run stopped: {sanitize_line(event.reason)}.", "system")]
        case UnknownEvent():
            return [LiveLine(f"{sanitize_line(event.kind_name)} (of a newer version)", "dim")]
        case _:
            return _person(event)


def brief_fact_lines(event: Event) -> list[LiveLine]:
    """The same in a line, for what happened before a session was resumed; most of it goes without saying."""
    match event:
        case MoveMade():
            said = (
                event.verdict.position
                or event.verdict.target
                or "; ".join(describe_proposed_files(event.text))
                or event.text
            )
            return [
                LiveLine(f"{short_round_name(event.round)}: {sanitize_line(said, BRIEF_LENGTH)}", "dim", event.seat)
            ]
        case SeatMissed():
            words = sanitize_line(describe_live_fault(event.fault), BRIEF_LENGTH)
            return [LiveLine(f"{short_round_name(event.round)}: {fault_glyph(event.fault)} {words}", "dim", event.seat)]
        case SessionOpened():
            return _opened(event)
        case RoundOpened():
            return [_round(event)._replace(tone="dim")]
        case NoteSaid() | GateAnswered():
            return _person(event)
        case _:
            return []


# --- seats ---------------------------------------------------------------------------------------


def _wish(move: MoveMade) -> list[LiveLine]:
    """What a seat wants to write, file by file; `show` has all of its words."""
    files = describe_proposed_files(move.text)
    if not files:
        return [LiveLine(phrases.excerpt_partial_answer(move.text.strip(), PARTIAL_LENGTH), seat=move.seat)]
    return [
        LiveLine("Wants to write:", seat=move.seat),
        *(LiveLine(f"  {sanitize_line(it)}", seat=move.seat) for it in files),
    ]


def _move(move: MoveMade, proposals: Mapping[str, str]) -> list[LiveLine]:
    verdict, lines = move.verdict, list[LiveLine]()
    if verdict.ratings:
        return [LiveLine(f"Ballot: {sanitize_line(phrases.describe_ratings(verdict))}", seat=move.seat)]
    lines.append(LiveLine(move.text.strip(), seat=move.seat))
    sure = f", {verdict.confidence:.0%} sure" if verdict.confidence is not None else ""
    if words := phrases.describe_position(verdict, proposals):
        lines.append(LiveLine(f"Stands for: {sanitize_line(words)}{sure}", "strong", move.seat))
        sure = ""
    if weighed := phrases.describe_verdict_details(verdict):
        lines.append(LiveLine(f"{sanitize_line(weighed)}{sure}", seat=move.seat))
    if verdict.error:
        lines.append(LiveLine(f"Because: {sanitize_line(verdict.error)}", seat=move.seat))
    return lines


def describe_move_figures(move: MoveMade) -> str:
    """`412 tokens, free, 1.2 s`."""
    return f"{move.usage.tokens:,} tokens, {format_price(move.usage)}, {move.timing.total:.1f} s"


def describe_live_fault(fault: Fault) -> str:
    """A failure in people's words: what happened and what to do."""
    kind = "timed out" if fault.kind is FaultKind.TIMEOUT else fault.kind.replace("_", " ")
    return sanitize_line(f"{kind}: {format_sentence(fault.message)} {fault.help}")


def fault_glyph(fault: Fault) -> str:
    """The sign of a seat that did not answer."""
    return {FaultKind.TIMEOUT: TIMED_OUT, FaultKind.CANCELLED: WAITING}.get(fault.kind, ERROR)


def _call(event: CallFailed | TurnAsked | TurnDelayed | TurnInterrupted) -> list[LiveLine]:
    match event:
        case TurnDelayed():
            return [LiveLine(sanitize_line(event.words), "dim", event.seat)]
        case CallFailed():
            again = f"Trying again in {event.delay:.1f} s." if event.delay is not None else ""
            words = f"{event.fault.kind.replace('_', ' ')}: {format_sentence(event.fault.message)}"
            return [LiveLine(sanitize_line(f"{words} {again}"), "fault", event.seat)]
        case TurnInterrupted():
            kept = f", {len(event.partial.split())} words kept" if event.partial else ""
            return [LiveLine(f"interrupted{kept}", "dim", event.seat)]
        case TurnAsked():
            words = "asked once more: its reply could not be read"
            return [LiveLine(words, "dim", event.seat)] if event.purpose == "repair" else []


def _fallback(asked: TurnAsked, failed: dict[str, Fault]) -> LiveLine:
    """Which voice takes over, and from which; a round later that goes without saying."""
    if not failed:
        return LiveLine(sanitize_line(f"asking {asked.voice} again"), "dim", asked.seat)
    why = " ".join(f"{voice}: {format_sentence(fault.message)}" for voice, fault in failed.items())
    return LiveLine(sanitize_line(f"{why} Asking its next voice, {asked.voice}."), "fault", asked.seat)


# --- the session ---------------------------------------------------------------------------------


def short_round_name(round: str) -> str:
    """`council/1-blind` without its stage."""
    return sanitize_line(round.rpartition("/")[2])


def _opened(event: SessionOpened) -> list[LiveLine]:
    charter = event.charter
    seats = ", ".join(f"{seat.name} ({_reached(seat)})" for seat in charter.seats)
    lines = [
        LiveLine(f"Question: {sanitize_line(charter.question)}", "strong"),
        LiveLine(f"Seats: {sanitize_line(seats)}", "dim"),
    ]
    if charter.options:
        lines.append(LiveLine(f"Options: {sanitize_line(', '.join(charter.options))}", "dim"))
    return lines + [LiveLine(sanitize_line(line), "dim") for line in phrases.describe_session_context(charter)]


def _reached(seat: Seat) -> str:
    judge = f"; judges through {seat.judge}" if seat.judge else ""
    return (", then ".join(seat.voices) or "no voice") + judge


def _round(event: RoundOpened | RoundClosed | LimitReached) -> LiveLine:
    match event:
        case RoundOpened():
            secret = " (a ballot the other seats never read)" if event.turns.secret else ""
            secret = " (the judge)" if event.turns.judging else secret
            return LiveLine(f"Round {event.round}{secret}: {', '.join(event.electorate)}", "system")
        case RoundClosed():
            of = len(event.counted) + len(event.missing)
            how = "" if event.how == "all" else f", closed by {event.how}"
            quorum = "" if event.quorate else "; what could be read does not meet the quorum"
            return LiveLine(f"Round {event.round} closed: {len(event.counted)} of {of} answered{how}{quorum}.", "dim")
        case LimitReached():
            return LiveLine(f"Round {event.round} is not held: {event.words}.", "system")


def _effect(event: EffectStarted | EffectDone | EffectFailed) -> list[LiveLine]:
    match event:
        case EffectStarted(effect=EndStage()):
            return []
        case EffectStarted():
            return [LiveLine(describe_running_step(event.effect), "dim")]
        case EffectDone(result=StageEnded()):
            return [LiveLine(line, "strong") for line in render_step_result_lines(event.result)]
        case EffectDone():
            return [LiveLine(line, "dim") for line in render_step_result_lines(event.result)]
        case EffectFailed():
            return [LiveLine(f"That failed: {describe_live_fault(event.fault)}", "fault")]


def render_gate_lines(gate: Gate) -> list[LiveLine]:
    """A gate with its options as they can be answered: by number, name or letter; by name alone where hunks are shown
    or a phrase is typed."""
    lines = [LiveLine(f"Gate {gate.id}: {sanitize_line(gate.question)}", "system")]
    if is_approval_gate(gate) or is_confirmation_gate(gate):
        return [*lines, LiveLine(f"{', '.join(gate.options)}. Without an answer it is {gate.default}.", indent=2)]
    keys = gate_option_letters(gate)
    usual = " (the default, also headless)" if gate_option_on_enter(gate) else " (what it is with nobody there)"
    for number, option in enumerate(gate.options, 1):
        details = describe_gate_option(gate, option)
        key = f" ({keys[option]})" if option in keys else ""
        mark = usual if option == gate.default else ""
        lines.append(
            LiveLine(f"{number}. {sanitize_line(option)}{key}{': ' if details else ''}{details}{mark}", indent=2)
        )
    return lines


def _person(event: Event) -> list[LiveLine]:
    match event:
        case NoteSaid():
            to = f" to {', '.join(event.to)}" if event.to else ""
            return [
                LiveLine(f"Note from {_who(event.by)}{to}:", "person"),
                LiveLine(event.text.strip(), "person", indent=2),
            ]
        case PauseAsked():
            return [LiveLine(f"{_who(event.by)} paused the session: no new turn starts.", "person")]
        case ContinueAsked():
            return [LiveLine(f"{_who(event.by)} lets the session go on.", "person")]
        case CancelAsked():
            reason = f": {sanitize_line(event.reason)}" if event.reason else ""
            return [LiveLine(f"{_who(event.by)} cancelled the session{reason}.", "person")]
        case StopAsked():
            return [LiveLine(f"{_who(event.by)} stopped the program.", "person")]
        case GateAnswered():
            reason = f": {sanitize_line(describe_gate_answer_text(event))}" if event.text else ""
            return [LiveLine(f"Gate {event.gate}: {sanitize_line(event.option)}{reason} ({_who(event.by)}).", "person")]
        case SessionAmended():
            return [LiveLine(f"{_who(event.by)} amended the session: {describe_amendment(event)}.", "person")]
        case _:
            return []


def describe_amendment(event: SessionAmended) -> str:
    """What an amendment changes."""
    changes = [f"renamed to {event.name}"] if event.name is not None else []
    changes += [f"seat {seat} on" for seat in event.seats_on] + [f"seat {seat} off" for seat in event.seats_off]
    changes += [f"file {item.name} added" for item in event.context_added]
    changes += [f"file {name} taken away" for name in event.context_removed]
    changes += ["new limits"] if event.limits is not None else []
    return sanitize_line(", ".join(changes) or "nothing")


def _who(by: str) -> str:
    return sanitize_line(by) or "a person"


# --- the decision --------------------------------------------------------------------------------


def render_decision_lines(session: Session, address: str) -> Iterator[LiveLine]:
    """The end of a session as a block people can read: notices first, then the result, then what it rests on."""
    decision = session.decision
    if decision is None:
        return
    yield LiveLine("")
    yield from _notices(decision)
    for line in phrases.describe_substitutions(session):
        yield LiveLine(sanitize_line(line), "fault")
    position = f": {sanitize_line(decision.position)}" if decision.position else ""
    outcome = phrases.describe_outcome(decision)
    headline = f"Decision {outcome}{position}" if decision.is_decided else f"No decision ({outcome})"
    yield LiveLine(headline, "decision")
    yield LiveLine(sanitize_line(decision.how))
    if basis := sanitize_line(f"{_counted(decision)} {phrases.describe_shared_voice(session)}"):
        yield LiveLine(basis)
    change = summarize_change(session)
    if change is not None:
        yield from _change(session, change, address)
    elif phrases.is_compiled_text(decision):
        yield from _text(decision)
    else:
        yield from _votes(decision)
        yield from _text(decision)
        yield from _minority(decision)
    if change is None and (next := phrases.describe_next_step(decision)):
        yield LiveLine(sanitize_line(next), "system")
    yield from _bill(session)
    yield LiveLine(f"See it again: roundtable show {address}", "dim")


def _notices(decision: Decision) -> Iterator[LiveLine]:
    if not decision.degraded:
        return
    yield LiveLine(phrases.degraded_heading(decision), "fault")
    for absence in decision.missing:
        sign = fault_glyph(absence.fault)
        yield LiveLine(
            f"{sign} {sanitize_line(absence.seat)} was not heard: {describe_live_fault(absence.fault)}",
            "fault",
            indent=2,
        )
    for notice in decision.notices:
        yield LiveLine(sanitize_line(notice), "fault", indent=2)


def _counted(decision: Decision) -> str:
    if not decision.electorate:
        return ""
    seats = ", ".join(f"{seat}†" if seat in decision.conformity else seat for seat in decision.counted)
    mark = "; † changed without a named reason, counted at its blind position" if decision.conformity else ""
    return f"Counted {len(decision.counted)} of {len(decision.electorate)}{f' ({seats}{mark})' if seats else ''}."


def _votes(decision: Decision) -> Iterator[LiveLine]:
    if not decision.proposals or not (decision.blind_vote or decision.tally):
        return
    yield LiveLine("Votes, blind and final:" if decision.blind_vote else "Votes:", "system")
    width = max(len(it.id) for it in decision.proposals)
    for it in decision.proposals:
        mark = "*" if it.id == decision.winner else " "
        blind = f"{decision.blind_vote.get(it.id, 0):>2} → " if decision.blind_vote else ""
        final = decision.tally.get(it.id, 0)
        yield LiveLine(f"{mark}{it.id:<{width}}  {blind}{final:<2}  {sanitize_line(it.text)}", indent=1)


def _text(decision: Decision) -> Iterator[LiveLine]:
    if decision.text:
        yield LiveLine(phrases.decision_text_heading(sanitize_line(decision.author)), "system")
        yield LiveLine(decision.text.strip(), indent=2)


def _change(session: Session, change: ChangeProgress, address: str) -> Iterator[LiveLine]:
    """What of a change was written, in short; all of it where it was only to be shown."""
    if change.applied:
        yield LiveLine("What was written:", "system")
        yield from (LiveLine(sanitize_line(line), indent=2) for line in render_diffstat(list_taken_hunks(change)))
        if session.charter.opened_in:
            yield LiveLine(
                f"It is in {sanitize_line(session.charter.workspace)}: `roundtable undo` works there.", "system"
            )
        return
    if session.charter.settings.get("dry_run"):
        for it in change.planned.hunks:
            yield LiveLine(f"{sanitize_line(it.path)}: {describe_hunk_place(it)}", "system")
            yield from (LiveLine(line, "dim" if line[:1] == " " else "", indent=2) for line in render_hunk_lines(it))
    if session.decision and session.decision.next_step == NextStep.LATER:
        yield LiveLine(f"Write it with: roundtable apply {address}", "system")


def _minority(decision: Decision) -> Iterator[LiveLine]:
    if decision.dissent:
        yield LiveLine(f"{phrases.dissent_heading(decision)}:", "system")
    for dissent in decision.dissent:
        stand = sanitize_line(dissent.position) or "(no position)"
        yield LiveLine(f"{sanitize_line(dissent.seat)}: {stand}", "strong", indent=2)
        if words := phrases.dissent_argument(dissent):
            yield LiveLine(words, indent=4)


def _bill(session: Session) -> Iterator[LiveLine]:
    total = summarize_costs(session).total
    if total.price != NO_VALUE:
        yield LiveLine(f"Cost: {total.price}, {total.tokens:,} tokens.", "dim")


def render_plain_lines(lines: Iterable[LiveLine]) -> str:
    """Lines as they go into a pipe."""
    return "".join(f"{line.plain()}\n" for line in lines)
