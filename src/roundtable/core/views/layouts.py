"""Layouts of files that other tools know a discussion by: one table, a name and what it writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from roundtable.core.events import Recorded
from roundtable.core.session import RoundRecord, Session, Turn
from roundtable.core.values import Value
from roundtable.core.views.ballots import vote_results
from roundtable.core.views.phrases import fault_line
from roundtable.core.views.quoting import inline, quoted
from roundtable.core.views.runs import state_files

Kept = tuple[tuple[Session, Sequence[Recorded]], ...]
"""Sessions of one name with their facts, the oldest first; the last is the one asked for."""


class Layout(Value, frozen=True):
    """What a layout is for, and the files it comes to, by path."""

    summary: str
    files: Callable[[Kept, str | None], dict[str, str]]
    whole_name: bool = False
    """True where every session of the same name belongs in it."""


def _debate(kept: Kept, _: str | None) -> dict[str, str]:
    """Each seat's words by round, and the count."""
    session = kept[-1][0]
    files = {
        f"debate/{_file_name(record.name)}/agent-{_file_name(turn.seat)}.md": _speech(record, turn)
        for record in session.rounds.values()
        if not record.opened.turns.secret
        for turn in record.turns.values()
    }
    results = vote_results(session)
    return files | ({"debate/vote-results.md": results} if results else {})


def _speech(record: RoundRecord, turn: Turn) -> str:
    said = quoted(turn.move.text) if turn.move else "No answer."
    said = inline(fault_line(turn.missed.fault)) if turn.missed else said
    return f"# {inline(turn.seat)} in {inline(record.name)}\n\n{said}\n"


def _file_name(name: str) -> str:
    """A seat can be called anything; a file cannot."""
    return re.sub(r"[/\\\x00-\x1f\x7f]", "-", name)[:80]


LAYOUTS: dict[str, Layout] = {
    "runs": Layout("sessions/, runs/ and logs/ by session key and run id", state_files, whole_name=True),
    "debate": Layout("debate/ROUND/agent-NAME.md and debate/vote-results.md", _debate),
}
