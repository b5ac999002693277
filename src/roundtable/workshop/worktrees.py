"""Worktrees: a folder of its own for each candidate or task, from a clean commit, kept until a person lets it go.

Where there is no repository, it is a plain copy of the workspace. What we know of each lies beside it, out of reach of
whoever works in it, and git is never asked through what stands in its folder.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import socket
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from glob import glob
from hashlib import sha256
from pathlib import Path

import msgspec

from roundtable.core.faults import NotFound, UsageError
from roundtable.core.sensitive import is_sensitive
from roundtable.workshop.beneath import Astray, Beneath
from roundtable.workshop.committing import GitRefused, Repository
from roundtable.workshop.git import DIFF, LONGEST, Told, git_of, names_in, no_filters, run_git
from roundtable.workshop.trees import copied, made_tree

FIRST_PORT, LAST_PORT, PORTS = 42_000, 60_000, 10
"""Every worktree has ten ports of its own, from its first one on."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")
_KNOWN = ".known"
_FILE_OF_DIFF = re.compile(rb"^(?=diff --git )", re.M)
_NO_TEXT = re.compile(rb"^Binary files ", re.M)
_STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "-uall", "--ignore-submodules=all")


class Worktree(msgspec.Struct, frozen=True):
    """One worktree: its folder, the commit it began at, its branch if it has one, its first port.

    Without a repository it is a copy, and `began` has the digest of every file in it. One that was cut off while it
    was made is not `ready`.
    """

    name: str
    workspace: str
    folder: str
    base: str = ""
    branch: str = ""
    port: int = 0
    session: str = ""
    administration: str = ""
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


class Standing(msgspec.Struct, frozen=True):
    """What was done in a worktree: the files changed there, and those of them that do not stand the same here."""

    changed: tuple[str, ...] = ()
    unmerged: tuple[str, ...] = ()
    tip: str = ""


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
            names = list(_named(self._workspace, copy))
            made = self._planned(name, base, branch, session)
            if made.base:
                made = self._checked_out(made)
            else:
                made_tree(self._workspace, made.path)
                made = msgspec.structs.replace(made, began=_digests(made.path))
            copied(self._workspace, made.path, names)
            made = msgspec.structs.replace(made, ready=True)
            self._note(made)
            return made

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

    def standing(self, worktree: Worktree) -> Standing:
        """What was done in it, and what of that would be lost with it."""
        if not worktree.ready:
            return Standing()
        if not worktree.path.is_dir():
            return self._left_of(worktree)
        changed, tip = self._changed(worktree)
        with Beneath.of(worktree.path) as there, Beneath.of(self._workspace) as here:
            lost = [path for path in changed if not _alike(there, here, path)]
        return Standing(tuple(changed), tuple(lost), tip)

    def diff(self, name: str) -> str:
        """What was done in it since the commit it began at, committed there or not, as git tells it.

        Files that are no text are left out: what programs leave behind is nobody's work.
        """
        worktree = self.find(name)
        self._asked(worktree, "add", "--all", "--intent-to-add")
        told = self._asked(worktree, "diff", *DIFF, worktree.base, "--")
        if len(told) >= LONGEST:
            raise GitRefused(f"More was changed in the worktree {name} than one change may be.")
        return "".join(map(_text_of, _FILE_OF_DIFF.split(told)))

    def discard(self, name: str) -> str:
        """Take a worktree and its branch away, whatever is in it; the commit it was at is returned, if there is one."""
        worktree = self.find(name)
        with self._alone():
            tip = self._tip(worktree)
            shutil.rmtree(worktree.path, ignore_errors=True)
            if worktree.base:
                self._git("worktree", "remove", "--force", "--force", worktree.folder)
            if worktree.branch:
                self._git("update-ref", "-d", f"refs/heads/{worktree.branch}", tip or worktree.base)
            self._note_of(name).unlink(missing_ok=True)
        return tip

    # --- how -------------------------------------------------------------------------------------

    def _planned(self, name: str, base: str, branch: str, session: str) -> Worktree:
        """What is about to be made, noted before it is: whatever is left of it then can be discarded."""
        repository = Repository.of(self._workspace)
        commit = repository.resolve(base) if repository and repository.head else ""
        if repository and repository.head:
            if not commit:
                raise UsageError(f"There is no commit {base} here.", "Name a branch, a tag or a commit.")
            if branch:
                repository.reserved_branch(branch)
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

    def _checked_out(self, made: Worktree) -> Worktree:
        how = ("-b", made.branch) if made.branch else ("--detach",)
        told = self._git("worktree", "add", "--quiet", *how, made.folder, made.base)
        if told.code:
            raise GitRefused(f"Git would not make a worktree: {' '.join(told.complaint.split())}.")
        said = run_git(made.path, ("rev-parse", "--absolute-git-dir")).said
        return msgspec.structs.replace(made, administration=os.fsdecode(said).strip())

    def _left_of(self, worktree: Worktree) -> Standing:
        """What the branch of a worktree still has whose folder is gone."""
        tip = self._tip(worktree)
        if tip in ("", worktree.base):
            return Standing(tip=tip)
        told = self._git("diff-tree", "-r", "-z", "--no-renames", "--name-only", worktree.base, tip).said
        return Standing(tuple(names_in(told)), tuple(names_in(told)), tip)

    def _changed(self, worktree: Worktree) -> tuple[list[str], str]:
        """What differs from where it began, committed there or not, and the commit it is at."""
        tip = self._tip(worktree)
        if not _is_known(worktree):
            now = _digests(worktree.path)
            return sorted(path for path in {*now, *worktree.began} if now.get(path) != worktree.began.get(path)), tip
        committed = self._asked(worktree, "diff-tree", "-r", "-z", "--no-renames", "--name-only", worktree.base, tip)
        standing = names_in(self._asked(worktree, *_STATUS))
        return sorted({*names_in(committed), *(line[3:] for line in standing)}), tip

    def _tip(self, worktree: Worktree) -> str:
        """The commit it is at; that of its branch where git knows the worktree no more."""
        if _is_known(worktree):
            return self._asked(worktree, "rev-parse", "--verify", "HEAD").decode().strip()
        if not worktree.branch:
            return ""
        return self._git("rev-parse", "--verify", "--quiet", f"refs/heads/{worktree.branch}").said.decode().strip()

    def _asked(self, worktree: Worktree, *args: str) -> bytes:
        """Git about a worktree, by what we know of it and not by what stands in it."""
        if not worktree.administration:
            return b""
        place = (f"--git-dir={worktree.administration}", f"--work-tree={worktree.folder}")
        at = worktree.path if worktree.path.is_dir() else self._workspace
        told = run_git(at, (*place, *args), no_filters(self._workspace))
        if told.code:
            raise GitRefused(f"Git knows nothing of the worktree {worktree.name}: {told.complaint}.")
        return told.said

    def _git(self, *args: str) -> Told:
        return run_git(self._workspace, args, no_filters(self._workspace))

    def _free_port(self) -> int:
        """The first of ten ports that no other worktree has, in any workspace, and that nobody listens at."""
        notes = self._root.glob(f"*/{_KNOWN}/*.json")
        taken = {msgspec.json.decode(note.read_bytes(), type=Worktree).port for note in notes}
        free = (port for port in range(FIRST_PORT, LAST_PORT, PORTS) if port not in taken)
        found = next((port for port in free if _nobody_listens(port)), 0)
        if not found:
            raise UsageError("No ports are left for another worktree.", "Run: roundtable worktrees clean")
        return found

    def _note(self, worktree: Worktree) -> None:
        path = self._note_of(worktree.name)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.with_suffix(".new").write_bytes(msgspec.json.encode(worktree))
        path.with_suffix(".new").replace(path)

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


