"""Scratch copies of a workspace or of a commit, in which changes are tried out; the repository is never touched."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
import stat
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from glob import glob
from itertools import groupby
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

from roundtable.core.faults import UsageError
from roundtable.core.sandbox import Bounds
from roundtable.core.text.file_names import is_sensitive_file_name
from roundtable.workshop.identity import create_temp_folder_for_process, is_temp_name_of_dead_process
from roundtable.workshop.repo.git import git_filter_overrides, open_git, run_git, split_git_names
from roundtable.workshop.rooted_files import CREATE_FLAGS, READ_FLAGS, ConfinedFolder, FileContent, UnsafePath

if TYPE_CHECKING:
    from roundtable.core.changeset import DraftFile


_COPY_CHUNK = 1 << 24
_UNSUPPORTED = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM)
_TEMPORARY_NAME = ".roundtable-draft"
_MAX_TREE_BYTES = Bounds().disk


@contextlib.asynccontextmanager
async def open_scratch_working_trees() -> AsyncGenerator[Path]:
    """Open a temporary folder for trees; it is deleted in a thread afterwards."""
    await asyncio.to_thread(_remove_orphaned_folders)
    folder = create_temp_folder_for_process()
    try:
        yield Path(folder.name)
    finally:
        await asyncio.to_thread(folder.cleanup)


def _remove_orphaned_folders() -> None:
    """Delete the folders that killed Roundtable processes left behind."""
    for path in Path(gettempdir()).glob("roundtable-*"):
        with contextlib.suppress(OSError):
            if is_temp_name_of_dead_process(path.name) and path.lstat().st_uid == os.getuid():
                shutil.rmtree(path, ignore_errors=True)


async def create_working_trees_concurrently(makers: Iterable[Callable[[], None]]) -> None:
    """Run these functions in threads at once; no thread is still running when this returns, fails or is cancelled."""
    work = asyncio.gather(*map(asyncio.to_thread, makers), return_exceptions=True)
    try:
        ends = await asyncio.shield(work)
    except asyncio.CancelledError:
        await work
        raise
    for failure in filter(None, ends):
        raise failure


def list_working_tree_files(workspace: Path) -> Sequence[str]:
    """Return the files that scratch trees of a workspace contain, after checking their size."""
    return check_working_tree_size(workspace, _copyable_files(workspace))


def check_working_tree_size(workspace: Path, names: Sequence[str]) -> Sequence[str]:
    """Return the same files; raise UsageError if they are too large to be copied."""
    sizes = {name: (workspace / name).lstat().st_size for name in names if os.path.lexists(workspace / name)}
    if sum(sizes.values()) > _MAX_TREE_BYTES:
        largest = max(sizes, key=lambda name: sizes[name])
        raise UsageError(
            f"The workspace exceeds {_MAX_TREE_BYTES >> 20} MB and cannot be copied; the largest file is {largest}.",
            "Add large files that the checks do not need to .gitignore.",
        )
    return names


def _copyable_files(workspace: Path) -> tuple[str, ...]:
    with open_git(workspace) as git:
        listed = git.list_files()
    return tuple(name for name in (*listed, *_submodule_files(workspace, listed)) if not is_sensitive_file_name(name))


def list_git_submodule_files(workspace: Path) -> tuple[str, ...]:
    """Return the files of checked-out submodules; git names only the folder of each."""
    with open_git(workspace) as git:
        listed = git.list_files()
    return tuple(name for name in _submodule_files(workspace, listed) if not is_sensitive_file_name(name))


def _submodule_files(workspace: Path, listed: Iterable[str]) -> Iterable[str]:
    for name in listed:
        place = workspace / name
        if not name.endswith("/") and not place.is_symlink() and os.path.lexists(place / ".git"):
            yield from (f"{name}/{file_name}" for file_name in _copyable_files(place))


def create_scratch_working_tree(
    workspace: Path, tree: Path, files: Sequence[DraftFile] = (), names: Sequence[str] | None = None
) -> None:
    """Copy a workspace into a new or empty folder and apply a draft to it.

    A caller that creates several trees passes the same `names` to each.
    """
    tree.mkdir(parents=True, exist_ok=True, mode=0o700)
    copy_working_tree_files(workspace, tree, _copyable_files(workspace) if names is None else names)
    write_files_to_scratch_working_tree(tree, files)


def copy_working_tree_files(workspace: Path, tree: Path, names: Iterable[str]) -> None:
    """Copy files; symlinks only if they cannot lead outside, and existing files are kept."""
    with ConfinedFolder.open(workspace) as source_folder, ConfinedFolder.open(tree) as tree_folder:
        for _, members in groupby(sorted(names, key=_sort_key), key=lambda name: name.rpartition("/")[0]):
            first, *others = members
            with (
                contextlib.suppress(FileNotFoundError, NotADirectoryError, UnsafePath),
                source_folder.open_parent(first) as (_, source),
            ):
                for folder in tree_folder.missing_folders(first):
                    with tree_folder.open_parent(folder) as (name, parent):
                        os.mkdir(name, dir_fd=parent)
                with tree_folder.open_parent(first) as (_, target):
                    for name in (first, *others):
                        _copy_entry(name, source, target)


def match_worktree_copy_patterns(workspace: Path, patterns: Iterable[str]) -> Iterable[str]:
    """Yield the files that patterns name: files, folders with their contents, or globs. Sensitive files must be named
    exactly."""
    for pattern in patterns:
        if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
            raise UsageError(f"Invalid pattern in worktrees.copy: {pattern}.", "Use a path inside the workspace.")
        for match in glob(pattern, root_dir=workspace, include_hidden=True):
            for name in list_working_tree_files_below(workspace, match.rstrip("/")):
                if name == pattern or not is_sensitive_file_name(name):
                    yield name


def list_working_tree_files_below(workspace: Path, name: str) -> Iterable[str]:
    """Yield a file itself, or every file and symlink below a folder."""
    if (workspace / name).is_symlink() or not (workspace / name).is_dir():
        yield name
        return
    for folder, folders, files in os.walk(workspace / name):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        yield from (os.path.relpath(os.path.join(folder, name), workspace) for name in (*files, *links))


def write_files_to_scratch_working_tree(tree: Path, files: Sequence[DraftFile]) -> None:
    """Write the files of a draft into a scratch tree."""
    with ConfinedFolder.open(tree) as below:
        for name in dict.fromkeys(file.was or file.path for file in files):
            with contextlib.suppress(UnsafePath):
                below.remove(name)
        for file in files:
            if file.after is not None:
                for folder in below.missing_folders(file.path):
                    below.make_folder(folder)
                below.write(file.path, FileContent(file.after, 0o755 if file.executable else 0o644), _TEMPORARY_NAME)


def _sort_key(name: str) -> tuple[str, str]:
    folder, _, last = name.rpartition("/")
    return folder, last


def _copy_entry(path: str, source: int, target: int) -> None:
    folder, _, name = path.rpartition("/")
    with contextlib.suppress(FileNotFoundError, FileExistsError, PermissionError):
        status = os.stat(name, dir_fd=source, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            link_target = os.readlink(name, dir_fd=source)
            if is_symlink_inside_working_tree(link_target, folder) and not is_sensitive_file_name(
                os.path.normpath(os.path.join(folder, link_target))
            ):
                os.symlink(link_target, name, dir_fd=target)
        elif stat.S_ISREG(status.st_mode):
            _copy_file(name, source, target, stat.S_IMODE(status.st_mode) & 0o777)


def is_symlink_inside_working_tree(link_target: str, folder: str) -> bool:
    """Whether a symlink in this folder cannot lead out of the tree: `..` only at its start, and not too often.

    A `..` further on could follow another symlink, whose target is unknown.
    """
    parts = link_target.split("/")
    climbs = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
    depth = len(folder.split("/")) if folder else 0
    return not link_target.startswith("/") and climbs <= depth and ".." not in parts[climbs:]


def _copy_file(name: str, source: int, target: int, mode: int) -> None:
    reading = os.open(name, READ_FLAGS, dir_fd=source)
    try:
        writing = os.open(name, CREATE_FLAGS, mode | 0o600, dir_fd=target)
        try:
            _copy_bytes(reading, writing)
        finally:
            os.close(writing)
    finally:
        os.close(reading)


def _copy_bytes(reading: int, writing: int) -> None:
    """Copy a file in the kernel, which may share blocks; else by reading and writing."""
    try:
        while os.copy_file_range(reading, writing, _COPY_CHUNK):
            pass
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        while chunk := os.read(reading, _COPY_CHUNK):
            while chunk:
                chunk = chunk[os.write(writing, chunk) :]


class CommitUnavailable(UsageError):
    """The files of a commit cannot be read."""


def export_git_commit_files(workspace: Path, commit: str, tree: Path) -> None:
    """Write the files of a commit into an empty folder, except sensitive ones."""
    repository_info = run_git(workspace, ("rev-parse", "--absolute-git-dir", "--show-prefix")).output
    repository, _, prefix = os.fsdecode(repository_info).partition("\n")
    config = git_filter_overrides(workspace)
    with create_temp_folder_for_process() as folder:
        variables = {"GIT_DIR": repository, "GIT_WORK_TREE": str(tree), "GIT_INDEX_FILE": f"{folder}/index"}

        def git(*args: str, input: bytes = b"") -> bytes:
            done = run_git(tree, args, config, input, variables)
            if done.code:
                raise CommitUnavailable(
                    f"The files of commit {commit[:12]} cannot be read: {done.error_output}",
                    "Check the commit with `git log`.",
                )
            return done.output

        git("read-tree", f"{commit}:{prefix.strip()}")
        sensitive = [name for name in split_git_names(git("ls-files", "-z")) if is_sensitive_file_name(name)]
        if sensitive:
            listing = b"".join(os.fsencode(name) + b"\0" for name in sensitive)
            git("update-index", "-z", "--force-remove", "--stdin", input=listing)
        git("checkout-index", "--all", "--quiet")
