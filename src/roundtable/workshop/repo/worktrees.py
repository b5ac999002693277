"""Worktrees: a folder of its own for each candidate or task, from a clean commit, kept until a person lets it go.

Its git is its own (`own_git`), and where there is no repository it is a plain copy of the workspace. What we know of
each lies beside it, out of reach of whoever works in it: what was done there is asked of the person's repository
(`folder_changes`), and never of what stands in the folder.
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
    copy_files_to_tree,
    create_scratch_tree,
    list_files_below,
    match_copy_patterns,
)
from roundtable.workshop.repo.worktree_changes import (
    WorktreeChanges,
    create_worktree_repository,
    forget_worktree_refs,
    inspect_worktree_changes,
    path_with_parents,
    pin_worktree_commit,
)
from roundtable.workshop.rooted_files import ConfinedFolder, UnsafePath

FIRST_PORT, LAST_PORT, PORTS_PER_WORKTREE = 42_000, 60_000, 10
"""Every worktree has ten ports of its own, from its first one on."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")
_KNOWN = ".known"
_MADE_AGAIN = frozenset({
    "node_modules", "target", "venv", ".venv", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache",
    ".hypothesis", ".tox", ".nox", ".gradle", ".next", ".turbo", ".parcel-cache", ".cache", ".DS_Store", ".git",
})  # fmt: skip
"""Dependencies, caches and what is git's own: nobody's work lies there."""
_FILE_OF_DIFF = re.compile(rb"^(?=diff --git )", re.M)
_NO_TEXT = re.compile(rb"^Binary files ", re.M)


