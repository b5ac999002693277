"""The files of a second opinion: run ids, run JSON and Markdown, session state and logs, with their paths."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Literal

import msgspec

from roundtable.core.decide.second_opinion import FOLLOW_UP_ROUND_NAME, OPINIONS_ROUND_NAME
from roundtable.core.events import Recorded, events_to_jsonl
from roundtable.core.session import RoundRecord, SeatState, Session, Turn
from roundtable.core.text.quotation import escape_markdown_line, quote_markdown
from roundtable.core.text.sanitize import sanitize_line, sanitize_text
from roundtable.core.values import Outcome
from roundtable.core.verdict import Stance
from roundtable.report.phrases import describe_fault, describe_position
from roundtable.report.reasons import decision_sentence

RUN_FORMAT_VERSION = "2.1"
UNREAD_ANSWER = "unread"


class RunAnswer(msgspec.Struct, frozen=True):
    """One participant's recommendation and text in a round, or the error.

    The status is `ok`, `unread` if no recommendation could be read, `late` if it came too late to count, or the turn's
    state.
    """

    participant: str
    status: str
    position: str = ""
    stance: str = ""
    text: str = ""
    error: str = ""
    voice: str = ""
    seconds: float = 0.0


class RunRound(msgspec.Struct, frozen=True):
    """One round of a run."""

    number: int
    name: str
    prompt_role: str
    answers: tuple[RunAnswer, ...]


class SecondOpinionRun(msgspec.Struct, frozen=True, kw_only=True):
    """One discussion from question to end."""

    version: str = RUN_FORMAT_VERSION
    run_id: str
    session_key: str
    session: str
    topic: str
    meeting: str
    participants: tuple[str, ...]
    follow_up_enabled: bool
    follow_up_reason: str
    stop_reason: str
    rounds: tuple[RunRound, ...]
    outcome: str
    synthesis: str
    started_at: str
    finished_at: str


class SessionKeyState(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `session.json`: the runs under one session key."""

    version: str = RUN_FORMAT_VERSION
    session_key: str
    session: str
    runs: tuple[str, ...]
    status: str
    created_at: str
    updated_at: str


def render_second_opinion_run_id(session: Session) -> str:
    """The id of a run by its start, such as `run-20260328T120000000000Z`; empty before it starts."""
    return f"run-{re.sub('[-:.]', '', session.started_at)}" if session.started_at else ""


def _session_key(session: Session) -> str:
    """A key for a workspace and session name; without a name, the slug."""
    name = _session_name(session)
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60]
    digest = sha256(f"{session.charter.workspace}\n{name}".encode()).hexdigest()[:12]
    return f"{slug}-{digest}" if slug else digest


def _session_name(session: Session) -> str:
    return session.name or session.charter.slug or session.id


def build_second_opinion_report(session: Session) -> SecondOpinionRun:
    """The run as plain data."""
    decision = session.decision
    return SecondOpinionRun(
        run_id=render_second_opinion_run_id(session),
        session_key=_session_key(session),
        session=sanitize_text(_session_name(session)),
        topic=sanitize_text(session.charter.question),
        meeting=session.charter.meeting,
        participants=tuple(seat.name for seat in session.charter.seats),
        follow_up_enabled=_is_follow_up_enabled(session),
        follow_up_reason=sanitize_text(report_second_opinion_follow_up_reason(session)),
        stop_reason=report_second_opinion_stop_reason(session),
        rounds=tuple(_summarize_round(number, record) for number, record in enumerate(session.rounds.values(), 1)),
        outcome=session.status,
        synthesis=sanitize_text(decision.text or decision_sentence(decision)) if decision else "",
        started_at=session.started_at,
        finished_at=session.decided_at,
    )


def render_second_opinion_json(session: Session) -> str:
    """The run as a JSON file."""
    return render_data_as_json(build_second_opinion_report(session))


def render_second_opinion_markdown(session: Session) -> str:
    """The run as a Markdown file."""
    data = build_second_opinion_report(session)
    facts = {
        "Topic": data.topic,
        "Run": data.run_id,
        "Session": data.session,
        "Participants": ", ".join(data.participants),
        "Outcome": data.outcome,
        "Stop reason": data.stop_reason,
        "Follow-up": f"{'enabled' if data.follow_up_enabled else 'off'}. {data.follow_up_reason}".strip(". "),
    }
    parts = [f"# {escape_markdown_line(data.topic, 100)}"]
    parts.append("\n".join(f"- {name}: {escape_markdown_line(value)}" for name, value in facts.items() if value))
    parts += ["## Synthesis", quote_markdown(data.synthesis)] if data.synthesis else []
    for round in data.rounds:
        parts.append(f"## Round {round.number}: {escape_markdown_line(round.prompt_role)}")
        for answer in round.answers:
            parts.append(f"### {escape_markdown_line(answer.participant)} ({answer.status})")
            parts += [f"Position: **{escape_markdown_line(answer.position)}**"] if answer.position else []
            parts += [f"Stance: {answer.stance}"] if answer.stance else []
            parts.append(
                quote_markdown(answer.text) if answer.text else escape_markdown_line(answer.error) or "No answer yet."
            )
    return "\n\n".join(parts) + "\n"


