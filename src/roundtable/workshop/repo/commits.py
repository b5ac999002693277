"""Writes to a repository: commits built in a separate index, and atomic ref updates.

No hook, filter or signing program runs, and staged changes are left alone except for the paths of the change.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from roundtable.core.faults import RoundtableError, UsageError
from roundtable.core.reasons import CommitStepsSkipped
from roundtable.core.refusals import Refusal, RefusalCode
from roundtable.workshop.repo.git import (
    find_enclosing_git_repository,
    find_head_commit,
    git_filter_overrides,
    run_git,
    split_git_names,
)
from roundtable.workshop.rooted_files import FileContent

WORKTREE_REFS = "refs/roundtable/worktrees/"
"""Refs that keep the base commits of worktrees; they are neither branches nor tags."""

DETACHED = "HEAD"
"""The ref that a commit moves if no branch is checked out."""

_PLAIN, _EXECUTABLE = "100644", "100755"
_WHOLE_OBJECTS = {"core.bigFileThreshold": "512m"}
_OPERATIONS = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisection",
}
_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
_ATTRIBUTES = ("filter", "working-tree-encoding", "ident", "text", "eol")


class CommitMessage(msgspec.Struct, frozen=True):
    """A commit message: the text, and the origin of the change as trailers."""

    message: str
    session: str = ""
    decision: str = ""
    producers: tuple[str, ...] = ()
    approved_by: str = ""
    checks: dict[str, str] = {}
    stage: str = ""

    @property
    def text(self) -> str:
        """The message followed by its trailers, one per line."""
        trailers = [
            ("Roundtable-Session", self.session),
            ("Roundtable-Stage", self.stage),
            ("Roundtable-Decision", self.decision),
            *(("Produced-By", seat) for seat in self.producers),
            ("Approved-By", self.approved_by),
            *(("Checks", f"{name}={result}") for name, result in self.checks.items()),
        ]
        lines = [f"{name}: {' '.join(value.split())}" for name, value in trailers if value.strip()]
        body = self.message.strip() or "Change by Roundtable"
        return "\n\n".join(part for part in (body, "\n".join(lines)) if part) + "\n"


FilePlacer = Callable[[bytes], Path]
StoredFile = tuple[Path, bool]
"""The path of a file's bytes, and whether the file is executable."""


class RefUpdate(msgspec.Struct, frozen=True):
    """An atomic update of a ref from one commit to another; an empty commit means that the ref does not exist."""

    name: str
    old: str
    new: str


class GitFailed(RoundtableError):
    """Git failed; nothing was left half done."""


