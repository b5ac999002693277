"""The journal of what is written to a workspace: enough to finish it, to take it back, and to undo it later.

A journal is a folder of its own in the person's data: the plan, and every file before and after by its digest. Where
it lies says how far it came: `open` while it is carried out, then `done`, and `undone` after an undo. Each step from
one to the next is one rename.
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
from roundtable.workshop.repo.commits import RefUpdate
from roundtable.workshop.rooted_files import FileContent

OPEN, DONE, UNDONE = "open", "done", "undone"
_DRAFT = "draft"
_PLAN = "journal.json"


class JournaledFile(msgspec.Struct, frozen=True):
    """A file that the journal keeps."""

    digest: str
    mode: int
    owner: tuple[int, int] | None = None


class JournalEntry(msgspec.Struct, frozen=True):
    """One path before and after; None is no file."""

    path: str
    before: JournaledFile | None
    after: JournaledFile | None


class Journal(msgspec.Struct, frozen=True):
    """One change of a workspace: its files, the folders it makes and takes away, and the ref it moves.

    `key` is the step of the session that asked for it; `undoes` is the change it takes back. `draft` is the name that
    files have before they are put in place: a name that nobody else has. `passed_over` says what a commit went without.
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
    passed_over: str = ""

    @property
    def session(self) -> str:
        """The session that asked for it."""
        return self.key.partition("/")[0]

    @property
    def commit(self) -> str:
        """The commit it made, if it made one."""
        return self.ref.new if self.ref else ""


class JournalFolder:
    """All journals of one workspace. Whoever changes one holds the lock."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    @contextmanager
    def alone(cls, journals: Path, workspace: Path, *, wait: bool = True) -> Generator[JournalFolder | None]:
        """The journals of a workspace, with nobody else at them; None where somebody is and we do not wait."""
        folder = journal_folder_path(journals, workspace)
        for part in (OPEN, DONE, UNDONE):
            (folder / part).mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(folder / "lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            yield cls(folder) if _locked(lock, wait=wait) else None
        finally:
            os.close(lock)

    def begin(self, contents: Iterable[FileContent]) -> JournalDraft:
        """Keep the files of a change that is being planned; nothing counts before `Draft.put`."""
        draft = self._folder / _DRAFT
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        for content in contents:
            _written(draft / _digest(content.data), content.data)
        return JournalDraft(draft, self._folder / OPEN, str(self._next()))

    def finished(self, journal: Journal) -> None:
        """The change is wholly carried out, and so is the undo of another one if it was that."""
        if journal.undoes and (self._folder / DONE / journal.undoes).exists():
            _moved(self._folder / DONE / journal.undoes, self._folder / UNDONE / journal.undoes)
        _moved(self._folder / OPEN / journal.id, self._folder / DONE / journal.id)

    def dropped(self, journal: Journal) -> None:
        """The change never came about."""
        shutil.rmtree(self._folder / _DRAFT, ignore_errors=True)
        _moved(self._folder / OPEN / journal.id, self._folder / _DRAFT)
        shutil.rmtree(self._folder / _DRAFT, ignore_errors=True)

    def content(self, journal: Journal, kept: JournaledFile) -> FileContent:
        """A file as the journal keeps it."""
        for part in (OPEN, DONE, UNDONE):
            path = self._folder / part / journal.id / kept.digest
            if path.exists():
                data = path.read_bytes()
                if _digest(data) == kept.digest:
                    return FileContent(data, kept.mode, kept.owner)
        raise RoundtableError(
            f"The journal of change {journal.id} has lost one of its files.", f"Look into {self._folder}."
        )

    def listed(self, part: str) -> list[Journal]:
        """The journals that came so far, oldest first."""
        return list_journals(self._folder, part)

    def _next(self) -> int:
        numbers = [int(path.name) for part in (OPEN, DONE, UNDONE) for path in (self._folder / part).iterdir()]
        return max(numbers, default=0) + 1


class JournalDraft:
    """A journal in the making."""

    def __init__(self, folder: Path, into: Path, id: str) -> None:
        self.id = id
        self._folder = folder
        self._into = into
        mask = os.open(folder / "mask", os.O_WRONLY | os.O_CREAT, 0o777)
        self._usual = os.fstat(mask).st_mode
        os.close(mask)

    @property
    def index(self) -> Path:
        """Where git may have an index of its own meanwhile."""
        return self._folder / "index"

    def usual_mode(self, *, executable: bool) -> int:
        """The permissions of a new file, as this person's umask wants them."""
        return self._usual & (0o777 if executable else 0o666)

    def place(self, data: bytes) -> Path:
        """Where a kept file lies until `put`; it is put there if it is not yet."""
        path = self._folder / _digest(data)
        if not path.exists():
            _written(path, data)
        return path

    def put(self, journal: Journal) -> Journal:
        """From here on the change can be finished or taken back, whatever happens to this process."""
        journal = msgspec.structs.replace(journal, draft=f".roundtable-{secrets.token_hex(8)}")
        self.index.unlink(missing_ok=True)
        _written(self._folder / _PLAN, msgspec.json.encode(journal))
        _settled(self._folder)
        _moved(self._folder, self._into / journal.id)
        return journal


def make_journal_entries(
    before: Mapping[str, FileContent | None], after: Mapping[str, FileContent | None]
) -> tuple[JournalEntry, ...]:
    """How a journal speaks of files before and after."""
    return tuple(JournalEntry(path, _kept(before[path]), _kept(after[path])) for path in before)


def _kept(content: FileContent | None) -> JournaledFile | None:
    return None if content is None else JournaledFile(_digest(content.data), content.mode, content.owner)


def journal_folder_path(journals: Path, workspace: Path) -> Path:
    """Where the journals of a workspace lie."""
    return journals / sha256(os.fsencode(workspace.resolve())).hexdigest()[:16]


def list_journals(folder: Path, part: str) -> list[Journal]:
    """The journals in one part of a workspace's folder, oldest first."""
    if not (folder / part).is_dir():
        return []
    found = sorted((folder / part).iterdir(), key=lambda path: int(path.name))
    return [msgspec.json.decode((path / _PLAN).read_bytes(), type=Journal) for path in found]


def has_open_journal(folder: Path) -> bool:
    """Whether a change of this workspace is being carried out, or was cut off."""
    return (folder / OPEN).is_dir() and any((folder / OPEN).iterdir())


def journal_timestamp() -> str:
    """The time, as the record writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _locked(lock: int, *, wait: bool) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def _written(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _moved(old: Path, new: Path) -> None:
    os.rename(old, new)
    _settled(old.parent)
    _settled(new.parent)


def _settled(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
