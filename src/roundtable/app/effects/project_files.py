"""Reads every file of a project that may be shown to seats: a folder with a draft applied on top."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from roundtable.app.opening.context_files import (
    ContextFileRefused,
    decode_context_file_text,
    read_context_file_range,
    reject_secrets_in_context_file,
)
from roundtable.app.opening.file_selection import list_context_file_candidates
from roundtable.core.changeset import DraftFile
from roundtable.core.text.chunks import FilePriority
from roundtable.core.text.file_names import is_sensitive_file_name
from roundtable.core.text.redaction import Redactor
from roundtable.core.values import Digest
from roundtable.workshop.edit.stored_drafts import DraftStore
from roundtable.workshop.repo.git import open_git


class ProjectFiles(NamedTuple):
    """The files by path (program, then configuration, then tests), and by path why a file is refused."""

    files: dict[str, bytes]
    refused: dict[str, str]


class ProjectReader:
    """Reads the versions of a project that are based on one folder. Ignored files are left out and not named."""

    def __init__(self, drafts: DraftStore, root: Path, redactor: Redactor, ignore: Sequence[str]) -> None:
        self._drafts = drafts
        self._root = root
        self._redactor = redactor
        self._ignore = ignore

    async def read_files(self, draft: Digest) -> ProjectFiles:
        """Return the files of the project with a draft applied."""
        return await asyncio.to_thread(self._read_with_draft, await self._drafts.load_files(draft))

    def _read_with_draft(self, drafted_files: Sequence[DraftFile]) -> ProjectFiles:
        with open_git(self._root) as git:
            existing = git.list_files()
        drafted = {file.path: file.after for file in drafted_files}
        removed = {
            path for file in drafted_files for path in (file.was, file.path if file.after is None else "") if path
        }
        paths = [
            path
            for path in dict.fromkeys((*existing, *drafted))
            if path not in removed or drafted.get(path) is not None
        ]
        project = ProjectFiles(
            {},
            {
                path: f"{path} is a sensitive file and is never shown to a model."
                for path in paths
                if is_sensitive_file_name(path)
            },
        )
        for path in sorted(
            list_context_file_candidates(paths, self._ignore), key=lambda path: (FilePriority.of(path), path)
        ):
            try:
                data = drafted.get(path)
                text = (
                    read_context_file_range(self._root, path)
                    if data is None
                    else decode_context_file_text(path, path, data)
                )
                project.files[path] = reject_secrets_in_context_file(self._redactor, path, text).encode()
            except ContextFileRefused as error:
                project.refused[path] = error.message
        return project
