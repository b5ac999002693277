"""File layouts in which a session can be exported for other tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, count

from roundtable.core.events import Recorded
from roundtable.core.session import RoundRecord, Session, Turn
from roundtable.core.text.quotation import escape_markdown_line, quote_markdown
from roundtable.core.values import Value
from roundtable.report.phrases import describe_fault
from roundtable.report.second_opinion_run import render_second_opinion_document_files
from roundtable.report.vote_tables import render_vote_results

_LONGEST_FILE_NAME = 120
"""Longest part of a file name, in bytes, that is taken from a seat or round."""

ExportedSessions = tuple[tuple[Session, Sequence[Recorded]], ...]
"""The exported session with its events; all sessions of its name, oldest first, if the layout wants them."""


class ExportLayout(Value, frozen=True):
    """The description of a layout and the function that renders its files by path."""

    summary: str
    files: Callable[[ExportedSessions, str | None], dict[str, str]]
    whole_name: bool = False
    """Whether the layout includes every session of the same name."""


def _render_debate_files(sessions: ExportedSessions, _: str | None) -> dict[str, str]:
    """Each seat's words by round, and the vote count."""
    session = sessions[-1][0]
    rounds = _unique_file_names(session.rounds)
    seats = _unique_file_names(dict.fromkeys(seat for record in session.rounds.values() for seat in record.turns))
    files = {
        f"debate/{rounds[record.name]}/agent-{seats[turn.seat]}.md": _render_speech(record, turn)
        for record in session.rounds.values()
        if not record.opened.turns.secret
        for turn in record.turns.values()
    }
    results = render_vote_results(session)
    return files | ({"debate/vote-results.md": results} if results else {})


def _render_speech(record: RoundRecord, turn: Turn) -> str:
    text = quote_markdown(turn.move.text) if turn.move else "No answer."
    text = escape_markdown_line(describe_fault(turn.missed.fault)) if turn.missed else text
    return f"# {escape_markdown_line(turn.seat)} in {escape_markdown_line(record.name)}\n\n{text}\n"


def _unique_file_names(names: Iterable[str]) -> dict[str, str]:
    """A unique, valid file name for each name of a seat or round."""
    files: dict[str, str] = {}
    for name in names:
        base = re.sub(r"[/\\\x00-\x1f\x7f]", "-", name).encode()[:_LONGEST_FILE_NAME].decode(errors="ignore")
        used_names = {file.casefold() for file in files.values()}
        numbered = (f"{base}-{number}" for number in count(2))
        files[name] = next(candidate for candidate in chain([base], numbered) if candidate.casefold() not in used_names)
    return files


EXPORT_LAYOUTS: dict[str, ExportLayout] = {
    "runs": ExportLayout(
        "sessions/, runs/ and logs/ by session key and run id", render_second_opinion_document_files, whole_name=True
    ),
    "debate": ExportLayout("debate/ROUND/agent-NAME.md and debate/vote-results.md", _render_debate_files),
}
