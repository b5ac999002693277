"""A gate that is answered from elsewhere: what it is about, the form of an answer, and whether one has it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.changeset import Hunk, HunkChoice
from roundtable.core.faults import UsageError
from roundtable.core.session import Session
from roundtable.core.stages import is_after_stage_gate, is_back_to_stage_answer
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.values import Gate
from roundtable.doors.cli.rollback import check_rollback_answer
from roundtable.live.fact_words import LiveLine
from roundtable.live.hunk_approval import ASK, CONFIRM, SOME
from roundtable.report import provenance
from roundtable.report.provenance import describe_change_plan, describe_hunk_place, is_approval_gate, newest_plan
from roundtable.report.stage_words import list_stage_ends

MAX_STAGE_LINES = 20
"""How much of what a stage came to is shown to who is asked whether to go on."""


def gate_context_lines(session: Session, gate: Gate) -> list[LiveLine]:
    """What an open gate asks about: what the stage came to, or files and hunks and how to answer for some of them."""
    if is_after_stage_gate(gate):
        return _came_to(session)
    found = newest_plan(session) if is_approval_gate(gate) else None
    if found is None:
        return []
    hunks = found[1].hunks
    named = [f"{it.id} ({describe_hunk_place(it)})" for it in hunks]
    lines = [
        *describe_change_plan(found[1]),
        f"Hunks: {', '.join(named)}",
        f"To leave out hunks: {gate.id}=some {_form(hunks)}",
    ]
    return [LiveLine(sanitize_line(line), indent=2) for line in lines]


def _came_to(session: Session) -> list[LiveLine]:
    """What the last stage came to, as far as a person reads it in passing."""
    lines = list_stage_ends(session)[-1].text.splitlines()
    rest = ["… `roundtable show` prints all of it."] if len(lines) > MAX_STAGE_LINES else []
    return [LiveLine(sanitize_line(line, 400), indent=4) for line in (*lines[:MAX_STAGE_LINES], *rest)]


def check_gate_answer(session: Session, gate: Gate, option: str, text: str) -> None:
    """Refuse an answer at once that would come to nothing later."""
    if is_back_to_stage_answer(gate, option):
        check_rollback_answer(session, text)
    found = newest_plan(session) if gate.writes else None
    if found is None:
        return
    hunks, phrase = found[1].hunks, provenance.confirmation_phrase(session)
    if option == CONFIRM and text.strip() != phrase:
        raise UsageError(
            f"Option `{CONFIRM}` needs --text with the exact phrase.", f'Write: --text "{sanitize_line(phrase)}"'
        )
    if option == ASK and not text.strip():
        raise UsageError("Option `ask` needs --text with your question.", f'Try: --text "{hunks[0].id}: Why this way?"')
    if option == SOME and (wrong := _wrong(text, hunks)):
        raise UsageError(wrong, f"Write {_form(hunks)}; the hunks are {', '.join(it.id for it in hunks)}.")


def _wrong(text: str, hunks: Sequence[Hunk]) -> str:
    if not text.strip():
        return "Option `some` needs --text with the hunks to leave out."
    try:
        choice = msgspec.json.decode(text, type=HunkChoice, strict=True)
    except msgspec.MsgspecError:
        return "The text of option `some` is not valid JSON with `rejected` or `edited` hunks."
    named, known = [*choice.rejected, *choice.edited], {it.id for it in hunks}
    if not named:
        return "The text of option `some` names no rejected or edited hunk."
    unknown = [it for it in named if it not in known]
    return f"Unknown hunk: {sanitize_line(', '.join(unknown))}." if unknown else ""


def _form(hunks: Sequence[Hunk]) -> str:
    return f"""--text '{{"rejected": ["{hunks[-1].id}"]}}'"""
