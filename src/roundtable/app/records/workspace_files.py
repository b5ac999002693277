"""The workspace's `.roundtable/`: written only where it exists, in one step per file, never through a link."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from pathlib import Path

import msgspec

from roundtable.app.records.tree import Tree
from roundtable.core.events import GateAnswered, GateOpened, MoveMade, Recorded, RoundClosed, RoundOpened, TurnAsked
from roundtable.core.faults import RoundtableError, UsageError
from roundtable.core.ledger import Entry
from roundtable.core.ports import Store
from roundtable.core.session import Session
from roundtable.engine.feed import Feed, Subscription
from roundtable.report.workspace_folder import MARK, ledger_files, session_files
from roundtable.store.sqlite import SqliteStore

FOLDER = ".roundtable"
LATER = "Nothing is lost: once it can be, `roundtable sync` writes it anew from the record."
HEAD = 400
"""Bytes at the beginning of a file among which the mark must be, for the file to be ours."""

MOVES_ON = (RoundOpened, TurnAsked, MoveMade, RoundClosed, GateOpened, GateAnswered)
"""The facts after which a reader of the folder would find it out of date."""

Remembered = Callable[[], Awaitable[Sequence[Entry]]]
"""What the workspace remembers now."""


class Written(msgspec.Struct):
    """What came of writing: files that changed, a person's own that were left alone, and why others could not be."""

    changed: list[str] = []
    kept: list[str] = []
    failed: dict[str, str] = {}

    @property
    def trouble(self) -> str:
        """The first file that could not be written and why, in one sentence; empty where there is none."""
        more = f" (and {len(self.failed) - 1} more)" if len(self.failed) > 1 else ""
        first = next(iter(self.failed.items()), None)
        return f"{FOLDER}/{first[0]} cannot be written{more}: {first[1]}." if first else ""

    def take(self, other: Written) -> None:
        """Add what came of writing more."""
        self.changed += other.changed
        self.kept += other.kept
        self.failed |= other.failed


class Folder:
    """The folder of one workspace. That it exists is the person's yes."""

    def __init__(self, workspace: Path) -> None:
        self.path = workspace / FOLDER
        self.trouble = ""

    @property
    def exists(self) -> bool:
        """Whether it is there as a folder of the workspace's own, not as a link to somewhere else."""
        return self.path.is_dir() and not self.path.is_symlink()

    def create(self) -> None:
        """Make it, because the person said yes."""
        with _explained():
            self.path.mkdir(exist_ok=True)

    def write(self, files: Mapping[str, str]) -> Written:
        """Put these files in place; one that stands there already in the same words is not touched."""
        written = Written()
        with _explained(), Tree.below(self.path) as tree:
            for path, text in files.items():
                try:
                    _put(tree, path, text.encode(), written)
                except OSError as error:
                    written.failed[path] = error.strerror or str(error)
        return written

    async def sync(self, store: SqliteStore, workspace: str, remembered: Remembered) -> Written:
        """Write everything anew from the record, which knows the workspace under this name."""
        written = self.write(ledger_files(await remembered()))
        for row in await store.sessions(workspace, None):
            state = Session.fold(row.id, await store.read(row.id))
            if self.shows(state):
                written.take(self.write(session_files(state)))
        return written

    async def remember(self, remembered: Remembered) -> None:
        """Write down what the workspace remembers now; where that cannot be, `sync` will say so."""
        if self.exists:
            with contextlib.suppress(RoundtableError):
                await asyncio.to_thread(self.write, ledger_files(await remembered()))

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
            if any(isinstance(it, Recorded) and isinstance(it.event, MOVES_ON) for it in items):
                await self._try(store, state)

    async def _try(self, store: Store, state: Session, remembered: Remembered | None = None) -> None:
        """Write what has become of a session; what goes wrong is kept for whoever tells the person."""
        try:
            for recorded in await store.read(state.id, state.seq):
                state.apply(recorded)
            entries = None if remembered is None else await remembered()
            written = await asyncio.to_thread(self._write_current, state, entries)
            if written.failed:
                self.trouble = f"{written.trouble} {LATER}"
        except RoundtableError as error:
            self.trouble = f"{error.message} {error.help}"

    def _write_current(self, state: Session, entries: Sequence[Entry] | None) -> Written:
        files = session_files(state) if self.shows(state) else {}
        return self.write(files if entries is None else files | ledger_files(entries))

    def shows(self, session: Session) -> bool:
        """Whether a session has its place here: it is of this workspace, and no part of another session."""
        charter = session.charter_or_none
        if charter is None or Path(charter.workspace) != self.path.parent:
            return False
        return not charter.parent or bool(charter.branched_at)


def _put(tree: Tree, path: str, data: bytes, written: Written) -> None:
    there = tree.read(path, len(data) + HEAD)
    if there and MARK.encode() not in there[:HEAD]:
        written.kept.append(path)
    elif there != data:
        tree.write(path, data)
        written.changed.append(path)


@contextlib.contextmanager
def _explained() -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"{FOLDER}/ cannot be written: {error.strerror or error}.", LATER) from None
