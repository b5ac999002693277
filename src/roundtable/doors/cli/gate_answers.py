"""Gates that are answered from another terminal: what they ask about, and whether an answer is valid."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.change_history import (
    is_session_approval_gate,
    newest_session_change_plan,
    session_confirmation_phrase,
)
from roundtable.core.changeset import Hunk, HunkChoice
from roundtable.core.faults import UsageError
from roundtable.core.session import Session
from roundtable.core.stage_history import session_stage_ends
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.values import Gate
from roundtable.doors.cli.rollback import check_cli_rollback_option
from roundtable.live.event_lines import LiveLine
from roundtable.live.hunk_approval import ASK, CONFIRM, SOME
from roundtable.report.change_words import describe_change_plan, describe_hunk_place

MAX_STAGE_LINES = 20
"""Lines of a stage result that are shown with its gate."""


def render_gate_context_for_terminal(session: Session, gate: Gate) -> list[LiveLine]:
    """The lines shown with a gate: the result of its stage, or the hunks of its plan and how to reject some."""
    if gate.is_after_stage:
        return _stage_result_lines(session)
    draft_and_plan = newest_session_change_plan(session) if is_session_approval_gate(gate) else None
    if draft_and_plan is None:
        return []
    hunks = draft_and_plan[1].hunks
    hunk_names = [f"{hunk.id} ({describe_hunk_place(hunk)})" for hunk in hunks]
    lines = [
        *describe_change_plan(draft_and_plan[1]),
        f"Hunks: {', '.join(hunk_names)}",
        f"To reject some hunks: {gate.id}=some {_hunk_choice_syntax(hunks)}",
    ]
    return [LiveLine(sanitize_line(line), indent=2) for line in lines]


def _stage_result_lines(session: Session) -> list[LiveLine]:
    """The first lines of the last stage's result."""
    lines = session_stage_ends(session)[-1].text.splitlines()
    rest = ["… `roundtable show` prints the whole result."] if len(lines) > MAX_STAGE_LINES else []
    return [LiveLine(sanitize_line(line, 400), indent=4) for line in (*lines[:MAX_STAGE_LINES], *rest)]


def check_cli_gate_answer(session: Session, gate: Gate, option: str, text: str) -> None:
    """Reject an answer that would be invalid when the session continues."""
    if gate.is_back_answer(option):
        check_cli_rollback_option(session, text)
    draft_and_plan = newest_session_change_plan(session) if gate.writes else None
    if draft_and_plan is None:
        return
    hunks, phrase = draft_and_plan[1].hunks, session_confirmation_phrase(session)
    if option == CONFIRM and text.strip() != phrase:
        raise UsageError(
            f"Option `{CONFIRM}` needs --text with the confirmation phrase.", f'Add: --text "{sanitize_line(phrase)}"'
        )
    if option == ASK and not text.strip():
        raise UsageError(
            "Option `ask` needs --text with your question.", f'For example: --text "{hunks[0].id}: Why this way?"'
        )
    if option == SOME and (problem := _invalid_hunk_choice(text, hunks)):
        raise UsageError(
            problem, f"For example: {_hunk_choice_syntax(hunks)}. The hunks are {', '.join(hunk.id for hunk in hunks)}."
        )


def _invalid_hunk_choice(text: str, hunks: Sequence[Hunk]) -> str:
    if not text.strip():
        return "Option `some` needs --text with the hunks to reject."
    try:
        choice = msgspec.json.decode(text, type=HunkChoice, strict=True)
    except msgspec.MsgspecError:
        return "The --text value is not a JSON object with `rejected` or `edited` hunks."
    chosen, hunk_ids = [*choice.rejected, *choice.edited], {hunk.id for hunk in hunks}
    if not chosen:
        return "The --text value names no hunk to reject or edit."
    unknown = [hunk for hunk in chosen if hunk not in hunk_ids]
    noun = "hunk" if len(unknown) == 1 else "hunks"
    return f"Unknown {noun}: {sanitize_line(', '.join(unknown))}." if unknown else ""


def _hunk_choice_syntax(hunks: Sequence[Hunk]) -> str:
    return f"""--text '{{"rejected": ["{hunks[-1].id}"]}}'"""
