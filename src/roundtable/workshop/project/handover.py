"""A whole project handed over where nothing stood: as a folder, a zip, or a repository with a commit per version.

It is made beside its place and put there in one step. What is made of the same versions is the same, bit by bit.

A folder of our own next to a place, in which is made what then goes there in one step.

Its lock is held as long as its process lives: that tells what a killed one left from what another is still making.
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
from roundtable.core.decide.stage_outcome import HandoverForm, is_nameless_path
from roundtable.core.faults import UsageError
from roundtable.core.text.sanitize import sanitize_line
from roundtable.core.values import compute_digest
from roundtable.workshop.edit.path_rules import find_path_collisions
from roundtable.workshop.identity import is_orphaned_name, process_owned_folder, process_owned_name
from roundtable.workshop.repo.commits import CommitMessage, GitFailed, RefUpdate, Repository
from roundtable.workshop.repo.git import run_git
from roundtable.workshop.repo.scratch_trees import list_tree_files, overlay_draft
from roundtable.workshop.rooted_files import ConfinedFolder, UnsafePath

_MARK = ".roundtable-making-"
_LOCK = "lock"
_OURS = b"Roundtable is making something here, and removes this folder when it is done.\n"


@contextmanager
def create_handover_staging_folder(place: Path) -> Generator[Path]:
    """A new folder that nobody else has; what killed processes left next to the place is taken away first."""
    for left in place.parent.glob(f"{_MARK}*"):
        with suppress(OSError):
            _take_away(left)
    folder = Path(mkdtemp(prefix=f"{_MARK}{process_owned_name()}-", dir=place.parent))
    # Locked before it has its name, so that nobody can take it for a dead one's in between.
    lock = os.open(folder / f"{_LOCK}.new", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.write(lock, _OURS)
        os.rename(folder / f"{_LOCK}.new", folder / _LOCK)
        yield folder
    finally:
        _clear(folder)
        os.close(lock)


def _clear(folder: Path) -> None:
    """Remove all of it, the lock last: who is killed in between leaves what can be told for ours."""
    for path in folder.iterdir():
        if path.name != _LOCK:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() and not path.is_symlink() else path.unlink()
    shutil.rmtree(folder, ignore_errors=True)


def _take_away(folder: Path) -> None:
    """Remove a folder that has our lock in it, unless somebody holds it; any other is somebody's own.

    One that was not locked yet, or no longer, is empty but for that; then its name tells that its process is gone.
    """
    if folder.is_symlink():
        return
    if {it.name for it in folder.iterdir()} <= {f"{_LOCK}.new"}:
        if is_orphaned_name(folder.name.removeprefix(_MARK)):
            shutil.rmtree(folder, ignore_errors=True)
        return
    lock = os.open(folder / _LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.read(lock, len(_OURS) + 1) == _OURS:
            _clear(folder)
    finally:
        os.close(lock)


ProjectFiles = Mapping[str, DraftFile]

_GITS_OWN = ("/.git/index", "/.git/logs")
"""These say when a repository was made, so that no two are alike."""
_PART = 1 << 16


class ProjectVersion(msgspec.Struct, frozen=True):
    """A project at one time: its files by path, when that was, and what a commit says of it.

    `papers` are texts about it that only its repository has.
    """

    files: dict[str, DraftFile]
    at: str
    commit: CommitMessage
    documents: dict[str, str] = {}


def read_project_files(workspace: Path) -> dict[str, DraftFile]:
    """The files that a workspace has: what is neither ignored nor secret nor a link."""
    found: dict[str, DraftFile] = {}
    with ConfinedFolder.of(workspace) as tree:
        for path in list_tree_files(workspace):
            with suppress(UnsafePath):
                if content := tree.read(path):
                    found[path] = DraftFile(path, None, content.data, executable=content.executable)
    return found


def overlay_draft_on_project(base: ProjectFiles, draft: Sequence[DraftFile]) -> dict[str, DraftFile]:
    """The files of a project once a draft is laid over it."""
    gone = {it.was or it.path for it in draft}
    stays = {path: it for path, it in base.items() if path not in gone}
    return {**stays, **{it.path: it for it in draft if it.after is not None}}


def hand_over_project(into: Path, form: HandoverForm, versions: Sequence[ProjectVersion], by: str) -> str:
    """Put the last of these versions there, all of it or nothing; a repository's last commit is returned.

    Where the very same stands already, as after a crash, that is it; anything else that stands there is left alone.
    """
    into = into.absolute()
    named = sanitize_line(str(into), 200)
    if is_nameless_path(into.name):
        raise UsageError(f"{named} does not say what the project is to be called.", "Name a new folder or zip.")
    try:
        into.parent.mkdir(parents=True, exist_ok=True)
        with create_handover_staging_folder(into) as folder:
            made = folder / "made"
            commit = _made(made, form, versions, into.name, by)
            if not _is_put(made, into) and not _is_same(into, made):
                raise UsageError(f"{named} is there already, and nothing is written over it.", "Name another place.")
            return commit
    except OSError as error:
        why = f"{named} could not be written: {error.strerror or type(error).__name__}."
        raise UsageError(why, "Name another place.") from error


def _made(made: Path, form: HandoverForm, versions: Sequence[ProjectVersion], name: str, by: str) -> str:
    last = versions[-1]
    if form == "zip":
        _zipped(made, last, name.removesuffix(".zip"))
        return ""
    made.mkdir()
    files = _with_papers(last) if form == "git" else last.files
    overlay_draft(made, list(files.values()))
    return _committed(made, versions, by) if form == "git" else ""


def _zipped(path: Path, version: ProjectVersion, folder: str) -> None:
    """Every file below one folder, in the order of their names and of the version's time."""
    at = datetime.fromisoformat(version.at)
    when = (at.year, at.month, at.day, at.hour, at.minute, at.second)
    with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED) as zip:
        for name, file in sorted(version.files.items()):
            entry = zipfile.ZipInfo(f"{folder}/{name}", when)
            entry.create_system = 3  # Unix, so that the mode is heeded
            entry.external_attr = (stat.S_IFREG | (0o755 if file.executable else 0o644)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            zip.writestr(entry, file.after or b"")


# --- a repository ----------------------------------------------------------------------------------


def _committed(folder: Path, versions: Sequence[ProjectVersion], by: str) -> str:
    """A repository in a folder that has the last version's files: a commit for each version in which files change."""
    usual = run_git(folder, ("config", "--get", "init.defaultBranch")).said.decode(errors="replace").strip()
    told = run_git(folder, ("init", "--quiet", "--template=", f"--initial-branch={usual or 'main'}"))
    repository = Repository.of(folder)
    if told.code or repository is None:
        raise GitFailed(f"Git would not make a repository: {told.complaint}.", "Mend that, or take the folder.")
    tip, standing = "", dict[str, str]()
    with process_owned_folder() as scratch:
        for version in versions:
            entries = repository.stored(_placed(Path(scratch), _with_papers(version)))
            changed = {path: entries.get(path) for path in {**standing, **entries}}
            changed = {path: entry for path, entry in changed.items() if entry != standing.get(path)}
            if changed:
                index = Path(scratch) / "index"
                tip = repository.committed(tip, changed, version.commit.text, by, index, version.at)
                standing = entries
    repository.move(RefUpdate(repository.checked_out(), "", tip), "handed over")
    repository.stage("", tip, list(standing))
    return tip


def _placed(folder: Path, files: ProjectFiles) -> dict[str, tuple[Path, bool]]:
    """Where git finds the bytes of each file."""
    places: dict[str, tuple[Path, bool]] = {}
    for path, file in sorted(files.items()):
        data = file.after or b""
        place = folder / compute_digest(data).removeprefix("sha256:")
        place.write_bytes(data)
        places[path] = place, file.executable
    return places


def _with_papers(version: ProjectVersion) -> dict[str, DraftFile]:
    """The files and the papers, which give way where they would stand in the way of a file."""
    papers = {path: DraftFile(path, None, text.encode()) for path, text in version.documents.items()}
    together = {**papers, **version.files}
    return dict(version.files) if find_path_collisions(list(together)) else together


# --- what stands there -----------------------------------------------------------------------------


def _is_put(made: Path, into: Path) -> bool:
    """Put it there unless something stands there; a folder that is empty is as good as none."""
    try:
        if made.is_file():
            into.touch(exist_ok=False)  # A folder takes the place of an empty one alone, but a file that of any file.
        os.rename(made, into)
    except OSError:
        if os.path.lexists(into):
            return False
        raise
    return True


def _is_same(one: Path, other: Path, at: str = "") -> bool:
    """Whether two files, or two folders with all that is in them, are the same; of git's, what stays as it is made."""
    found, made = one.lstat(), other.lstat()
    if stat.S_IFMT(found.st_mode) != stat.S_IFMT(made.st_mode):
        return False
    if at in _GITS_OWN:
        return True
    if stat.S_ISDIR(made.st_mode):
        names = os.listdir(other)
        inside = ((one / name, other / name, f"{at}/{name}") for name in names)
        return set(os.listdir(one)) == set(names) and all(_is_same(*it) for it in inside)
    alike = found.st_size == made.st_size and (found.st_mode ^ made.st_mode) & stat.S_IXUSR == 0
    return alike and _has_same_bytes(one, other)


def _has_same_bytes(one: Path, other: Path) -> bool:
    with one.open("rb") as a, other.open("rb") as b:
        while (part := a.read(_PART)) == b.read(_PART):
            if not part:
                return True
    return False