def branch_name(template: str, agent: str, task: str) -> str:
    """The branch of an agent and its task, such as `agents/gpt/t-1`; what no branch may have in its name is a dash."""
    for name, value in (("{agent}", agent), ("{task}", task)):
        template = template.replace(name, re.sub(r"[^A-Za-z0-9_-]+", "-", value).strip("-"))
    return template


def _named(workspace: Path, patterns: Iterable[str]) -> Iterable[str]:
    """The files that rules name: a file, a folder with all in it, or a pattern. A secret only by its own name."""
    for pattern in patterns:
        if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
            raise UsageError(f"worktrees.copy cannot be {pattern}.", "Name something inside the workspace.")
        for found in glob(pattern, root_dir=workspace, include_hidden=True):
            for name in _beneath(workspace, found.rstrip("/")):
                if name == pattern or not is_sensitive(name):
                    yield name


def _beneath(workspace: Path, name: str) -> Iterable[str]:
    """A file itself, or every file and link in a folder."""
    if (workspace / name).is_symlink() or not (workspace / name).is_dir():
        yield name
        return
    for folder, folders, files in os.walk(workspace / name):
        links = [it for it in folders if os.path.islink(os.path.join(folder, it))]
        yield from (os.path.relpath(os.path.join(folder, it), workspace) for it in (*files, *links))


def _is_known(worktree: Worktree) -> bool:
    """Whether git knows it: not a copy, nor one that was pruned while its folder was away."""
    return bool(worktree.administration) and Path(worktree.administration).is_dir()


def _digests(folder: Path) -> dict[str, str]:
    """Every file of a copy that is not ignored, by its bytes; of a link, where it leads."""
    with git_of(folder) as git:
        names = [name for name in git.files() if os.path.lexists(folder / name)]
    return {name: sha256(_bytes(folder / name)).hexdigest() for name in names}


def _text_of(diff: bytes) -> str:
    """The diff of one file, exactly; nothing where the file is not text in UTF-8."""
    try:
        return "" if _NO_TEXT.search(diff) else diff.decode()
    except UnicodeDecodeError:
        return ""


def _bytes(path: Path) -> bytes:
    return os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()


def _alike(there: Beneath, here: Beneath, path: str) -> bool:
    """Whether the same file stands in both places, or none; what is no file is like nothing."""
    try:
        one, other = there.read(path), here.read(path)
    except Astray:
        return False
    return one is other if one is None or other is None else one.same(other)


def _nobody_listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0
