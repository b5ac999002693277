"""What a journal says, done: a ref moved, every file put in place by a rename; finished later, or taken back.

The commit point is the ref, or else the journal itself: what is cut off before it is taken back by our next command
in that workspace, and what is cut off after it is finished.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from roundtable.core.faults import RoundtableError
from roundtable.workshop.edit.journal import (
    OPEN,
    Journal,
    JournaledFile,
    JournalEntry,
    JournalFolder,
    has_open_journal,
    journal_folder_path,
)
from roundtable.workshop.repo.commits import GitFailed, RefUpdate, Repository, describe_unusable_repository
from roundtable.workshop.rooted_files import ConfinedFolder, FileContent, UnsafePath

FileStates = dict[str, FileContent | None]

CLEANUP_PENDING = "Git's index or our journal could not be brought up to date yet; the next command here does that."

FILES_PENDING = "The disk would not take every file ({why}); the next command here writes the rest."


class WriteFailed(RoundtableError):
    """The disk would not take it; nothing is half done for longer than until our next command."""


class EditTarget(msgspec.Struct, frozen=True):
    """All that writing needs: the journals, the workspace, and its repository if it has one."""

    journals: JournalFolder
    tree: ConfinedFolder
    repository: Repository | None


class JournalResult(msgspec.Struct, frozen=True):
    """What came of a journal: the files that somebody changed in that very moment, and what is still to be done."""

    left: tuple[str, ...] = ()
    note: str = ""


class RecoveredChange(msgspec.Struct, frozen=True):
    """What became of something left half done: a sentence for people, and the undo that was finished, if it was one."""

    told: str
    undo: Journal | None = None


@contextmanager
def open_edit_target(workspace: Path, journals: Path) -> Generator[EditTarget]:
    """A workspace with nobody else at it, once what was left half done there is settled."""
    try:
        with JournalFolder.alone(journals, workspace) as books, ConfinedFolder.of(workspace) as tree:
            assert books is not None
            place = EditTarget(books, tree, _repository(workspace))
            _recovered(place)
            yield place
    except OSError as error:
        raise _not_written(error, "Mend that and say it again; the next command settles what was begun.") from None


def recover_open_journals(workspace: Path, journals: Path) -> tuple[RecoveredChange, ...]:
    """Finish or take back what a process that ended left half done."""
    if not has_open_journal(journal_folder_path(journals, workspace)):
        return ()
    try:
        with JournalFolder.alone(journals, workspace, wait=False) as books, ConfinedFolder.of(workspace) as tree:
            return () if books is None else tuple(_recovered(EditTarget(books, tree, _repository(workspace))))
    except (OSError, ValueError, msgspec.MsgspecError, RoundtableError) as error:
        return (RecoveredChange(f"A change that was cut off cannot be settled yet: {str(error).rstrip('.')}."),)


def execute_journal(place: EditTarget, journal: Journal) -> JournalResult | None:
    """Do what a journal says; None where the ref was not where it was.

    What the disk refuses is taken back at once; where not even that can be done, it counts, and is finished later.
    """
    if journal.ref and not _begun(place, journal, journal.ref):
        return None
    try:
        left = _files_finished(place, journal)
    except OSError as error:
        if not _given_up(place, journal):
            return JournalResult(note=FILES_PENDING.format(why=_reason(error)))
        raise _not_written(error, "Nothing was changed; mend that and say it again.") from None
    try:
        _closed(place, journal)
    except (OSError, GitFailed):
        return JournalResult(left, CLEANUP_PENDING)
    return JournalResult(left)


def is_same_content(one: FileContent | None, other: FileContent | None) -> bool:
    """Whether the same stands in both places, or nothing in both."""
    return one is other if one is None or other is None else one.same(other)


def _repository(workspace: Path) -> Repository | None:
    repository = Repository.of(workspace)
    if repository is None and (trouble := describe_unusable_repository(workspace)):
        raise GitFailed(trouble, "Nothing was changed; see what `git status` says here.")
    return repository


def _not_written(error: OSError, help: str) -> WriteFailed:
    return WriteFailed(f"{_reason(error)}.", help)


def _reason(error: OSError) -> str:
    return f"{error.filename or 'A file'} cannot be written: {error.strerror}"


def _begun(place: EditTarget, journal: Journal, ref: RefUpdate) -> bool:
    """Pass the commit point; a journal that cannot is dropped."""
    try:
        moved = _moved(place, ref)
    except GitFailed:
        place.journals.dropped(journal)
        raise
    if not moved:
        place.journals.dropped(journal)
    return moved


def _given_up(place: EditTarget, journal: Journal) -> bool:
    """Go back behind the commit point and take everything back; False where that cannot be passed again."""
    try:
        if journal.ref and not _moved(place, RefUpdate(journal.ref.name, journal.ref.new, journal.ref.old)):
            return False
    except (OSError, RoundtableError):
        return False
    try:
        _taken_back(place, journal)
    except OSError:
        if journal.ref:
            raise
        return False
    return True


def _moved(place: EditTarget, ref: RefUpdate) -> bool:
    assert place.repository is not None
    return place.repository.move(ref, "apply")


def _recovered(place: EditTarget) -> list[RecoveredChange]:
    found: list[RecoveredChange] = []
    for journal in place.journals.listed(OPEN):
        change = f"The undo of change {journal.undoes}" if journal.undoes else f"Change {journal.id}"
        what = f"{change} ({', '.join(journal.files)}) was cut off"
        if _decided(place, journal):
            left = _files_finished(place, journal)
            _closed(place, journal)
            told = f"{what} and is finished now.{_left_alone(left)}"
            found.append(RecoveredChange(told, journal if journal.undoes else None))
        else:
            left = _taken_back(place, journal)
            as_before = "it can be said again" if journal.undoes else "the files are as they were"
            found.append(RecoveredChange(f"{what} before anything counted: {as_before}.{_left_alone(left)}"))
    return found


def _left_alone(left: Sequence[str]) -> str:
    return f" Changed meanwhile, and left as they are: {', '.join(left)}." if left else ""


def _decided(place: EditTarget, journal: Journal) -> bool:
    """Whether the commit point was passed: the ref came where it was to go, wherever it went from there."""
    if journal.ref is None:
        return True
    if place.repository is None:
        return False
    has, ref = place.repository.contains, journal.ref
    tip = place.repository.resolve(ref.name)
    forward = has(ref.new, ref.old)
    return has(tip, ref.new) if forward else not has(tip, ref.old)


def _files_finished(place: EditTarget, journal: Journal) -> tuple[str, ...]:
    return _settled(place, journal, [(it, it.before, it.after) for it in journal.entries], journal.unmade)


def _closed(place: EditTarget, journal: Journal) -> None:
    """Have the person's index know the commit, and put the journal to those that are done."""
    if journal.ref and place.repository and not journal.branch:
        place.repository.stage(journal.ref.old, journal.ref.new, [it.path for it in journal.entries])
    place.journals.finished(journal)


