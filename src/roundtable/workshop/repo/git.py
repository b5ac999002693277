"""Git asked about a workspace, without running what its own config names. What changes a repository is elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from signal import SIGKILL
from threading import Timer
from typing import NamedTuple

from roundtable.core.faults import UsageError
from roundtable.core.file_kinds import is_sensitive_path
from roundtable.workshop.identity import process_owned_folder

GIT_TIMEOUT = 30.0
GIT_OUTPUT_LIMIT = 8_000_000
"""Bytes of one answer of git; nobody is shown more of a diff than this."""

_LONGEST_COMPLAINT = 400

_PASSED_ON = ("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR")
_QUIET = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
}
_HELD_STILL = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.quotePath": "false",
    "core.bigFileThreshold": "1m",
    "diff.autoRefreshIndex": "false",
    "diff.context": "3",
    "diff.orderFile": os.devnull,
    "diff.renames": "true",
    "i18n.commitEncoding": "UTF-8",
    "i18n.logOutputEncoding": "UTF-8",
    "log.showRoot": "true",
}
"""What a person may have set otherwise for their own eyes, and what would run a program."""
DIFF_OPTIONS = (
    "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all", "--submodule=short", "--relative",
    "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
LIST_IGNORED = ("ls-files", "-o", "-i", "--exclude-standard", "--directory")
_SAME = re.compile(r"^diff --git [^\n]*\n(?=diff --git |\Z)", re.M)
"""What git says of a file that was touched and is still the same, where it may not write down that it is."""
_LOG = ("--no-color", "--no-renames", "--relative", "--no-show-signature", "--ignore-submodules=all")


class LoggedCommit(NamedTuple):
    """One commit in a line, and the files it touched."""

    line: str
    files: tuple[str, ...]


class GitDiff(NamedTuple):
    """A diff, and the sensitive files that were kept out of it. `whole` is False where it was cut short."""

    diff: str
    sensitive: tuple[str, ...] = ()
    whole: bool = True


class GitUnavailable(UsageError):
    """Git is not there to be asked, or does not answer."""


class GitReader:
    """Git in one workspace. Without a repository it still knows which files would be ignored."""

    def __init__(self, workspace: Path, place: Sequence[str], config: Mapping[str, str], head: str | None) -> None:
        self._workspace = workspace
        self._place = place
        self._config = config
        self._head = head

    @property
    def repository(self) -> bool:
        """Whether the workspace has a history of its own."""
        return self._head is not None

    def files(self) -> list[str]:
        """Every file that is not ignored, relative to the workspace."""
        return self._names("ls-files", "-co", "--exclude-standard", "--deduplicate")

    def ignored_files(self) -> list[str]:
        """Every file that is ignored; of a folder that is ignored as a whole, its name and a slash."""
        return self._names(*LIST_IGNORED)

    def untracked(self) -> tuple[str, ...]:
        """New files that nobody has added yet."""
        return tuple(self._names("ls-files", "-o", "--exclude-standard"))

    def tracks(self, path: str) -> bool:
        """Whether the repository has something there, in capital letters or small ones."""
        return bool(self._names("ls-files", "--", f":(icase,literal){path}"))

    def ignored(self, paths: Iterable[str]) -> set[str]:
        """Those of these paths that git ignores; they must lie in the workspace and have no links in them."""
        wanted = "".join(f"./{path}\0" for path in paths)
        return {it[2:] for it in split_git_names(self._ask("check-ignore", "-z", "--stdin", input=os.fsencode(wanted)))}

    def hook_folders(self) -> list[str]:
        """Where in the workspace git looks for hooks by its config, `.` where that is all of it."""
        told = self._names("config", "--type=path", "--get-all", "core.hooksPath")
        top = self._workspace / self._line("rev-parse", "--show-cdup")
        here = self._workspace.resolve()
        found = [(top / folder).resolve() for folder in told]
        return [it.relative_to(here).as_posix() for it in found if it.is_relative_to(here)]

    def branch(self) -> str:
        """The branch that is checked out; empty where there is none."""
        return self._line("symbolic-ref", "--quiet", "--short", "HEAD")

    def headlines(self, tip: str) -> list[str]:
        """The newest commits, a line each."""
        told = self._line("log", "-10", *_LOG, "--format=%h %cs %s", "--end-of-options", tip, "--")
        return told.splitlines()

    def commits(self) -> list[LoggedCommit]:
        """The newest commits, with the files each of them touched."""
        told = self._ask("log", "-20", *_LOG, "-z", "--name-only", "--format=%x01%h %cs %s")
        found: list[LoggedCommit] = []
        for record in told.decode(errors="replace").split("\x01")[1:]:
            line, _, files = record.partition("\0")
            found.append(LoggedCommit(line.strip(), tuple(name for name in files.lstrip("\n").split("\0") if name)))
        return found

    def unsaved(self) -> tuple[str, ...]:
        """Files of the repository that are staged, or not as the last commit has them; of what is sensitive, none.

        Git looks into those that were touched, and a file that is the same again is not among them.
        """
        sensitive = (f":(exclude,literal){path}" for path in self._names("ls-files") if is_sensitive_path(path))
        how = ("--porcelain=v1", "--no-renames", "--ignore-submodules=all", "-uno")
        told = self._names("status", *how, "--", ".", *sensitive)
        beneath = self._line("rev-parse", "--show-prefix")
        return tuple(line[3:].removeprefix(beneath) for line in told)

    def differing(self) -> tuple[str, ...]:
        """Files that are not as the last commit has them, and new ones that are not ignored."""
        return (*self.unsaved(), *self.untracked())

    @property
    def _base(self) -> str:
        """The last commit, or the tree that holds nothing."""
        return self._head or self._line("hash-object", "-t", "tree", os.devnull)

    def uncommitted(self) -> GitDiff:
        """What stands in the working tree and not in the last commit.

        Whether a sensitive file was changed is not known: git would have to open it to be sure.
        """
        return self._diff(self._base, self._names("ls-files"))

    def between(self, base: str, tip: str) -> GitDiff:
        """What `tip` changed since it left `base`."""
        revisions = f"{self.resolve(base)}...{self.resolve(tip)}"
        touched = self._names("diff", "--name-only", *DIFF_OPTIONS, "--no-renames", revisions, "--")
        return self._diff(revisions, touched)

    def resolve(self, revision: str) -> str:
        """The commit a name stands for; empty where there is none."""
        return self._line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")

    def merge_base(self, one: str, other: str) -> str:
        """The commit at which two of them parted; empty where they have nothing in common."""
        return self._line("merge-base", self.resolve(one), self.resolve(other))

    def default_branch(self) -> str:
        """What branches are merged into: as the remote says, or by the usual names."""
        told = self._line("symbolic-ref", "--quiet", "refs/remotes/origin/HEAD")
        return next((name for name in (told, "main", "master", "trunk") if name and self.resolve(name)), "")

    def _diff(self, revisions: str, paths: Iterable[str]) -> GitDiff:
        """The difference in all but those of these paths that are sensitive."""
        sensitive = tuple(filter(is_sensitive_path, paths))
        told = self._ask(
            "diff", *DIFF_OPTIONS, revisions, "--", ".", *(f":(exclude,literal){path}" for path in sensitive)
        )
        return GitDiff(_SAME.sub("", told.decode(errors="replace")), sensitive, whole=len(told) < GIT_OUTPUT_LIMIT)

    def _line(self, *args: str) -> str:
        return self._ask(*args).decode(errors="replace").strip()

    def _names(self, *args: str) -> list[str]:
        return split_git_names(self._ask(args[0], "-z", *args[1:]))

    def _ask(self, *args: str, input: bytes = b"") -> bytes:
        return _run(self._workspace, (*self._place, *args), self._config, input)


@contextmanager
def open_git(workspace: Path) -> Generator[GitReader]:
    """Git in a workspace: its own repository, or else an empty one elsewhere that only knows what is ignored."""
    head = find_head_commit(workspace)
    if head is not None:
        yield GitReader(workspace, (), git_filter_overrides(workspace), head)
        return
    with process_owned_folder() as folder:
        _run(workspace, ("init", "--quiet", "--template=", folder))
        yield GitReader(workspace, (f"--git-dir={folder}/.git", f"--work-tree={workspace}"), {}, None)


def find_head_commit(workspace: Path) -> str | None:
    """The last commit of the workspace's repository, empty before the first; None where it has none of its own.

    One that lies elsewhere is not its own, and could hold anybody's files.
    """
    told = _run(workspace, ("rev-parse", "--show-toplevel", "--absolute-git-dir", "HEAD"))
    lines = os.fsdecode(told).splitlines()
    if len(lines) != 3:
        return None
    top, folder = Path(lines[0]).resolve(), Path(lines[1]).resolve()
    if not workspace.resolve().is_relative_to(top):
        return None
    own = folder.is_relative_to(top) or _linked(top, folder) or _is_submodule(workspace)
    return lines[2].removeprefix("HEAD") if own else None


def find_enclosing_repository(workspace: Path) -> Path | None:
    """The nearest folder, from a workspace upwards on its disk, that has a repository or points to one."""
    here = workspace.resolve()
    disk = here.stat().st_dev
    for folder in (here, *here.parents):
        if folder.stat().st_dev != disk:
            return None
        if (folder / ".git").is_file() or os.path.lexists(folder / ".git/HEAD"):
            return folder
    return None


def _linked(top: Path, folder: Path) -> bool:
    """Whether this is a linked worktree: its folder then names the place it belongs to."""
    try:
        return Path((folder / "gitdir").read_text().strip()).resolve() == top / ".git"
    except (OSError, ValueError):
        return False


def _is_submodule(workspace: Path) -> bool:
    return bool(_run(workspace, ("rev-parse", "--show-superproject-working-tree")).strip())


def git_filter_overrides(workspace: Path) -> dict[str, str]:
    """What switches off the programs that a repository's config would have run on its files."""
    told = _run(workspace, ("config", "--name-only", "-z", "--get-regexp", r"^filter\."))
    names = {name.rpartition(".")[0] for name in split_git_names(told)}
    return {f"{name}.{key}": "" for name in names for key in ("clean", "smudge", "process", "required")}


