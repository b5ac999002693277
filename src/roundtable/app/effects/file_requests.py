"""Serves the files that seats ask to see: only files of the workspace that are not ignored, and only as many as fit."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from roundtable.app.opening.context_files import (
    ContextFileRefused,
    add_opening_context_data,
    read_context_file,
    resolve_context_file_path,
    split_context_file_range,
)
from roundtable.app.opening.context_window import FindContextRoom
from roundtable.app.opening.file_selection import build_context_file_ignore_filter
from roundtable.core.effects import FilesRead
from roundtable.core.ports import Store
from roundtable.core.session import Session
from roundtable.core.text.file_names import is_sensitive_file_name
from roundtable.core.text.redaction import Redactor
from roundtable.workshop.repo.git import GitUnavailable, open_git


class ServedFiles(NamedTuple):
    """The files that are shown, and by name why a file is refused."""

    shown: dict[str, bytes]
    refused: dict[str, str]


class FileRequests:
    """Serves the file requests of seats. All files served in a session share one size limit."""

    def __init__(
        self, store: Store, redactor: Redactor, workspace: Path, ignore: Sequence[str], find_room: FindContextRoom
    ) -> None:
        self._store = store
        self._redactor = redactor
        self._workspace = workspace
        self._ignore = ignore
        self._find_room = find_room

    async def serve(self, session: str, names: Sequence[str]) -> FilesRead:
        """Store the files that may be shown, and return them with the reasons for the refused ones."""
        served = await asyncio.to_thread(self._read, names, await self._room(session))
        items = [await add_opening_context_data(self._store, name, data) for name, data in served.shown.items()]
        return FilesRead(tuple(items), served.refused)

    async def _room(self, session: str) -> int:
        state = Session.fold(session, await self._store.read(session))
        served = [result for _, _, result in state.shared_results if isinstance(result, FilesRead)]
        return self._find_room(state.charter).requested - sum(item.size for result in served for item in result.items)

    def _read(self, names: Sequence[str], room: int) -> ServedFiles:
        served = ServedFiles({}, self._find_ignored(names))
        for name in names:
            if name in served.refused:
                continue
            try:
                data = read_context_file(self._redactor, self._workspace, name)
            except ContextFileRefused as error:
                served.refused[name] = error.message
                continue
            if len(data) > room:
                served.refused[name] = (
                    f"{name} has {len(data):,} bytes, more than the prompt has room for. "
                    "Ask for a few lines, such as path:10-50."
                )
            else:
                served.shown[name] = data
                room -= len(data)
        return served

    def _find_ignored(self, names: Sequence[str]) -> dict[str, str]:
        """Return a refusal for each file that the workspace ignores, without opening it."""
        resolved: dict[str, str] = {}
        for name in names:
            try:
                resolved[name] = resolve_context_file_path(
                    self._workspace.resolve(), split_context_file_range(name)[0], name
                ).as_posix()
            except ContextFileRefused:
                continue
        paths = {path for path in resolved.values() if not is_sensitive_file_name(path)}
        is_ignored = build_context_file_ignore_filter(self._ignore)
        try:
            with open_git(self._workspace) as git:
                ignored = git.filter_ignored(paths) | {path for path in paths if is_ignored(path)}
        except GitUnavailable as error:
            return dict.fromkeys(resolved, error.message)
        return {
            name: f"{name} is ignored by git or by `ignore` in the [context] section of the config."
            for name, path in resolved.items()
            if path in ignored
        }
