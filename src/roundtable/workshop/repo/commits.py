"""What changes a repository: commits made beside the person's own index, and refs moved in one step.

No hook, filter or signature program runs, and nothing that is staged is touched but the paths of a change.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from roundtable.core.changeset import Refusal, RefusalKind
from roundtable.core.faults import RoundtableError, UsageError
from roundtable.workshop.repo.git import (
    find_enclosing_repository,
    find_head_commit,
    git_filter_overrides,
    run_git,
    split_git_names,
)
from roundtable.workshop.rooted_files import FileContent

WORKTREE_REFS = "refs/roundtable/worktrees/"
"""Where the commits are kept that worktrees began at; no branch or tag."""

DETACHED = "HEAD"
"""The ref that a commit moves where no branch is checked out."""

_PLAIN, _EXECUTABLE = "100644", "100755"
_WHOLE_OBJECTS = {"core.bigFileThreshold": "512m"}
_UNDER_WAY = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}
_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
_ATTRIBUTES = ("filter", "working-tree-encoding", "ident", "text", "eol")


class CommitMessage(msgspec.Struct, frozen=True):
    """What a commit says of itself: the message, and where the change came from as trailers."""

    message: str
    session: str = ""
    decision: str = ""
    producers: tuple[str, ...] = ()
    approved_by: str = ""
    checks: dict[str, str] = {}
    stage: str = ""

    @property
    def text(self) -> str:
        """The message and its trailers, each in a line of its own."""
        told = [
            ("Roundtable-Session", self.session),
            ("Roundtable-Stage", self.stage),
            ("Roundtable-Decision", self.decision),
            *(("Produced-By", seat) for seat in self.producers),
            ("Approved-By", self.approved_by),
            *(("Checks", f"{name}={how}") for name, how in self.checks.items()),
        ]
        lines = [f"{name}: {' '.join(value.split())}" for name, value in told if value.strip()]
        body = self.message.strip() or "A change of the table"
        return "\n\n".join(part for part in (body, "\n".join(lines)) if part) + "\n"


FilePlacer = Callable[[bytes], Path]
StoredFile = tuple[Path, bool]
"""Where the bytes of a file lie, and whether it can be run."""


class RefUpdate(msgspec.Struct, frozen=True):
    """A ref from one commit to another in one step; an empty one is none."""

    name: str
    old: str
    new: str


class GitFailed(RoundtableError):
    """Git would not do what was needed of it; nothing was half done."""


class Repository:
    """The repository of a workspace, for writing. `head` is its last commit, empty before the first."""

    def __init__(self, workspace: Path, head: str) -> None:
        self.head = head
        self._workspace = workspace
        self._config = {**git_filter_overrides(workspace), **_WHOLE_OBJECTS}
        told = self._ask("rev-parse", "--show-object-format", "--absolute-git-dir", "--show-prefix")[1]
        format, folder, self._prefix = (*os.fsdecode(told).splitlines(), "")[:3]
        self._folder = Path(folder)
        self._nothing = "0" * (64 if format == "sha256" else 40)

    @classmethod
    def of(cls, workspace: Path) -> Repository | None:
        """The repository a workspace has of its own, if it has one."""
        head = find_head_commit(workspace)
        return None if head is None else cls(workspace, head)

    # --- what stands where -----------------------------------------------------------------------

    def checked_out(self) -> str:
        """The ref that a commit moves: the branch, or HEAD itself where none is checked out."""
        return self._line("symbolic-ref", "--quiet", "HEAD") or DETACHED

    def resolve(self, ref: str) -> str:
        """The commit of a ref; empty where there is none."""
        return self._line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")

    def contains(self, tip: str, commit: str) -> bool:
        """Whether a commit lies behind another one; none at all lies behind any."""
        if not commit or not tip:
            return not commit
        return self._ask("merge-base", "--is-ancestor", commit, tip)[0] == 0

    def elsewhere(self, commit: str, ref: str) -> bool:
        """Whether any other ref has this commit too, such as a remote's; a worktree that began there is nobody."""
        told = self._line("for-each-ref", "--contains", commit, "--format=%(refname)")
        return any(name != ref and not name.startswith(WORKTREE_REFS) for name in told.splitlines())

    def subject(self, commit: str) -> str:
        """The first line of a commit's message."""
        return self._line("log", "-1", "--no-show-signature", "--format=%s", commit)

    def worktree_branches(self) -> set[str]:
        """Refs of the branches that are checked out somewhere."""
        told = self._line("worktree", "list", "--porcelain")
        return {line.removeprefix("branch ") for line in told.splitlines() if line.startswith("branch ")}

    def entries(self, commit: str, paths: Sequence[str]) -> dict[str, str]:
        """What a commit has under these paths, as `mode digest`."""
        if not commit or not paths:
            return {}
        found: dict[str, str] = {}
        for line in split_git_names(self._must("ls-tree", "-z", commit, "--", *paths)):
            told, _, path = line.partition("\t")
            mode, _, digest = told.split(" ")
            found[path] = f"{mode} {digest}"
        return found

    def reserved_branch(self, name: str) -> str:
        """The ref of a new branch of this name, which must be free."""
        code, said = self._ask("check-ref-format", "--branch", name)
        if code or said.decode(errors="replace").strip() != name:
            raise UsageError(f"{name} cannot be the name of a branch.", "Use letters, digits, dots, dashes and /.")
        ref = f"refs/heads/{name}"
        if self.resolve(ref):
            raise UsageError(f"There is a branch {name} already.", "Give another name with --branch.")
        parts = name.split("/")
        above = ("/".join(parts[:number]) for number in range(1, len(parts)))
        taken = self._line("for-each-ref", "--count=1", "--format=%(refname:short)", f"{ref}/")
        if taken := next((it for it in above if self.resolve(f"refs/heads/{it}")), taken):
            raise UsageError(f"There cannot be a branch {name} beside {taken}.", "Give another name with --branch.")
        return ref

    # --- what a change may not touch -------------------------------------------------------------

    def objections(
        self, now: Mapping[str, FileContent | None], then: Mapping[str, FileContent | None], place: FilePlacer
    ) -> list[Refusal]:
        """Which of these paths must be left alone: work that is not committed, and files that git rewrites.

        In the middle of a merge or the like it is all of them. `place` says where bytes lie as a file, for git to read.
        """
        if what := self.under_way():
            sentence = f"{what} is under way in this repository; finish or abort it first."
            return [Refusal(path, RefusalKind.REPOSITORY, sentence) for path in list(now)[:1]]
        converted = self.converted(now, then)
        others = {path: it for path, it in now.items() if path not in converted}
        return [*map(_by_hand, converted), *self._uncommitted(others, place)]

    def under_way(self) -> str:
        """What the person is in the middle of, such as a merge; empty if nothing."""
        found = (what for name, what in _UNDER_WAY.items() if os.path.lexists(self._folder / name))
        return next(found, "").capitalize()

    def refuse_if_locked(self) -> None:
        """Another git at work in this repository, or one that died there, would not let us tell its index."""
        lock = self._folder / "index.lock"
        if os.path.lexists(lock):
            raise GitFailed(
                f"Another git is at work in this repository: {lock} is there.",
                "Wait for it, or remove that file if no git runs here; nothing was changed.",
            )

    def _uncommitted(self, now: Mapping[str, FileContent | None], place: FilePlacer) -> Iterable[Refusal]:
        paths = list(now)
        committed = self.entries(self.head, paths)
        staged = self._staged(paths)
        standing = {path: (place(it.data), it.executable) for path, it in now.items() if it is not None}
        standing = self.with_tracked_modes(standing, {path: path for path in paths})
        entries = self.stored(standing, write=False)
        for path in now:
            if path not in committed and path not in staged:
                continue
            if committed.get(path) != staged.get(path) or committed.get(path) != entries.get(path):
                yield Refusal(path, RefusalKind.UNCOMMITTED, f"{path} has changes that are not committed.")

    def _staged(self, paths: Sequence[str]) -> dict[str, str]:
        """What the index has under these paths, as `mode digest`."""
        found: dict[str, str] = {}
        for line in split_git_names(self._must("ls-files", "-s", "-z", "--", *paths)) if paths else ():
            told, _, path = line.partition("\t")
            mode, digest, stage = told.split(" ")
            found[path] = f"{mode} {digest}" if stage == "0" else "in conflict"
        return found

    def with_tracked_modes(self, files: Mapping[str, StoredFile], alike: Mapping[str, str]) -> dict[str, StoredFile]:
        """Files with what the index says of whether they can be run, where git is told not to believe the disk.

        `alike` says for a path whose permissions it has; without one, those it is given stand.
        """
        if self._line("config", "--type=bool", "--get", "core.fileMode") != "false":
            return dict(files)
        tracked = self._staged(list(alike.values()))
        runs = {path: tracked[of].startswith(_EXECUTABLE) for path, of in alike.items() if of in tracked}
        return {path: (place, runs.get(path, given)) for path, (place, given) in files.items()}

    def converted(
        self, now: Mapping[str, FileContent | None], then: Mapping[str, FileContent | None] = {}
    ) -> list[str]:
        """Those of these paths that git stores otherwise than they stand here, or would: by a filter, or line ends."""
        fields = split_git_names(self._must("check-attr", "-z", *_ATTRIBUTES, "--", *now)) if now else []
        converts = self._line("config", "--get", "core.autocrlf") in ("true", "input")
        told: dict[str, dict[str, str]] = {}
        for path, attribute, value in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
            told.setdefault(path, {})[attribute] = value
        found: list[str] = []
        for path, values in told.items():
            on = {name for name, value in values.items() if value not in ("unspecified", "unset")}
            endings = values["text"] != "unset" and (converts or bool(on & {"text", "eol"}))
            crlf = any(b"\r\n" in it.data for it in (now.get(path), then.get(path)) if it is not None)
            if on & {"filter", "working-tree-encoding", "ident"} or (endings and crlf):
                found.append(path)
        return found

    # --- what is written -------------------------------------------------------------------------

    def stored(self, files: Mapping[str, StoredFile], *, write: bool = True) -> dict[str, str]:
        """Files as a tree of git names them, put among its objects."""
        if not files:
            return {}
        places = "".join(f"{place}\n" for place, _ in files.values())
        how = ("-w",) if write else ()
        said = self._must("hash-object", *how, "--no-filters", "--stdin-paths", input=os.fsencode(places))
        told = said.decode().split()
        found = zip(files.items(), told, strict=True)
        return {path: f"{_EXECUTABLE if runs else _PLAIN} {digest}" for (path, (_, runs)), digest in found}

    def committed(
        self, parent: str, entries: Mapping[str, str | None], text: str, by: str, index: Path, at: str = ""
    ) -> str:
        """A commit on top of another with these entries changed, made over an index of its own; no ref has it yet.

        It is dated now, or `at` the time that is given.
        """
        variables = {"GIT_INDEX_FILE": str(index)}
        if parent:
            self._must("read-tree", parent, variables=variables)
        self._put(entries, variables)
        tree = self._must("write-tree", "--missing-ok", variables=variables).decode().strip()
        parents = ("-p", parent) if parent else ()
        dated = {name: at for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE") if at}
        said = ("commit-tree", tree, *parents, "-F", "-")
        made = self._must(*said, input=text.encode(), config=self._author(by), variables=dated)
        return made.decode().strip()

    def passed_over(self) -> str:
        """What `git commit` does here besides and a commit of ours does not, in a sentence; empty if nothing."""
        told = split_git_names(self._ask("config", "-z", "--type=path", "--get-all", "core.hooksPath")[1])[
            :-1
        ]  # ours is last
        places = self._must("rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir")
        top, common = os.fsdecode(places).splitlines()
        folder = Path(top, told[-1]) if told else Path(common, "hooks")
        hooks = ", ".join(name for name in _HOOKS if os.access(folder / name, os.X_OK))
        signs = self._line("config", "--type=bool", "--get", "commit.gpgSign") == "true"
        lacks = (
            f"the hooks here did not run ({hooks})" if hooks else "",
            "it is not signed, although commit.gpgSign asks for that" if signs else "",
        )
        return f"This is no `git commit`: {' and '.join(filter(None, lacks))}." if any(lacks) else ""

    def move(self, move: RefUpdate, why: str) -> bool:
        """Move a ref in one step; False where it is no longer where it was."""
        how = (move.name, move.new, move.old or self._nothing) if move.new else ("-d", move.name, move.old)
        try:
            self._must("update-ref", "-m", f"roundtable: {why}", "--no-deref", *how)
        except GitFailed:
            if self.resolve(move.name) == move.old:
                raise
            return False
        return True

    def stage(self, old: str, new: str, paths: Sequence[str]) -> None:
        """Make the person's index say of these paths what the new commit says, where it says what the old one did.

        Git then looks at those files once more, so that it need not call them changed until it has.
        """
        before, after, now = self.entries(old, paths), self.entries(new, paths), self._staged(paths)
        entries = {path: after.get(path) for path in paths if now.get(path) == before.get(path)}
        self._put(entries, {})
        if standing := [path for path, entry in entries.items() if entry is not None]:
            self._ask("add", "--refresh", "--", *standing)

    def _put(self, entries: Mapping[str, str | None], variables: Mapping[str, str]) -> None:
        """Removals come first: a file may stand where a folder was."""
        gone = "".join(f"0 {self._nothing}\t{self._prefix}{path}\0" for path, entry in entries.items() if entry is None)
        put = "".join(f"{entry}\t{self._prefix}{path}\0" for path, entry in entries.items() if entry is not None)
        self._must("update-index", "-z", "--add", "--index-info", input=os.fsencode(gone + put), variables=variables)

    def _author(self, by: str) -> dict[str, str]:
        """Who commits: the person as git knows them, else by their name on this machine."""
        usual = {"user.name": by, "user.email": f"{by}@localhost"}
        return {name: value for name, value in usual.items() if not self._line("config", "--get", name)}

    # --- git -------------------------------------------------------------------------------------

    def _line(self, *args: str, input: bytes = b"") -> str:
        return self._ask(*args, input=input)[1].decode(errors="replace").strip()

    def _ask(self, *args: str, input: bytes = b"") -> tuple[int, bytes]:
        told = run_git(self._workspace, ("--literal-pathspecs", *args), self._config, input)
        return told.code, told.said

    def _must(
        self, *args: str, input: bytes = b"", config: Mapping[str, str] = {}, variables: Mapping[str, str] = {}
    ) -> bytes:
        args = ("--literal-pathspecs", *args)
        told = run_git(self._workspace, args, {**self._config, **config}, input, variables)
        if told.code:
            raise GitFailed(
                f"Git would not {args[1]}: {' '.join(told.complaint.split()) or told.code}.",
                "Mend that and say it again; what was begun is finished or taken back by the next command.",
            )
        return told.said


def _by_hand(path: str) -> Refusal:
    sentence = (
        f"Git stores {path} otherwise than it stands here (its attributes or core.autocrlf say so): edit it by hand."
    )
    return Refusal(path, RefusalKind.FILTERED, sentence)


def describe_unusable_repository(workspace: Path) -> str:
    """Why nothing can be written in what git has here, as far as it has anything; empty where all is well."""
    if find_head_commit(workspace) is not None:
        return ""
    told = run_git(workspace, ("rev-parse", "--is-bare-repository", "--show-toplevel"))
    if told.said.startswith(b"true"):
        return f"{workspace} is a bare repository, which has no files that could be changed."
    top = find_enclosing_repository(workspace)
    if top is None:
        return ""
    why = told.complaint.splitlines()[0].removeprefix("fatal: ") if told.complaint else "its own folder lies elsewhere"
    return f"What is committed in {top} cannot be known, so nothing is written there ({why.rstrip('.')})."


def describe_pending_git_operation(workspace: Path) -> str:
    """What the person is in the middle of in the repository of a workspace, if it has one."""
    repository = Repository.of(workspace)
    return repository.under_way() if repository else ""


def ensure_branch_available(workspace: Path, name: str) -> None:
    """See that a new branch of this name can be made, long before it is."""
    repository = Repository.of(workspace)
    if repository is None:
        raise UsageError("There is no repository here that could have a branch.", "Leave --branch out.")
    repository.reserved_branch(name)
