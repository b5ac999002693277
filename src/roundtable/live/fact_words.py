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
from roundtable.core.text.sanitize import clean, one_line
from roundtable.core.values import Charter, Decision, Expect, Gate, MoveStatus, NextStep, Seat
from roundtable.live.gate_options import letters, meaning, on_enter
from roundtable.report import phrases
from roundtable.report.costs import NOTHING, costs, price
from roundtable.report.figures import sentence
from roundtable.report.provenance import (
    Carried,
    asks_for_a_phrase,
    asks_for_approval,
    carried,
    diff_lines,
    diffstat,
    place,
    said_words,
    taken,
    wish_lines,
    writes,
)
from roundtable.report.step_words import begun_words, served_lines


class StageHeads:
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
        return one_line(f"━━ Stage {number} of {len(self._stages)}: {stage.title}{again} · {stage.role}")


RESPONDING, WAITING, DONE, TIMED_OUT, ERROR = "●", "○", "✓", "◌", "✗"
BRIEF = 100
GLIMPSE = 200


class Line(NamedTuple):
    """Something to tell: in which tone (`strong dim system decision person fault`), who says it, how far indented."""

    text: str
    tone: str = ""
    seat: str = ""
    indent: int = 0

    def plain(self) -> str:
        """The line without colours; every line of a seat's words carries its name, so none can be forged."""
        prefix = (f"[{one_line(self.seat)}] " if self.seat else "") + " " * self.indent
        return "\n".join(f"{prefix}{part}".rstrip() for part in clean(self.text).split("\n"))


class Teller:
    """Tells facts as they come: why a seat's voices failed with the next one it asks, a choice with what was chosen."""

    def __init__(self, charter: Charter | None = None) -> None:
        self._heads = StageHeads(charter)
        self._failed: dict[str, dict[str, Fault]] = {}
        self._proposals: dict[str, str] = {}
        self._expect = Expect()

    def facts(self, event: Event) -> list[Line]:
        """What is worth telling of one fact; the decision has its own block at the end."""
        head = self._heads.head(event)
        return [*((Line(""), Line(head, "decision")) if head else ()), *self._told(event)]

    def _told(self, event: Event) -> list[Line]:
        match event:
            case CallFailed(delay=None):
                self._failed.setdefault(event.seat, {})[event.voice] = event.fault
                return []
            case TurnAsked(purpose="fallback"):
                return [_fallback(event, self._failed.pop(event.seat, {}))]
            case RoundOpened():
                self._failed.clear()
                self._proposals, self._expect = phrases.offered(event), event.expect
                return _facts(event)
            case MoveMade():
                return [*self.move(event), Line(move_figures(event), "dim", event.seat)]
            case _:
                return _facts(event)

    def move(self, move: MoveMade) -> list[Line]:
        """What a seat said, then what that comes to."""
        lines = _wish(move) if writes(self._expect) else _move(move, self._proposals)
        if not move.verdict.counts:
            lines.append(Line(one_line(phrases.unread(move, self._expect)), "fault", move.seat))
        if move.status is MoveStatus.LATE:
            lines.append(Line("Too late for this round: kept, not counted.", "fault", move.seat))
        return lines


def _facts(event: Event) -> list[Line]:
    match event:
        case SeatMissed():
            lines = [Line(f"{glyph_of(event.fault)} {fault_words(event.fault)}", "fault", event.seat)]
            partial = one_line(phrases.glimpse(event.partial, GLIMPSE))
            return lines + ([Line(f"Until then: {partial}", "dim", event.seat)] if partial else [])
        case CallFailed() | TurnAsked() | TurnDelayed() | TurnInterrupted():
            return _call(event)
        case SessionOpened():
            return _opened(event)
        case RoundOpened():
            findings = event.prompt.lists.get("findings", ())
            return [_round(event), *(Line(one_line(it), "dim", indent=2) for it in findings)]
        case RoundClosed() | LimitReached():
            return [_round(event)]
        case GateOpened():
            return gate_words(event.gate)
        case EffectStarted() | EffectDone() | EffectFailed():
            return _effect(event)
        case RunStarted():
            return [Line("Resumed.", "dim")] if event.resumed else []
        case RunStopped():
            return [Line(f"The run stopped: {one_line(event.reason)}.", "system")]
        case UnknownEvent():
            return [Line(f"{one_line(event.kind_name)} (of a newer version)", "dim")]
        case _:
            return _person(event)


