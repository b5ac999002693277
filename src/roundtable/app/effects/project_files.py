"""Every file of a project that may be shown: a folder with a draft laid over it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from roundtable.app.opening.context_files import (
    ContextFileRefused,
    check_context_text,
    decode_context_text,
    read_workspace_text,
)
from roundtable.app.opening.file_selection import list_selectable_files
from roundtable.core.changeset import DraftFile
from roundtable.core.chunks import file_priority
from roundtable.core.file_kinds import is_sensitive_path
from roundtable.core.text.redaction import Redactor
from roundtable.core.values import Digest
from roundtable.workshop.edit.stored_drafts import DraftStore
from roundtable.workshop.repo.git import open_git


class ProjectFiles(NamedTuple):
    """The files by path, the program itself first, then what configures it, then its tests; and why some are not."""

    files: dict[str, bytes]
    refused: dict[str, str]


class ProjectReader:
    """The projects that stand on one folder. Files that are ignored are not of a project, and are not even named."""

    def __init__(self, drafts: DraftStore, root: Path, redactor: Redactor, ignore: Sequence[str]) -> None:
        self._drafts = drafts
        self._root = root
        self._redactor = redactor
        self._ignore = ignore

    async def read_files(self, draft: Digest) -> ProjectFiles:
        """The files of a project, with their bytes."""
        return await asyncio.to_thread(self._read_files, await self._drafts.load_files(draft))

    def _read_files(self, over: Sequence[DraftFile]) -> ProjectFiles:
        with open_git(self._root) as git:
            there = git.list_files()
        laid = {it.path: it.after for it in over}
        gone = {path for it in over for path in (it.was, it.path if it.after is None else "") if path}
        paths = [path for path in dict.fromkeys((*there, *laid)) if path not in gone or laid.get(path) is not None]
        found = ProjectFiles(
            {},
            {
                path: f"{path} is a sensitive file and is never shown to a model."
                for path in paths
                if is_sensitive_path(path)
            },
        )
        for path in sorted(list_selectable_files(paths, self._ignore), key=lambda path: (file_priority(path), path)):
            try:
                data = laid.get(path)
                text = read_workspace_text(self._root, path) if data is None else decode_context_text(path, path, data)
                found.files[path] = check_context_text(self._redactor, path, text).encode()
            except ContextFileRefused as error:
                found.refused[path] = error.message
        return found
