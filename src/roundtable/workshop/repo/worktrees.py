"""Worktrees: one folder per candidate or task, created from a clean commit and kept until it is discarded.

Each has its own repository (see `worktree_changes`); without a repository it is a plain copy of the workspace. Our
notes lie outside its folder, where an agent cannot change them, and its changes are read through the user's repository.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import socket
from collections.abc import Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager
from hashlib import sha256
from pathlib import Path

import msgspec

from roundtable.core.changeset import FolderEdits
from roundtable.core.faults import NotFound, UsageError
from roundtable.workshop.repo.commits import WORKTREE_REFS, Repository
from roundtable.workshop.repo.git import open_git
from roundtable.workshop.repo.scratch_trees import (
    copy_working_tree_files,
    create_scratch_working_tree,
    list_working_tree_files_below,
    match_worktree_copy_patterns,
)
from roundtable.workshop.repo.worktree_changes import (
    WorktreeChanges,
    create_worktree_repository,
    forget_worktree_refs,
    inspect_worktree_changes,
    list_worktree_path_parents,
    pin_worktree_commit,
)
from roundtable.workshop.rooted_files import ConfinedFolder, FileContent, UnsafePath

FIRST_PORT, LAST_PORT, PORTS_PER_WORKTREE = 42_000, 60_000, 10
"""Every worktree has ten ports, counted from its first one."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")
_NOTES_FOLDER = ".known"
_REGENERATED = frozenset({
    "node_modules", "target", "venv", ".venv", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache",
    ".hypothesis", ".tox", ".nox", ".gradle", ".next", ".turbo", ".parcel-cache", ".cache", ".DS_Store", ".git",
})  # fmt: skip
"""Dependencies, caches and git's own files, which can be created again: no work is lost with them."""
_FILE_OF_DIFF = re.compile(rb"^(?=diff --git )", re.M)
_BINARY_MARK = re.compile(rb"^Binary files ", re.M)


class Worktree(msgspec.Struct, frozen=True):
    """One worktree: its folder, base commit, branch (if any) and first port.

    `began` holds file digests from before the work began: all files of a plain copy, else files that were copied or set
    up and differ from the commit. A worktree whose creation was interrupted is not `ready`.
    """

    name: str
    workspace: str
    folder: str
    base: str = ""
    branch: str = ""
    port: int = 0
    session: str = ""
    began: dict[str, str] = {}
    ready: bool = False

    @property
    def path(self) -> Path:
        """The folder of the worktree."""
        return Path(self.folder)

    @property
    def variables(self) -> dict[str, str]:
        """The variables that tell programs in the worktree their ports."""
        return {"PORT": str(self.port), "ROUNDTABLE_PORT_BASE": str(self.port)}


class WorktreeStatus(msgspec.Struct, frozen=True):
    """The state of a worktree: changed files, and those of them that differ from the workspace.

    `ignored` are ignored files and folders that differ from the workspace too.
    """

    changed: tuple[str, ...] = ()
    unmerged: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


