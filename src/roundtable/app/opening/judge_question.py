"""Asks the judge of a session a question, in a session of its own, so that the first session stays unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from roundtable.app.opening.meeting_catalog import snapshot_charter_prompts
from roundtable.app.parts import Parts
from roundtable.core.events import SessionOpened
from roundtable.core.faults import Fault, UsageError
from roundtable.core.session import Session
from roundtable.core.stage_history import session_stage_ends
from roundtable.core.stages import StageEnd
from roundtable.core.text.slugs import make_slug_from_text
from roundtable.core.values import Charter, ContextItem, Quorum, Right, Seat, compute_digest
from roundtable.meetings.chat import MEETING as CHAT
from roundtable.report.reasons import decision_sentence
from roundtable.report.stage_words import describe_stage_end
from roundtable.report.step_words import describe_step_result
from roundtable.store.session_ids import generate_stored_session_id
from roundtable.workshop.edit.stored_drafts import DraftStore

SESSION_STATE_TITLE = "the session"
EARLIER_QUESTIONS_TITLE = "earlier questions and answers"

ChatExchange = tuple[str, str]
"""A question and its answer."""


async def open_judge_question_session(
    parts: Parts, about: Session, question: str, before: Sequence[ChatExchange] = ()
) -> str:
    """Open a session for one question; the judge sees the state of the other session and the earlier questions."""
    if not question.strip():
        raise UsageError("The question is empty.", "Write a question for the judge.")
    parts.keys.learn_keychain_keys()
    shown = {SESSION_STATE_TITLE: await _describe_session(parts, about)}
    if before:
        shown[EARLIER_QUESTIONS_TITLE] = "\n\n".join(f"Asked: {asked}\nYou said: {answer}" for asked, answer in before)
    texts = {name: parts.redactor.redact(text).encode() for name, text in shown.items()}
    prompts = snapshot_charter_prompts(CHAT, {}, (), about.charter.language)
    for data in (*texts.values(), *prompts.values()):
        await parts.record.keep(data)
    charter = Charter(
        question=parts.redactor.redact(question),
        seats=(_find_current_judge(about),),
        meeting=CHAT.name,
        version=CHAT.version,
        limits=msgspec.structs.replace(about.limits, quorum=Quorum(1)),
        context=tuple(ContextItem(name, compute_digest(data), len(data)) for name, data in texts.items()),
        templates={name: compute_digest(text) for name, text in prompts.items()},
        slug=make_slug_from_text(question, datetime.now(UTC).strftime("%Y-%m-%d")),
        workspace=about.charter.workspace,
        owner=about.charter.owner,
        language=about.charter.language,
        headless=True,
        parent=about.id,
    )
    session = generate_stored_session_id()
    await parts.record.append(session, SessionOpened(charter))
    return session


def _find_current_judge(session: Session) -> Seat:
    """Return the seat that judged last; before the first judgement, the first seat with the right to judge."""
    judges = [
        seat for record in session.rounds.values() if record.opened.turns.judging for seat in record.opened.electorate
    ]
    able = [seat for seat in session.seats if Right.JUDGE in seat.rights] or list(session.charter.seats)
    return session.seat(judges[-1]) if judges else able[0]


async def _describe_session(parts: Parts, session: Session) -> str:
    """Describe the state of a session from its record."""
    return "\n\n".join(
        [f"Asked: {session.charter.question}", *_describe_progress(session), *await _list_files(parts, session)]
    )


def _describe_progress(session: Session) -> Iterator[str]:
    for end in session_stage_ends(session):
        yield "\n".join(filter(None, (f"{end.id}: {' '.join(describe_stage_end(end))}", end.text)))
    if findings := _render_last_findings(session):
        yield findings
    for step, result in list(session.results.items())[-1:]:
        yield f"The last step, {step}: {result.message if isinstance(result, Fault) else describe_step_result(result)}"
    judged = [move for record in session.rounds.values() if record.opened.turns.judging for move in record.moves()]
    if judged:
        yield f"What the judge said last ({judged[-1].round}):\n{judged[-1].text}"
    if session.decision is not None:
        decision = session.decision
        yield f"The session ended: {decision.outcome}. {decision_sentence(decision)}\n{decision.position}"
    elif session.open_gates:
        for gate in session.open_gates:
            yield f"The session waits for the person at gate {gate.id}: {gate.question} ({', '.join(gate.options)})"
    else:
        newest = next(reversed(session.rounds), "")
        state = f"its newest round is {newest}" if newest else "no round has opened yet"
        yield f"The session continues; {state}."


def _render_last_findings(session: Session) -> str:
    moves = [move for record in session.rounds.values() for move in record.moves() if move.verdict.findings]
    return f"The last findings, as {moves[-1].seat} put them ({moves[-1].round}):\n{moves[-1].text}" if moves else ""


async def _list_files(parts: Parts, session: Session) -> list[str]:
    files = await DraftStore(parts.record).load_files(StageEnd.latest_draft(session_stage_ends(session)))
    lines = [f"{file.path} ({len(file.after):,} bytes)" for file in files if file.after is not None]
    return ["Files of the project that were written so far:\n" + "\n".join(lines)] if lines else []
