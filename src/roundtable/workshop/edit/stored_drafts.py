"""Stores drafts in the record: each file before and after by its digest, and the draft itself by its own."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roundtable.core.changeset import Draft, DraftFile, FileChange
from roundtable.core.ports import Store
from roundtable.core.values import Digest


class DraftStore:
    """Stores and loads drafts."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def save(self, files: Sequence[DraftFile]) -> Digest:
        """Store a draft and return its digest; empty for a draft without files. Equal drafts have equal digests, so the
        author is recorded elsewhere."""
        if not files:
            return ""
        changes = [
            FileChange(
                file.path,
                await self._keep_blob(file.before),
                await self._keep_blob(file.after),
                file.was,
                file.executable,
                file.was_executable,
                file.asked_by,
            )
            for file in files
        ]
        return await self._store.keep(msgspec.json.encode(Draft(tuple(changes))))

    async def load_text(self, digest: Digest) -> str:
        """Return a text that the record stores."""
        return (await self._store.fetch(digest)).decode(errors="replace")

    async def load(self, digest: Digest) -> Draft:
        """Return a draft by its digest."""
        return msgspec.json.decode(await self._store.fetch(digest), type=Draft)

    async def load_files(self, digest: Digest) -> tuple[DraftFile, ...]:
        """Return the files of a draft with their bytes; an empty digest is an empty draft."""
        if not digest:
            return ()
        return tuple(
            [
                DraftFile(
                    change.path,
                    await self._fetch_blob(change.before),
                    await self._fetch_blob(change.after),
                    change.was,
                    change.executable,
                    change.was_executable,
                    change.asked_by,
                )
                for change in (await self.load(digest)).files
            ]
        )

    async def _keep_blob(self, data: bytes | None) -> Digest:
        return "" if data is None else await self._store.keep(data)

    async def _fetch_blob(self, digest: Digest) -> bytes | None:
        return await self._store.fetch(digest) if digest else None


def compare_edit_drafts(earlier: Sequence[DraftFile], later: Sequence[DraftFile]) -> tuple[DraftFile, ...]:
    """Return what a later draft changes compared to an earlier draft of the same workspace."""
    files_before, files_after = {file.path: file for file in earlier}, {file.path: file for file in later}
    changed = [file for path, file in files_after.items() if file != files_before.get(path)]
    rebased = [
        msgspec.structs.replace(
            file, before=files_before[file.path].after, was="", was_executable=files_before[file.path].executable
        )
        if file.path in files_before
        else file
        for file in changed
    ]
    reverted = [
        DraftFile(file.path, file.after, file.before, executable=file.was_executable, was_executable=file.executable)
        for path, file in files_before.items()
        if path not in files_after
    ]
    return (*rebased, *reverted)
