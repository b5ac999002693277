"""Scratch copies of a workspace, for trying things: what is neither ignored nor secret, with a draft on top.

The files of a commit, written out beside the workspace: nothing of the repository itself is touched.
"""

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
from roundtable.core.file_kinds import is_sensitive_path
from roundtable.core.sandbox import Bounds
from roundtable.workshop.identity import is_orphaned_name, process_owned_folder
from roundtable.workshop.repo.git import git_filter_overrides, open_git, run_git, split_git_names
from roundtable.workshop.rooted_files import CREATE_FLAGS, READ_FLAGS, ConfinedFolder, FileContent, UnsafePath

if TYPE_CHECKING:
    from roundtable.core.changeset import DraftFile


_AT_ONCE = 1 << 24
_NOT_HERE = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM)
_DRAFT = ".roundtable-draft"
_MOST = Bounds().disk


@contextlib.asynccontextmanager
async def open_scratch_folder() -> AsyncGenerator[Path]:
    """A folder for trees that is gone afterwards; many files take a while to go, and nobody waits for them."""
    await asyncio.to_thread(_sweep)
    folder = process_owned_folder()
    try:
        yield Path(folder.name)
    finally:
        await asyncio.to_thread(folder.cleanup)


def _sweep() -> None:
    """Take away the folders that killed processes of ours have left behind."""
    for path in Path(gettempdir()).glob("roundtable-*"):
        with contextlib.suppress(OSError):
            if is_orphaned_name(path.name) and path.lstat().st_uid == os.getuid():
                shutil.rmtree(path, ignore_errors=True)


async def create_trees_concurrently(makers: Iterable[Callable[[], None]]) -> None:
    """Have trees made at the same time; nobody is at work any more when this ends, fails or is cancelled."""
    work = asyncio.gather(*map(asyncio.to_thread, makers), return_exceptions=True)
    try:
        ends = await asyncio.shield(work)
    except asyncio.CancelledError:
        await work
        raise
    for failure in filter(None, ends):
        raise failure


def list_tree_files(workspace: Path) -> Sequence[str]:
    """The files that trees of a workspace have."""
    return check_tree_size(workspace, _names(workspace))


def check_tree_size(workspace: Path, names: Sequence[str]) -> Sequence[str]:
    """The same files; they must fit where they are run."""
    sizes = {name: (workspace / name).lstat().st_size for name in names if os.path.lexists(workspace / name)}
    if sum(sizes.values()) > _MOST:
        largest = max(sizes, key=lambda name: sizes[name])
        raise UsageError(
            f"The files here come to more than the {_MOST >> 20} MB that can be tried; the largest is {largest}.",
            "Have git ignore what is not needed to run the checks.",
        )
    return names


def _names(workspace: Path) -> tuple[str, ...]:
    with open_git(workspace) as git:
        listed = git.files()
    return tuple(name for name in (*listed, *_within(workspace, listed)) if not is_sensitive_path(name))


def list_submodule_files(workspace: Path) -> tuple[str, ...]:
    """The files of the submodules that are checked out here: git names only the folder of each."""
    with open_git(workspace) as git:
        listed = git.files()
    return tuple(name for name in _within(workspace, listed) if not is_sensitive_path(name))


def _within(workspace: Path, listed: Iterable[str]) -> Iterable[str]:
    for name in listed:
        place = workspace / name
        if not name.endswith("/") and not place.is_symlink() and os.path.lexists(place / ".git"):
            yield from (f"{name}/{it}" for it in _names(place))


def create_scratch_tree(
    workspace: Path, into: Path, files: Sequence[DraftFile] = (), names: Sequence[str] | None = None
) -> None:
    """Copy a workspace into a folder that is new or empty, and lay a draft over it. Nothing outside is linked to.

    Who makes several trees at once gives them the same `names`.
    """
    into.mkdir(parents=True, exist_ok=True, mode=0o700)
    copy_files_to_tree(workspace, into, _names(workspace) if names is None else names)
    overlay_draft(into, files)


def copy_files_to_tree(workspace: Path, into: Path, names: Iterable[str]) -> None:
    """Copy these files; links only where they cannot lead out, and nothing that is there already is touched."""
    with ConfinedFolder.of(workspace) as here, ConfinedFolder.of(into) as there:
        for _, members in groupby(sorted(names, key=_folder_first), key=lambda name: name.rpartition("/")[0]):
            first, *others = members
            with (
                contextlib.suppress(FileNotFoundError, NotADirectoryError, UnsafePath),
                here.folder_of(first) as (_, source),
            ):
                for way in there.missing_folders(first):
                    with there.folder_of(way) as (name, at):
                        os.mkdir(name, dir_fd=at)
                with there.folder_of(first) as (_, target):
                    for name in (first, *others):
                        _copied(name, source, target)


