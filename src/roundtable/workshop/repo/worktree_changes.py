"""What was done in a folder since the commit it began at, asked of the repository it came from.

Whoever works in the folder may have put anything there, so nothing in it is believed or run: git looks at its files
over a copy of our own index, made anew for each look, and never into a repository that stands within.

A folder with a git of its own, for whoever works in it: it begins at a commit of another repository.

It reads that repository's objects where they lie and shares nothing else. A linked worktree would share all branches,
hooks and settings, and who works in it could move the person's branches or have their next commit run a program.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from roundtable.workshop.identity import process_owned_folder
from roundtable.workshop.repo.commits import GitFailed
from roundtable.workshop.repo.git import (
    DIFF_OPTIONS,
    GIT_OUTPUT_LIMIT,
    LIST_IGNORED,
    git_filter_overrides,
    run_git,
    split_git_names,
)

_NOTHING, _LINK, _REPOSITORY = "000000", "120000", "160000"
_FORGET = ("update-index", "--force-remove", "-z", "--stdin")
_LONGEST_LIST = 100_000_000
"""Bytes of a list of all files: it is never shown, and cut short it would leave out what must be known."""


@contextmanager
def inspect_worktree_changes(workspace: Path, folder: Path, base: str, known: Path) -> Generator[WorktreeChanges]:
    """A look at a folder that began at this commit of the workspace; `known` is our index of it from then."""
    with process_owned_folder() as place:
        index = Path(place, "index")
        try:
            shutil.copy2(known, index)  # With its time: git distrusts files that were written in the same second.
        except FileNotFoundError:
            raise GitFailed(f"Nobody knows what the worktree {folder.name} began with.") from None
        yield WorktreeChanges(workspace, folder, base, index)


class FileDifference(NamedTuple):
    """What git knows of a file that is not as it was: its mode and digest then, and its mode now."""

    was: str
    digest: str
    now: str

    @property
    def is_link(self) -> bool:
        """Whether it is a link, or was one."""
        return _LINK in (self.was, self.now)


class WorktreeChanges:
    """What one look finds: `files` are those that are not as they were at the beginning, committed there or not.

    `inner` are the repositories within, and submodules in whose place there is anything.
    """

    def __init__(self, workspace: Path, folder: Path, base: str, index: Path) -> None:
        self._folder = folder
        self._base = base
        repository = os.fsdecode(run_git(workspace, ("rev-parse", "--absolute-git-dir")).said).strip()
        self._place = ("--literal-pathspecs", f"--git-dir={repository}", f"--work-tree={folder}")
        self._config = {
            **git_filter_overrides(workspace),
            "core.sparseCheckout": "false",
            "core.splitIndex": "false",
            "diff.autoRefreshIndex": "true",
        }
        self._variables = {"GIT_INDEX_FILE": str(index)}
        self.inner = self._made_known()
        self.files = self._differing()

    def diff(self, without: Collection[str] = ()) -> bytes:
        """The same as git shows it, but for some of these files: in their place it sees what was there before."""
        before = [(path, it) for path in without if (it := self.files[path]).was != _NOTHING]
        self._told_of((path for path in without if self.files[path].was == _NOTHING), *_FORGET)
        entries = (f"{it.was} {it.digest}\t{path}" for path, it in before)
        self._told_of(entries, "update-index", "--add", "-z", "--index-info")
        self._told_of((path for path, _ in before), "update-index", "--skip-worktree", "-z", "--stdin")
        return self._asked("diff", *DIFF_OPTIONS, self._base, "--", longest=GIT_OUTPUT_LIMIT)

    def ignored(self) -> list[str]:
        """The files that are ignored, and the folders that are as a whole."""
        return split_git_names(self._asked(*LIST_IGNORED, "-z"))

    def _differing(self) -> dict[str, FileDifference]:
        told = split_git_names(
            self._asked("diff", "--raw", "--no-abbrev", "-z", *DIFF_OPTIONS, "--no-renames", self._base, "--")
        )
        found: dict[str, FileDifference] = {}
        for how, path in zip(told[::2], told[1::2], strict=True):
            was, now, digest, *_ = how.removeprefix(":").split(" ")
            found[path] = FileDifference(was, digest, now)
        return found

    def _made_known(self) -> tuple[str, ...]:
        """Have the index know every file of the folder and no repository, so that git never looks into one."""
        skipped, submodules = self._special()
        self._told_of(submodules, *_FORGET)
        there = (path for path in skipped if os.path.lexists(self._folder / path))
        self._told_of(there, "update-index", "--no-skip-worktree", "-z", "--stdin")
        self._told_of(self._files_once(), *_FORGET)
        inner: set[str] = set()
        files: list[str] = []
        for name in split_git_names(self._asked("ls-files", "-o", "--exclude-standard", "-z")):
            path = name.rstrip("/")
            within = next((it for it in path_with_parents(path) if it in submodules), path if name != path else "")
            if within:
                inner.add(within)
            else:
                files.append(name)
        self._told_of(files, "add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul")
        return tuple(sorted(inner))

    def _special(self) -> tuple[list[str], set[str]]:
        """The files that a sparse checkout left out, and the submodules."""
        skipped: list[str] = []
        submodules: set[str] = set()
        for line in split_git_names(self._asked("ls-files", "-t", "-s", "-z")):
            told, _, path = line.partition("\t")
            tag, mode, *_ = told.split(" ")
            if mode == _REPOSITORY:
                submodules.add(path)
            elif tag == "S":
                skipped.append(path)
        return skipped, submodules

    def _files_once(self) -> list[str]:
        """The files in whose place there is a repository now."""
        told = split_git_names(self._asked("diff-files", "-z", "--diff-filter=T", "--ignore-submodules=all"))
        return [path for how, path in zip(told[::2], told[1::2], strict=True) if how.split(" ")[1] == _REPOSITORY]

    def _told_of(self, paths: Iterable[str], *args: str) -> None:
        """A command of git that takes paths or entries of its index, where there are any."""
        if told := "".join(f"{path}\0" for path in paths):
            self._asked(*args, input=os.fsencode(told))

    def _asked(self, *args: str, input: bytes = b"", longest: int = _LONGEST_LIST) -> bytes:
        told = run_git(self._folder, (*self._place, *args), self._config, input, self._variables, longest)
        if len(told.said) >= longest:
            raise GitFailed(f"More was changed in the worktree {self._folder.name} than one change may be.")
        if told.code:
            raise GitFailed(f"Git cannot tell what was done in the worktree {self._folder.name}: {told.complaint}.")
        return told.said


def path_with_parents(path: str) -> Iterable[str]:
    """A path and every folder it lies in."""
    yield path
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


_ALIKE = ("user.name", "user.email", "core.sparseCheckout", "core.sparseCheckoutCone")
"""Settings without which one could not commit there, or would need files that were never fetched."""
_ALSO = ("shallow", "info/exclude", "info/sparse-checkout")
"""What else says how far the history goes and which files there are."""


def create_worktree_repository(workspace: Path, folder: Path, commit: str, branch: str) -> None:
    """Make the folder with the files of a commit of this workspace, on a branch of its own or on none."""
    asked = [part for name in ("objects", *_ALSO) for part in ("--git-path", name)]
    told = _git(workspace, workspace, "rev-parse", "--path-format=absolute", "--show-object-format", *asked)
    format, objects, *others = told.splitlines()
    folder.mkdir(parents=True)
    _git(workspace, folder, "init", "--quiet", "--template=", f"--object-format={format}")
    own = folder / ".git"
    (own / "info").mkdir(exist_ok=True)
    (own / "objects/info/alternates").write_text(f"{objects}\n")
    for name, source in zip(_ALSO, others, strict=True):
        if os.path.isfile(source):
            shutil.copyfile(source, own / name)
    for name in _ALIKE:
        if value := run_git(workspace, ("config", "--get", name)).said.decode(errors="replace").strip():
            _git(workspace, folder, "config", name, value)
    _git(workspace, folder, "checkout", "--quiet", *(("-b", branch) if branch else ("--detach",)), commit)


def pin_worktree_commit(workspace: Path, ref: str, commit: str) -> None:
    """Have the workspace's repository keep a commit that a folder begins at, whatever becomes of its branches."""
    _git(workspace, workspace, "update-ref", ref, commit)


def forget_worktree_refs(workspace: Path, ref: str, folder: Path, branch: str) -> None:
    """Have the repository know nothing more of a folder that is gone.

    Earlier ones were linked worktrees, with their branch in the workspace's repository.
    """
    run_git(workspace, ("update-ref", "-d", ref))
    was_linked = not run_git(workspace, ("worktree", "remove", "--force", "--force", str(folder))).code
    if was_linked and branch:
        run_git(workspace, ("update-ref", "-d", f"refs/heads/{branch}"))


def _git(workspace: Path, folder: Path, *args: str) -> str:
    whole_index = {"core.splitIndex": "false"}
    told = run_git(folder, args, {**git_filter_overrides(workspace), **whole_index})
    if told.code:
        raise GitFailed(f"Git would not make a worktree: {' '.join(told.complaint.split())}.")
    return os.fsdecode(told.said)
