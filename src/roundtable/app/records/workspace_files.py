"""Writes the `.roundtable/` folder of a workspace, if it exists: each file atomically and never through a link."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import stat
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from pathlib import Path

import msgspec

from roundtable.core.events import GateAnswered, GateOpened, MoveMade, Recorded, RoundClosed, RoundOpened, TurnAsked
from roundtable.core.faults import DamagedRecord, RoundtableError, UsageError
from roundtable.core.ledger import Entry
from roundtable.core.ports import Index, Store
from roundtable.core.session import Session
from roundtable.engine.feed import Feed, Subscription
from roundtable.report.workspace_folder import (
    GENERATED_FILE_MARK,
    render_memory_document_files,
    render_session_document_files,
)

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_DRAFT_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK

NOT_A_REGULAR_FILE = b"\0"
"""The content that is returned for a link, a pipe or a folder; no file of ours has it."""


class RootedFolder:
    """An open folder whose files several processes may write. Paths are relative and use `/`; failures are OSErrors."""

    def __init__(self, root: int) -> None:
        self._root = root

    @classmethod
    @contextlib.contextmanager
    def open(cls, root: Path) -> Generator[RootedFolder]:
        """Open a folder, which must exist and must not be a link."""
        with _open_folder(root) as handle:
            yield cls(handle)

    def read(self, path: str, max_bytes: int) -> bytes | None:
        """Return the beginning of a file; None if nothing is there."""
        try:
            with self._open_parent(path, create=False) as (name, at):
                return _read_start(name, at, max_bytes)
        except FileNotFoundError:
            return None

    def write(self, path: str, data: bytes) -> None:
        """Write a file atomically, and create missing folders; a crash keeps the old file."""
        with self._open_parent(path, create=True) as (name, at):
            draft = f".{name}.new"
            with os.fdopen(_open_locked_draft(draft, at), "wb") as file:
                try:
                    file.truncate()
                    file.write(data)
                    file.flush()
                    os.replace(draft, name, src_dir_fd=at, dst_dir_fd=at)
                except OSError:
                    os.unlink(draft, dir_fd=at)
                    raise

    @contextlib.contextmanager
    def _open_parent(self, path: str, *, create: bool) -> Generator[tuple[str, int]]:
        *folders, name = path.split("/")
        with contextlib.ExitStack() as stack:
            at = self._root
            for folder in folders:
                if create:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(folder, dir_fd=at)
                at = stack.enter_context(_open_folder(folder, at))
            yield name, at


@contextlib.contextmanager
def _open_folder(path: str | Path, at: int | None = None) -> Generator[int]:
    handle = os.open(path, _FOLDER_FLAGS, dir_fd=at)
    try:
        yield handle
    finally:
        os.close(handle)


def _open_locked_draft(draft: str, at: int) -> int:
    """Open and lock the draft of a file. Its name is fixed, so that the draft of a killed process is reused."""
    while True:
        with contextlib.ExitStack() as stack:
            handle = os.open(draft, _DRAFT_FLAGS, 0o644, dir_fd=at)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
            locked = os.fstat(handle)
            try:
                current = os.stat(draft, dir_fd=at, follow_symlinks=False)
            except FileNotFoundError:  # another process has just renamed it to the file
                continue
            if not os.path.samestat(locked, current):
                continue
            if stat.S_ISREG(locked.st_mode) and locked.st_nlink == 1:
                stack.pop_all()
                return handle
            os.unlink(draft, dir_fd=at)  # a pipe, or a file with a second name


def _read_start(name: str, at: int, max_bytes: int) -> bytes:
    if not stat.S_ISREG(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
        return NOT_A_REGULAR_FILE
    with os.fdopen(os.open(name, _READ_FLAGS, dir_fd=at), "rb") as file:
        return file.read(max_bytes)


FOLDER_NAME = ".roundtable"
SYNC_LATER_HELP = "Nothing is lost: fix the folder, then write it again from the record with `roundtable sync`."
MARK_SEARCH_BYTES = 400
"""The mark of a generated file must be within this many bytes of its beginning."""

REFRESHING_EVENTS = (RoundOpened, TurnAsked, MoveMade, RoundClosed, GateOpened, GateAnswered)
"""The facts after which the folder is written again."""

ListEntries = Callable[[], Awaitable[Sequence[Entry]]]
"""Returns the current ledger entries of the workspace."""


class FolderWrite(msgspec.Struct):
    """The result of writing: changed files, files of the person that were kept, and failures with the reason."""

    changed: list[str] = []
    kept: list[str] = []
    failed: dict[str, str] = {}

    @property
    def problem(self) -> str:
        """A sentence about the first file that could not be written; empty if there is none."""
        more = f" (and {len(self.failed) - 1} more)" if len(self.failed) > 1 else ""
        first = next(iter(self.failed.items()), None)
        return f"{FOLDER_NAME}/{first[0]} cannot be written{more}: {first[1]}." if first else ""

    def add(self, other: FolderWrite) -> None:
        """Add the result of another write."""
        self.changed += other.changed
        self.kept += other.kept
        self.failed |= other.failed


class WorkspaceFolder:
    """The `.roundtable/` folder of a workspace. Files are written only if the person let it be created."""

    def __init__(self, workspace: Path) -> None:
        self.path = workspace / FOLDER_NAME
        self.problem = ""

    @property
    def exists(self) -> bool:
        """Whether the folder exists and is not a link."""
        return self.path.is_dir() and not self.path.is_symlink()

    def create(self) -> None:
        """Create the folder, because the person agreed."""
        with _explain_os_errors():
            self.path.mkdir(exist_ok=True)

    def write(self, files: Mapping[str, str]) -> FolderWrite:
        """Write files; a file that already has this text is not touched."""
        written = FolderWrite()
        with _explain_os_errors(), RootedFolder.open(self.path) as tree:
            for path, text in files.items():
                try:
                    _write_generated(tree, path, text.encode(), written)
                except OSError as error:
                    written.failed[path] = error.strerror or str(error)
        return written

    async def sync(self, store: Store, index: Index, workspace: str, list_entries: ListEntries) -> FolderWrite:
        """Write all files again from the record; `workspace` is its name in the record."""
        written = self.write(render_memory_document_files(await list_entries()))
        for row in await index.sessions(workspace, None):
            try:
                state = Session.fold(row.id, await store.read(row.id))
            except DamagedRecord as error:
                written.failed[row.slug or row.id] = error.message.removesuffix(".")
                continue
            if self.shows(state):
                written.add(self.write(render_session_document_files(state)))
        return written

    async def write_ledger(self, list_entries: ListEntries) -> None:
        """Write the ledger files; a failure is ignored here and reported by `sync`."""
        if self.exists:
            with contextlib.suppress(RoundtableError):
                await asyncio.to_thread(self.write, render_memory_document_files(await list_entries()))

    @contextlib.asynccontextmanager
    async def follow(self, session: str, store: Store, feed: Feed, list_entries: ListEntries) -> AsyncGenerator[None]:
        """Update the files of a session while it runs in this process; failures do not stop the session."""
        if not self.exists:
            yield
            return
        subscription = feed.subscribe(session)
        state = Session(session)
        task = asyncio.create_task(self._follow(subscription, store, state))
        try:
            yield
        finally:
            subscription.end()
            feed.unsubscribe(session, subscription)
            await task
            await self._update(store, state, list_entries)

    async def _follow(self, subscription: Subscription, store: Store, state: Session) -> None:
        async for items in subscription.batches():
            if any(isinstance(item, Recorded) and isinstance(item.event, REFRESHING_EVENTS) for item in items):
                await self._update(store, state)

    async def _update(self, store: Store, state: Session, list_entries: ListEntries | None = None) -> None:
        """Write the current state of a session; keep a failure as `problem`."""
        try:
            for recorded in await store.read(state.id, state.seq):
                state.apply(recorded)
            entries = None if list_entries is None else await list_entries()
            written = await asyncio.to_thread(self._write_current, state, entries)
            if written.failed:
                self.problem = f"{written.problem} {SYNC_LATER_HELP}"
        except RoundtableError as error:
            self.problem = f"{error.message} {error.help}"

    def _write_current(self, state: Session, entries: Sequence[Entry] | None) -> FolderWrite:
        files = render_session_document_files(state) if self.shows(state) else {}
        return self.write(files if entries is None else files | render_memory_document_files(entries))

    def shows(self, session: Session) -> bool:
        """Whether the folder shows a session: it belongs to this workspace and is not part of another session."""
        charter = session.charter_or_none
        if charter is None or Path(charter.workspace) != self.path.parent:
            return False
        return not charter.parent or bool(charter.branched_at)


def _write_generated(tree: RootedFolder, path: str, data: bytes, written: FolderWrite) -> None:
    existing = tree.read(path, len(data) + MARK_SEARCH_BYTES)
    if existing and GENERATED_FILE_MARK.encode() not in existing[:MARK_SEARCH_BYTES]:
        written.kept.append(path)
    elif existing != data:
        tree.write(path, data)
        written.changed.append(path)


@contextlib.contextmanager
def _explain_os_errors() -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"{FOLDER_NAME}/ cannot be written: {error.strerror or error}.", SYNC_LATER_HELP) from None