def match_copy_patterns(workspace: Path, patterns: Iterable[str]) -> Iterable[str]:
    """The files that rules name: a file, a folder with all in it, or a pattern. A secret only by its own name."""
    for pattern in patterns:
        if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
            raise UsageError(f"worktrees.copy cannot be {pattern}.", "Name something inside the workspace.")
        for found in glob(pattern, root_dir=workspace, include_hidden=True):
            for name in list_files_below(workspace, found.rstrip("/")):
                if name == pattern or not is_sensitive_path(name):
                    yield name


def list_files_below(workspace: Path, name: str) -> Iterable[str]:
    """A file itself, or every file and link in a folder."""
    if (workspace / name).is_symlink() or not (workspace / name).is_dir():
        yield name
        return
    for folder, folders, files in os.walk(workspace / name):
        links = [it for it in folders if os.path.islink(os.path.join(folder, it))]
        yield from (os.path.relpath(os.path.join(folder, it), workspace) for it in (*files, *links))


def overlay_draft(tree: Path, files: Sequence[DraftFile]) -> None:
    """Put a draft in place in a tree of our own."""
    with ConfinedFolder.of(tree) as below:
        for name in dict.fromkeys(it.was or it.path for it in files):
            with contextlib.suppress(UnsafePath):
                below.remove(name)
        for it in files:
            if it.after is not None:
                for folder in below.missing_folders(it.path):
                    below.make_folder(folder)
                below.write(it.path, FileContent(it.after, 0o755 if it.executable else 0o644), _DRAFT)


def _folder_first(name: str) -> tuple[str, str]:
    folder, _, last = name.rpartition("/")
    return folder, last


def _copied(path: str, source: int, target: int) -> None:
    folder, _, name = path.rpartition("/")
    with contextlib.suppress(FileNotFoundError, FileExistsError, PermissionError):
        found = os.stat(name, dir_fd=source, follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            to = os.readlink(name, dir_fd=source)
            if is_link_inside_tree(to, folder) and not is_sensitive_path(os.path.normpath(os.path.join(folder, to))):
                os.symlink(to, name, dir_fd=target)
        elif stat.S_ISREG(found.st_mode):
            _file_copied(name, source, target, stat.S_IMODE(found.st_mode) & 0o777)


def is_link_inside_tree(to: str, folder: str) -> bool:
    """Whether a link in this folder cannot lead above the tree: it climbs at its beginning only, and not too far.

    A climb further on could start behind another link, and nobody knows where that is.
    """
    parts = to.split("/")
    climbs = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
    depth = len(folder.split("/")) if folder else 0
    return not to.startswith("/") and climbs <= depth and ".." not in parts[climbs:]


def _file_copied(name: str, source: int, target: int, mode: int) -> None:
    reading = os.open(name, READ_FLAGS, dir_fd=source)
    try:
        writing = os.open(name, CREATE_FLAGS, mode | 0o600, dir_fd=target)
        try:
            _bytes_copied(reading, writing)
        finally:
            os.close(writing)
    finally:
        os.close(reading)


def _bytes_copied(reading: int, writing: int) -> None:
    """By the kernel, which may share the blocks until one of them is written to; else by hand."""
    try:
        while os.copy_file_range(reading, writing, _AT_ONCE):
            pass
    except OSError as error:
        if error.errno not in _NOT_HERE:
            raise
        while chunk := os.read(reading, _AT_ONCE):
            os.write(writing, chunk)


class CommitUnavailable(UsageError):
    """A commit whose files cannot be had."""


def export_commit_files(workspace: Path, commit: str, into: Path) -> None:
    """Write what the workspace was at a commit into an empty folder, all but its sensitive files."""
    told = run_git(workspace, ("rev-parse", "--absolute-git-dir", "--show-prefix")).said
    repository, _, prefix = os.fsdecode(told).partition("\n")
    config = git_filter_overrides(workspace)
    with process_owned_folder() as folder:
        variables = {"GIT_DIR": repository, "GIT_WORK_TREE": str(into), "GIT_INDEX_FILE": f"{folder}/index"}

        def git(*args: str, input: bytes = b"") -> bytes:
            done = run_git(into, args, config, input, variables)
            if done.code:
                raise CommitUnavailable(
                    f"The files of {commit[:12]} cannot be had: {done.complaint}", "Look at `git log`."
                )
            return done.said

        git("read-tree", f"{commit}:{prefix.strip()}")
        sensitive = [name for name in split_git_names(git("ls-files", "-z")) if is_sensitive_path(name)]
        if sensitive:
            listing = b"".join(os.fsencode(name) + b"\0" for name in sensitive)
            git("update-index", "-z", "--force-remove", "--stdin", input=listing)
        git("checkout-index", "--all", "--quiet")
