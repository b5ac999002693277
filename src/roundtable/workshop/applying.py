"""A draft written to the workspace: all of it or nothing, and taken back byte for byte.

First everything is put in a journal; then a ref is moved, where there is a commit; then each file is put in place by a
rename. The commit point is the ref, or else the journal itself: what is cut off before it is taken back by our next
command in that workspace, and what is cut off after it is finished.
"""

from __future__ import annotations

import getpass
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from roundtable.core.changes import Refusal, RefusalKind
from roundtable.core.faults import NotFound, RoundtableError, UsageError
from roundtable.workshop.beneath import Astray, Beneath, Content
from roundtable.workshop.committing import Commit, RefMove, Repository
from roundtable.workshop.journal import (
    DONE,
    OPEN,
    UNDONE,
    Draft,
    Entry,
    Journal,
    Journals,
    Kept,
    folder_of,
    kept,
    listed,
    now,
    unfinished,
)

if TYPE_CHECKING:
    from roundtable.workshop.drafting import Written

_RUNNABLE = 0o111

States = dict[str, Content | None]


class Receipt(msgspec.Struct, frozen=True):
    """What was written: the id that `undo` takes, the files, the commit where there is one.

    `left` are files that somebody changed in the very moment of writing: they were left as they are.
    """

    undo: str
    files: tuple[str, ...]
    commit: str = ""
    branch: str = ""
    left: tuple[str, ...] = ()


class Undone(msgspec.Struct, frozen=True):
    """What was taken back, for which step of which session, and how, in one sentence for people."""

    change: Journal
    how: str
    left: tuple[str, ...] = ()


class NotWritten(RoundtableError):
    """The disk would not take it; the workspace is as it was."""


class _Place(msgspec.Struct, frozen=True):
    """All that writing needs: the journals, the workspace, and its repository if it has one."""

    journals: Journals
    tree: Beneath
    repository: Repository | None


def applied(
    workspace: Path,
    journals: Path,
    files: Sequence[Written],
    *,
    key: str = "",
    commit: Commit | None = None,
    branch: str = "",
) -> Receipt | tuple[Refusal, ...]:
    """Write a draft, or say what stands against it. `key` is the step that asked; see `receipt_of`.

    With a commit, and a repository to take it, the draft is committed too; with a branch it is only that: a new
    branch with that commit, while the files here stay as they are.
    """
    with Journals.alone(journals, workspace) as books, Beneath.of(workspace) as tree:
        assert books is not None
        place = _Place(books, tree, Repository.of(workspace))
        _recovered(place)
        if branch and place.repository is None:
            raise UsageError("There is no repository here that could have a branch.", "Leave --branch out.")
        refused, before = _standing(place, files)
        if refused:
            return refused
        draft = books.begin(it for it in before.values() if it is not None)
        after = _wanted(files, before, draft)
        changed = [path for path in before if not _same(before[path], after[path])]
        if not changed:
            raise UsageError("There is nothing to write: the files are as wanted already.")
        before, after = {path: before[path] for path in changed}, {path: after[path] for path in changed}
        if place.repository and (refused := tuple(place.repository.objections(before, after, draft.place))):
            return refused
        journal = _planned(place, draft, before, after, commit, branch)
        named = tuple(dict.fromkeys(it.path for it in files if it.path in after))
        journal = draft.put(msgspec.structs.replace(journal, key=key, files=named))
        left = _carried_out(place, journal)
        if left is None:
            sentence = "The branch was moved while this was being written; nothing was changed."
            return (Refusal(changed[0], RefusalKind.STALE, sentence),)
        return _receipt(journal, left)


def receipt_of(workspace: Path, journals: Path, key: str) -> Receipt | None:
    """What a step wrote before the process ended, once what it left half done is settled; None if it wrote nothing."""
    recover(workspace, journals)
    done = [*listed(folder_of(journals, workspace), DONE), *listed(folder_of(journals, workspace), UNDONE)]
    return next((_receipt(it, ()) for it in done if it.key == key and not it.undoes), None)