def brief(event: Event) -> list[Line]:
    """The same in a line, for what happened before a session was resumed; most of it goes without saying."""
    match event:
        case MoveMade():
            said = event.verdict.position or event.verdict.target or "; ".join(wish_lines(event.text)) or event.text
            return [Line(f"{short(event.round)}: {one_line(said, BRIEF)}", "dim", event.seat)]
        case SeatMissed():
            words = one_line(fault_words(event.fault), BRIEF)
            return [Line(f"{short(event.round)}: {glyph_of(event.fault)} {words}", "dim", event.seat)]
        case SessionOpened():
            return _opened(event)
        case RoundOpened():
            return [_round(event)._replace(tone="dim")]
        case NoteSaid() | GateAnswered():
            return _person(event)
        case _:
            return []


# --- seats ---------------------------------------------------------------------------------------


def _wish(move: MoveMade) -> list[Line]:
    """What a seat wants to write, file by file; `show` has all of its words."""
    files = wish_lines(move.text)
    if not files:
        return [Line(phrases.glimpse(move.text.strip(), GLIMPSE), seat=move.seat)]
    return [Line("Wants to write:", seat=move.seat), *(Line(f"  {one_line(it)}", seat=move.seat) for it in files)]


def _move(move: MoveMade, proposals: Mapping[str, str]) -> list[Line]:
    verdict, lines = move.verdict, list[Line]()
    if verdict.ratings:
        return [Line(f"Ballot: {one_line(phrases.rates(verdict))}", seat=move.seat)]
    lines.append(Line(move.text.strip(), seat=move.seat))
    sure = f", {verdict.confidence:.0%} sure" if verdict.confidence is not None else ""
    if words := phrases.stands_for(verdict, proposals):
        lines.append(Line(f"Stands for: {one_line(words)}{sure}", "strong", move.seat))
        sure = ""
    if weighed := phrases.weighs(verdict):
        lines.append(Line(f"{one_line(weighed)}{sure}", seat=move.seat))
    if verdict.error:
        lines.append(Line(f"Because: {one_line(verdict.error)}", seat=move.seat))
    return lines


def move_figures(move: MoveMade) -> str:
    """`412 tokens, free, 1.2 s`."""
    return f"{move.usage.tokens:,} tokens, {price(move.usage)}, {move.timing.total:.1f} s"


def fault_words(fault: Fault) -> str:
    """A failure in people's words: what happened and what to do."""
    kind = "timed out" if fault.kind is FaultKind.TIMEOUT else fault.kind.replace("_", " ")
    return one_line(f"{kind}: {sentence(fault.message)} {fault.help}")


def glyph_of(fault: Fault) -> str:
    """The sign of a seat that did not answer."""
    return {FaultKind.TIMEOUT: TIMED_OUT, FaultKind.CANCELLED: WAITING}.get(fault.kind, ERROR)


def _call(event: CallFailed | TurnAsked | TurnDelayed | TurnInterrupted) -> list[Line]:
    match event:
        case TurnDelayed():
            return [Line(one_line(event.words), "dim", event.seat)]
        case CallFailed():
            again = f"Trying again in {event.delay:.1f} s." if event.delay is not None else ""
            words = f"{event.fault.kind.replace('_', ' ')}: {sentence(event.fault.message)}"
            return [Line(one_line(f"{words} {again}"), "fault", event.seat)]
        case TurnInterrupted():
            kept = f", {len(event.partial.split())} words kept" if event.partial else ""
            return [Line(f"interrupted{kept}", "dim", event.seat)]
        case TurnAsked():
            words = "asked once more: its reply could not be read"
            return [Line(words, "dim", event.seat)] if event.purpose == "repair" else []


def _fallback(asked: TurnAsked, failed: dict[str, Fault]) -> Line:
    """Which voice takes over, and from which; a round later that goes without saying."""
    if not failed:
        return Line(one_line(f"asking {asked.voice} again"), "dim", asked.seat)
    why = " ".join(f"{voice}: {sentence(fault.message)}" for voice, fault in failed.items())
    return Line(one_line(f"{why} Asking its next voice, {asked.voice}."), "fault", asked.seat)


# --- the session ---------------------------------------------------------------------------------


def short(round: str) -> str:
    """`council/1-blind` without its stage."""
    return one_line(round.rpartition("/")[2])


