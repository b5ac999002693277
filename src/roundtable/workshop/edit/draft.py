"""What a changeset comes to on one tree, file by file and byte by byte. Nothing is written here."""

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
    Refusal,
    RefusalKind,
    RenameFile,
    ReplaceFile,
)
from roundtable.core.values import Digest, compute_digest
from roundtable.workshop.edit.path_rules import (
    check_hook_path,
    check_path_on_disk,
    check_write_path,
    find_path_collisions,
    find_paths_in_repositories,
    is_in_scope,
)
from roundtable.workshop.edit.text_match import UnmatchedBlock, apply_edit_blocks, match_file_style
from roundtable.workshop.repo.git import open_git
from roundtable.workshop.rooted_files import ConfinedFolder, UnsafePath
from roundtable.workshop.symbols.revert_edits import find_partial_file_symbols
from roundtable.workshop.symbols.syntax_trees import SpliceRefusal
from roundtable.workshop.symbols.transplant import transplant_symbol

MAX_FILE_BYTES = 1_000_000
"""Bytes of one file; what is larger was not written by anybody at this table."""
MAX_CHANGED_FILES = 200

_TAKEN_OUT = re.compile(rb"\[redacted:[\w-]+\]")
"""What the record has in place of a secret that a seat wrote down."""

SecretFinder = Callable[[str], Sequence[str]]
"""What in a text is a secret, by kind."""


class DraftResult(msgspec.Struct, frozen=True):
    """The files that change, and what was refused and why."""

    files: tuple[DraftFile, ...]
    refused: tuple[Refusal, ...] = ()


def draft_changeset(changes: Changeset, root: Path, finds: SecretFinder, over: Sequence[DraftFile] = ()) -> DraftResult:
    """Carry out a changeset on paper, on what stands in a folder with an earlier draft laid over it."""
    named = {path for operation in changes.operations for path in _paths(operation)}
    named |= {path for file in over for path in (file.path, file.was) if path}
    with ConfinedFolder.of(root) as beneath:
        paper = _Paper(root, beneath, *_told_by_git(root, named, changes.scope))
        paper.lay(over)
        for operation in changes.operations:
            paper.carry_out(operation, changes)
        return paper.drafting(finds)


def _paths(operation: Operation) -> tuple[str, ...]:
    return (operation.path, operation.to) if isinstance(operation, RenameFile) else (operation.path,)


def _told_by_git(root: Path, paths: set[str], scope: Sequence[str]) -> tuple[set[str], Sequence[str]]:
    """The paths that git ignores and nobody named as they are, and the folders in which it looks for hooks."""
    asked = sorted(
        path for path in paths if not check_write_path(path) and not check_path_on_disk(root, path, MAX_FILE_BYTES)
    )
    if not asked:
        return set(), ()
    with open_git(root) as git:
        return git.ignored(path for path in asked if path not in scope), git.hook_folders()


class _File(msgspec.Struct, frozen=True):
    """A file on paper."""

    data: bytes
    executable: bool = False


class _Refuse(Exception):
    """One operation that is not carried out."""

    def __init__(self, path: str, kind: RefusalKind, sentence: str) -> None:
        super().__init__(sentence)
        self.refusal = Refusal(path, kind, sentence)