def recover(workspace: Path, journals: Path) -> tuple[str, ...]:
    """Finish or take back what a process that ended left half done; a sentence for each, for people."""
    if not unfinished(folder_of(journals, workspace)):
        return ()
    with Journals.alone(journals, workspace, wait=False) as books, Beneath.of(workspace) as tree:
        if books is None:
            return ()
        try:
            return tuple(_recovered(_Place(books, tree, Repository.of(workspace))))
        except (OSError, ValueError, msgspec.MsgspecError, RoundtableError) as error:
            return (f"A change that was cut off cannot be settled yet: {str(error).rstrip('.')}.",)


def changes(workspace: Path, journals: Path) -> list[Journal]:
    """The changes of this workspace that can be undone, newest first."""
    done = listed(folder_of(journals, workspace), DONE)
    return [it for it in reversed(done) if not it.undoes]


def undone(workspace: Path, journals: Path, id: str = "") -> Undone:
    """Take a change back, the newest if none is named: every file as it was, and the ref where there was a commit."""
    with Journals.alone(journals, workspace) as books, Beneath.of(workspace) as tree:
        assert books is not None
        place = _Place(books, tree, Repository.of(workspace))
        _recovered(place)
        change = _found(books, id)
        before, after = _kept(books, change, "after"), _kept(books, change, "before")
        _refuse_if_changed(tree, change, before)
        draft = books.begin(it for it in (*before.values(), *after.values()) if it is not None)
        ref, how = _way_back(place.repository, change, draft, before, after)
        journal = Journal(
            id=draft.id,
            at=now(),
            key=change.key,
            entries=_entries(before, after),
            files=change.files,
            unmade=change.made,
            ref=ref,
            branch=change.branch,
            undoes=change.id,
        )
        left = _carried_out(place, draft.put(journal))
        if left is None:
            raise UsageError("The branch was moved while this was being undone.", "Say it again.")
        return Undone(change, how, left)


# --- what is to be done ----------------------------------------------------------------------------


def _standing(place: _Place, files: Sequence[Written]) -> tuple[tuple[Refusal, ...], States]:
    """What stands at every path of a draft, and what of that is not as the draft knew it."""
    known: dict[str, tuple[bytes, bool]] = {
        it.was or it.path: (it.before, it.was_executable) for it in files if it.before is not None
    }
    refused: list[Refusal] = []
    found: States = {}
    for path in dict.fromkeys(name for it in files for name in (it.was, it.path) if name):
        try:
            found[path] = content = place.tree.read(path)
            if inner := _repository_on_the_way(place.tree, path):
                refused.append(Refusal(path, RefusalKind.REPOSITORY, f"{inner} is a repository of its own."))
        except Astray as astray:
            refused.append(astray.refusal)
            continue
        standing = None if content is None else (content.data, content.executable)
        if standing != known.get(path):
            sentence = f"{path} was changed since this was drafted; draft it again."
            refused.append(Refusal(path, RefusalKind.STALE, sentence))
    return tuple(refused), found


def _repository_on_the_way(tree: Beneath, path: str) -> str:
    parts = path.split("/")[:-1]
    ways = ("/".join(parts[:number]) for number in range(1, len(parts) + 1))
    return next((way for way in ways if tree.has(f"{way}/.git")), "")


def _wanted(files: Sequence[Written], before: States, draft: Draft) -> States:
    """What is to stand at every path: a file keeps its permissions, but for whether it can be run."""
    after: States = dict.fromkeys(before)
    for it in files:
        if it.after is not None:
            source = before.get(it.was or it.path)
            mode = source.mode if source else draft.usual_mode(executable=it.executable)
            if source and it.executable != source.executable:
                mode = mode | (mode & 0o444) >> 2 if it.executable else mode & ~_RUNNABLE
            after[it.path] = Content(it.after, mode)
    return after