class Repository:
    """The repository of a workspace, for writing. `head` is its last commit, empty before the first one."""

    def __init__(self, workspace: Path, head: str) -> None:
        self.head = head
        self._workspace = workspace
        self._config = {**git_filter_overrides(workspace), **_WHOLE_OBJECTS}
        output = self._run("rev-parse", "--show-object-format", "--absolute-git-dir", "--show-prefix")[1]
        format, folder, self._prefix = (*os.fsdecode(output).splitlines(), "")[:3]
        self._folder = Path(folder)
        self._null_commit = "0" * (64 if format == "sha256" else 40)

    @classmethod
    def open(cls, workspace: Path) -> Repository | None:
        """Return the repository of a workspace, or None if the workspace has none of its own."""
        head = find_head_commit(workspace)
        return None if head is None else cls(workspace, head)

    # --- reading ---------------------------------------------------------------------------------

    def current_ref(self) -> str:
        """Return the ref that a commit moves: the branch, or HEAD if no branch is checked out."""
        return self._line("symbolic-ref", "--quiet", "HEAD") or DETACHED

    def resolve(self, ref: str) -> str:
        """Return the commit of a ref; empty if there is none."""
        return self._line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")

    def contains(self, tip: str, commit: str) -> bool:
        """Whether one commit is an ancestor of another (or the same); an empty commit is an ancestor of every
        commit."""
        if not commit or not tip:
            return not commit
        return self._run("merge-base", "--is-ancestor", commit, tip)[0] == 0

    def is_in_other_ref(self, commit: str, ref: str) -> bool:
        """Whether another ref, such as a remote's, contains this commit; refs that only keep worktree bases do not
        count."""
        output = self._line("for-each-ref", "--contains", commit, "--format=%(refname)")
        return any(name != ref and not name.startswith(WORKTREE_REFS) for name in output.splitlines())

    def commit_subject(self, commit: str) -> str:
        """Return the first line of a commit's message."""
        return self._line("log", "-1", "--no-show-signature", "--format=%s", commit)

    def worktree_branches(self) -> set[str]:
        """Return the refs of branches that are checked out in a worktree."""
        output = self._line("worktree", "list", "--porcelain")
        return {line.removeprefix("branch ") for line in output.splitlines() if line.startswith("branch ")}

    def tree_entries(self, commit: str, paths: Sequence[str]) -> dict[str, str]:
        """Return the tree entries of a commit under these paths, as `mode digest`."""
        if not commit or not paths:
            return {}
        entries: dict[str, str] = {}
        for line in split_git_names(self._run_or_fail("ls-tree", "-z", commit, "--", *paths)):
            entry, _, path = line.partition("\t")
            mode, _, digest = entry.split(" ")
            entries[path] = f"{mode} {digest}"
        return entries

    def new_branch_ref(self, name: str) -> str:
        """Return the ref of a new branch; raise UsageError if the name is invalid or taken."""
        code, command_output = self._run("check-ref-format", "--branch", name)
        if code or command_output.decode(errors="replace").strip() != name:
            raise UsageError(f"{name} is not a valid branch name.", "Use letters, digits, dots, dashes and /.")
        ref = f"refs/heads/{name}"
        if self.resolve(ref):
            raise UsageError(f"Branch {name} already exists.", "Choose another name with --branch.")
        parts = name.split("/")
        parents = ("/".join(parts[:number]) for number in range(1, len(parts)))
        conflict = self._line("for-each-ref", "--count=1", "--format=%(refname:short)", f"{ref}/")
        if conflict := next((parent for parent in parents if self.resolve(f"refs/heads/{parent}")), conflict):
            raise UsageError(
                f"Branch {name} conflicts with the existing branch {conflict}.", "Choose another name with --branch."
            )
        return ref

    # --- what a change may not touch -------------------------------------------------------------

    def find_refusals(
        self, before: Mapping[str, FileContent | None], after: Mapping[str, FileContent | None], place: FilePlacer
    ) -> list[Refusal]:
        """Return a refusal for each path with uncommitted changes, or whose bytes git would convert.

        During a merge, rebase or the like every change is refused. `place` stores bytes as a file that git can read.
        """
        if operation := self.pending_operation():
            return [Refusal.of(path, RefusalCode.OPERATION_PENDING, operation=operation) for path in list(before)[:1]]
        converted = self.find_converted_paths(before, after)
        unconverted = {path: content for path, content in before.items() if path not in converted}
        refused = [Refusal.of(path, RefusalCode.CONVERTED_BY_GIT) for path in converted]
        return [*refused, *self._uncommitted(unconverted, place)]

    def pending_operation(self) -> str:
        """Return the operation in progress, such as `merge`; empty if there is none."""
        operations = (operation for name, operation in _OPERATIONS.items() if os.path.lexists(self._folder / name))
        return next(operations, "")

    def ensure_index_unlocked(self) -> None:
        """Raise GitFailed while another git process (or one that crashed) holds the lock of the index."""
        lock = self._folder / "index.lock"
        if os.path.lexists(lock):
            raise GitFailed(
                f"Another git process is using this repository: {lock} exists.",
                "Wait for it to finish, or delete that file if no git process is running. Nothing was changed.",
            )

    def _uncommitted(self, before: Mapping[str, FileContent | None], place: FilePlacer) -> Iterable[Refusal]:
        paths = list(before)
        committed = self.tree_entries(self.head, paths)
        staged = self._staged(paths)
        files = {
            path: (place(content.data), content.executable) for path, content in before.items() if content is not None
        }
        files = self.with_tracked_modes(files, {path: path for path in paths})
        entries = self.store_files(files, write=False)
        for path in before:
            if path not in committed and path not in staged:
                continue
            if committed.get(path) != staged.get(path) or committed.get(path) != entries.get(path):
                yield Refusal.of(path, RefusalCode.UNCOMMITTED)

    def _staged(self, paths: Sequence[str]) -> dict[str, str]:
        """Return the index entries under these paths, as `mode digest`."""
        entries: dict[str, str] = {}
        for line in split_git_names(self._run_or_fail("ls-files", "-s", "-z", "--", *paths)) if paths else ():
            entry, _, path = line.partition("\t")
            mode, digest, stage = entry.split(" ")
            entries[path] = f"{mode} {digest}" if stage == "0" else "in conflict"
        return entries

    def with_tracked_modes(
        self, files: Mapping[str, StoredFile], mode_sources: Mapping[str, str]
    ) -> dict[str, StoredFile]:
        """Return the files with the executable bits of the index, if git is configured to ignore those on disk.

        `alike` names for a path the tracked path whose permissions it takes; other paths keep the given ones.
        """
        if self._line("config", "--type=bool", "--get", "core.fileMode") != "false":
            return dict(files)
        tracked = self._staged(list(mode_sources.values()))
        tracked_modes = {
            path: tracked[source].startswith(_EXECUTABLE) for path, source in mode_sources.items() if source in tracked
        }
        return {path: (place, tracked_modes.get(path, executable)) for path, (place, executable) in files.items()}

    def find_converted_paths(
        self, before: Mapping[str, FileContent | None], after: Mapping[str, FileContent | None] = {}
    ) -> list[str]:
        """Return the paths whose bytes git converts on commit: by a filter, an encoding, or line endings."""
        fields = split_git_names(self._run_or_fail("check-attr", "-z", *_ATTRIBUTES, "--", *before)) if before else []
        converts = self._line("config", "--get", "core.autocrlf") in ("true", "input")
        attributes: dict[str, dict[str, str]] = {}
        for path, attribute, value in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
            attributes.setdefault(path, {})[attribute] = value
        paths: list[str] = []
        for path, values in attributes.items():
            set_attributes = {name for name, value in values.items() if value not in ("unspecified", "unset")}
            endings = values["text"] != "unset" and (converts or bool(set_attributes & {"text", "eol"}))
            crlf = any(
                b"\r\n" in content.data for content in (before.get(path), after.get(path)) if content is not None
            )
            if set_attributes & {"filter", "working-tree-encoding", "ident"} or (endings and crlf):
                paths.append(path)
        return paths

    # --- writing ---------------------------------------------------------------------------------

    def store_files(self, files: Mapping[str, StoredFile], *, write: bool = True) -> dict[str, str]:
        """Store files as git objects (unless `write` is false) and return their tree entries."""
        if not files:
            return {}
        places = "".join(f"{place}\n" for place, _ in files.values())
        options = ("-w",) if write else ()
        command_output = self._run_or_fail(
            "hash-object", *options, "--no-filters", "--stdin-paths", input=os.fsencode(places)
        )
        output = command_output.decode().split()
        stored = zip(files.items(), output, strict=True)
        return {path: f"{_EXECUTABLE if runs else _PLAIN} {digest}" for (path, (_, runs)), digest in stored}

    def create_commit(
        self, parent: str, entries: Mapping[str, str | None], text: str, by: str, index: Path, at: str = ""
    ) -> str:
        """Create a commit on top of another with these entries changed, using a separate index; no ref points to it
        yet.

        It is dated now, or at the time `at`.
        """
        variables = {"GIT_INDEX_FILE": str(index)}
        if parent:
            self._run_or_fail("read-tree", parent, variables=variables)
        self._write_index_entries(entries, variables)
        tree = self._run_or_fail("write-tree", "--missing-ok", variables=variables).decode().strip()
        parents = ("-p", parent) if parent else ()
        dated = {name: at for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE") if at}
        command_output = ("commit-tree", tree, *parents, "-F", "-")
        commit = self._run_or_fail(
            *command_output, input=text.encode(), config=self._missing_author(by), variables=dated
        )
        return commit.decode().strip()

    def find_skipped_steps(self) -> CommitStepsSkipped | None:
        """Return what `git commit` would have done in addition (hooks, signing); None if nothing."""
        output = split_git_names(self._run("config", "-z", "--type=path", "--get-all", "core.hooksPath")[1])[
            :-1
        ]  # the last one is our own setting
        places = self._run_or_fail("rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir")
        top, common = os.fsdecode(places).splitlines()
        folder = Path(top, output[-1]) if output else Path(common, "hooks")
        hooks = tuple(name for name in _HOOKS if os.access(folder / name, os.X_OK))
        signs = self._line("config", "--type=bool", "--get", "commit.gpgSign") == "true"
        return CommitStepsSkipped(hooks, unsigned=signs) if hooks or signs else None

    def update_ref(self, move: RefUpdate, reason: str) -> bool:
        """Update a ref atomically; False if it has moved in the meantime."""
        arguments = (move.name, move.new, move.old or self._null_commit) if move.new else ("-d", move.name, move.old)
        try:
            self._run_or_fail("update-ref", "-m", f"roundtable: {reason}", "--no-deref", *arguments)
        except GitFailed:
            if self.resolve(move.name) == move.old:
                raise
            return False
        return True

    def update_index(self, old: str, new: str, paths: Sequence[str]) -> None:
        """Update the index for these paths to the new commit, except for paths that were staged differently.

        Refreshing them spares git a later comparison.
        """
        before, after, now = self.tree_entries(old, paths), self.tree_entries(new, paths), self._staged(paths)
        entries = {path: after.get(path) for path in paths if now.get(path) == before.get(path)}
        self._write_index_entries(entries, {})
        if files := [path for path, entry in entries.items() if entry is not None]:
            self._run("add", "--refresh", "--", *files)

    def _write_index_entries(self, entries: Mapping[str, str | None], variables: Mapping[str, str]) -> None:
        """Change index entries; removals come first, because a file may replace a folder."""
        removals = "".join(
            f"0 {self._null_commit}\t{self._prefix}{path}\0" for path, entry in entries.items() if entry is None
        )
        additions = "".join(f"{entry}\t{self._prefix}{path}\0" for path, entry in entries.items() if entry is not None)
        self._run_or_fail(
            "update-index", "-z", "--add", "--index-info", input=os.fsencode(removals + additions), variables=variables
        )

    def _missing_author(self, by: str) -> dict[str, str]:
        """Return the author settings that git lacks: the user's login name instead."""
        usual = {"user.name": by, "user.email": f"{by}@localhost"}
        return {name: value for name, value in usual.items() if not self._line("config", "--get", name)}

    # --- running git -----------------------------------------------------------------------------

    def _line(self, *args: str, input: bytes = b"") -> str:
        return self._run(*args, input=input)[1].decode(errors="replace").strip()

    def _run(self, *args: str, input: bytes = b"") -> tuple[int, bytes]:
        output = run_git(self._workspace, ("--literal-pathspecs", *args), self._config, input)
        return output.code, output.output

    def _run_or_fail(
        self, *args: str, input: bytes = b"", config: Mapping[str, str] = {}, variables: Mapping[str, str] = {}
    ) -> bytes:
        args = ("--literal-pathspecs", *args)
        output = run_git(self._workspace, args, {**self._config, **config}, input, variables)
        if output.code:
            raise GitFailed(
                f"`git {args[1]}` failed: {' '.join(output.error_output.split()) or output.code}.",
                "Fix this problem and run the command again. It first finishes or rolls back the interrupted change.",
            )
        return output.output


def check_git_repository_writable(workspace: Path, path: str = "") -> Refusal | None:
    """Return why git forbids writing a path to a workspace; None if nothing does."""
    if find_head_commit(workspace) is not None:
        return None
    output = run_git(workspace, ("rev-parse", "--is-bare-repository", "--show-toplevel"))
    if output.output.startswith(b"true"):
        return Refusal.of(path, RefusalCode.REPOSITORY_BARE, folder=str(workspace))
    top = find_enclosing_git_repository(workspace)
    if top is None:
        return None
    problem = output.error_output.partition("\n")[0].strip().removeprefix("fatal: ").rstrip(".")
    return Refusal.of(path, RefusalCode.REPOSITORY_UNREADABLE, folder=str(top), problem=problem)


def find_pending_git_operation(workspace: Path) -> str:
    """Return the operation in progress in a workspace's repository, such as a merge; empty if there is none."""
    repository = Repository.open(workspace)
    return repository.pending_operation() if repository else ""


def ensure_git_branch_available(workspace: Path, name: str) -> None:
    """Raise UsageError early if a new branch of this name cannot be created."""
    repository = Repository.open(workspace)
    if repository is None:
        raise UsageError("The workspace is not a git repository, so no branch can be created.", "Remove --branch.")
    repository.new_branch_ref(name)
