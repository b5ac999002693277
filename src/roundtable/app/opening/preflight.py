"""What a person is told at once who wants files changed that no change can be written to as they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from roundtable.core.decide.ruling import listed
from roundtable.core.stages import from_nothing, in_stages
from roundtable.core.text.sanitize import one_line
from roundtable.core.values import Charter
from roundtable.workshop.repo.commits import Repository
from roundtable.workshop.repo.git import NoGit, git_of
from roundtable.workshop.rooted_files import Astray, Beneath, Content

_NAMED = 5
"""How many files a sentence names."""


def unwritable_notices(workspace: Path, charter: Charter, shown: Collection[str]) -> tuple[str, ...]:
    """A sentence each on files that hold unfinished work, or that git converts; none without git.

    They are looked for among those that are shown. Where a project is gone through in stages, any may be changed.
    """
    if from_nothing(charter):
        return ()
    try:
        repository = Repository.of(workspace)
        if repository is None:
            return ()
        with git_of(workspace) as git:
            unsaved = set(git.unsaved())
            concerned = sorted(unsaved) if in_stages(charter) else shown
            paths = {name.partition(":")[0]: name for name in concerned}
            converted = repository.converted(_standing(workspace, paths.keys() & git.files()))
            unsaved -= set(converted)
    except NoGit:
        return ()
    return (
        *_told(
            "Not committed, so no change to it can be written before you commit or stash it",
            [name for path, name in paths.items() if path in unsaved],
        ),
        *_told(
            "Git stores it otherwise than it stands here (its attributes or core.autocrlf say so), so no change to it "
            "can be written",
            [paths[path] for path in converted],
        ),
    )


def _standing(workspace: Path, paths: Iterable[str]) -> dict[str, Content]:
    found: dict[str, Content] = {}
    with Beneath.of(workspace) as tree:
        for path in paths:
            try:
                content = tree.read(path)
            except Astray:
                continue
            found |= {path: content} if content else {}
    return found


def _told(what: str, names: Sequence[str]) -> tuple[str, ...]:
    told = [one_line(name, 120) for name in names[:_NAMED]]
    told += [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return (f"{what}: {listed(told)}.",) if names else ()
