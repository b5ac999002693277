"""The workspace's `.roundtable/`: written only where it exists, in one step per file, never through a link.

Files below one folder, written in one step each and never through a link that stands on the way.
"""

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
from roundtable.core.faults import RoundtableError, UsageError
from roundtable.core.ledger import Entry
from roundtable.core.ports import Index, Store
from roundtable.core.session import Session
from roundtable.engine.feed import Feed, Subscription
from roundtable.report.workspace_folder import (
    GENERATED_FILE_MARK,
    render_memory_as_markdown_files,
    render_session_files,
)

_WALK = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_DRAFT = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK

NO_FILE = b"\0"
"""What a link, a pipe or a folder in place of a file is read as: like nothing that we would write."""


class RootedFolder:
    """An open folder. Paths are relative to it and use `/`; what goes wrong is an OSError."""

    def __init__(self, root: int) -> None:
        self._root = root

    @classmethod
    @contextlib.contextmanager
    def below(cls, root: Path) -> Generator[RootedFolder]:
        """The folder, which must be there and be no link itself."""
        with _opened(root) as handle:
            yield cls(handle)

    def read(self, path: str, most: int) -> bytes | None:
        """The beginning of what stands there; None if nothing does."""
        try:
            with self._folder_of(path, make=False) as (name, at):
                return _content(name, at, most)
        except FileNotFoundError:
            return None

    def write(self, path: str, data: bytes) -> None:
        """Put a file in place, and the folders on the way; a crash leaves what was there."""
        with self._folder_of(path, make=True) as (name, at):
            draft = f".{name}.new"
            with os.fdopen(_locked(draft, at), "wb") as file:
                try:
                    file.truncate()
                    file.write(data)
                    file.flush()
                    os.replace(draft, name, src_dir_fd=at, dst_dir_fd=at)
                except OSError:
                    os.unlink(draft, dir_fd=at)
                    raise

    @contextlib.contextmanager
    def _folder_of(self, path: str, *, make: bool) -> Generator[tuple[str, int]]:
        *folders, name = path.split("/")
        with contextlib.ExitStack() as stack:
            at = self._root
            for folder in folders:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(folder, dir_fd=at)
                at = stack.enter_context(_opened(folder, at))
            yield name, at


@contextlib.contextmanager
def _opened(path: str | Path, at: int | None = None) -> Generator[int]:
    handle = os.open(path, _WALK, dir_fd=at)
    try:
        yield handle
    finally:
        os.close(handle)


def _locked(draft: str, at: int) -> int:
    """The draft as ours alone. It is always called the same, so that what a killed process left is taken up again."""
    while True:
        with contextlib.ExitStack() as stack:
            handle = os.open(draft, _DRAFT, 0o644, dir_fd=at)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
            ours = os.fstat(handle)
            try:
                there = os.stat(draft, dir_fd=at, follow_symlinks=False)
            except FileNotFoundError:  # who had it before us has just put it in place
                continue
            if not os.path.samestat(ours, there):
                continue
            if stat.S_ISREG(ours.st_mode) and ours.st_nlink == 1:
                stack.pop_all()
                return handle
            os.unlink(draft, dir_fd=at)  # a pipe, or a file that has another name elsewhere


