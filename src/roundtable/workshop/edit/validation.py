"""Validates drafts, and finds changes that destroy something git history cannot bring back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from roundtable.core.changeset import DraftFile
from roundtable.core.refusals import Refusal, RefusalCode
from roundtable.workshop.edit.lost_tests import find_edits_removing_tests
from roundtable.workshop.repo.git import open_git
from roundtable.workshop.symbols.languages import find_source_language
from roundtable.workshop.symbols.syntax_trees import find_first_syntax_error

MAX_UNCONFIRMED_DELETIONS = 5
"""Number of files that may be deleted at once without typed confirmation."""

_CONFLICT = re.compile(rb"^(?:<{7}|>{7}|\|{7})(?: |$)", re.M)
_FENCE = re.compile(rb"(?:`{3,}|~{3,})[\w+.-]*\s*")
_PROSE = (".md", ".mdx", ".markdown", ".rst", ".txt", ".adoc", ".ipynb")
_SCHEMA = re.compile(r"(?:.*/)?(?:migrations?|migrate|alembic|versions)/.*|.*\.sql")
_DROPS = re.compile(
    rb"\b(?:DROP\s+(?:TABLE|DATABASE|SCHEMA|COLUMN|VIEW|INDEX)|TRUNCATE\b|DELETE\s+FROM\s+[\w.\"`]+\s*;)"
    rb"|\bdrop_(?:table|column|index|database)\b|\bdropTable\b|\bdropColumn\b|\bDeleteModel\b|\bRemoveField\b",
    re.I,
)
_SCRIPT = re.compile(
    r".*\.(?:sh|bash|zsh|fish|ps1|bat|cmd|mk|ya?ml|toml)|(?:.*/)?(?:Makefile|Dockerfile|Justfile|package\.json|Rakefile)"
)
_WIPES = re.compile(
    rb"\brm\s+(?:-[\w-]{1,20}\s+){0,9}-\w{0,9}[rR]\w{0,20}\b|\bfind\b.{0,400}\s-delete\b|\bmkfs\b"
    rb"|\bdd\s.{1,400}\bof=/dev/|\bRemove-Item\b.{0,400}-Recurse"
    rb"|\bdel\s+/s\b|\brmdir\s+/s\b"
)
_REWRITES = re.compile(
    rb"\bgit\s+(?:push\s+(?:.{0,400}\s)?(?:--force\b|-f\b|--force-with-lease\b)|reset\s+--hard|filter-branch|filter-repo"
    rb"|reflog\s+expire|clean\s+-\w*f|branch\s+-D|update-ref\s+-d|gc\s+--prune)"
)
_CI = re.compile(
    r"\.github/workflows/.*|\.gitlab-ci\.ya?ml|\.circleci/.*|Jenkinsfile|azure-pipelines\.ya?ml|\.travis\.ya?ml"
)
_LOCK = re.compile(
    r"(?:.*/)?(?:uv|poetry|Cargo|Gemfile|composer|flake|pdm|Pipfile)\.lock|(?:.*/)?(?:package-lock\.json|yarn\.lock"
    r"|pnpm-lock\.yaml|go\.sum|bun\.lockb?)"
)


def validate_edited_files(files: Sequence[DraftFile]) -> tuple[Refusal, ...]:
    """Return refusals for broken syntax, conflict markers, leaked code fences and lost tests."""
    refusals = [refusal for file in files if file.after is not None for refusal in _content(file, file.after)]
    return (*refusals, *find_edits_removing_tests(files))


def find_destructive_edits(files: Sequence[DraftFile], root: Path) -> tuple[str, ...]:
    """Return the permanent losses of a draft, as sentences that a person must confirm."""
    deleted = [file.path for file in files if file.after is None]
    losses: list[str] = []
    if len(deleted) > MAX_UNCONFIRMED_DELETIONS:
        losses.append(f"{len(deleted)} files are deleted: {', '.join(deleted)}.")
    unknown = _untracked_losses(files, root)
    for file in files:
        losses += _losses(file, untracked=(file.was or file.path) in unknown)
    return tuple(losses)


def _content(file: DraftFile, after: bytes) -> Iterator[Refusal]:
    path, before = file.path, file.before or b""
    if len(_CONFLICT.findall(after)) > len(_CONFLICT.findall(before)):
        yield Refusal.of(path, RefusalCode.CONFLICT_MARKERS)
        return
    if _leaks_fence(path, after) and not _leaks_fence(path, before):
        yield Refusal.of(path, RefusalCode.LEAKED_FENCE)
        return
    error = find_first_syntax_error(path, after)
    if error and (file.before is None or find_first_syntax_error(file.was or path, before) is None):
        yield Refusal.of(path, RefusalCode.SYNTAX_BROKEN, line=error.line, language=error.language)


def _leaks_fence(path: str, data: bytes) -> bool:
    """Whether a file has code fences that belong to the reply: at its edges, or unclosed."""
    lines = [line for line in data.split(b"\n") if line.strip()]
    if not lines:
        return False
    if path.lower().endswith(_PROSE):
        return re.fullmatch(rb"`{3,}(?:markdown|md)\s*", lines[0]) is not None
    odd = find_source_language(path) is None and sum(1 for line in lines if _FENCE.fullmatch(line)) % 2
    return bool(odd) or any(_FENCE.fullmatch(line) for line in (lines[0], lines[-1]))


def _untracked_losses(files: Sequence[DraftFile], root: Path) -> set[str]:
    """Return the files that lose content and are not in git's history."""
    losing = {file.was or file.path for file in files if file.before}
    if not losing:
        return set()
    with open_git(root) as git:
        tracked = set(git.list_files()) - set(git.untracked_files()) if git.has_repository else set[str]()
    return losing - tracked


def _losses(file: DraftFile, *, untracked: bool) -> Iterator[str]:
    path = file.path
    if file.after is None:
        if untracked:
            yield f"{path} is deleted, and git does not track it."
        if _CI.fullmatch(path):
            yield f"{path} is deleted; it runs the checks in continuous integration."
        if _LOCK.fullmatch(path):
            yield f"{path} is deleted; it pins the versions of the dependencies."
        return
    if file.before and file.before.strip() and not file.after.strip():
        yield f"{path} is emptied."
    elif untracked and _kept_share(file.before or b"", file.after) < 0.5:
        yield f"Most of {path} is replaced, and git does not track it."
    added = _added_lines(file)
    if _SCHEMA.fullmatch(path) and (match := _DROPS.search(added)):
        yield f"{path} deletes data when it runs: {_matched_line(added, match)}."
    if _SCRIPT.fullmatch(path) or added.startswith(b"#!"):
        if match := _WIPES.search(added):
            yield f"{path} deletes whole folders when it runs: {_matched_line(added, match)}."
        if match := _REWRITES.search(added):
            yield f"{path} rewrites git history when it runs: {_matched_line(added, match)}."


def _added_lines(file: DraftFile) -> bytes:
    """Return the lines that were not in the file before."""
    known = set((file.before or b"").split(b"\n"))
    return b"\n".join(line for line in (file.after or b"").split(b"\n") if line not in known)


def _kept_share(before: bytes, after: bytes) -> float:
    """Return the share of the old lines that remain."""
    lines = [line for line in before.split(b"\n") if line.strip()]
    new_lines = set(after.split(b"\n"))
    return sum(line in new_lines for line in lines) / len(lines) if lines else 1.0


def _matched_line(data: bytes, match: re.Match[bytes]) -> str:
    start = data.rfind(b"\n", 0, match.start()) + 1
    return data[start : start + 120].split(b"\n")[0].decode(errors="replace").strip()
