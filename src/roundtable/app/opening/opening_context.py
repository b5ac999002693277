"""Gathers the context of a new meeting: named files, folders, texts from a door, and the project itself."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from roundtable.app.opening.agenda import Agenda
from roundtable.app.opening.context_files import ContextFileRefused, read_context_file, resolve_context_file_path
from roundtable.app.opening.context_window import ContextRoom
from roundtable.app.opening.file_selection import FileSelection, list_context_file_candidates, select_context_files
from roundtable.app.opening.relevance import extract_context_search_terms, fit_diff_into_opening_context
from roundtable.core.faults import UsageError
from roundtable.core.text.diffs import split_diff_text_by_file
from roundtable.core.text.file_names import is_sensitive_file_name
from roundtable.core.text.redaction import Redactor
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.usage import BYTES_PER_TOKEN
from roundtable.workshop.repo.git import GitReader, GitUnavailable, LoggedCommit, open_git

ABOUT_CONTEXT_TITLE = "about this context"
PROJECT_TITLE = "the project"
UNCOMMITTED_TITLE = "uncommitted changes"
_SECRET_FILES = "Files with a possible secret that are not shown"

_MAX_NAMED_FILES = 8
"""The number of files that a notice names."""
_MAX_LISTED_FILES = 400
_MAX_COMMITS = 10


class OpeningContext(NamedTuple):
    """The context by name, in reading order, and notices for the person about what is not shown."""

    shown: dict[str, bytes]
    notices: tuple[str, ...] = ()


class ContextGatherer:
    """Gathers context that fits into a meeting's room; reads only what may be shown, and writes nothing."""

    def __init__(self, redactor: Redactor, workspace: Path, ignore: Sequence[str], checks: Sequence[str] = ()) -> None:
        self._redactor = redactor
        self._workspace = workspace
        self._ignore = ignore
        self._checks = checks

    async def gather(self, agenda: Agenda, room: ContextRoom, *, project: bool, may_ask: bool = True) -> OpeningContext:
        """Return the context of an agenda; with `project`, the project itself if nothing else is named.

        With `may_ask`, the seats see the names of the checks that they may ask for.
        """
        return await asyncio.to_thread(self._gather, agenda, room, project, may_ask)

    def _gather(self, agenda: Agenda, room: ContextRoom, project: bool, may_ask: bool) -> OpeningContext:
        shown = {name: read_context_file(self._redactor, self._workspace, name) for name in agenda.files}
        _check_room(shown, room)
        context = _ContextBuilder(shown, max(0, room.gathered - sum(map(len, shown.values()))))
        words = extract_context_search_terms(agenda.question)
        for name, text in agenda.extra_context.items():
            context.add(name, self._redactor.redact(text).encode())
        for name, text in agenda.texts.items():
            self._add_text(context, words, name, text, context.room)
        for folder in agenda.folders:
            self._add_folder(context, words, folder)
        if project and not (agenda.files or agenda.folders or agenda.texts):
            self._add_project(context, words)
        about = [*context.notices]
        if project and may_ask and self._checks:
            about.append(f"You may ask for these checks by name, and for no others: {', '.join(self._checks)}.")
        if about:
            context.shown[ABOUT_CONTEXT_TITLE] = "\n".join(about).encode()
        return OpeningContext(context.shown, tuple(context.notices))

    def _add_text(self, context: _ContextBuilder, words: Sequence[str], name: str, text: str, room: int) -> None:
        """Add a text. A diff is added file by file, without sensitive files and secrets, and cut to fit."""
        sections = split_diff_text_by_file(text)
        sensitive = [section.path for section in sections if any(map(is_sensitive_file_name, section.paths))]
        secret = [
            section.path or name
            for section in sections
            if section.path not in sensitive and self._redactor.finds(section.text)
        ]
        allowed = [section for section in sections if section.path not in sensitive]
        kept = [section for section in allowed if (section.path or name) not in secret]
        cut = fit_diff_into_opening_context(words, kept, room)
        context.add(name, cut.text.encode())
        context.note_files("Sensitive files that are not shown", sensitive)
        context.note_files(_SECRET_FILES, secret)
        context.note_files(f"Files shown only in part, to save room ({name})", cut.parted)
        context.note_files(f"Files left out, to save room ({name})", [path or name for path in cut.left_out])

    def _add_folder(self, context: _ContextBuilder, words: Sequence[str], folder: str) -> None:
        within = resolve_context_file_path(self._workspace.resolve(), folder, folder).as_posix()
        if not (self._workspace / within).is_dir():
            raise ContextFileRefused(
                f"There is no folder {folder} in this workspace.", "Name another folder, or name a file with `-f`."
            )
        with open_git(self._workspace) as git:
            paths = list_context_file_candidates(git.list_files(), self._ignore, within)
            commits = git.recent_commits() if git.has_repository else ()
            selection = self._add_relevant_files(context, words, paths, commits)
        if not selection.files:
            raise ContextFileRefused(
                f"No file in {folder} can be shown: ignored, sensitive, binary and large files are skipped.",
                "Name another folder, or name a file with `-f`.",
            )
        where = "" if within == "." else f" of {folder}"
        context.notices.append(_describe_selection(selection, f"files{where}"))

    def _add_project(self, context: _ContextBuilder, words: Sequence[str]) -> None:
        """Add the branch and recent commits, the uncommitted changes, and the relevant files."""
        try:
            with open_git(self._workspace) as git:
                self._describe_project(context, words, git)
        except GitUnavailable as error:
            context.notices.append(f"The project is not shown. {error.message} {error.help}")

    def _describe_project(self, context: _ContextBuilder, words: Sequence[str], git: GitReader) -> None:
        files = git.list_files()
        paths = list_context_file_candidates(files, self._ignore)
        commits = git.recent_commits() if git.has_repository else []
        described = _render_project(git, paths, commits, context.room // 5)
        context.add(PROJECT_TITLE, self._redactor.redact(described).encode())
        if git.has_repository:
            self._add_text(context, words, UNCOMMITTED_TITLE, git.diff_uncommitted().diff, context.room // 2)
        context.note_files("Sensitive files that are not shown", tuple(filter(is_sensitive_file_name, files)))
        selection = self._add_relevant_files(context, words, paths, commits)
        if selection.candidates:
            context.notices.append(_describe_selection(selection, "files of the project"))

    def _add_relevant_files(
        self, context: _ContextBuilder, words: Sequence[str], paths: Sequence[str], commits: Sequence[LoggedCommit]
    ) -> FileSelection:
        fresh = [path for path in paths if path not in context.shown]
        selection = select_context_files(self._redactor, self._workspace, words, fresh, commits, context.room)
        for path, data in selection.files.items():
            context.add(path, data)
        context.note_files(_SECRET_FILES, selection.secret)
        return selection


class _ContextBuilder:
    """The context so far, the room that is left, and the notices."""

    def __init__(self, shown: dict[str, bytes], room: int) -> None:
        self.shown = shown
        self.room = room
        self.notices: list[str] = []

    def add(self, name: str, data: bytes) -> None:
        if data.strip():
            self.shown[name] = data
            self.room = max(0, self.room - len(data))

    def note_files(self, title: str, names: Sequence[str]) -> None:
        """Add a notice that names files, or the first few of many."""
        if names:
            more = f" and {len(names) - _MAX_NAMED_FILES} more" if len(names) > _MAX_NAMED_FILES else ""
            listed = ", ".join(sanitize_line(name, 120) for name in names[:_MAX_NAMED_FILES])
            self.notices.append(f"{title}: {listed}{more}.")


def _check_room(shown: dict[str, bytes], room: ContextRoom) -> None:
    """Raise UsageError if the files that the person named do not fit; they are never cut."""
    size = sum(map(len, shown.values()))
    if room.named is not None and size > room.named:
        raise UsageError(
            f"The files you named have about {size // BYTES_PER_TOKEN:,} tokens, but {room.voice} has room for only "
            f"{room.named // BYTES_PER_TOKEN:,}.",
            "Show ranges of lines, such as path:10-50, or use a model with a larger context window.",
        )


def _render_project(git: GitReader, paths: Sequence[str], commits: Sequence[LoggedCommit], room: int) -> str:
    """Return the branch, the recent commits and the file names of the project, as far as they fit."""
    lines = [f"Branch: {sanitize_line(branch, 200)}"] if git.has_repository and (branch := git.current_branch()) else []
    lines += (
        ["Recent commits:", *(f"- {sanitize_line(commit.line, 200)}" for commit in commits[:_MAX_COMMITS])]
        if commits
        else []
    )
    lines += ["Files:"] if paths else []
    room -= sum(len(line) + 1 for line in lines)
    for number, path in enumerate(paths):
        name = sanitize_line(path, 200)
        room -= len(name.encode()) + 1
        if room < 0 or number == _MAX_LISTED_FILES:
            lines.append(f"and {len(paths) - number} more files")
            break
        lines.append(name)
    return "\n".join(lines)


def _describe_selection(selection: FileSelection, files: str) -> str:
    left_out = selection.candidates - len(selection.files)
    rest = f"; {left_out} left out to save room" if left_out else ""
    return f"{len(selection.files)} of {selection.candidates} {files} are shown{rest}."
