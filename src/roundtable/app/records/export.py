"""Exports stored sessions: as one text in some format, or as the files of a layout that another tool reads."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from roundtable.app.parts import Parts
from roundtable.app.records.recount_session import recount_stored_session
from roundtable.app.records.session_project import SessionProjects
from roundtable.app.records.workspace_files import NOT_A_REGULAR_FILE, RootedFolder
from roundtable.core.events import Recorded, events_to_jsonl
from roundtable.core.faults import DamagedRecord, NotFound, UsageError
from roundtable.core.ports import Store
from roundtable.core.session import RoundRecord, Session
from roundtable.report.document import render_blocks_as_markdown
from roundtable.report.html import render_blocks_as_html, render_round_page, render_session_page
from roundtable.report.layouts import EXPORT_LAYOUTS
from roundtable.report.recount import Recount
from roundtable.report.second_opinion_run import render_data_as_json
from roundtable.report.stage_report import render_stage_report_blocks
from roundtable.report.summary import report_round_as_data, report_session_as_data
from roundtable.report.transcript import render_round_as_markdown, render_transcript

_RUN_ID = re.compile(r"run-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{6})Z")

PRINT_INSTEAD_HELP = (
    "Choose another file or folder with -o, or print the page with `roundtable show --format html` instead."
)
EXPORT_SUFFIXES = {
    "markdown": ".md", "html": ".html", "json": ".json", "jsonl": ".jsonl",
    "report-md": "-report.md", "report-html": "-report.html",
}  # fmt: skip


async def export_session_text(
    session: Session, records: Sequence[Recorded], form: str, record: RoundRecord | None = None
) -> str:
    """Return a session, or one round of it, in a format; the text ends with a line break."""
    match form:
        case "json":
            return render_data_as_json(
                report_session_as_data(session, texts=True)
                if record is None
                else report_round_as_data(record, texts=True)
            )
        case "html" if record is not None:
            return render_round_page(session, record)
        case "html":
            return render_session_page(session, await _try_recount(session) if session.decision else None)
        case "jsonl":
            return events_to_jsonl(
                [fact for fact in records if record is None or getattr(fact.event, "round", None) == record.name]
            )
        case _:
            return render_transcript(session) if record is None else render_round_as_markdown(record)


async def export_stage_report(store: Store, session: Session, records: Sequence[Recorded], form: str) -> str:
    """Return the report on a session with stages, as `report-md` or `report-html`."""
    if not session.charter.has_stages:
        raise UsageError(
            "This session has no stages, so there is no stage report.",
            "`roundtable export` exports any session as markdown or html.",
        )
    versions = await SessionProjects(store).list_versions(session, records)
    blocks = render_stage_report_blocks(session, records, {version.name: version.changes for version in versions})
    return render_blocks_as_markdown(blocks) if form == "report-md" else render_blocks_as_html(session, blocks)


async def _try_recount(session: Session) -> Recount | None:
    """Return the recount, or None: a record that cannot be recounted must not prevent the page."""
    try:
        return await recount_stored_session(session)
    except Exception:
        return None


async def find_exported_session_by_run_id(parts: Parts, run: str) -> Session:
    """Return the session of any workspace that was first run at the time in this run id."""
    at = _run_start_time(run)
    for row in await parts.index.sessions(None, None) if at else ():
        if row.opened_at <= at <= row.updated_at:
            with suppress(DamagedRecord):
                session = Session.fold(row.id, await parts.record.read(row.id))
                if session.started_at == at:
                    return session
    raise NotFound(
        f"Run artifact not found: {run}.",
        "Check --run-id: `roundtable status SESSION --json` shows the run id, such as run-20260328T120000000000Z.",
    )


def _run_start_time(run: str) -> str:
    """The time in a run id as the record writes it; empty if it is no run id."""
    match = _RUN_ID.fullmatch(run)
    if match is None:
        return ""
    year, month, day, hour, minute, second, fraction = match.groups()
    return f"{year}-{month}-{day}T{hour}:{minute}:{second}.{fraction}Z"


async def export_session_layout_files(
    parts: Parts, session: Session, records: Sequence[Recorded], layout: str
) -> dict[str, str]:
    """Return the files of a layout by path. In some layouts, all sessions of one name are runs of one session."""
    export_layout = EXPORT_LAYOUTS[layout]
    runs = [(session, records)]
    if export_layout.whole_name and session.name:
        for row in await parts.index.sessions(session.charter.workspace, None):
            if row.name == session.name and row.id != session.id:
                with suppress(DamagedRecord):
                    facts = await parts.record.read(row.id)
                    runs.append((Session.fold(row.id, facts), facts))
    runs.sort(key=lambda run: run[0].opened_at)
    holders = [await parts.leases.holder(run.id) for run, _ in runs]
    return export_layout.files(tuple(runs), next(filter(None, reversed(holders)), None))


def write_export_files(folder: Path, files: Mapping[str, str], *, force: bool) -> list[Path]:
    """Write files and return their paths; unless `force` is set, no file is overwritten and then none is written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with RootedFolder.open(folder.resolve()) as tree:
            existing = {path: data for path in files if (data := tree.read(path, 1)) is not None}
            if irregular := [path for path, data in existing.items() if data == NOT_A_REGULAR_FILE]:
                raise UsageError(f"{folder / irregular[0]} is not a regular file.", PRINT_INSTEAD_HELP)
            if existing and not force:
                first, more = next(iter(existing)), f" (and {len(existing) - 1} more)" if len(existing) > 1 else ""
                help = "Choose another file or folder with -o, or overwrite with --force."
                raise UsageError(f"{folder / first} already exists{more}.", help)
            for path, text in files.items():
                tree.write(path, text.encode())
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}.", "Choose another folder with -o.") from None
    return [folder / path for path in files]