class Worktrees:
    """The worktrees of one workspace, in the user's data folder."""

    def __init__(self, root: Path, workspace: Path) -> None:
        self._root = root
        self._workspace = workspace.resolve()
        self._folder = root / sha256(os.fsencode(self._workspace)).hexdigest()[:16]

    def open(
        self, name: str, base: str = "HEAD", *, branch: str = "", copy: Sequence[str] = (), session: str = ""
    ) -> Worktree:
        """Create a worktree from a commit, on a new branch or on none, with the ignored files that `copy` names."""
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name} is not a valid worktree name.", "Use letters, digits, dots and dashes.")
        with self._lock():
            if self._note_path(name).exists():
                raise UsageError(f"Worktree {name} already exists.", f"Run: roundtable worktrees discard {name}")
            names = list(match_worktree_copy_patterns(self._workspace, copy))
            worktree = self._plan(name, base, branch, session)
            if worktree.base:
                pin_worktree_commit(self._workspace, self._base_ref(worktree), worktree.base)
                create_worktree_repository(self._workspace, worktree.path, worktree.base, worktree.branch)
                shutil.copy2(worktree.path / ".git/index", self._index_path(worktree))
            else:
                create_scratch_working_tree(self._workspace, worktree.path)
            copy_working_tree_files(self._workspace, worktree.path, names)
            worktree = msgspec.structs.replace(worktree, ready=True)
            if names or not worktree.base:
                return self.record_starting_point(worktree)
            self._write_note(worktree)
            return worktree

    def record_starting_point(self, worktree: Worktree) -> Worktree:
        """Note the current files as the starting point, so that the set-up does not count as work."""
        if worktree.base:
            with self._inspect(worktree) as changes:
                began = {
                    path: _digest(worktree.path, path, difference.now) for path, difference in changes.files.items()
                }
        else:
            began = _copy_digests(worktree.path)
        worktree = msgspec.structs.replace(worktree, began=began)
        self._write_note(worktree)
        return worktree

    def list(self) -> list[Worktree]:
        """Return all worktrees, sorted by name."""
        notes = sorted((self._folder / _NOTES_FOLDER).glob("*.json"))
        return [msgspec.json.decode(note.read_bytes(), type=Worktree) for note in notes]

    def find(self, name: str) -> Worktree:
        """Return the worktree of that name."""
        match = next((worktree for worktree in self.list() if worktree.name == name), None)
        if match is None:
            names = ", ".join(worktree.name for worktree in self.list()) or "none"
            raise NotFound(f"Worktree not found: {name}.", f"Existing worktrees: {names}.")
        return match

    def status(self, worktree: Worktree) -> WorktreeStatus:
        """Return what was changed in a worktree, and what of it would be lost if it were discarded."""
        if not worktree.ready or not worktree.path.is_dir():
            return WorktreeStatus()
        changed, ignored = self._find_changes(worktree)
        with (
            ConfinedFolder.open(worktree.path) as worktree_folder,
            ConfinedFolder.open(self._workspace) as workspace_folder,
        ):
            unmerged = [path for path in changed if not _is_same_file(worktree_folder, workspace_folder, path)]
            lost_ignored = [
                place
                for place in ignored
                if not all(
                    _is_same_file(worktree_folder, workspace_folder, path) for path in _own_files(worktree.path, place)
                )
            ]
        return WorktreeStatus(tuple(changed), tuple(unmerged), tuple(lost_ignored))

    def edits(self, name: str) -> FolderEdits:
        """Return the changes since the worktree was created, committed there or not, as a git diff.

        Left out and listed: files that are not text, symlinks, repositories inside (also submodules with changes), and
        files that already differed from the commit at the start, whose diff would contain other changes or not apply.
        """
        worktree = self.find(name)
        with self._inspect(worktree) as changes:
            before = _related_files(worktree.began, changes.files)
            links = (
                _related_files(
                    [path for path, difference in changes.files.items() if difference.is_link], changes.files
                )
                - before
            )
            on_top = before.intersection(_changed_files(worktree, changes))
            diff_bytes, inner = changes.diff(without=before | links), changes.inner
        files = {diff: _decode_diff(diff) for diff in _FILE_OF_DIFF.split(diff_bytes) if diff}
        no_text = tuple(_diffed_file(diff) for diff, text in files.items() if not text)
        return FolderEdits(
            "".join(files.values()),
            _decode_names(inner),
            no_text,
            _decode_names(sorted(links)),
            _decode_names(sorted(on_top)),
        )

    def discard(self, name: str) -> None:
        """Delete a worktree with everything in it."""
        worktree = self.find(name)
        with self._lock():
            shutil.rmtree(worktree.path, ignore_errors=True)
            if worktree.base:
                forget_worktree_refs(self._workspace, self._base_ref(worktree), worktree.path, worktree.branch)
            self._index_path(worktree).unlink(missing_ok=True)
            self._note_path(name).unlink(missing_ok=True)

    # --- internals -------------------------------------------------------------------------------

    def _plan(self, name: str, base: str, branch: str, session: str) -> Worktree:
        """Write the note of a worktree before creating it, so that an interrupted one can be discarded."""
        repository = Repository.open(self._workspace)
        commit = ""
        if repository and repository.head and not (commit := repository.resolve(base)):
            raise UsageError(f"Commit not found: {base}.", "Use the name of a branch, tag or commit.")
        worktree = Worktree(
            name,
            str(self._workspace),
            str(self._folder / name),
            base=commit,
            branch=branch if commit else "",
            port=self._free_port(),
            session=session,
        )
        self._write_note(worktree)
        return worktree

    def _find_changes(self, worktree: Worktree) -> tuple[list[str], list[str]]:
        """Return what was changed since the worktree was created, and what git ignores in it."""
        if not self._index_path(worktree).exists():
            now = _copy_digests(worktree.path)
            changed = sorted(path for path in {*now, *worktree.began} if now.get(path) != worktree.began.get(path))
            with open_git(worktree.path) as git:
                return changed, git.ignored_files()
        with self._inspect(worktree) as changes:
            return sorted({*_changed_files(worktree, changes), *changes.inner}), changes.ignored()

    def _inspect(self, worktree: Worktree) -> AbstractContextManager[WorktreeChanges]:
        return inspect_worktree_changes(self._workspace, worktree.path, worktree.base, self._index_path(worktree))

    def _free_port(self) -> int:
        """Return a free block of ports: no other worktree of any workspace has it, and nothing listens on its first
        port."""
        notes = self._root.glob(f"*/{_NOTES_FOLDER}/*.json")
        taken_ports = {msgspec.json.decode(note.read_bytes(), type=Worktree).port for note in notes}
        free = (port for port in range(FIRST_PORT, LAST_PORT, PORTS_PER_WORKTREE) if port not in taken_ports)
        first_port = next((port for port in free if _is_port_free(port)), 0)
        if not first_port:
            raise UsageError("No free ports are left for another worktree.", "Run: roundtable worktrees clean")
        return first_port

    def _write_note(self, worktree: Worktree) -> None:
        path = self._note_path(worktree.name)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.with_suffix(".new").write_bytes(msgspec.json.encode(worktree))
        path.with_suffix(".new").replace(path)

    def _index_path(self, worktree: Worktree) -> Path:
        return self._folder / _NOTES_FOLDER / f"{worktree.name}.index"

    def _base_ref(self, worktree: Worktree) -> str:
        """Return the ref that keeps the base commit; it contains the workspace, as several may share a repository."""
        return f"{WORKTREE_REFS}{self._folder.name}/{worktree.name}"

    def _note_path(self, name: str) -> Path:
        return self._folder / _NOTES_FOLDER / f"{name}.json"

    @contextmanager
    def _lock(self) -> Generator[None]:
        """Lock the worktrees of all workspaces: they share ports."""
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self._root / "lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def git_branch_name_for_agent(template: str, agent: str, task: str) -> str:
    """Return an agent's branch for a task, such as `agents/gpt/t-1`; characters that a branch cannot have become
    dashes."""
    for name, value in (("{agent}", agent), ("{task}", task)):
        template = template.replace(name, re.sub(r"[^A-Za-z0-9_-]+", "-", value).strip("-"))
    return template


