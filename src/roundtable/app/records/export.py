"""A session as files: one text in one of the formats, or a whole layout that another tool knows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from roundtable.app.parts import Parts
from roundtable.app.records.recount_session import recount_stored_session
from roundtable.app.records.session_project import list_project_versions
from roundtable.app.records.workspace_files import NO_FILE, RootedFolder
from roundtable.core.events import Recorded, encode_events_as_jsonl
from roundtable.core.faults import NotFound, UsageError
from roundtable.core.ports import Store
from roundtable.core.session import RoundRecord, Session
from roundtable.report.document import render_blocks_as_markdown
from roundtable.report.html import render_blocks_as_html, render_round_page, render_session_page
from roundtable.report.layouts import EXPORT_LAYOUTS
from roundtable.report.recount import Recount
from roundtable.report.second_opinion_run import render_json_document
from roundtable.report.stage_report import render_stage_report_blocks
from roundtable.report.summary import summarize_round, summarize_session
from roundtable.report.transcript import render_round_as_markdown, render_transcript

_RUN_ID = re.compile(r"run-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{6})Z")

PRINT_INSTEAD_HELP = (
    "Give another place with -o; `roundtable show --format html` prints the same instead of writing it."
)
EXPORT_SUFFIXES = {
    "markdown": ".md", "html": ".html", "json": ".json", "jsonl": ".jsonl",
    "report-md": "-report.md", "report-html": "-report.html",
}  # fmt: skip


async def export_session_text(
    session: Session, records: Sequence[Recorded], form: str, record: RoundRecord | None = None
) -> str:
    """The session, or one round of it, in one of the formats; it ends with a line break."""
    match form:
        case "json":
            return render_json_document(
                summarize_session(session, texts=True) if record is None else summarize_round(record, texts=True)
            )
        case "html" if record is not None:
            return render_round_page(session, record)
        case "html":
            return render_session_page(session, await _counted_again(session) if session.decision else None)
        case "jsonl":
            return encode_events_as_jsonl(
                [fact for fact in records if record is None or getattr(fact.event, "round", None) == record.name]
            )
        case _:
            return render_transcript(session) if record is None else render_round_as_markdown(record)


async def export_stage_report(store: Store, session: Session, records: Sequence[Recorded], form: str) -> str:
    """The report on a meeting in stages, in one of its formats."""
    if not session.charter.has_stages:
        raise UsageError(
            "This session was not held in stages, and only such have a report.",
            "`roundtable export` with markdown or html writes any session.",
        )
    made = {version.name: version.changes for version in await list_project_versions(store, session, records)}
    blocks = render_stage_report_blocks(session, records, made)
    return render_blocks_as_markdown(blocks) if form == "report-md" else render_blocks_as_html(session, blocks)


async def _counted_again(session: Session) -> Recount | None:
    """The recount where there is one: a page is not lost because an odd record cannot be counted again."""
    try:
        return await recount_stored_session(session)
    except Exception:
        return None


async def find_stored_session_of_run(parts: Parts, run: str) -> Session:
    """The session that was first run at the time in this run id, wherever its workspace is."""
    at = _run_start_time(run)
    for row in await parts.index.sessions(None, None) if at else ():
        if row.opened_at <= at <= row.updated_at:
            session = Session.fold(row.id, await parts.record.read(row.id))
            if session.started_at == at:
                return session
    raise NotFound(
        f"Run artifact not found: {run}.",
        "Check --run-id: `roundtable status SESSION --json` shows a session's, such as run-20260328T120000000000Z.",
    )


def _run_start_time(run: str) -> str:
    """The time in a run id as the record writes it; empty if it is no run id."""
    match = _RUN_ID.fullmatch(run)
    if match is None:
        return ""
    year, month, day, hour, minute, second, fraction = match.groups()
    return f"{year}-{month}-{day}T{hour}:{minute}:{second}.{fraction}Z"


async def export_session_layout(
    parts: Parts, session: Session, records: Sequence[Recorded], layout: str
) -> dict[str, str]:
    """The files of a layout, by path. Sessions of one name in one workspace are runs of one session there."""
    chosen = EXPORT_LAYOUTS[layout]
    kept = [(session, records)]
    if chosen.whole_name and session.name:
        for row in await parts.index.sessions(session.charter.workspace, None):
            if row.name == session.name and row.id != session.id:
                facts = await parts.record.read(row.id)
                kept.append((Session.fold(row.id, facts), facts))
    kept.sort(key=lambda session_records: session_records[0].opened_at)
    holders = [await parts.leases.holder(it.id) for it, _ in kept]
    return chosen.files(tuple(kept), next(filter(None, reversed(holders)), None))


def write_export_files(folder: Path, files: Mapping[str, str], *, force: bool) -> list[Path]:
    """Put files in place, all of them or none that would overwrite something; the paths are returned."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with RootedFolder.below(folder.resolve()) as tree:
            there = {path: found for path in files if (found := tree.read(path, 1)) is not None}
            if odd := [path for path, found in there.items() if found == NO_FILE]:
                raise UsageError(f"{folder / odd[0]} is no plain file.", PRINT_INSTEAD_HELP)
            if (taken := list(there)) and not force:
                more = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
                help = "Give another place with -o, or --force to overwrite."
                raise UsageError(f"{folder / taken[0]} is there already{more}.", help)
            for path, text in files.items():
                tree.write(path, text.encode())
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}.", "Give another place with -o.") from None
    return [folder / path for path in files]


__all__ = [
    "EXPORT_LAYOUTS",
    "EXPORT_SUFFIXES",
    "export_session_layout",
    "export_session_text",
    "export_stage_report",
    "find_stored_session_of_run",
    "write_export_files",
]
