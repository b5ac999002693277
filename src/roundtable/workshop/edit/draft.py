"""Computes what a changeset does to a tree, file by file and byte by byte; nothing is written to disk."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from roundtable.core.changeset import (
    Changeset,
    CreateFile,
    DeleteFile,
    DraftFile,
    EditFile,
    Operation,
    PutSymbol,
    RenameFile,
    ReplaceFile,
)
from roundtable.core.refusals import Refusal, RefusalCode, RefusalKind, distinct_refusals
from roundtable.core.values import Digest, compute_digest
from roundtable.workshop.edit.path_rules import (
    check_write_path,
    check_write_path_for_git_hooks,
    check_write_path_on_disk,
    find_write_path_collisions,
    find_write_paths_in_repositories,
    is_path_in_edit_scope,
)
from roundtable.workshop.edit.text_match import UnmatchedBlock, apply_edit_blocks, match_file_style
from roundtable.workshop.repo.git import open_git
from roundtable.workshop.rooted_files import ConfinedFolder, UnsafePath
from roundtable.workshop.symbols.revert_edits import find_partial_file_symbols
from roundtable.workshop.symbols.transplant import transplant_symbol

MAX_FILE_BYTES = 1_000_000
"""Maximum bytes of one file."""
MAX_CHANGED_FILES = 200

_REDACTION_MARK = re.compile(rb"\[redacted:[\w-]+\]")
"""The mark that the record contains in place of a secret."""

SecretFinder = Callable[[str], Sequence[str]]
"""Returns the kinds of secrets found in a text."""


class DraftResult(msgspec.Struct, frozen=True):
    """The files that change, and the refusals."""

    files: tuple[DraftFile, ...]
    refused: tuple[Refusal, ...] = ()


def apply_changeset_in_memory(
    changes: Changeset, root: Path, finds: SecretFinder, earlier_draft: Sequence[DraftFile] = ()
) -> DraftResult:
    """Compute a draft of a changeset on the files of a folder, or on an earlier draft of it."""
    paths = {path for operation in changes.operations for path in _paths(operation)}
    paths |= {path for file in earlier_draft for path in (file.path, file.was) if path}
    with ConfinedFolder.open(root) as folder:
        tree = _ComputedTree(root, folder, *_ask_git(root, paths, changes.scope))
        tree.start_from(earlier_draft)
        for operation in changes.operations:
            tree.apply(operation, changes)
        return tree.result(finds)


def _paths(operation: Operation) -> tuple[str, ...]:
    return (operation.path, operation.to) if isinstance(operation, RenameFile) else (operation.path,)


def _ask_git(root: Path, paths: set[str], scope: Sequence[str]) -> tuple[set[str], Sequence[str]]:
    """Return the paths that git ignores (except those named exactly), and the folders in which git looks for hooks."""
    valid_paths = sorted(
        path
        for path in paths
        if not check_write_path(path) and not check_write_path_on_disk(root, path, MAX_FILE_BYTES)
    )
    if not valid_paths:
        return set(), ()
    with open_git(root) as git:
        return git.filter_ignored(path for path in valid_paths if path not in scope), git.hook_folders()


class _File(msgspec.Struct, frozen=True):
    """A file in the computed tree."""

    data: bytes
    executable: bool = False


class _Refused(Exception):
    """One operation is refused."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.path, refusal.code)
        self.refusal = refusal