def _own_files(folder: Path, place: str) -> Iterable[str]:
    """Yield the files in an ignored place that someone may have written; caches and dependencies are left out."""
    if _REGENERATED.isdisjoint(place.split("/")):
        for name in list_working_tree_files_below(folder, place.rstrip("/")):
            if _REGENERATED.isdisjoint(name.split("/")):
                yield name


def _copy_digests(folder: Path) -> dict[str, str]:
    """Return the digest of every file of a plain copy that is not ignored; of a symlink, that of its target path.

    Git names an inner repository by its folder only, so everything in it counts except caches and dependencies: its own
    ignore rules are not trusted.
    """
    with open_git(folder) as git:
        names = [
            file for name in git.list_files() for file in (_own_files(folder, name) if name.endswith("/") else (name,))
        ]
    readable = [name for name in names if _is_readable(folder / name)]
    return {name: sha256(_content_bytes(folder / name)).hexdigest() for name in readable}


def _changed_files(worktree: Worktree, changes: WorktreeChanges) -> list[str]:
    """Return the files that differ both from the commit and from their state at the start."""
    began, folder = worktree.began, worktree.path
    return [
        path
        for path, difference in changes.files.items()
        if path not in began or began[path] != _digest(folder, path, difference.now)
    ]


def _digest(folder: Path, name: str, mode: str) -> str:
    """Return a file's mode and the digest of its bytes; of a symlink, that of its target path."""
    return f"{mode} {sha256(_content_bytes(folder / name)).hexdigest()}" if _is_readable(folder / name) else mode


def _related_files(places: Iterable[str], files: Iterable[str]) -> set[str]:
    """Return the files that are one of these places, or above or below one: they belong together."""
    wanted = set(places)
    parents = {path for place in wanted for path in list_worktree_path_parents(place)}
    return {path for path in files if path in parents or not wanted.isdisjoint(list_worktree_path_parents(path))}


def _decode_names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(os.fsencode(name).decode(errors="replace") for name in names)


def _is_readable(path: Path) -> bool:
    """Whether a path is a file or a symlink; a pipe is never read."""
    return path.is_symlink() or path.is_file()


def _decode_diff(diff: bytes) -> str:
    """Return the diff of one file; empty if the file is not UTF-8 text."""
    try:
        return "" if _BINARY_MARK.search(diff) else diff.decode()
    except UnicodeDecodeError:
        return ""


def _diffed_file(diff: bytes) -> str:
    """Return the file that a diff is of, as git writes it; its new name if it was renamed."""
    line = diff.partition(b"\n")[0].decode(errors="replace")
    match = re.fullmatch(r"diff --git a/(.*) b/\1", line)
    return match[1] if match else line.rpartition("b/")[2].rstrip('"')


def _content_bytes(path: Path) -> bytes:
    return os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()


def _is_same_file(worktree_folder: ConfinedFolder, workspace_folder: ConfinedFolder, path: str) -> bool:
    """Whether a file is equal in both folders, or missing in both; anything that is not a file is unequal."""
    try:
        return FileContent.are_same_for_git(worktree_folder.read(path), workspace_folder.read(path))
    except UnsafePath:
        return False


def _is_port_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0
