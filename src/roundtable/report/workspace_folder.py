"""The files in a workspace's `.roundtable/`, rendered from the record and identical on every run.

They contain only recorded times and no paths of this machine, so the folder can be committed and shared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from roundtable.core.ledger import Entry, EntryKind
from roundtable.core.session import SeatState, Session
from roundtable.core.text.quotation import escape_markdown_line, quote_markdown
from roundtable.core.text.sanitize import is_file_name_letter, sanitize_text
from roundtable.report.second_opinion_run import render_data_as_json
from roundtable.report.transcript import (
    render_decision_as_markdown,
    render_discussion_as_markdown,
    render_topic_as_markdown,
)

GENERATED_FILE_MARK = "Made by Roundtable from its record; what is changed here is lost at the next `roundtable sync`."
"""Marks every generated file, so its text never changes; a file without it belongs to a person and is never changed."""

_LONGEST_NAME = 100
"""Bytes."""


class StatusFile(msgspec.Struct, frozen=True):
    """`status.json`: the state of a session for programs that read the folder."""

    note: str
    phase: str
    round: str | None
    rounds: int
    current_seat: str | None
    scores: dict[str, float]
    seats: Mapping[str, str]
    outcome: str | None
    consensus: bool


def render_session_document_files(session: Session) -> dict[str, str]:
    """The files of one session by path."""
    texts = {
        "topic.md": render_topic_as_markdown(session),
        "discussion.md": render_discussion_as_markdown(session),
        "decisions.md": render_decision_as_markdown(session),
    }
    files = {name: _with_mark(_without_local_paths(session, text)) for name, text in texts.items()}
    files["status.json"] = render_data_as_json(_build_status_file(session))
    return {f"sessions/{_session_folder_name(session)}/{name}": text for name, text in files.items()}


def render_memory_document_files(entries: Sequence[Entry]) -> dict[str, str]:
    """The files of the workspace's memory, oldest entry first so that new entries are appended."""
    entries = sorted(entries, key=lambda entry: (entry.at, entry.id))
    errors = [entry for entry in entries if entry.kind is EntryKind.ERROR]
    others = [entry for entry in entries if entry.kind is not EntryKind.ERROR]
    return {
        "chronicle.md": _with_mark(_render_entries("# Chronicle", others, "No decisions so far.")),
        "error-log.md": _with_mark(_render_entries("# Error log", errors, "No errors so far.")),
    }


def _session_folder_name(session: Session) -> str:
    """The slug, which begins with the date, or the id if the slug is no valid folder name."""
    return session.charter.slug if _is_folder_name(session.charter.slug) else session.id


def _is_folder_name(slug: str) -> bool:
    plain = all(letter == "-" or is_file_name_letter(letter) for letter in slug) and slug == slug.lower()
    return plain and not slug.startswith("-") and 0 < len(slug.encode()) <= _LONGEST_NAME


def _build_status_file(session: Session) -> StatusFile:
    """The state of a session. Scores are the last of each seat, out of ten."""
    newest = session.newest_round
    moves = [turn.move for record in session.rounds.values() for turn in record.turns.values() if turn.move]
    scores = {move.seat: move.verdict.score for move in moves if move.verdict.counts and move.verdict.score is not None}
    speaking = [turn.seat for turn in newest.turns.values() if turn.state is SeatState.ASKED] if newest else []
    decision = session.decision
    return StatusFile(
        GENERATED_FILE_MARK,
        session.status,
        newest.name if newest else None,
        len(session.rounds),
        speaking[0] if speaking and decision is None else None,
        {seat: float(f"{score * 10:.3f}") for seat, score in scores.items()},
        session.seat_states,
        str(decision.outcome) if decision else None,
        decision is not None and decision.is_decided,
    )


def _with_mark(text: str) -> str:
    return f"<!-- {GENERATED_FILE_MARK} -->\n\n{text}"


def _without_local_paths(session: Session, text: str) -> str:
    """The text without the absolute paths of this machine that Roundtable wrote into it."""
    workspace = session.charter.workspace
    voices = {voice for seat in session.charter.seats for voice in seat.voices if ":/" in voice}
    for voice in sorted(voices, key=len, reverse=True):
        kind, _, path = voice.partition(":")
        text = text.replace(escape_markdown_line(voice), escape_markdown_line(f"{kind}:{path.rpartition('/')[2]}"))
    if not workspace.strip("/"):
        return text
    # Only where a path begins: the same letters inside another path or an address stay.
    workspace_paths = "|".join(re.escape(f"{name}/") for name in (workspace, escape_markdown_line(workspace)))
    return re.sub(rf"(?<![^\s\"'`(\[<:=,])(?:{workspace_paths})", "", text)


def _render_entries(title: str, entries: Sequence[Entry], nothing: str) -> str:
    parts = [part for entry in entries for part in _render_entry(entry)]
    return "\n\n".join([title, *(parts or [nothing])]) + "\n"


def _render_entry(entry: Entry) -> Iterator[str]:
    head = (entry.at[:10], entry.id, str(entry.kind), entry.state, entry.seat)
    yield f"## {' · '.join(escape_markdown_line(part) for part in head if part)}"
    if entry.question:
        yield f"**{escape_markdown_line(entry.question)}**"
    yield quote_markdown(entry.text)
    if entry.why:
        yield f"Why: {escape_markdown_line(sanitize_text(entry.why))}"
    if entry.due:
        yield f"Due: {escape_markdown_line(entry.due)}"
    if _is_folder_name(entry.slug):
        yield f"From [{entry.slug}](sessions/{entry.slug}/discussion.md)"