class _ComputedTree:
    """The tree on disk, and the tree after each operation."""

    def __init__(self, root: Path, beneath: ConfinedFolder, ignored: set[str], hooks: Sequence[str]) -> None:
        self._root = root
        self._beneath = beneath
        self._ignored = ignored
        self._hooks = hooks
        self._disk: dict[str, _File | None] = {}
        self._start: dict[str, _File | None] = {}
        self._now: dict[str, _File | None] = {}
        self._renamed_from: dict[str, str] = {}
        self._requested_by: dict[str, str] = {}
        self._written_whole: set[str] = set()
        self._put_symbols: set[tuple[str, str]] = set()
        self._deleted: set[str] = set()
        self._refused: list[Refusal] = []

    def start_from(self, earlier_draft: Sequence[DraftFile]) -> None:
        """Start from an earlier draft; its base files must be unchanged."""
        for file in earlier_draft:
            try:
                self._add_draft_file(file)
            except _Refused as refused:
                self._refused.append(refused.refusal)
        self._start = dict(self._now)

    def apply(self, operation: Operation, changes: Changeset) -> None:
        """Compute one operation, or note its refusal."""
        try:
            for path in _paths(operation):
                if changes.scope and not is_path_in_edit_scope(path, changes.scope):
                    raise _Refused(Refusal.of(path, RefusalCode.OUT_OF_SCOPE))
                self._load(path)
            self._check_base(operation)
            if len({*self._now, *_paths(operation)}) > MAX_CHANGED_FILES:
                raise _Refused(Refusal.of(operation.path, RefusalCode.TOO_MANY_FILES, limit=MAX_CHANGED_FILES))
            path = self._dispatch(operation, changes)
            self._requested_by[path] = operation.asked_by or changes.asked_by or self._requested_by.get(path, "")
        except _Refused as refused:
            self._refused.append(refused.refusal)

    def result(self, finds: SecretFinder) -> DraftResult:
        """Return the draft and the refusals."""
        existing = [path for path, file in self._now.items() if file is not None]
        self._refused += (
            *find_write_path_collisions(existing),
            *find_write_paths_in_repositories(self._root, existing),
        )
        files: list[DraftFile] = []
        for file in self._files():
            refusal = self._content_objection(file, finds)
            if refusal is None:
                files.append(file)
            else:
                self._refused.append(refusal)
        refused_paths = {refusal.path for refusal in self._refused if refusal.kind in _WHOLE_FILE_REFUSALS}
        kept_files = tuple(
            sorted((file for file in files if file.path not in refused_paths), key=lambda file: file.path)
        )
        return DraftResult(kept_files, distinct_refusals(self._refused))

    def _add_draft_file(self, file: DraftFile) -> None:
        for path in filter(None, (file.was, file.path)):
            self._load(path)
        before = self._disk[file.was or file.path]
        if (before.data if before else None) != file.before:
            raise _Refused(Refusal.of(file.path, RefusalCode.DRAFT_STALE))
        if file.was:
            self._now[file.was] = None
            self._renamed_from[file.path] = file.was
        self._now[file.path] = None if file.after is None else _File(file.after, file.executable)
        self._requested_by[file.path] = file.asked_by

    def _load(self, path: str) -> None:
        """Read the file at a path once; refuse a path that must not be written."""
        if path in self._disk:
            return
        refusal = (
            check_write_path(path)
            or check_write_path_on_disk(self._root, path, MAX_FILE_BYTES)
            or check_write_path_for_git_hooks(path, self._hooks)
        )
        if refusal is not None:
            raise _Refused(refusal)
        if path in self._ignored:
            raise _Refused(Refusal.of(path, RefusalCode.IGNORED))
        try:
            content = self._beneath.read(path)
        except UnsafePath as astray:
            raise _Refused(astray.refusal) from None
        self._disk[path] = _File(content.data, content.executable) if content else None

    def _current(self, path: str) -> _File | None:
        return self._now[path] if path in self._now else self._disk[path]

    def _existing(self, path: str) -> _File:
        file = self._current(path)
        if file is None:
            raise _Refused(Refusal.of(path, RefusalCode.MISSING))
        return file

    def _check_base(self, operation: Operation) -> None:
        """Check the base digest: the author knew the file as it was before any of their own operations."""
        base: Digest = "" if isinstance(operation, CreateFile) else operation.base
        if not base:
            return
        path = self._renamed_from.get(operation.path, operation.path)
        file = self._start[path] if path in self._start else self._disk.get(path)
        if file is None or compute_digest(file.data) != base:
            raise _Refused(Refusal.of(operation.path, RefusalCode.EDIT_STALE))

    def _dispatch(self, operation: Operation, changes: Changeset) -> str:
        """Compute an operation; return the path of the resulting file."""
        match operation:
            case CreateFile():
                self._create(operation)
            case ReplaceFile():
                self._replace(operation, alone=[other.path for other in changes.operations].count(operation.path) == 1)
            case EditFile():
                self._edit(operation)
            case PutSymbol():
                self._put_symbol(operation)
            case DeleteFile():
                self._existing(operation.path)
                self._now[operation.path] = None
                self._deleted.add(operation.path)
            case RenameFile():
                return self._rename(operation)
        return operation.path

    def _create(self, operation: CreateFile) -> None:
        if self._current(operation.path) is not None:
            raise _Refused(Refusal.of(operation.path, RefusalCode.CREATE_EXISTING))
        self._now[operation.path] = _File(_bytes(operation.path, operation.text), operation.executable)

    def _replace(self, operation: ReplaceFile, *, alone: bool) -> None:
        path = operation.path
        old = self._current(path)
        if path in self._deleted:
            raise _Refused(Refusal.of(path, RefusalCode.DELETED_AND_WRITTEN))
        text = match_file_style(operation.text, _text(path, old.data)) if old else operation.text
        data = _bytes(path, text)
        symbols = (
            find_partial_file_symbols(path, old.data, data, alone=alone)
            if old and path not in self._written_whole
            else ()
        )
        if symbols:
            return self._replace_symbols(path, symbols, data)
        if path in self._written_whole and old is not None and old.data != data:
            raise _Refused(Refusal.of(path, RefusalCode.WRITTEN_TWICE))
        self._written_whole.add(path)
        self._now[path] = _File(data, _executable(operation.executable, old))

    def _edit(self, operation: EditFile) -> None:
        path = operation.path
        new = len(operation.blocks) == 1 and not operation.blocks[0].search
        old = _File(b"") if new and self._current(path) is None else self._existing(path)
        try:
            text = apply_edit_blocks(_text(path, old.data), operation.blocks)
        except UnmatchedBlock as unmatched:
            raise _Refused(Refusal(path, unmatched.code, unmatched.facts)) from None
        self._now[path] = _File(_bytes(path, text), _executable(operation.executable, old))

    def _put_symbol(self, operation: PutSymbol) -> None:
        path = operation.path
        old = self._existing(path)
        _text(path, old.data)
        result = transplant_symbol(path, old.data, operation.symbol, _bytes(path, operation.text))
        if isinstance(result, Refusal):
            raise _Refused(result)
        if (path, operation.symbol) in self._put_symbols and result.source != old.data:
            raise _Refused(Refusal.of(path, RefusalCode.SYMBOL_WRITTEN_TWICE, symbol=operation.symbol))
        self._put_symbols.add((path, operation.symbol))
        self._now[path] = _File(result.source, old.executable)

    def _replace_symbols(self, path: str, symbols: Sequence[str], donor: bytes) -> None:
        """Replace single symbols: a text that holds only some of a file's symbols must not delete the others."""
        for symbol in symbols:
            self._put_symbol(PutSymbol(path, symbol, donor.decode()))

    def _rename(self, operation: RenameFile) -> str:
        file = self._existing(operation.path)
        if operation.path == operation.to:
            raise _Refused(Refusal.of(operation.path, RefusalCode.RENAMED_TO_ITSELF))
        if self._current(operation.to) is not None:
            raise _Refused(Refusal.of(operation.to, RefusalCode.EXISTS))
        self._now[operation.path] = None
        self._now[operation.to] = file
        self._renamed_from[operation.to] = self._renamed_from.pop(operation.path, operation.path)
        return operation.to

    def _files(self) -> list[DraftFile]:
        """Return the differences from the tree on disk; a file that was only renamed counts as one."""
        renames = {
            new: old
            for new, old in self._renamed_from.items()
            if self._now.get(new) and self._now.get(old) is None and self._disk[old] and self._disk[new] is None
        }
        old_paths = set(renames.values())
        draft_files: list[DraftFile] = []
        for path, now in self._now.items():
            if path in old_paths:
                continue
            old_path = renames.get(path, "")
            before = self._disk[old_path or path]
            if old_path or before != now:
                draft_files.append(
                    DraftFile(
                        path,
                        before.data if before else None,
                        now.data if now else None,
                        old_path,
                        bool(now and now.executable),
                        bool(before and before.executable),
                        self._requested_by.get(path, ""),
                    )
                )
        return draft_files

    def _content_objection(self, file: DraftFile, finds: SecretFinder) -> Refusal | None:
        if file.after is None:
            return None
        path = file.path
        if len(file.after) > MAX_FILE_BYTES:
            return Refusal.of(path, RefusalCode.RESULT_TOO_LARGE, bytes=len(file.after), limit=MAX_FILE_BYTES)
        if b"\0" in file.after:
            return Refusal.of(path, RefusalCode.RESULT_BINARY)
        old_lines = set((file.before or b"").split(b"\n"))
        added_text = b"\n".join(line for line in file.after.split(b"\n") if line not in old_lines)
        if _REDACTION_MARK.search(added_text):
            return Refusal.of(path, RefusalCode.REDACTION_MARK)
        if secret_kinds := finds(added_text.decode(errors="replace")):
            return Refusal.of(path, RefusalCode.SECRET, secret=secret_kinds[0])
        return None


_WHOLE_FILE_REFUSALS = (RefusalKind.CASE, RefusalKind.CONTRADICTION, RefusalKind.REPOSITORY)
"""Refusals that concern the whole file, not only one operation on it."""


def _text(path: str, data: bytes) -> str:
    try:
        if b"\0" not in data:
            return data.decode()
    except UnicodeDecodeError:
        pass
    raise _Refused(Refusal.of(path, RefusalCode.NOT_UTF8))


def _bytes(path: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise _Refused(Refusal.of(path, RefusalCode.RESULT_BINARY)) from None


def _executable(wanted: bool | None, old: _File | None) -> bool:
    return bool(old and old.executable) if wanted is None else wanted
