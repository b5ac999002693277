"""Worktree repositories: creates them, and reads what was changed in them through the repository they came from.

A worktree has its own repository, which only reads the objects of the original one. A linked git worktree would share
branches, hooks and settings: an agent in it could move the user's branches or make their next commit run a program.

An agent may have written anything there, so nothing in it is trusted or run: git compares its files with a copy of our
own index, and never looks into a repository inside it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from roundtable.workshop.identity import create_temp_folder_for_process
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
_REMOVE_FROM_INDEX = ("update-index", "--force-remove", "-z", "--stdin")
_MAX_LIST_BYTES = 100_000_000
"""Maximum bytes of a file list; a list that was cut would hide changes."""


@contextmanager
def inspect_worktree_changes(workspace: Path, folder: Path, base: str, saved_index: Path) -> Generator[WorktreeChanges]:
    """Compare a worktree with its base commit; `saved_index` is our index from its creation."""
    with create_temp_folder_for_process() as place:
        index = Path(place, "index")
        try:
            shutil.copy2(saved_index, index)  # with its time: git distrusts files that were written in the same second
        except FileNotFoundError:
            raise GitFailed(f"The index of worktree {folder.name} is missing.") from None
        yield WorktreeChanges(workspace, folder, base, index)


class FileDifference(NamedTuple):
    """A changed file as git sees it: its mode and digest before, and its mode now."""

    was: str
    digest: str
    now: str

    @property
    def is_link(self) -> bool:
        """Whether the file is or was a symlink."""
        return _LINK in (self.was, self.now)


class WorktreeChanges:
    """The changes in a worktree: `files` are those that differ from its base commit, committed there or not.

    `inner` are repositories inside it, and submodules whose folders are not empty.
    """

    def __init__(self, workspace: Path, folder: Path, base: str, index: Path) -> None:
        self._folder = folder
        self._base = base
        repository = os.fsdecode(run_git(workspace, ("rev-parse", "--absolute-git-dir")).output).strip()
        self._place = ("--literal-pathspecs", f"--git-dir={repository}", f"--work-tree={folder}")
        self._config = {
            **git_filter_overrides(workspace),
            "core.sparseCheckout": "false",
            "core.splitIndex": "false",
            "diff.autoRefreshIndex": "true",
        }
        self._variables = {"GIT_INDEX_FILE": str(index)}
        self.inner = self._index_all_files()
        self.files = self._read_differences()

    def diff(self, without: Collection[str] = ()) -> bytes:
        """Return the diff of the changed files; for those in `without`, git sees the earlier contents."""
        before = [(path, change) for path in without if (change := self.files[path]).was != _NOTHING]
        self._run_with_input((path for path in without if self.files[path].was == _NOTHING), *_REMOVE_FROM_INDEX)
        entries = (f"{difference.was} {difference.digest}\t{path}" for path, difference in before)
        self._run_with_input(entries, "update-index", "--add", "-z", "--index-info")
        self._run_with_input((path for path, _ in before), "update-index", "--skip-worktree", "-z", "--stdin")
        return self._run("diff", *DIFF_OPTIONS, self._base, "--", max_bytes=GIT_OUTPUT_LIMIT)

    def ignored(self) -> list[str]:
        """Return the ignored files, and the folders that are ignored as a whole."""
        return split_git_names(self._run(*LIST_IGNORED, "-z"))

    def _read_differences(self) -> dict[str, FileDifference]:
        output = split_git_names(
            self._run("diff", "--raw", "--no-abbrev", "-z", *DIFF_OPTIONS, "--no-renames", self._base, "--")
        )
        differences: dict[str, FileDifference] = {}
        for fields, path in zip(output[::2], output[1::2], strict=True):
            old_mode, new_mode, digest, *_ = fields.removeprefix(":").split(" ")
            differences[path] = FileDifference(old_mode, digest, new_mode)
        return differences

    def _index_all_files(self) -> tuple[str, ...]:
        """Add every file to the index but no repository, so that git never looks into one; return the repositories."""
        skipped, submodules = self._sparse_and_submodules()
        self._run_with_input(submodules, *_REMOVE_FROM_INDEX)
        present = (path for path in skipped if os.path.lexists(self._folder / path))
        self._run_with_input(present, "update-index", "--no-skip-worktree", "-z", "--stdin")
        self._run_with_input(self._files_replaced_by_repositories(), *_REMOVE_FROM_INDEX)
        inner: set[str] = set()
        files: list[str] = []
        for name in split_git_names(self._run("ls-files", "-o", "--exclude-standard", "-z")):
            path = name.rstrip("/")
            repository = next(
                (parent for parent in list_worktree_path_parents(path) if parent in submodules),
                path if name != path else "",
            )
            if repository:
                inner.add(repository)
            else:
                files.append(name)
        self._run_with_input(files, "add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul")
        return tuple(sorted(inner))

    def _sparse_and_submodules(self) -> tuple[list[str], set[str]]:
        """Return the files that a sparse checkout left out, and the submodules."""
        skipped: list[str] = []
        submodules: set[str] = set()
        for line in split_git_names(self._run("ls-files", "-t", "-s", "-z")):
            output, _, path = line.partition("\t")
            tag, mode, *_ = output.split(" ")
            if mode == _REPOSITORY:
                submodules.add(path)
            elif tag == "S":
                skipped.append(path)
        return skipped, submodules

    def _files_replaced_by_repositories(self) -> list[str]:
        """Return the tracked files that a repository has replaced."""
        output = split_git_names(self._run("diff-files", "-z", "--diff-filter=T", "--ignore-submodules=all"))
        return [
            path for fields, path in zip(output[::2], output[1::2], strict=True) if fields.split(" ")[1] == _REPOSITORY
        ]

    def _run_with_input(self, paths: Iterable[str], *args: str) -> None:
        """Run a git command that takes paths or index entries on its input, if there are any."""
        if output := "".join(f"{path}\0" for path in paths):
            self._run(*args, input=os.fsencode(output))

    def _run(self, *args: str, input: bytes = b"", max_bytes: int = _MAX_LIST_BYTES) -> bytes:
        output = run_git(self._folder, (*self._place, *args), self._config, input, self._variables, max_bytes)
        if len(output.output) >= max_bytes:
            raise GitFailed(f"Worktree {self._folder.name} has more changes than can be compared.")
        if output.code:
            raise GitFailed(f"Git cannot read the changes in worktree {self._folder.name}: {output.error_output}.")
        return output.output


def list_worktree_path_parents(path: str) -> Iterable[str]:
    """Yield a path and every folder above it."""
    yield path
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


_COPIED_SETTINGS = ("user.name", "user.email", "core.sparseCheckout", "core.sparseCheckoutCone")
"""Settings needed to commit in a worktree, and to leave out files that a sparse checkout never fetched."""
_COPIED_FILES = ("shallow", "info/exclude", "info/sparse-checkout")
"""Other files that limit the history and name the files to check out."""


def create_worktree_repository(workspace: Path, folder: Path, commit: str, branch: str) -> None:
    """Create a folder with its own repository and the files of a commit, on a new branch or on none."""
    git_paths = [part for name in ("objects", *_COPIED_FILES) for part in ("--git-path", name)]
    output = _git(workspace, workspace, "rev-parse", "--path-format=absolute", "--show-object-format", *git_paths)
    format, objects, *others = output.splitlines()
    folder.mkdir(parents=True)
    _git(workspace, folder, "init", "--quiet", "--template=", f"--object-format={format}")
    own = folder / ".git"
    (own / "info").mkdir(exist_ok=True)
    (own / "objects/info/alternates").write_text(f"{objects}\n")
    for name, source in zip(_COPIED_FILES, others, strict=True):
        if os.path.isfile(source):
            shutil.copyfile(source, own / name)
    for name in _COPIED_SETTINGS:
        if value := run_git(workspace, ("config", "--get", name)).output.decode(errors="replace").strip():
            _git(workspace, folder, "config", name, value)
    _git(workspace, folder, "checkout", "--quiet", *(("-b", branch) if branch else ("--detach",)), commit)


def pin_worktree_commit(workspace: Path, ref: str, commit: str) -> None:
    """Keep a worktree's base commit in the workspace's repository, whatever happens to its branches."""
    _git(workspace, workspace, "update-ref", ref, commit)


def forget_worktree_refs(workspace: Path, ref: str, folder: Path, branch: str) -> None:
    """Delete what the workspace's repository knows of a worktree that is gone.

    Older versions used linked worktrees, with their branch in the workspace's repository.
    """
    run_git(workspace, ("update-ref", "-d", ref))
    was_linked = not run_git(workspace, ("worktree", "remove", "--force", "--force", str(folder))).code
    if was_linked and branch:
        run_git(workspace, ("update-ref", "-d", f"refs/heads/{branch}"))


def _git(workspace: Path, folder: Path, *args: str) -> str:
    whole_index = {"core.splitIndex": "false"}
    output = run_git(folder, args, {**git_filter_overrides(workspace), **whole_index})
    if output.code:
        raise GitFailed(f"Git could not create a worktree: {' '.join(output.error_output.split())}.")
    return os.fsdecode(output.output)