class Worktree(msgspec.Struct, frozen=True):
    """One worktree: its folder, the commit it began at, its branch if it has one, its first port.

    `began` has the digests of files as nobody had worked on them yet: of a copy without a repository all, else those
    that were copied there or made by the set-up and are not as the commit has them. One that was cut off while it was
    made is not `ready`.
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
        """Its folder."""
        return Path(self.folder)

    @property
    def variables(self) -> dict[str, str]:
        """What programs that run in it are told of its ports."""
        return {"PORT": str(self.port), "ROUNDTABLE_PORT_BASE": str(self.port)}


class WorktreeStatus(msgspec.Struct, frozen=True):
    """What was done in a worktree: the files changed there, and those of them that do not stand the same here.

    `ignored` are files and folders that git ignores and that do not stand the same here either.
    """

    changed: tuple[str, ...] = ()
    unmerged: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


class Worktrees:
    """The worktrees of one workspace, in the person's data folder."""

    def __init__(self, root: Path, workspace: Path) -> None:
        self._root = root
        self._workspace = workspace.resolve()
        self._folder = root / sha256(os.fsencode(self._workspace)).hexdigest()[:16]

    def open(
        self, name: str, base: str = "HEAD", *, branch: str = "", copy: Sequence[str] = (), session: str = ""
    ) -> Worktree:
        """Make one from a commit, on a new branch or on none, with the ignored files that `copy` names."""
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name} cannot be the name of a worktree.", "Use letters, digits, dots and dashes.")
        with self._alone():
            if self._note_of(name).exists():
                raise UsageError(f"There is a worktree {name} already.", f"Run: roundtable worktrees discard {name}")
            names = list(match_copy_patterns(self._workspace, copy))
            made = self._planned(name, base, branch, session)
            if made.base:
                pin_worktree_commit(self._workspace, self._ref_of(made), made.base)
                create_worktree_repository(self._workspace, made.path, made.base, made.branch)
                shutil.copy2(made.path / ".git/index", self._index_of(made))
            else:
                create_scratch_tree(self._workspace, made.path)
            copy_files_to_tree(self._workspace, made.path, names)
            made = msgspec.structs.replace(made, ready=True)
            if names or not made.base:
                return self.begun(made)
            self._note(made)
            return made

    def begun(self, worktree: Worktree) -> Worktree:
        """Have a worktree begin with what stands in it by now: what made it ready is nobody's work."""
        if worktree.base:
            with self._look(worktree) as changes:
                began = {path: _digest(worktree.path, path, it.now) for path, it in changes.files.items()}
        else:
            began = _digests(worktree.path)
        worktree = msgspec.structs.replace(worktree, began=began)
        self._note(worktree)
        return worktree

    def list(self) -> list[Worktree]:
        """Those there are, by name."""
        notes = sorted((self._folder / _KNOWN).glob("*.json"))
        return [msgspec.json.decode(note.read_bytes(), type=Worktree) for note in notes]

    def find(self, name: str) -> Worktree:
        """One of them."""
        found = next((it for it in self.list() if it.name == name), None)
        if found is None:
            known = ", ".join(it.name for it in self.list()) or "none"
            raise NotFound(f"There is no worktree {name} here.", f"There are: {known}.")
        return found

    def standing(self, worktree: Worktree) -> WorktreeStatus:
        """What was done in it, and what of that would be lost with it."""
        if not worktree.ready or not worktree.path.is_dir():
            return WorktreeStatus()
        changed, ignored = self._changed(worktree)
        with ConfinedFolder.of(worktree.path) as there, ConfinedFolder.of(self._workspace) as here:
            lost = [path for path in changed if not _alike(there, here, path)]
            made = [it for it in ignored if not all(_alike(there, here, path) for path in _own(worktree.path, it))]
        return WorktreeStatus(tuple(changed), tuple(lost), tuple(made))

    def edits(self, name: str) -> FolderEdits:
        """What was done in it since it began, committed there or not, as git tells it.

        Files that are no text are left out and named, and so are links, a repository within it, made there or a
        submodule that was worked in, and files that were not as committed already when it began: a diff of them would
        either hold what nobody did, or not fit the workspace.
        """
        worktree = self.find(name)
        with self._look(worktree) as changes:
            before = _about(worktree.began, changes.files)
            links = _about([path for path, it in changes.files.items() if it.is_link], changes.files) - before
            on_top = before.intersection(_done(worktree, changes))
            told, inner = changes.diff(without=before | links), changes.inner
        files = {diff: _text_of(diff) for diff in _FILE_OF_DIFF.split(told) if diff}
        no_text = tuple(_name_of(diff) for diff, text in files.items() if not text)
        return FolderEdits(
            "".join(files.values()), _shown(inner), no_text, _shown(sorted(links)), _shown(sorted(on_top))
        )

    def discard(self, name: str) -> None:
        """Take a worktree away, whatever is in it."""
        worktree = self.find(name)
        with self._alone():
            shutil.rmtree(worktree.path, ignore_errors=True)
            if worktree.base:
                forget_worktree_refs(self._workspace, self._ref_of(worktree), worktree.path, worktree.branch)
            self._index_of(worktree).unlink(missing_ok=True)
            self._note_of(name).unlink(missing_ok=True)

    # --- how -------------------------------------------------------------------------------------

    def _planned(self, name: str, base: str, branch: str, session: str) -> Worktree:
        """What is about to be made, noted before it is: whatever is left of it then can be discarded."""
        repository = Repository.of(self._workspace)
        commit = ""
        if repository and repository.head and not (commit := repository.resolve(base)):
            raise UsageError(f"There is no commit {base} here.", "Name a branch, a tag or a commit.")
        made = Worktree(
            name,
            str(self._workspace),
            str(self._folder / name),
            base=commit,
            branch=branch if commit else "",
            port=self._free_port(),
            session=session,
        )
        self._note(made)
        return made

    def _changed(self, worktree: Worktree) -> tuple[list[str], list[str]]:
        """What was done since it began, committed there or not; and what is ignored there."""
        if not self._index_of(worktree).exists():
            now = _digests(worktree.path)
            changed = sorted(path for path in {*now, *worktree.began} if now.get(path) != worktree.began.get(path))
            with open_git(worktree.path) as git:
                return changed, git.ignored_files()
        with self._look(worktree) as changes:
            return sorted({*_done(worktree, changes), *changes.inner}), changes.ignored()

    def _look(self, worktree: Worktree) -> AbstractContextManager[WorktreeChanges]:
        return inspect_worktree_changes(self._workspace, worktree.path, worktree.base, self._index_of(worktree))

    def _free_port(self) -> int:
        """The first of ten ports that no other worktree has, in any workspace, and that nobody listens at."""
        notes = self._root.glob(f"*/{_KNOWN}/*.json")
        taken = {msgspec.json.decode(note.read_bytes(), type=Worktree).port for note in notes}
        free = (port for port in range(FIRST_PORT, LAST_PORT, PORTS_PER_WORKTREE) if port not in taken)
        found = next((port for port in free if _nobody_listens(port)), 0)
        if not found:
            raise UsageError("No ports are left for another worktree.", "Run: roundtable worktrees clean")
        return found

    def _note(self, worktree: Worktree) -> None:
        path = self._note_of(worktree.name)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.with_suffix(".new").write_bytes(msgspec.json.encode(worktree))
        path.with_suffix(".new").replace(path)

    def _index_of(self, worktree: Worktree) -> Path:
        return self._folder / _KNOWN / f"{worktree.name}.index"

    def _ref_of(self, worktree: Worktree) -> str:
        """Under what its beginning is kept; two workspaces may share a repository, and each have one of this name."""
        return f"{WORKTREE_REFS}{self._folder.name}/{worktree.name}"

    def _note_of(self, name: str) -> Path:
        return self._folder / _KNOWN / f"{name}.json"

    @contextmanager
    def _alone(self) -> Generator[None]:
        """One process at a time makes or removes worktrees: ports are shared by all workspaces."""
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self._root / "lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def agent_branch_name(template: str, agent: str, task: str) -> str:
    """The branch of an agent and its task, such as `agents/gpt/t-1`; what no branch may have in its name is a dash."""
    for name, value in (("{agent}", agent), ("{task}", task)):
        template = template.replace(name, re.sub(r"[^A-Za-z0-9_-]+", "-", value).strip("-"))
    return template