def _planned(place: _Place, draft: Draft, before: States, after: States, commit: Commit | None, branch: str) -> Journal:
    """The journal of a draft; its commit is made already, and no ref has it yet."""
    repository = place.repository
    files = {path: (draft.place(it.data), it.executable) for path, it in after.items() if it is not None}
    made = dict.fromkeys(folder for path in files for folder in place.tree.missing_folders(path))
    plan = Journal(draft.id, now(), entries=_entries(before, after), made=tuple(made))
    if repository is None or (commit is None and not branch):
        return plan
    name = repository.reserved_branch(branch) if branch else repository.checked_out()
    commit = commit or Commit("")
    entries = {**dict.fromkeys(before), **repository.stored(files)}
    by = commit.approved_by or getpass.getuser()
    made_commit = repository.committed(repository.head, entries, commit.text, by, draft.index)
    if branch:
        return Journal(draft.id, plan.at, ref=RefMove(name, "", made_commit), branch=branch)
    return msgspec.structs.replace(plan, ref=RefMove(name, repository.head, made_commit))


def _entries(before: States, after: States) -> tuple[Entry, ...]:
    return tuple(Entry(path, kept(before[path]), kept(after[path])) for path in before)


def _same(one: Content | None, other: Content | None) -> bool:
    return one is other if one is None or other is None else one.same(other)


# --- doing it --------------------------------------------------------------------------------------


def _carried_out(place: _Place, journal: Journal) -> tuple[str, ...] | None:
    """Do what a journal says, and name the files left alone; None where the ref was not where it was.

    What the disk refuses is taken back at once.
    """
    if journal.ref and not _moved(place, journal.ref):
        place.journals.dropped(journal)
        return None
    try:
        return _finished(place, journal)
    except OSError as error:
        if journal.ref:
            _moved(place, RefMove(journal.ref.name, journal.ref.new, journal.ref.old))
        _taken_back(place, journal)
        why = f"{error.filename or 'A file'} cannot be written: {error.strerror}."
        raise NotWritten(why, "Nothing was changed; mend that and say it again.") from None


def _moved(place: _Place, ref: RefMove) -> bool:
    assert place.repository is not None
    return place.repository.move(ref, "apply")


def _recovered(place: _Place) -> list[str]:
    told: list[str] = []
    for journal in place.journals.listed(OPEN):
        what = f"Change {journal.id} ({', '.join(journal.files)}) was cut off"
        if _decided(place, journal):
            left = _finished(place, journal)
            told.append(f"{what} and is finished now.{_left_alone(left)}")
        else:
            left = _taken_back(place, journal)
            told.append(f"{what} before anything counted: the files are as they were.{_left_alone(left)}")
    return told


def _left_alone(left: Sequence[str]) -> str:
    return f" Changed meanwhile, and left as they are: {', '.join(left)}." if left else ""


def _decided(place: _Place, journal: Journal) -> bool:
    """Whether the commit point was passed: the ref came where it was to go, wherever it went from there."""
    if journal.ref is None:
        return True
    if place.repository is None:
        return False
    has, ref = place.repository.contains, journal.ref
    tip = place.repository.resolve(ref.name)
    forward = has(ref.new, ref.old)
    return has(tip, ref.new) if forward else not has(tip, ref.old)


def _finished(place: _Place, journal: Journal) -> tuple[str, ...]:
    left = _settled(place, journal, [(it, it.before, it.after) for it in journal.entries], journal.made, journal.unmade)
    if journal.ref and place.repository and not journal.branch:
        place.repository.stage(journal.ref.new, [it.path for it in journal.entries])
    place.journals.finished(journal)
    return left


def _taken_back(place: _Place, journal: Journal) -> tuple[str, ...]:
    left = _settled(place, journal, [(it, it.after, it.before) for it in journal.entries], journal.unmade, journal.made)
    place.journals.dropped(journal)
    return left