def _taken_back(place: EditTarget, journal: Journal) -> tuple[str, ...]:
    left = _settled(place, journal, [(it, it.after, it.before) for it in journal.entries], journal.made)
    place.journals.dropped(journal)
    return left


def _settled(
    place: EditTarget,
    journal: Journal,
    wanted: Sequence[tuple[JournalEntry, JournaledFile | None, JournaledFile | None]],
    unmade: Sequence[str],
) -> tuple[str, ...]:
    """Bring every file from one state to the other; files go before files come. What is in neither state is left."""
    left: list[str] = []
    for entry, old, new in sorted(wanted, key=lambda it: it[2] is not None):
        try:
            place.tree.remove(f"{entry.path.rpartition('/')[0]}/{journal.draft}".removeprefix("/"))
            standing = place.tree.read(entry.path)
            source, target = (place.journals.content(journal, it) if it else None for it in (old, new))
            if is_same_content(standing, target):
                continue
            if not is_same_content(standing, source):
                left.append(entry.path)
            else:
                _put(place.tree, entry.path, target, journal.draft)
        except UnsafePath:
            left.append(entry.path)
    for folder in reversed(unmade):
        place.tree.remove_folder(folder)
    return tuple(left)


def _put(tree: ConfinedFolder, path: str, target: FileContent | None, draft: str) -> None:
    """Have this stand there, or nothing; what the disk refuses is told of by the name of that file."""
    try:
        if target is None:
            tree.remove(path)
            return
        for folder in tree.missing_folders(path):
            tree.make_folder(folder)
        tree.write(path, target, draft)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
