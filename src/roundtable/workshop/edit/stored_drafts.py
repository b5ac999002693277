"""Drafts as the record keeps them: each file before and after by its digest, and the draft itself by its own."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.changeset import Draft, DraftFile, FileChange
from roundtable.core.ports import Store
from roundtable.core.values import Digest


class DraftStore:
    """Keeps drafts and brings them back."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def keep(self, files: Sequence[DraftFile]) -> Digest:
        """Keep a draft; one without files is none. Whose it is stands on the record: the same bytes are one draft."""
        if not files:
            return ""
        changes = [
            FileChange(
                it.path,
                await self._kept(it.before),
                await self._kept(it.after),
                it.was,
                it.executable,
                it.was_executable,
                it.asked_by,
            )
            for it in files
        ]
        return await self._store.keep(msgspec.json.encode(Draft(tuple(changes))))

    async def text(self, digest: Digest) -> str:
        """A text that the record keeps beside them."""
        return (await self._store.fetch(digest)).decode(errors="replace")

    async def draft(self, digest: Digest) -> Draft:
        """A draft by its name."""
        return msgspec.json.decode(await self._store.fetch(digest), type=Draft)

    async def files(self, digest: Digest) -> tuple[DraftFile, ...]:
        """The files of a draft, byte by byte; an empty name is an empty draft."""
        if not digest:
            return ()
        return tuple(
            [
                DraftFile(
                    it.path,
                    await self._fetched(it.before),
                    await self._fetched(it.after),
                    it.was,
                    it.executable,
                    it.was_executable,
                    it.asked_by,
                )
                for it in (await self.draft(digest)).files
            ]
        )

    async def _kept(self, data: bytes | None) -> Digest:
        return "" if data is None else await self._store.keep(data)

    async def _fetched(self, digest: Digest) -> bytes | None:
        return await self._store.fetch(digest) if digest else None


def diff_drafts(over: Sequence[DraftFile], files: Sequence[DraftFile]) -> tuple[DraftFile, ...]:
    """What a later draft of the same workspace changes of an earlier one, each file as the earlier one left it."""
    was, now = {it.path: it for it in over}, {it.path: it for it in files}
    changed = [it for path, it in now.items() if it != was.get(path)]
    then = [
        msgspec.structs.replace(it, before=was[it.path].after, was="", was_executable=was[it.path].executable)
        if it.path in was
        else it
        for it in changed
    ]
    undone = [
        DraftFile(it.path, it.after, it.before, executable=it.was_executable, was_executable=it.executable)
        for path, it in was.items()
        if path not in now
    ]
    return (*then, *undone)
