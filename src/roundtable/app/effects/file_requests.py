"""Files that seats ask to see: confined like any other, never ignored ones, and no more than has room."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from roundtable.app.opening.context_files import (
    ContextFileRefused,
    read_context_file,
    resolve_in_workspace,
    split_line_range,
    store_context_data,
)
from roundtable.app.opening.context_window import FindContextRoom
from roundtable.app.opening.file_selection import build_ignore_filter
from roundtable.core.effects import FilesRead
from roundtable.core.file_kinds import is_sensitive_path
from roundtable.core.ports import Store
from roundtable.core.session import Session
from roundtable.core.text.redaction import Redactor
from roundtable.workshop.repo.git import GitUnavailable, open_git


class ServedFiles(NamedTuple):
    """The files that are shown, and why the others are not."""

    shown: dict[str, bytes]
    refused: dict[str, str]


class FileRequests:
    """Serves what seats ask for. All that is shown in a session this way shares one room."""

    def __init__(
        self, store: Store, redactor: Redactor, workspace: Path, ignore: Sequence[str], room_of: FindContextRoom
    ) -> None:
        self._store = store
        self._redactor = redactor
        self._workspace = workspace
        self._ignore = ignore
        self._room_of = room_of

    async def serve(self, session: str, names: Sequence[str]) -> FilesRead:
        """Keep the files that may be shown as they are now, and name the others."""
        found = await asyncio.to_thread(self._read, names, await self._room(session))
        items = [await store_context_data(self._store, name, data) for name, data in found.shown.items()]
        return FilesRead(tuple(items), found.refused)

    async def _room(self, session: str) -> int:
        state = Session.fold(session, await self._store.read(session))
        served = [result for _, _, result in state.shared_results if isinstance(result, FilesRead)]
        return self._room_of(state.charter).asked_for - sum(item.size for result in served for item in result.items)

    def _read(self, names: Sequence[str], room: int) -> ServedFiles:
        found = ServedFiles({}, self._ignored(names))
        for name in names:
            if name in found.refused:
                continue
            try:
                data = read_context_file(self._redactor, self._workspace, name)
            except ContextFileRefused as error:
                found.refused[name] = error.message
                continue
            if len(data) > room:
                found.refused[name] = f"There is no room for its {len(data):,} bytes; a few lines may fit: path:10-50."
            else:
                found.shown[name] = data
                room -= len(data)
        return found

    def _ignored(self, names: Sequence[str]) -> dict[str, str]:
        """Those that this workspace ignores; they are not even opened."""
        real: dict[str, str] = {}
        for name in names:
            try:
                real[name] = resolve_in_workspace(self._workspace.resolve(), split_line_range(name)[0], name).as_posix()
            except ContextFileRefused:
                continue
        paths = {path for path in real.values() if not is_sensitive_path(path)}
        set_aside = build_ignore_filter(self._ignore)
        try:
            with open_git(self._workspace) as git:
                ignored = git.filter_ignored(paths) | {path for path in paths if set_aside(path)}
        except GitUnavailable as error:
            return dict.fromkeys(real, error.message)
        return {name: f"{name} is ignored in this workspace." for name, path in real.items() if path in ignored}
