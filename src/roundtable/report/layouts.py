"""Layouts of files that other tools know a discussion by: one table, a name and what it writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, count

from roundtable.core.events import Recorded
from roundtable.core.session import RoundRecord, Session, Turn
from roundtable.core.text.quotation import escape_markdown_line, quote_markdown
from roundtable.core.values import Value
from roundtable.report.phrases import describe_fault
from roundtable.report.second_opinion_run import render_run_files
from roundtable.report.vote_tables import render_vote_results

LONGEST_FILE_NAME = 120
"""The bytes of a name that its file is called after; most file systems take 255 in all."""

ExportedSessions = tuple[tuple[Session, Sequence[Recorded]], ...]
"""The session asked for with its facts; where a layout takes every session of its name, the oldest first."""


class ExportLayout(Value, frozen=True):
    """What a layout is for, and the files it comes to, by path."""

    summary: str
    files: Callable[[ExportedSessions, str | None], dict[str, str]]
    whole_name: bool = False
    """True where every session of the same name belongs in it."""


def _debate(kept: ExportedSessions, _: str | None) -> dict[str, str]:
    """Each seat's words by round, and the count."""
    session = kept[-1][0]
    rounds = _file_names(session.rounds)
    seats = _file_names(dict.fromkeys(seat for record in session.rounds.values() for seat in record.turns))
    files = {
        f"debate/{rounds[record.name]}/agent-{seats[turn.seat]}.md": _speech(record, turn)
        for record in session.rounds.values()
        if not record.opened.turns.secret
        for turn in record.turns.values()
    }
    results = render_vote_results(session)
    return files | ({"debate/vote-results.md": results} if results else {})


def _speech(record: RoundRecord, turn: Turn) -> str:
    said = quote_markdown(turn.move.text) if turn.move else "No answer."
    said = escape_markdown_line(describe_fault(turn.missed.fault)) if turn.missed else said
    return f"# {escape_markdown_line(turn.seat)} in {escape_markdown_line(record.name)}\n\n{said}\n"


def _file_names(names: Iterable[str]) -> dict[str, str]:
    """A seat can be called anything; a file cannot, and no two can be called the same."""
    files: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[/\\\x00-\x1f\x7f]", "-", name).encode()[:LONGEST_FILE_NAME].decode(errors="ignore")
        taken = {file.casefold() for file in files.values()}
        numbered = (f"{plain}-{number}" for number in count(2))
        files[name] = next(it for it in chain([plain], numbered) if it.casefold() not in taken)
    return files


EXPORT_LAYOUTS: dict[str, ExportLayout] = {
    "runs": ExportLayout("sessions/, runs/ and logs/ by session key and run id", render_run_files, whole_name=True),
    "debate": ExportLayout("debate/ROUND/agent-NAME.md and debate/vote-results.md", _debate),
}
