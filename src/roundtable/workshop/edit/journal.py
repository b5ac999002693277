"""The write-ahead journal of a workspace: enough to finish a change, roll it back, or undo it later.

A journal is a folder in the user's data: the plan, and every file before and after, stored by digest. Its parent folder
is its state: `open` while the change is written, then `done`, and `undone` after an undo. Each transition is one
rename.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import msgspec

from roundtable.core.faults import RoundtableError
from roundtable.core.reasons import CommitStepsSkipped
from roundtable.workshop.repo.commits import RefUpdate
from roundtable.workshop.rooted_files import FileContent

OPEN, DONE, UNDONE = "open", "done", "undone"
_DRAFT_FOLDER = "draft"
_PLAN_FILE = "journal.json"


class JournaledFile(msgspec.Struct, frozen=True):
    """A file that the journal stores."""

    digest: str
    mode: int
    owner: tuple[int, int] | None = None


class JournalEntry(msgspec.Struct, frozen=True):
    """One path before and after the change; None means that there is no file."""

    path: str
    before: JournaledFile | None
    after: JournaledFile | None


class Journal(msgspec.Struct, frozen=True):
    """One change of a workspace: its files, the folders it creates and removes, and the ref it moves.

    `key` is the step of the session that asked for it; `undoes` is the change it undoes. `draft` is the unique name of
    temporary files. `skipped` is what `git commit` would have done in addition; a journal of an earlier version
    has it in words, as `passed_over`.
    """

    id: str
    at: str
    key: str = ""
    entries: tuple[JournalEntry, ...] = ()
    files: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    unmade: tuple[str, ...] = ()
    ref: RefUpdate | None = None
    branch: str = ""
    undoes: str = ""
    draft: str = ""
    skipped: CommitStepsSkipped | None = None
    passed_over: str = ""

    @property
    def session(self) -> str:
        """The session that asked for the change."""
        return self.key.partition("/")[0]

    @property
    def commit(self) -> str:
        """The commit that the change made, if any."""
        return self.ref.new if self.ref else ""


class JournalFolder:
    """All journals of one workspace; changing them requires the lock."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    @contextmanager
    def lock(cls, journals: Path, workspace: Path, *, wait: bool = True) -> Generator[JournalFolder | None]:
        """Lock the journals of a workspace; None if another process holds the lock and `wait` is false."""
        folder = journal_folder_path(journals, workspace)
        for part in (OPEN, DONE, UNDONE):
            (folder / part).mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(folder / "lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            yield cls(folder) if _try_lock(lock, wait=wait) else None
        finally:
            os.close(lock)

    def begin(self, contents: Iterable[FileContent]) -> JournalDraft:
        """Store the files of a planned change; it takes effect only with `JournalDraft.save`."""
        draft = self._folder / _DRAFT_FOLDER
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        for content in contents:
            _write_durably(draft / _digest(content.data), content.data)
        return JournalDraft(draft, self._folder / OPEN, str(self._next_number()))

    def finish(self, journal: Journal) -> None:
        """Mark a change as complete; a change that it undoes becomes undone."""
        if journal.undoes and (self._folder / DONE / journal.undoes).exists():
            _rename_durably(self._folder / DONE / journal.undoes, self._folder / UNDONE / journal.undoes)
        _rename_durably(self._folder / OPEN / journal.id, self._folder / DONE / journal.id)

    def drop(self, journal: Journal) -> None:
        """Delete the journal of a change that never happened."""
        shutil.rmtree(self._folder / _DRAFT_FOLDER, ignore_errors=True)
        _rename_durably(self._folder / OPEN / journal.id, self._folder / _DRAFT_FOLDER)
        shutil.rmtree(self._folder / _DRAFT_FOLDER, ignore_errors=True)

    def read_file(self, journal: Journal, stored: JournaledFile) -> FileContent:
        """Return a file that the journal stores."""
        for state in (OPEN, DONE, UNDONE):
            path = self._folder / state / journal.id / stored.digest
            if path.exists():
                data = path.read_bytes()
                if _digest(data) == stored.digest:
                    return FileContent(data, stored.mode, stored.owner)
        raise RoundtableError(
            f"The journal of change {journal.id} is missing one of its files.", f"Check the folder {self._folder}."
        )

    def read_journals(self, state: str) -> list[Journal]:
        """Return the journals in a state, oldest first."""
        return list_journals(self._folder, state)

    def _next_number(self) -> int:
        numbers = [int(path.name) for part in (OPEN, DONE, UNDONE) for path in (self._folder / part).iterdir()]
        return max(numbers, default=0) + 1


class JournalDraft:
    """A journal that is being prepared."""

    def __init__(self, folder: Path, target: Path, id: str) -> None:
        self.id = id
        self._folder = folder
        self._target = target
        mask = os.open(folder / "mask", os.O_WRONLY | os.O_CREAT, 0o777)
        self._default_mode = os.fstat(mask).st_mode
        os.close(mask)

    @property
    def index(self) -> Path:
        """The path of a temporary git index."""
        return self._folder / "index"

    def default_mode(self, *, executable: bool) -> int:
        """Return the permissions of a new file under the user's umask."""
        return self._default_mode & (0o777 if executable else 0o666)

    def store_bytes(self, data: bytes) -> Path:
        """Return the path of stored bytes, which are written if necessary; it is valid until `save`."""
        path = self._folder / _digest(data)
        if not path.exists():
            _write_durably(path, data)
        return path

    def save(self, journal: Journal) -> Journal:
        """Make the journal permanent: from here on the change can be finished or rolled back after a crash."""
        journal = msgspec.structs.replace(journal, draft=f".roundtable-{secrets.token_hex(8)}")
        self.index.unlink(missing_ok=True)
        _write_durably(self._folder / _PLAN_FILE, msgspec.json.encode(journal))
        _sync_folder(self._folder)
        _rename_durably(self._folder, self._target / journal.id)
        return journal


def make_journal_entries(
    before: Mapping[str, FileContent | None], after: Mapping[str, FileContent | None]
) -> tuple[JournalEntry, ...]:
    """Return the journal entries for files before and after a change."""
    return tuple(JournalEntry(path, _journaled_file(before[path]), _journaled_file(after[path])) for path in before)


def _journaled_file(content: FileContent | None) -> JournaledFile | None:
    return None if content is None else JournaledFile(_digest(content.data), content.mode, content.owner)


def journal_folder_path(journals: Path, workspace: Path) -> Path:
    """Return the folder with the journals of a workspace."""
    return journals / sha256(os.fsencode(workspace.resolve())).hexdigest()[:16]


def list_journals(folder: Path, state: str) -> list[Journal]:
    """Return the journals of a workspace in a state, oldest first."""
    if not (folder / state).is_dir():
        return []
    paths = sorted((folder / state).iterdir(), key=lambda path: int(path.name))
    return [msgspec.json.decode((path / _PLAN_FILE).read_bytes(), type=Journal) for path in paths]


def has_open_journal(folder: Path) -> bool:
    """Whether a change of this workspace is being written, or was interrupted."""
    return (folder / OPEN).is_dir() and any((folder / OPEN).iterdir())


def journal_timestamp() -> str:
    """Return the current time in the format of the record."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _try_lock(lock: int, *, wait: bool) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def _write_durably(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _rename_durably(old: Path, new: Path) -> None:
    os.rename(old, new)
    _sync_folder(old.parent)
    _sync_folder(new.parent)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