def _own(folder: Path, place: str) -> Iterable[str]:
    """What somebody may have made in a place that git does not look into: all but what is made again."""
    if _MADE_AGAIN.isdisjoint(place.split("/")):
        for name in list_files_below(folder, place.rstrip("/")):
            if _MADE_AGAIN.isdisjoint(name.split("/")):
                yield name


def _digests(folder: Path) -> dict[str, str]:
    """Every file of a copy that is not ignored, by its bytes; of a link, where it leads.

    Git names a repository within by its folder alone: all in it counts but what can be made again, since what that
    repository ignores only whoever works there says.
    """
    with open_git(folder) as git:
        found = [it for name in git.files() for it in (_own(folder, name) if name.endswith("/") else (name,))]
    names = [name for name in found if _can_be_read(folder / name)]
    return {name: sha256(_bytes(folder / name)).hexdigest() for name in names}


def _done(worktree: Worktree, changes: WorktreeChanges) -> list[str]:
    """The files that are neither as the commit has them nor as they were when it began."""
    began, folder = worktree.began, worktree.path
    return [
        path for path, it in changes.files.items() if path not in began or began[path] != _digest(folder, path, it.now)
    ]


def _digest(folder: Path, name: str, mode: str) -> str:
    """A file as git tells its mode, by its bytes; of a link, where it leads."""
    return f"{mode} {sha256(_bytes(folder / name)).hexdigest()}" if _can_be_read(folder / name) else mode


def _about(places: Iterable[str], files: Iterable[str]) -> set[str]:
    """The files that stand in one of these places, beneath one, or where a folder of one was: they go together."""
    at = set(places)
    around = {it for place in at for it in path_with_parents(place)}
    return {path for path in files if path in around or not at.isdisjoint(path_with_parents(path))}


def _shown(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(os.fsencode(it).decode(errors="replace") for it in names)


def _can_be_read(path: Path) -> bool:
    """Whether it is a file or a link: nobody reads a pipe to its end."""
    return path.is_symlink() or path.is_file()


def _text_of(diff: bytes) -> str:
    """The diff of one file, exactly; nothing where the file is not text in UTF-8."""
    try:
        return "" if _NO_TEXT.search(diff) else diff.decode()
    except UnicodeDecodeError:
        return ""


def _name_of(diff: bytes) -> str:
    """The file that a diff is of, as git writes it; of one that was moved, where it is now."""
    line = diff.partition(b"\n")[0].decode(errors="replace")
    found = re.fullmatch(r"diff --git a/(.*) b/\1", line)
    return found[1] if found else line.rpartition("b/")[2].rstrip('"')


def _bytes(path: Path) -> bytes:
    return os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()


def _alike(there: ConfinedFolder, here: ConfinedFolder, path: str) -> bool:
    """Whether the same file stands in both places, or none; what is no file is like nothing."""
    try:
        one, other = there.read(path), here.read(path)
    except UnsafePath:
        return False
    return one is other if one is None or other is None else one.same(other)


def _nobody_listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0