class _Paper:
    """The tree as it stands, and as it would be after each operation."""

    def __init__(self, root: Path, beneath: ConfinedFolder, ignored: set[str], hooks: Sequence[str]) -> None:
        self._root = root
        self._beneath = beneath
        self._ignored = ignored
        self._hooks = hooks
        self._disk: dict[str, _File | None] = {}
        self._start: dict[str, _File | None] = {}
        self._now: dict[str, _File | None] = {}
        self._came: dict[str, str] = {}
        self._asked: dict[str, str] = {}
        self._whole: set[str] = set()
        self._put_there: set[tuple[str, str]] = set()
        self._deleted: set[str] = set()
        self._refused: list[Refusal] = []

    def lay(self, over: Sequence[DraftFile]) -> None:
        """Begin from an earlier draft; what it rests on must still be there."""
        for file in over:
            try:
                self._lay(file)
            except _Refuse as refused:
                self._refused.append(refused.refusal)
        self._start = dict(self._now)

    def carry_out(self, operation: Operation, changes: Changeset) -> None:
        """Do one operation on paper, or note why not."""
        try:
            for path in _paths(operation):
                if changes.scope and not is_in_scope(path, changes.scope):
                    raise _Refuse(path, RefusalKind.OUT_OF_SCOPE, f"{path} lies outside what was to be changed.")
                self._see(path)
            self._check_base(operation)
            if len({*self._now, *_paths(operation)}) > MAX_CHANGED_FILES:
                sentence = f"{operation.path} is beyond the {MAX_CHANGED_FILES} files that one change may touch."
                raise _Refuse(operation.path, RefusalKind.TOO_MANY, sentence)
            path = self._do(operation, changes)
            self._asked[path] = operation.asked_by or changes.asked_by or self._asked.get(path, "")
        except _Refuse as refused:
            self._refused.append(refused.refusal)

    def drafting(self, finds: SecretFinder) -> DraftResult:
        """What has come of it all."""
        there = [path for path, file in self._now.items() if file is not None]
        self._refused += (*find_path_collisions(there), *find_paths_in_repositories(self._root, there))
        files: list[DraftFile] = []
        for file in self._files():
            refusal = self._content_objection(file, finds)
            if refusal is None:
                files.append(file)
            else:
                self._refused.append(refusal)
        barred = {refusal.path for refusal in self._refused if refusal.kind in _BARRING}
        kept = tuple(sorted((it for it in files if it.path not in barred), key=lambda it: it.path))
        return DraftResult(kept, tuple(dict.fromkeys(self._refused)))

    def _lay(self, file: DraftFile) -> None:
        for path in filter(None, (file.was, file.path)):
            self._see(path)
        before = self._disk[file.was or file.path]
        if (before.data if before else None) != file.before:
            raise _Refuse(file.path, RefusalKind.STALE, f"{file.path} has changed since this was drafted.")
        if file.was:
            self._now[file.was] = None
            self._came[file.path] = file.was
        self._now[file.path] = None if file.after is None else _File(file.after, file.executable)
        self._asked[file.path] = file.asked_by

    def _see(self, path: str) -> None:
        """Read what stands at a path, once, and refuse where nothing may be written."""
        if path in self._disk:
            return
        refusal = (
            check_write_path(path)
            or check_path_on_disk(self._root, path, MAX_FILE_BYTES)
            or check_hook_path(path, self._hooks)
        )
        if refusal is not None:
            raise _Refuse(refusal.path, refusal.kind, refusal.sentence)
        if path in self._ignored:
            raise _Refuse(path, RefusalKind.IGNORED, f"{path} is ignored by git and was not named.")
        try:
            content = self._beneath.read(path)
        except UnsafePath as astray:
            raise _Refuse(path, astray.refusal.kind, astray.refusal.sentence) from None
        self._disk[path] = _File(content.data, content.executable) if content else None

    def _at(self, path: str) -> _File | None:
        return self._now[path] if path in self._now else self._disk[path]

    def _there(self, path: str) -> _File:
        found = self._at(path)
        if found is None:
            raise _Refuse(path, RefusalKind.MISSING, f"{path} does not exist.")
        return found

    def _check_base(self, operation: Operation) -> None:
        """Whoever wrote this knew the file as it was before any of their own operations."""
        base: Digest = "" if isinstance(operation, CreateFile) else operation.base
        if not base:
            return
        path = self._came.get(operation.path, operation.path)
        file = self._start[path] if path in self._start else self._disk.get(path)
        if file is None or compute_digest(file.data) != base:
            sentence = f"{operation.path} is not as it was when this change of it was written."
            raise _Refuse(operation.path, RefusalKind.STALE, sentence)

    def _do(self, operation: Operation, changes: Changeset) -> str:
        """Carry it out; the path that it left something at."""
        match operation:
            case CreateFile():
                self._create(operation)
            case ReplaceFile():
                self._replace(operation, alone=[it.path for it in changes.operations].count(operation.path) == 1)
            case EditFile():
                self._edit(operation)
            case PutSymbol():
                self._put(operation)
            case DeleteFile():
                self._there(operation.path)
                self._now[operation.path] = None
                self._deleted.add(operation.path)
            case RenameFile():
                return self._rename(operation)
        return operation.path

    def _create(self, operation: CreateFile) -> None:
        if self._at(operation.path) is not None:
            raise _Refuse(operation.path, RefusalKind.EXISTS, f"{operation.path} is to be new and is already there.")
        self._now[operation.path] = _File(_bytes(operation.path, operation.text), operation.executable)

    def _replace(self, operation: ReplaceFile, *, alone: bool) -> None:
        path = operation.path
        old = self._at(path)
        if path in self._deleted:
            raise _Refuse(path, RefusalKind.CONTRADICTION, f"{path} is both deleted and written.")
        text = match_file_style(operation.text, _text(path, old.data)) if old else operation.text
        data = _bytes(path, text)
        symbols = (
            find_partial_file_symbols(path, old.data, data, alone=alone) if old and path not in self._whole else ()
        )
        if symbols:
            return self._parts(path, symbols, data)
        if path in self._whole and old is not None and old.data != data:
            raise _Refuse(path, RefusalKind.CONTRADICTION, f"{path} is written twice, and not the same.")
        self._whole.add(path)
        self._now[path] = _File(data, _executable(operation.executable, old))

    def _edit(self, operation: EditFile) -> None:
        path = operation.path
        new = len(operation.blocks) == 1 and not operation.blocks[0].search
        old = _File(b"") if new and self._at(path) is None else self._there(path)
        try:
            text = apply_edit_blocks(_text(path, old.data), operation.blocks)
        except UnmatchedBlock as unmatched:
            raise _Refuse(path, unmatched.kind, f"{path} cannot be edited as wished. {unmatched.sentence}") from None
        self._now[path] = _File(_bytes(path, text), _executable(operation.executable, old))

    def _put(self, operation: PutSymbol) -> None:
        path = operation.path
        old = self._there(path)
        _text(path, old.data)
        result = transplant_symbol(path, old.data, operation.symbol, _bytes(path, operation.text))
        if isinstance(result, SpliceRefusal):
            raise _Refuse(path, result.kind, result.sentence)
        if (path, operation.symbol) in self._put_there and result.source != old.data:
            sentence = f"{operation.symbol} of {path} is written twice, and not the same."
            raise _Refuse(path, RefusalKind.CONTRADICTION, sentence)
        self._put_there.add((path, operation.symbol))
        self._now[path] = _File(result.source, old.executable)

    def _parts(self, path: str, symbols: Sequence[str], donor: bytes) -> None:
        """What holds only some of a file's symbols takes none of the others away."""
        for symbol in symbols:
            self._put(PutSymbol(path, symbol, donor.decode()))

    def _rename(self, operation: RenameFile) -> str:
        file = self._there(operation.path)
        if operation.path == operation.to:
            raise _Refuse(operation.path, RefusalKind.CONTRADICTION, f"{operation.path} is renamed to itself.")
        if self._at(operation.to) is not None:
            raise _Refuse(operation.to, RefusalKind.EXISTS, f"{operation.to} is already there.")
        self._now[operation.path] = None
        self._now[operation.to] = file
        self._came[operation.to] = self._came.pop(operation.path, operation.path)
        return operation.to

    def _files(self) -> list[DraftFile]:
        """The differences from what stands on disk; a file that only has another name is told as one."""
        moved = {
            new: old
            for new, old in self._came.items()
            if self._now.get(new) and self._now.get(old) is None and self._disk[old] and self._disk[new] is None
        }
        gone = set(moved.values())
        found: list[DraftFile] = []
        for path, now in self._now.items():
            if path in gone:
                continue
            was = moved.get(path, "")
            before = self._disk[was or path]
            if was or before != now:
                found.append(
                    DraftFile(
                        path,
                        before.data if before else None,
                        now.data if now else None,
                        was,
                        bool(now and now.executable),
                        bool(before and before.executable),
                        self._asked.get(path, ""),
                    )
                )
        return found

    def _content_objection(self, file: DraftFile, finds: SecretFinder) -> Refusal | None:
        if file.after is None:
            return None
        path = file.path
        if len(file.after) > MAX_FILE_BYTES:
            sentence = f"{path} would have {len(file.after):,} bytes; at most {MAX_FILE_BYTES:,} are written."
            return Refusal(path, RefusalKind.TOO_LARGE, sentence)
        if b"\0" in file.after:
            return Refusal(path, RefusalKind.BINARY, f"{path} would not be text.")
        known = set((file.before or b"").split(b"\n"))
        fresh = b"\n".join(line for line in file.after.split(b"\n") if line not in known)
        if _TAKEN_OUT.search(fresh):
            return Refusal(path, RefusalKind.SECRET, f"{path} would hold a mark where a secret was taken out.")
        if found := finds(fresh.decode(errors="replace")):
            return Refusal(path, RefusalKind.SECRET, f"{path} would hold what looks like a secret ({found[0]}).")
        return None


_BARRING = (RefusalKind.CASE, RefusalKind.CONTRADICTION, RefusalKind.REPOSITORY)
"""What stands against the whole file, not only against one wish about it."""


def _text(path: str, data: bytes) -> str:
    try:
        if b"\0" not in data:
            return data.decode()
    except UnicodeDecodeError:
        pass
    raise _Refuse(path, RefusalKind.BINARY, f"{path} is not text in UTF-8, so it cannot be changed line by line.")


def _bytes(path: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise _Refuse(path, RefusalKind.BINARY, f"{path} would not be text.") from None


def _executable(wanted: bool | None, old: _File | None) -> bool:
    return bool(old and old.executable) if wanted is None else wanted