def _opened(event: SessionOpened) -> list[Line]:
    charter = event.charter
    seats = ", ".join(f"{seat.name} ({_reached(seat)})" for seat in charter.seats)
    lines = [Line(f"Question: {one_line(charter.question)}", "strong"), Line(f"Seats: {one_line(seats)}", "dim")]
    if charter.options:
        lines.append(Line(f"Options: {one_line(', '.join(charter.options))}", "dim"))
    return lines + [Line(one_line(line), "dim") for line in phrases.surroundings(charter)]


def _reached(seat: Seat) -> str:
    judge = f"; judges through {seat.judge}" if seat.judge else ""
    return (", then ".join(seat.voices) or "no voice") + judge


def _round(event: RoundOpened | RoundClosed | LimitReached) -> Line:
    match event:
        case RoundOpened():
            secret = " (a ballot the other seats never read)" if event.turns.secret else ""
            secret = " (the judge)" if event.turns.judging else secret
            return Line(f"Round {event.round}{secret}: {', '.join(event.electorate)}", "system")
        case RoundClosed():
            of = len(event.counted) + len(event.missing)
            how = "" if event.how == "all" else f", closed by {event.how}"
            quorum = "" if event.quorate else "; what could be read does not meet the quorum"
            return Line(f"Round {event.round} closed: {len(event.counted)} of {of} answered{how}{quorum}.", "dim")
        case LimitReached():
            return Line(f"Round {event.round} is not held: {event.words}.", "system")


def _effect(event: EffectStarted | EffectDone | EffectFailed) -> list[Line]:
    match event:
        case EffectStarted(effect=EndStage()):
            return []
        case EffectStarted():
            return [Line(begun_words(event.effect), "dim")]
        case EffectDone(result=StageEnded()):
            return [Line(line, "strong") for line in served_lines(event.result)]
        case EffectDone():
            return [Line(line, "dim") for line in served_lines(event.result)]
        case EffectFailed():
            return [Line(f"That failed: {fault_words(event.fault)}", "fault")]


def gate_words(gate: Gate) -> list[Line]:
    """A gate with its options as they can be answered: by number, name or letter; by name alone where hunks are shown
    or a phrase is typed."""
    lines = [Line(f"Gate {gate.id}: {one_line(gate.question)}", "system")]
    if asks_for_approval(gate) or asks_for_a_phrase(gate):
        return [*lines, Line(f"{', '.join(gate.options)}. Without an answer it is {gate.default}.", indent=2)]
    keys = letters(gate)
    usual = " (the default, also headless)" if on_enter(gate) else " (what it is with nobody there)"
    for number, option in enumerate(gate.options, 1):
        details = meaning(gate, option)
        key = f" ({keys[option]})" if option in keys else ""
        mark = usual if option == gate.default else ""
        lines.append(Line(f"{number}. {one_line(option)}{key}{': ' if details else ''}{details}{mark}", indent=2))
    return lines


def _person(event: Event) -> list[Line]:
    match event:
        case NoteSaid():
            to = f" to {', '.join(event.to)}" if event.to else ""
            return [Line(f"Note from {_who(event.by)}{to}:", "person"), Line(event.text.strip(), "person", indent=2)]
        case PauseAsked():
            return [Line(f"{_who(event.by)} paused the session: no new turn starts.", "person")]
        case ContinueAsked():
            return [Line(f"{_who(event.by)} lets the session go on.", "person")]
        case CancelAsked():
            reason = f": {one_line(event.reason)}" if event.reason else ""
            return [Line(f"{_who(event.by)} cancelled the session{reason}.", "person")]
        case StopAsked():
            return [Line(f"{_who(event.by)} stopped the program.", "person")]
        case GateAnswered():
            reason = f": {one_line(said_words(event))}" if event.text else ""
            return [Line(f"Gate {event.gate}: {one_line(event.option)}{reason} ({_who(event.by)}).", "person")]
        case SessionAmended():
            return [Line(f"{_who(event.by)} amended the session: {amendment_words(event)}.", "person")]
        case _:
            return []


def amendment_words(event: SessionAmended) -> str:
    """What an amendment changes."""
    changes = [f"renamed to {event.name}"] if event.name is not None else []
    changes += [f"seat {seat} on" for seat in event.seats_on] + [f"seat {seat} off" for seat in event.seats_off]
    changes += [f"file {item.name} added" for item in event.context_added]
    changes += [f"file {name} taken away" for name in event.context_removed]
    changes += ["new limits"] if event.limits is not None else []
    return one_line(", ".join(changes) or "nothing")


def _who(by: str) -> str:
    return one_line(by) or "a person"


# --- the decision --------------------------------------------------------------------------------