def render_second_opinion_document_files(
    sessions: Sequence[tuple[Session, Sequence[Recorded]]], holder: str | None
) -> dict[str, str]:
    """All files under one session key, oldest run first.

    The lock file exists only while a process holds one of the sessions.
    """
    newest = sessions[-1][0]
    key = _session_key(newest)
    runs = tuple(render_second_opinion_run_id(session) for session, _ in sessions if session.started_at)
    state = SessionKeyState(
        session_key=key,
        session=sanitize_text(_session_name(newest)),
        runs=runs,
        status=newest.status,
        created_at=sessions[0][0].opened_at,
        updated_at=newest.updated_at,
    )
    files = {f"sessions/{key}/session.json": render_data_as_json(state)}
    if holder is not None:
        files[f"sessions/{key}/session.lock"] = f"{holder}\n"
    for session, records in sessions:
        if id := render_second_opinion_run_id(session):
            files[f"runs/{key}/{id}.json"] = render_second_opinion_json(session)
            files[f"runs/{key}/{id}.md"] = render_second_opinion_markdown(session)
            files[f"logs/runs/{key}/{id}.jsonl"] = events_to_jsonl(records)
    return files | {f"logs/sessions/{key}.jsonl": "".join(events_to_jsonl(records) for _, records in sessions)}


def render_data_as_json(data: object) -> str:
    """An indented JSON document."""
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"


def _summarize_round(number: int, record: RoundRecord) -> RunRound:
    answers = tuple(_summarize_answer(record.turns[seat]) for seat in record.opened.order)
    return RunRound(number, record.name, _round_role(record), answers)


def _summarize_answer(turn: Turn) -> RunAnswer:
    state = turn.state
    if turn.move is None:
        return RunAnswer(
            turn.seat, state, error=sanitize_text(describe_fault(turn.missed.fault)) if turn.missed else ""
        )
    move, verdict = turn.move, turn.move.verdict
    return RunAnswer(
        turn.seat,
        state if state != SeatState.ANSWERED else "ok" if verdict.counts else UNREAD_ANSWER,
        sanitize_line(describe_position(verdict)) if verdict.counts else "",
        str(verdict.stance) if verdict.counts and verdict.stance is not Stance.UNKNOWN else "",
        sanitize_text(move.text),
        voice=move.voice,
        seconds=round(move.timing.total, 3),
    )


def _round_role(record: RoundRecord) -> str:
    """The role of a round by its prompt, such as `initial` or `follow_up`."""
    template = record.opened.prompt.template
    return _ROUND_ROLES.get(template, template)


_ROUND_ROLES = {"opinion": "initial", "follow-up": "follow_up"}

StopReason = Literal[
    "",
    "round_one_complete",
    "follow_up_not_needed",
    "follow_up_complete",
    "follow_up_failed",
    "all_participants_failed",
]


def report_second_opinion_stop_reason(session: Session) -> StopReason:
    """Return why the meeting ended; empty while it runs, if it was cancelled, and for other meetings."""
    decision = session.decision
    if decision is None or decision.outcome is Outcome.CANCELLED or session.charter.meeting != "second-opinion":
        return ""
    first = session.rounds.get(OPINIONS_ROUND_NAME)
    if first is None or not any(move.verdict.counts for move in first.moves()):
        return "all_participants_failed"
    if not _is_follow_up_enabled(session) or not _quorate(first):
        return "round_one_complete"
    if FOLLOW_UP_ROUND_NAME in session.limit_stops:
        return "follow_up_failed"
    if FOLLOW_UP_ROUND_NAME not in session.rounds:
        return "follow_up_not_needed"
    return "follow_up_complete" if _quorate(session.rounds[FOLLOW_UP_ROUND_NAME]) else "follow_up_failed"


def _is_follow_up_enabled(session: Session) -> bool:
    """Return whether a follow-up was requested."""
    return bool(session.charter.settings.get("follow_up", False))


def report_second_opinion_follow_up_reason(session: Session) -> str:
    """Return why a follow-up was held; empty if none was."""
    asked_again = session.rounds.get(FOLLOW_UP_ROUND_NAME)
    return asked_again.opened.prompt.values.get("reason", "") if asked_again else ""


def _quorate(record: RoundRecord) -> bool:
    """Return whether a round has a quorum."""
    return record.closed is not None and record.closed.quorate
