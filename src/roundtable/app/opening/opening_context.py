"""What a meeting is shown when it begins: named files, folders, texts a door brings, and the project itself."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from roundtable.app.opening.agenda import Agenda
from roundtable.app.opening.context_files import ContextFileRefused, read_context_file, resolve_context_path
from roundtable.app.opening.context_window import ContextRoom
from roundtable.app.opening.file_selection import FileSelection, list_context_file_candidates, select_context_files
from roundtable.app.opening.relevance import extract_question_words, fit_diff_into_context
from roundtable.core.faults import UsageError
from roundtable.core.text.diffs import split_diff_by_file
from roundtable.core.text.file_names import is_sensitive_path
from roundtable.core.text.redaction import Redactor
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.usage import BYTES_PER_TOKEN
from roundtable.workshop.repo.git import GitReader, GitUnavailable, LoggedCommit, open_git

ABOUT_CONTEXT_TITLE = "about this context"
PROJECT_TITLE = "the project"
UNCOMMITTED_TITLE = "uncommitted changes"

_NAMED = 8
"""How many of the things left out are named."""
_LISTED = 400
_COMMITS = 10


class OpeningContext(NamedTuple):
    """Each thing to be shown under its name, in the order in which it is read; and what a person is told about it."""

    shown: dict[str, bytes]
    notices: tuple[str, ...] = ()


class ContextGatherer:
    """Puts together what a meeting is shown, within its room. Reads only what may be shown, and writes nothing."""

    def __init__(self, redactor: Redactor, workspace: Path, ignore: Sequence[str], checks: Sequence[str] = ()) -> None:
        self._redactor = redactor
        self._workspace = workspace
        self._ignore = ignore
        self._checks = checks

    async def gather(self, agenda: Agenda, room: ContextRoom, *, project: bool, may_ask: bool = True) -> OpeningContext:
        """What this agenda comes to; with `project`, the project itself if nothing else is named.

        Seats that `may_ask` for checks are told which there are.
        """
        return await asyncio.to_thread(self._gather, agenda, room, project, may_ask)

    def _gather(self, agenda: Agenda, room: ContextRoom, project: bool, may_ask: bool) -> OpeningContext:
        shown = {name: read_context_file(self._redactor, self._workspace, name) for name in agenda.files}
        _check_room(shown, room)
        pile = _Pile(shown, max(0, room.gathered - sum(map(len, shown.values()))))
        words = extract_question_words(agenda.question)
        for name, text in agenda.told.items():
            pile.add(name, self._redactor.redact(text).encode())
        for name, text in agenda.texts.items():
            self._diff(pile, words, name, text, pile.room)
        for folder in agenda.folders:
            self._folder(pile, words, folder)
        if project and not (agenda.files or agenda.folders or agenda.texts):
            self._project(pile, words)
        told = [*pile.notices]
        if project and may_ask and self._checks:
            told.append(f"Checks you may ask for by name, and no others: {', '.join(self._checks)}.")
        if told:
            pile.shown[ABOUT_CONTEXT_TITLE] = "\n".join(told).encode()
        return OpeningContext(pile.shown, tuple(pile.notices))

    def _diff(self, pile: _Pile, words: Sequence[str], name: str, text: str, room: int) -> None:
        """A text, file by file if it is a diff: without sensitive files and secrets, cut where it has no room."""
        found = split_diff_by_file(text)
        sensitive = [section.path for section in found if any(map(is_sensitive_path, section.paths))]
        secret = [
            section.path or name
            for section in found
            if section.path not in sensitive and self._redactor.finds(section.text)
        ]
        kept = [section for section in found if section.path not in sensitive and (section.path or name) not in secret]
        cut = fit_diff_into_context(words, kept, room)
        pile.add(name, cut.text.encode())
        pile.say("Sensitive, so not shown", sensitive)
        pile.say("Holds what looks like a secret, so not shown", secret)
        pile.say(f"Shown only in part, for room ({name})", cut.parted)
        pile.say(f"Left out for room ({name})", [path or name for path in cut.left_out])

    def _folder(self, pile: _Pile, words: Sequence[str], folder: str) -> None:
        within = resolve_context_path(self._workspace.resolve(), folder, folder).as_posix()
        if not (self._workspace / within).is_dir():
            raise ContextFileRefused(
                f"There is no folder {folder} here.", "Name one of the workspace, or a file with -f."
            )
        with open_git(self._workspace) as git:
            paths = list_context_file_candidates(git.list_files(), self._ignore, within)
            found = self._choose(pile, words, paths, git.recent_commits() if git.has_repository else ())
        if not found.files:
            raise ContextFileRefused(
                f"Nothing in {folder} can be shown: ignored, sensitive, binary and larger files are passed over.",
                "Name a file with -f, or another folder.",
            )
        where = "" if within == "." else f" of {folder}"
        pile.tell(f"{len(found.files)} of {found.among} files{where} are shown{_rest(found)}.")

    def _project(self, pile: _Pile, words: Sequence[str]) -> None:
        """Branch and recent commits, uncommitted changes, and the files that bear on the question."""
        try:
            with open_git(self._workspace) as git:
                self._look_at_project(pile, words, git)
        except GitUnavailable as error:
            pile.tell(f"The project is not shown. {error.message} {error.help}")

    def _look_at_project(self, pile: _Pile, words: Sequence[str], git: GitReader) -> None:
        files = git.list_files()
        paths = list_context_file_candidates(files, self._ignore)
        commits = git.recent_commits() if git.has_repository else []
        described = _described(git, paths, commits, pile.room // 5)
        pile.add(PROJECT_TITLE, self._redactor.redact(described).encode())
        if git.has_repository:
            self._diff(pile, words, UNCOMMITTED_TITLE, git.diff_uncommitted().diff, pile.room // 2)
        pile.say("Sensitive, so not shown", tuple(filter(is_sensitive_path, files)))
        found = self._choose(pile, words, paths, commits)
        if found.among:
            pile.tell(f"{len(found.files)} of {found.among} files of the project are shown{_rest(found)}.")

    def _choose(
        self, pile: _Pile, words: Sequence[str], paths: Sequence[str], commits: Sequence[LoggedCommit]
    ) -> FileSelection:
        fresh = [path for path in paths if path not in pile.shown]
        found = select_context_files(self._redactor, self._workspace, words, fresh, commits, pile.room)
        for path, data in found.files.items():
            pile.add(path, data)
        pile.say("Holds what looks like a secret, so not shown", found.secret)
        return found


class _Pile:
    """What is shown so far, how much more has room, and what is to be told about it."""

    def __init__(self, shown: dict[str, bytes], room: int) -> None:
        self.shown = shown
        self.room = room
        self.notices: list[str] = []

    def add(self, name: str, data: bytes) -> None:
        if data.strip():
            self.shown[name] = data
            self.room = max(0, self.room - len(data))

    def say(self, what: str, names: Sequence[str]) -> None:
        """Name what is not shown, or the first few of many."""
        if names:
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            self.tell(f"{what}: {', '.join(sanitize_line(name, 120) for name in names[:_NAMED])}{more}.")

    def tell(self, sentence: str) -> None:
        self.notices.append(sentence)


def _check_room(shown: dict[str, bytes], room: ContextRoom) -> None:
    """What a person names is shown whole or not at all."""
    size = sum(map(len, shown.values()))
    if room.named is not None and size > room.named:
        raise UsageError(
            f"The files named come to about {size // BYTES_PER_TOKEN:,} tokens, and {room.voice} has room for "
            f"{room.named // BYTES_PER_TOKEN:,}.",
            "Show parts of them, such as path:10-50, or seat a model with a larger window.",
        )


def _described(git: GitReader, paths: Sequence[str], commits: Sequence[LoggedCommit], room: int) -> str:
    """The project in a few lines: where its history stands, and what its files are called."""
    lines = [f"Branch: {sanitize_line(branch, 200)}"] if git.has_repository and (branch := git.current_branch()) else []
    lines += (
        ["Recent commits:", *(f"- {sanitize_line(commit.line, 200)}" for commit in commits[:_COMMITS])]
        if commits
        else []
    )
    lines += ["Files:"] if paths else []
    room -= sum(len(line) + 1 for line in lines)
    for number, path in enumerate(paths):
        name = sanitize_line(path, 200)
        room -= len(name.encode()) + 1
        if room < 0 or number == _LISTED:
            lines.append(f"and {len(paths) - number} more files")
            break
        lines.append(name)
    return "\n".join(lines)


def _rest(found: FileSelection) -> str:
    left_out = found.among - len(found.files)
    return f"; {left_out} left out for room" if left_out else ""