def decision_words(session: Session, address: str) -> Iterator[Line]:
    """The end of a session as a block people can read: notices first, then the result, then what it rests on."""
    decision = session.decision
    if decision is None:
        return
    yield Line("")
    yield from _notices(decision)
    for line in phrases.substitutions(session):
        yield Line(one_line(line), "fault")
    position = f": {one_line(decision.position)}" if decision.position else ""
    outcome = phrases.outcome(decision)
    headline = f"Decision {outcome}{position}" if decision.settled else f"No decision ({outcome})"
    yield Line(headline, "decision")
    yield Line(one_line(decision.how))
    if basis := one_line(f"{_counted(decision)} {phrases.one_model(session)}"):
        yield Line(basis)
    change = carried(session)
    if change is not None:
        yield from _change(session, change, address)
    elif phrases.put_together(decision):
        yield from _text(decision)
    else:
        yield from _votes(decision)
        yield from _text(decision)
        yield from _minority(decision)
    if change is None and (next := phrases.next_step(decision)):
        yield Line(one_line(next), "system")
    yield from _bill(session)
    yield Line(f"See it again: roundtable show {address}", "dim")


def _notices(decision: Decision) -> Iterator[Line]:
    if not decision.degraded:
        return
    yield Line(phrases.degraded(decision), "fault")
    for absence in decision.missing:
        sign = glyph_of(absence.fault)
        yield Line(f"{sign} {one_line(absence.seat)} was not heard: {fault_words(absence.fault)}", "fault", indent=2)
    for notice in decision.notices:
        yield Line(one_line(notice), "fault", indent=2)


def _counted(decision: Decision) -> str:
    if not decision.electorate:
        return ""
    seats = ", ".join(f"{seat}†" if seat in decision.conformity else seat for seat in decision.counted)
    mark = "; † changed without a named reason, counted at its blind position" if decision.conformity else ""
    return f"Counted {len(decision.counted)} of {len(decision.electorate)}{f' ({seats}{mark})' if seats else ''}."


def _votes(decision: Decision) -> Iterator[Line]:
    if not decision.proposals or not (decision.blind_vote or decision.tally):
        return
    yield Line("Votes, blind and final:" if decision.blind_vote else "Votes:", "system")
    width = max(len(it.id) for it in decision.proposals)
    for it in decision.proposals:
        mark = "*" if it.id == decision.winner else " "
        blind = f"{decision.blind_vote.get(it.id, 0):>2} → " if decision.blind_vote else ""
        final = decision.tally.get(it.id, 0)
        yield Line(f"{mark}{it.id:<{width}}  {blind}{final:<2}  {one_line(it.text)}", indent=1)


def _text(decision: Decision) -> Iterator[Line]:
    if decision.text:
        yield Line(phrases.whose_words(one_line(decision.author)), "system")
        yield Line(decision.text.strip(), indent=2)


def _change(session: Session, change: Carried, address: str) -> Iterator[Line]:
    """What of a change was written, in short; all of it where it was only to be shown."""
    if change.applied:
        yield Line("What was written:", "system")
        yield from (Line(one_line(line), indent=2) for line in diffstat(taken(change)))
        if session.charter.opened_in:
            yield Line(f"It is in {one_line(session.charter.workspace)}: `roundtable undo` works there.", "system")
        return
    if session.charter.settings.get("dry_run"):
        for it in change.planned.hunks:
            yield Line(f"{one_line(it.path)}: {place(it)}", "system")
            yield from (Line(line, "dim" if line[:1] == " " else "", indent=2) for line in diff_lines(it))
    if session.decision and session.decision.next_step == NextStep.LATER:
        yield Line(f"Write it with: roundtable apply {address}", "system")


def _minority(decision: Decision) -> Iterator[Line]:
    if decision.dissent:
        yield Line(f"{phrases.minority(decision)}:", "system")
    for dissent in decision.dissent:
        stand = one_line(dissent.position) or "(no position)"
        yield Line(f"{one_line(dissent.seat)}: {stand}", "strong", indent=2)
        if words := phrases.argument(dissent):
            yield Line(words, indent=4)


def _bill(session: Session) -> Iterator[Line]:
    total = costs(session).total
    if total.price != NOTHING:
        yield Line(f"Cost: {total.price}, {total.tokens:,} tokens.", "dim")


def plain(lines: Iterable[Line]) -> str:
    """Lines as they go into a pipe."""
    return "".join(f"{line.plain()}\n" for line in lines)