def split_git_names(told: bytes) -> list[str]:
    """The names in an answer that git gave with -z."""
    return [os.fsdecode(name) for name in told.split(b"\0") if name]


class GitResult(NamedTuple):
    """What git said, how it ended, and its complaint if it had one."""

    said: bytes
    code: int
    complaint: str


def _run(folder: Path, args: Sequence[str], config: Mapping[str, str] = {}, input: bytes = b"") -> bytes:
    """What git says, at most so much of it; nothing where it has nothing to say."""
    return run_git(folder, args, config, input).said


def run_git(
    folder: Path,
    args: Sequence[str],
    config: Mapping[str, str] = {},
    input: bytes = b"",
    variables: Mapping[str, str] = {},
    longest: int = GIT_OUTPUT_LIMIT,
) -> GitResult:
    """Git with few of the person's variables, no hooks, and no more patience than anybody has."""
    program = shutil.which("git")
    if program is None:
        raise GitUnavailable("Git is not installed, and only git knows which files are ignored.", "Install git.")
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(
            [program, "--no-pager", *args],
            cwd=folder,
            env={**_environment(config), **variables},
            stdin=subprocess.PIPE if input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
        ) as process,
    ):
        late = Timer(GIT_TIMEOUT, process.kill)
        late.start()
        try:
            if process.stdin is not None:
                with suppress(BrokenPipeError):
                    process.stdin.write(input)
                    process.stdin.close()
            assert process.stdout is not None
            told = process.stdout.read(longest)
            process.stdout.close()
            process.wait()
        finally:
            late.cancel()
        complaints.seek(0)
        complaint = complaints.read(_LONGEST_COMPLAINT).decode(errors="replace").strip()
    if process.returncode == -SIGKILL:
        raise GitUnavailable(
            f"Git did not answer within {GIT_TIMEOUT:g} seconds.", "Try `git status` here; it may be stuck."
        )
    return GitResult(told, process.returncode, complaint)


def _environment(config: Mapping[str, str]) -> dict[str, str]:
    """Few of the person's variables, and settings that stand above those of any config file."""
    told = {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | _QUIET
    settings = {**_HELD_STILL, **config}
    for number, (name, value) in enumerate(settings.items()):
        told |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return told | {"GIT_CONFIG_COUNT": str(len(settings))}