def _settled(
    place: _Place,
    journal: Journal,
    wanted: Sequence[tuple[Entry, Kept | None, Kept | None]],
    made: Sequence[str],
    unmade: Sequence[str],
) -> tuple[str, ...]:
    """Bring every file from one state to the other; files go before files come. What is in neither state is left."""
    left: list[str] = []
    for folder in made:
        place.tree.make_folder(folder)
    draft = f".roundtable-{journal.id}"
    for entry, old, new in sorted(wanted, key=lambda it: it[2] is not None):
        try:
            with suppress(OSError):
                place.tree.remove(f"{entry.path.rpartition('/')[0]}/{draft}".removeprefix("/"))
            standing = place.tree.read(entry.path)
            source, target = (place.journals.content(journal, it) if it else None for it in (old, new))
            if _same(standing, target):
                continue
            if not _same(standing, source):
                left.append(entry.path)
            elif target is None:
                place.tree.remove(entry.path)
            else:
                place.tree.write(entry.path, target, draft)
        except Astray:
            left.append(entry.path)
    for folder in reversed(unmade):
        place.tree.remove_folder(folder)
    return tuple(left)


def _receipt(journal: Journal, left: tuple[str, ...]) -> Receipt:
    return Receipt(journal.id, journal.files, journal.commit, journal.branch, left)


# --- undoing it ------------------------------------------------------------------------------------


def _found(books: Journals, id: str) -> Journal:
    done = [it for it in books.listed(DONE) if not it.undoes]
    if not id and done:
        return done[-1]
    if any(it.id == id for it in books.listed(UNDONE)):
        raise UsageError(f"Change {id} is undone already.", "`roundtable undo --list` shows what can be undone.")
    found = next((it for it in done if it.id == id), None)
    if found is None:
        message = f"There is no change {id} to undo here." if id else "There is nothing to undo here."
        raise NotFound(message, "`roundtable undo --list` shows what can be undone.")
    return found


def _kept(books: Journals, change: Journal, which: str) -> States:
    states: Mapping[str, Kept | None] = {it.path: getattr(it, which) for it in change.entries}
    return {path: books.content(change, it) if it else None for path, it in states.items()}


def _refuse_if_changed(tree: Beneath, change: Journal, expected: States) -> None:
    for path, content in expected.items():
        try:
            same = _same(tree.read(path), content)
        except Astray:
            same = False
        if not same:
            raise UsageError(
                f"{path} was changed since change {change.id} was written, so it is not undone.",
                "Undo the later changes first, newest first, or put that file back as it was.",
            )


def _way_back(
    repository: Repository | None, change: Journal, draft: Draft, before: States, after: States
) -> tuple[RefMove | None, str]:
    """How the ref goes back: to where it was if nobody else has the commit, or on to a commit that takes it back."""
    ref = change.ref
    if ref is None or repository is None:
        return None, "The files are as they were."
    tip = repository.resolve(ref.name)
    short = ref.name.removeprefix("refs/heads/")
    if change.branch:
        if tip != ref.new:
            raise UsageError(f"The branch {short} has moved on since.", "Delete it yourself if it can go.")
        if ref.name in repository.worktree_branches():
            raise UsageError(f"The branch {short} is checked out.", "Switch to another one first.")
        return RefMove(ref.name, ref.new, ""), f"The branch {short} is gone; the files here were never touched."
    if repository.checked_out() != ref.name:
        raise UsageError(f"The change was committed on {short}, and that is not checked out.", f"Switch to {short}.")
    if not repository.contains(tip, ref.new):
        raise UsageError(f"{short} no longer has the commit {ref.new[:12]}.", "There is nothing left to undo there.")
    if refused := repository.objections(before, after, draft.place):
        raise UsageError(f"{refused[0].path} cannot be put back.", refused[0].sentence)
    if tip == ref.new and not repository.elsewhere(ref.new, ref.name):
        return RefMove(ref.name, ref.new, ref.old), f"The files are as they were, and {short} is back where it was."
    old = repository.entries(ref.old, list(before))
    entries = {path: old.get(path) for path in before}
    text = f"Undo a change of the table\n\nThis takes back commit {ref.new}.\n"
    made = repository.committed(tip, entries, text, getpass.getuser(), draft.index)
    return RefMove(ref.name, tip, made), f"The files are as they were; commit {made[:12]} on {short} takes it back."
