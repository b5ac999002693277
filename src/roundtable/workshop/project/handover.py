"""Hands over a whole project to a new place: as a folder, a zip, or a repository with one commit per version.

The project is built in a staging folder next to its place and moved there in one step. The same versions give the same
bytes. A staging folder has a lock, held as long as its process lives: an unlocked one was left by a killed process.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import zipfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from tempfile import mkdtemp

import msgspec

from roundtable.core.changeset import DraftFile
from roundtable.core.faults import UsageError
from roundtable.core.handover import HandoverForm, is_session_handover_path_unnamed
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.values import compute_digest
from roundtable.workshop.edit.path_rules import find_write_path_collisions
from roundtable.workshop.identity import (
    create_temp_folder_for_process,
    is_temp_name_of_dead_process,
    make_temp_name_of_process,
)
from roundtable.workshop.repo.commits import CommitMessage, GitFailed, RefUpdate, Repository
from roundtable.workshop.repo.git import run_git
from roundtable.workshop.repo.scratch_trees import list_working_tree_files, write_files_to_scratch_working_tree
from roundtable.workshop.rooted_files import ConfinedFolder, UnsafePath

_STAGING_PREFIX = ".roundtable-making-"
_LOCK_NAME = "lock"
_LOCK_TEXT = b"Roundtable is making something here, and removes this folder when it is done.\n"


@contextmanager
def _open_staging_folder(place: Path) -> Generator[Path]:
    """Create a folder next to the place that no other process uses; first remove those of killed processes."""
    for leftover in place.parent.glob(f"{_STAGING_PREFIX}*"):
        with suppress(OSError):
            _remove_if_abandoned(leftover)
    folder = Path(mkdtemp(prefix=f"{_STAGING_PREFIX}{make_temp_name_of_process()}-", dir=place.parent))
    # Locked before it gets its name: another process must never take it for an abandoned one.
    lock = os.open(folder / f"{_LOCK_NAME}.new", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.write(lock, _LOCK_TEXT)
        os.rename(folder / f"{_LOCK_NAME}.new", folder / _LOCK_NAME)
        yield folder
    finally:
        _remove_staging_folder(folder)
        os.close(lock)


def _remove_staging_folder(folder: Path) -> None:
    """Remove the folder, its lock last: if this process is killed in between, the lock still marks the rest as ours."""
    for path in folder.iterdir():
        if path.name != _LOCK_NAME:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() and not path.is_symlink() else path.unlink()
    shutil.rmtree(folder, ignore_errors=True)


def _remove_if_abandoned(folder: Path) -> None:
    """Remove a folder with our lock unless a process holds it. Any other folder belongs to the person.

    A folder that is not locked yet, or no longer, is empty otherwise; its name tells whether its process has ended.
    """
    if folder.is_symlink():
        return
    if {path.name for path in folder.iterdir()} <= {f"{_LOCK_NAME}.new"}:
        if is_temp_name_of_dead_process(folder.name.removeprefix(_STAGING_PREFIX)):
            shutil.rmtree(folder, ignore_errors=True)
        return
    lock = os.open(folder / _LOCK_NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.read(lock, len(_LOCK_TEXT) + 1) == _LOCK_TEXT:
            _remove_staging_folder(folder)
    finally:
        os.close(lock)


ProjectFiles = Mapping[str, DraftFile]

_TIMESTAMPED_GIT_FILES = ("/.git/index", "/.git/logs")
"""Files that say when a repository was made, so that no two are identical."""
_CHUNK_BYTES = 1 << 16


class ProjectVersion(msgspec.Struct, frozen=True):
    """A project at one time: its files by path, the time, and its commit message.

    `documents` are texts about it that only its repository contains.
    """

    files: dict[str, DraftFile]
    at: str
    commit: CommitMessage
    documents: dict[str, str] = {}


def read_deliverable_project_files(workspace: Path) -> dict[str, DraftFile]:
    """Return the files of a workspace that are neither ignored nor secret nor links."""
    files: dict[str, DraftFile] = {}
    with ConfinedFolder.open(workspace) as tree:
        for path in list_working_tree_files(workspace):
            with suppress(UnsafePath):
                if content := tree.read(path):
                    files[path] = DraftFile(path, None, content.data, executable=content.executable)
    return files


def edited_project_files(base: ProjectFiles, draft: Sequence[DraftFile]) -> dict[str, DraftFile]:
    """Return the files of a project after a draft is applied to it."""
    replaced = {file.was or file.path for file in draft}
    unchanged = {path: file for path, file in base.items() if path not in replaced}
    return {**unchanged, **{file.path: file for file in draft if file.after is not None}}


def hand_over_project(destination: Path, form: HandoverForm, versions: Sequence[ProjectVersion], by: str) -> str:
    """Put the last version at the place, completely or not at all; return the last commit of a repository.

    An identical project that is already there, as after a crash, counts as done. Anything else there is left alone.
    """
    destination = destination.absolute()
    shown_path = sanitize_line(str(destination), 200)
    if is_session_handover_path_unnamed(destination.name):
        raise UsageError(
            f"The path {shown_path} does not contain a project name.", "Choose the path of a new folder or zip file."
        )
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        with _open_staging_folder(destination) as folder:
            staged = folder / "made"
            commit = _build(staged, form, versions, destination.name, by)
            if not _move_into_place(staged, destination) and not _is_identical(destination, staged):
                raise UsageError(f"{shown_path} exists already and is not overwritten.", "Choose another path.")
            return commit
    except OSError as error:
        problem = f"{shown_path} could not be written: {error.strerror or type(error).__name__}."
        raise UsageError(problem, "Choose another path.") from error


def _build(target: Path, form: HandoverForm, versions: Sequence[ProjectVersion], name: str, by: str) -> str:
    version = versions[-1]
    if form == "zip":
        _write_zip(target, version, name.removesuffix(".zip"))
        return ""
    target.mkdir()
    files = _with_documents(version) if form == "git" else version.files
    write_files_to_scratch_working_tree(target, list(files.values()))
    return _commit_versions(target, versions, by) if form == "git" else ""


def _write_zip(path: Path, version: ProjectVersion, folder: str) -> None:
    """Write every file below one folder, sorted by name, with the version's time."""
    time = datetime.fromisoformat(version.at)
    when = (time.year, time.month, time.day, time.hour, time.minute, time.second)
    with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED) as zip:
        for name, file in sorted(version.files.items()):
            entry = zipfile.ZipInfo(f"{folder}/{name}", when)
            entry.create_system = 3  # Unix, so that the file mode is used
            entry.external_attr = (stat.S_IFREG | (0o755 if file.executable else 0o644)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            zip.writestr(entry, file.after or b"")


# --- a repository ----------------------------------------------------------------------------------


def _commit_versions(folder: Path, versions: Sequence[ProjectVersion], by: str) -> str:
    """Make a repository in a folder that has the last version; one commit for each version that changes files."""
    default_branch = run_git(folder, ("config", "--get", "init.defaultBranch")).output.decode(errors="replace").strip()
    init = run_git(folder, ("init", "--quiet", "--template=", f"--initial-branch={default_branch or 'main'}"))
    repository = Repository.open(folder)
    if init.code or repository is None:
        raise GitFailed(
            f"Git could not create a repository: {init.error_output}.",
            "Fix this problem, or deliver the project as a folder.",
        )
    tip, current = "", dict[str, str]()
    with create_temp_folder_for_process() as scratch:
        for version in versions:
            entries = repository.store_files(_write_contents(Path(scratch), _with_documents(version)))
            changed = {path: entries.get(path) for path in {**current, **entries}}
            changed = {path: entry for path, entry in changed.items() if entry != current.get(path)}
            if changed:
                index = Path(scratch) / "index"
                tip = repository.create_commit(tip, changed, version.commit.text, by, index, version.at)
                current = entries
    repository.update_ref(RefUpdate(repository.current_ref(), "", tip), "handed over")
    repository.update_index("", tip, list(current))
    return tip


def _write_contents(folder: Path, files: ProjectFiles) -> dict[str, tuple[Path, bool]]:
    """Write the bytes of each file below the folder and return where."""
    places: dict[str, tuple[Path, bool]] = {}
    for path, file in sorted(files.items()):
        data = file.after or b""
        place = folder / compute_digest(data).removeprefix("sha256:")
        place.write_bytes(data)
        places[path] = place, file.executable
    return places


def _with_documents(version: ProjectVersion) -> dict[str, DraftFile]:
    """Return the files with the documents; without them if one would collide with a file."""
    documents = {path: DraftFile(path, None, text.encode()) for path, text in version.documents.items()}
    together = {**documents, **version.files}
    return dict(version.files) if find_write_path_collisions(list(together)) else together


# --- the destination -------------------------------------------------------------------------------


def _move_into_place(staged: Path, destination: Path) -> bool:
    """Move the project to the destination unless something is there; an empty folder counts as nothing."""
    try:
        if staged.is_file():
            destination.touch(exist_ok=False)  # A rename replaces only an empty folder, but any file.
        os.rename(staged, destination)
    except OSError:
        if os.path.lexists(destination):
            return False
        raise
    return True


def _is_identical(one: Path, other: Path, inner_path: str = "") -> bool:
    """Tell whether two files or folders have the same content, except for timestamps that git writes."""
    stat_one, stat_other = one.lstat(), other.lstat()
    if stat.S_IFMT(stat_one.st_mode) != stat.S_IFMT(stat_other.st_mode):
        return False
    if inner_path in _TIMESTAMPED_GIT_FILES:
        return True
    if stat.S_ISDIR(stat_other.st_mode):
        names = os.listdir(other)
        pairs = ((one / name, other / name, f"{inner_path}/{name}") for name in names)
        return set(os.listdir(one)) == set(names) and all(_is_identical(*pair) for pair in pairs)
    looks_equal = stat_one.st_size == stat_other.st_size and (stat_one.st_mode ^ stat_other.st_mode) & stat.S_IXUSR == 0
    return looks_equal and _has_same_bytes(one, other)


def _has_same_bytes(one: Path, other: Path) -> bool:
    with one.open("rb") as a, other.open("rb") as b:
        while (chunk := a.read(_CHUNK_BYTES)) == b.read(_CHUNK_BYTES):
            if not chunk:
                return True
    return False