def _content(name: str, at: int, most: int) -> bytes:
    if not stat.S_ISREG(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
        return NO_FILE
    with os.fdopen(os.open(name, _LOOK, dir_fd=at), "rb") as file:
        return file.read(most)


FOLDER_NAME = ".roundtable"
SYNC_LATER_HELP = "Nothing is lost: once it can be, `roundtable sync` writes it anew from the record."
MARK_SEARCH_BYTES = 400
"""Bytes at the beginning of a file among which the mark must be, for the file to be ours."""

MOVES_ON = (RoundOpened, TurnAsked, MoveMade, RoundClosed, GateOpened, GateAnswered)
"""The facts after which a reader of the folder would find it out of date."""

Remembered = Callable[[], Awaitable[Sequence[Entry]]]
"""What the workspace remembers now."""


class FolderWrite(msgspec.Struct):
    """What came of writing: files that changed, a person's own that were left alone, and why others could not be."""

    changed: list[str] = []
    kept: list[str] = []
    failed: dict[str, str] = {}

    @property
    def trouble(self) -> str:
        """The first file that could not be written and why, in one sentence; empty where there is none."""
        more = f" (and {len(self.failed) - 1} more)" if len(self.failed) > 1 else ""
        first = next(iter(self.failed.items()), None)
        return f"{FOLDER_NAME}/{first[0]} cannot be written{more}: {first[1]}." if first else ""

    def take(self, other: FolderWrite) -> None:
        """Add what came of writing more."""
        self.changed += other.changed
        self.kept += other.kept
        self.failed |= other.failed


class WorkspaceFolder:
    """The folder of one workspace. That it exists is the person's yes."""

    def __init__(self, workspace: Path) -> None:
        self.path = workspace / FOLDER_NAME
        self.trouble = ""

    @property
    def exists(self) -> bool:
        """Whether it is there as a folder of the workspace's own, not as a link to somewhere else."""
        return self.path.is_dir() and not self.path.is_symlink()

    def create(self) -> None:
        """Make it, because the person said yes."""
        with _explained():
            self.path.mkdir(exist_ok=True)

    def write(self, files: Mapping[str, str]) -> FolderWrite:
        """Put these files in place; one that stands there already in the same words is not touched."""
        written = FolderWrite()
        with _explained(), RootedFolder.below(self.path) as tree:
            for path, text in files.items():
                try:
                    _put(tree, path, text.encode(), written)
                except OSError as error:
                    written.failed[path] = error.strerror or str(error)
        return written

    async def sync(self, store: Store, index: Index, workspace: str, remembered: Remembered) -> FolderWrite:
        """Write everything anew from the record, which knows the workspace under this name."""
        written = self.write(render_memory_as_markdown_files(await remembered()))
        for row in await index.sessions(workspace, None):
            state = Session.fold(row.id, await store.read(row.id))
            if self.shows(state):
                written.take(self.write(render_session_files(state)))
        return written

    async def remember(self, remembered: Remembered) -> None:
        """Write down what the workspace remembers now; where that cannot be, `sync` will say so."""
        if self.exists:
            with contextlib.suppress(RoundtableError):
                await asyncio.to_thread(self.write, render_memory_as_markdown_files(await remembered()))

    @contextlib.asynccontextmanager
    async def following(self, session: str, store: Store, feed: Feed, remembered: Remembered) -> AsyncGenerator[None]:
        """Keep the files of a session current while it runs here; a folder that cannot be written stops nobody."""
        if not self.exists:
            yield
            return
        news = feed.subscribe(session)
        state = Session(session)
        following = asyncio.create_task(self._follow(news, store, state))
        try:
            yield
        finally:
            news.end()
            feed.unsubscribe(session, news)
            await following
            await self._try(store, state, remembered)

    async def _follow(self, news: Subscription, store: Store, state: Session) -> None:
        async for items in news.batches():
            if any(isinstance(item, Recorded) and isinstance(item.event, MOVES_ON) for item in items):
                await self._try(store, state)

    async def _try(self, store: Store, state: Session, remembered: Remembered | None = None) -> None:
        """Write what has become of a session; what goes wrong is kept for whoever tells the person."""
        try:
            for recorded in await store.read(state.id, state.seq):
                state.apply(recorded)
            entries = None if remembered is None else await remembered()
            written = await asyncio.to_thread(self._write_current, state, entries)
            if written.failed:
                self.trouble = f"{written.trouble} {SYNC_LATER_HELP}"
        except RoundtableError as error:
            self.trouble = f"{error.message} {error.help}"

    def _write_current(self, state: Session, entries: Sequence[Entry] | None) -> FolderWrite:
        files = render_session_files(state) if self.shows(state) else {}
        return self.write(files if entries is None else files | render_memory_as_markdown_files(entries))

    def shows(self, session: Session) -> bool:
        """Whether a session has its place here: it is of this workspace, and no part of another session."""
        charter = session.charter_or_none
        if charter is None or Path(charter.workspace) != self.path.parent:
            return False
        return not charter.parent or bool(charter.branched_at)


def _put(tree: RootedFolder, path: str, data: bytes, written: FolderWrite) -> None:
    there = tree.read(path, len(data) + MARK_SEARCH_BYTES)
    if there and GENERATED_FILE_MARK.encode() not in there[:MARK_SEARCH_BYTES]:
        written.kept.append(path)
    elif there != data:
        tree.write(path, data)
        written.changed.append(path)


@contextlib.contextmanager
def _explained() -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"{FOLDER_NAME}/ cannot be written: {error.strerror or error}.", SYNC_LATER_HELP) from None
