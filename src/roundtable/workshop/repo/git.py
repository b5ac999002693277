"""Reads from git without running programs that a repository's config names; see `commits` for writing."""

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
from roundtable.core.text.file_names import is_sensitive_file_name
from roundtable.workshop.identity import create_temp_folder_for_process

GIT_TIMEOUT = 30.0
GIT_OUTPUT_LIMIT = 8_000_000
"""Maximum bytes of one answer of git; a longer diff is cut."""

_MAX_ERROR_BYTES = 400

_PASSED_VARIABLES = ("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR")
_SAFE_VARIABLES = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
}
_SAFE_SETTINGS = {
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
"""Overrides of personal display settings, and of settings that would run a program."""
DIFF_OPTIONS = (
    "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all", "--submodule=short", "--relative",
    "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
LIST_IGNORED = ("ls-files", "-o", "-i", "--exclude-standard", "--directory")
_UNCHANGED_FILE = re.compile(r"^diff --git [^\n]*\n(?=diff --git |\Z)", re.M)
"""The diff header of a file that was touched but not changed, where git may not record that."""
_LOG_OPTIONS = ("--no-color", "--no-renames", "--relative", "--no-show-signature", "--ignore-submodules=all")


class LoggedCommit(NamedTuple):
    """One commit as a line, with the files it touched."""

    line: str
    files: tuple[str, ...]


class GitDiff(NamedTuple):
    """A diff, and the sensitive files left out of it. `whole` is False if the diff was cut."""

    diff: str
    sensitive: tuple[str, ...] = ()
    whole: bool = True


class GitUnavailable(UsageError):
    """Git is not installed or does not answer."""


class GitReader:
    """Reads from git in one workspace; without a repository it still knows which files are ignored."""

    def __init__(self, workspace: Path, location: Sequence[str], config: Mapping[str, str], head: str | None) -> None:
        self._workspace = workspace
        self._location = location
        self._config = config
        self._head = head

    @property
    def has_repository(self) -> bool:
        """Whether the workspace has its own repository."""
        return self._head is not None

    def list_files(self) -> list[str]:
        """Return every file that is not ignored, relative to the workspace."""
        return self._names("ls-files", "-co", "--exclude-standard", "--deduplicate")

    def ignored_files(self) -> list[str]:
        """Return the ignored files; a folder that is ignored as a whole is named once, with a slash."""
        return self._names(*LIST_IGNORED)

    def untracked_files(self) -> tuple[str, ...]:
        """Return the untracked files that are not ignored."""
        return tuple(self._names("ls-files", "-o", "--exclude-standard"))

    def is_tracked(self, path: str) -> bool:
        """Whether the repository tracks a path, regardless of case."""
        return bool(self._names("ls-files", "--", f":(icase,literal){path}"))

    def filter_ignored(self, paths: Iterable[str]) -> set[str]:
        """Return those of these paths that git ignores; they must lie in the workspace and contain no symlinks."""
        wanted = "".join(f"./{path}\0" for path in paths)
        return {
            name[2:] for name in split_git_names(self._ask("check-ignore", "-z", "--stdin", input=os.fsencode(wanted)))
        }

    def hook_folders(self) -> list[str]:
        """Return the folders in the workspace in which git looks for hooks; `.` means the whole workspace."""
        output = self._names("config", "--type=path", "--get-all", "core.hooksPath")
        top = self._workspace / self._line("rev-parse", "--show-cdup")
        here = self._workspace.resolve()
        hook_folders = [(top / folder).resolve() for folder in output]
        return [folder.relative_to(here).as_posix() for folder in hook_folders if folder.is_relative_to(here)]

    def current_branch(self) -> str:
        """Return the branch that is checked out; empty if there is none."""
        return self._line("symbolic-ref", "--quiet", "--short", "HEAD")

    def recent_commit_lines(self, tip: str) -> list[str]:
        """Return the newest commits, one line each."""
        output = self._line("log", "-10", *_LOG_OPTIONS, "--format=%h %cs %s", "--end-of-options", tip, "--")
        return output.splitlines()

    def recent_commits(self) -> list[LoggedCommit]:
        """Return the newest commits with the files each of them touched."""
        output = self._ask("log", "-20", *_LOG_OPTIONS, "-z", "--name-only", "--format=%x01%h %cs %s")
        commits: list[LoggedCommit] = []
        for record in output.decode(errors="replace").split("\x01")[1:]:
            line, _, files = record.partition("\0")
            commits.append(LoggedCommit(line.strip(), tuple(name for name in files.lstrip("\n").split("\0") if name)))
        return commits

    def modified_files(self) -> tuple[str, ...]:
        """Return the tracked files that are staged or modified, except sensitive ones.

        Git compares the contents of touched files, so a file with unchanged contents is not included.
        """
        sensitive = (f":(exclude,literal){path}" for path in self._names("ls-files") if is_sensitive_file_name(path))
        options = ("--porcelain=v1", "--no-renames", "--ignore-submodules=all", "-uno")
        output = self._names("status", *options, "--", ".", *sensitive)
        prefix = self._line("rev-parse", "--show-prefix")
        return tuple(line[3:].removeprefix(prefix) for line in output)

    def changed_files(self) -> tuple[str, ...]:
        """Return the modified files and the untracked files that are not ignored."""
        return (*self.modified_files(), *self.untracked_files())

    @property
    def _base(self) -> str:
        """The last commit, or the empty tree."""
        return self._head or self._line("hash-object", "-t", "tree", os.devnull)

    def diff_uncommitted(self) -> GitDiff:
        """Return the diff of the working tree against the last commit.

        Changes of sensitive files stay unknown: git would have to open them.
        """
        return self._diff(self._base, self._names("ls-files"))

    def diff_between(self, base: str, tip: str) -> GitDiff:
        """Return the diff of `tip` against its merge base with `base`."""
        revisions = f"{self.resolve(base)}...{self.resolve(tip)}"
        touched = self._names("diff", "--name-only", *DIFF_OPTIONS, "--no-renames", revisions, "--")
        return self._diff(revisions, touched)

    def resolve(self, revision: str) -> str:
        """Return the commit of a revision; empty if there is none."""
        return self._line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")

    def merge_base(self, one: str, other: str) -> str:
        """Return the merge base of two revisions; empty if they have no common history."""
        return self._line("merge-base", self.resolve(one), self.resolve(other))

    def default_branch(self) -> str:
        """Return the branch that others are merged into: the remote's default, or one of the usual names."""
        output = self._line("symbolic-ref", "--quiet", "refs/remotes/origin/HEAD")
        return next((name for name in (output, "main", "master", "trunk") if name and self.resolve(name)), "")

    def _diff(self, revisions: str, paths: Iterable[str]) -> GitDiff:
        """Return the diff, without those of these paths that are sensitive."""
        sensitive = tuple(filter(is_sensitive_file_name, paths))
        output = self._ask(
            "diff", *DIFF_OPTIONS, revisions, "--", ".", *(f":(exclude,literal){path}" for path in sensitive)
        )
        return GitDiff(
            _UNCHANGED_FILE.sub("", output.decode(errors="replace")), sensitive, whole=len(output) < GIT_OUTPUT_LIMIT
        )

    def _line(self, *args: str) -> str:
        return self._ask(*args).decode(errors="replace").strip()

    def _names(self, *args: str) -> list[str]:
        return split_git_names(self._ask(args[0], "-z", *args[1:]))

    def _ask(self, *args: str, input: bytes = b"") -> bytes:
        return _run(self._workspace, (*self._location, *args), self._config, input)


@contextmanager
def open_git(workspace: Path) -> Generator[GitReader]:
    """Open git in a workspace: its own repository, or a temporary empty one that only knows what is ignored."""
    head = find_head_commit(workspace)
    if head is not None:
        yield GitReader(workspace, (), git_filter_overrides(workspace), head)
        return
    with create_temp_folder_for_process() as folder:
        _run(workspace, ("init", "--quiet", "--template=", folder))
        yield GitReader(workspace, (f"--git-dir={folder}/.git", f"--work-tree={workspace}"), {}, None)


def find_head_commit(workspace: Path) -> str | None:
    """Return the last commit of the workspace's own repository, empty before the first one; None without a repository.

    A repository that lies elsewhere does not count: it could hold anybody's files.
    """
    output = _run(workspace, ("rev-parse", "--show-toplevel", "--absolute-git-dir", "HEAD"))
    lines = os.fsdecode(output).splitlines()
    if len(lines) != 3:
        return None
    top, folder = Path(lines[0]).resolve(), Path(lines[1]).resolve()
    if not workspace.resolve().is_relative_to(top):
        return None
    own = folder.is_relative_to(top) or _is_linked_worktree(top, folder) or _is_submodule(workspace)
    return lines[2].removeprefix("HEAD") if own else None


def find_enclosing_git_repository(workspace: Path) -> Path | None:
    """Return the nearest folder, from the workspace upwards on the same disk, that has a repository or points to
    one."""
    here = workspace.resolve()
    disk = here.stat().st_dev
    for folder in (here, *here.parents):
        if folder.stat().st_dev != disk:
            return None
        if (folder / ".git").is_file() or os.path.lexists(folder / ".git/HEAD"):
            return folder
    return None


def _is_linked_worktree(top: Path, folder: Path) -> bool:
    """Whether a folder is that of a linked worktree: it then names the worktree it belongs to."""
    try:
        return Path((folder / "gitdir").read_text().strip()).resolve() == top / ".git"
    except (OSError, ValueError):
        return False


def _is_submodule(workspace: Path) -> bool:
    return bool(_run(workspace, ("rev-parse", "--show-superproject-working-tree")).strip())


def git_filter_overrides(workspace: Path) -> dict[str, str]:
    """Return settings that disable the filter programs of a repository's config."""
    output = _run(workspace, ("config", "--name-only", "-z", "--get-regexp", r"^filter\."))
    names = {name.rpartition(".")[0] for name in split_git_names(output)}
    return {f"{name}.{key}": "" for name in names for key in ("clean", "smudge", "process", "required")}


def split_git_names(output: bytes) -> list[str]:
    """Return the names in an answer of git that was asked for with -z."""
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


class GitResult(NamedTuple):
    """The output of git, its exit code, and its error message."""

    output: bytes
    code: int
    error_output: str


def _run(folder: Path, args: Sequence[str], config: Mapping[str, str] = {}, input: bytes = b"") -> bytes:
    """Return the output of git, cut at the limit; empty if it failed without output."""
    return run_git(folder, args, config, input).output


def run_git(
    folder: Path,
    args: Sequence[str],
    config: Mapping[str, str] = {},
    input: bytes = b"",
    variables: Mapping[str, str] = {},
    max_bytes: int = GIT_OUTPUT_LIMIT,
) -> GitResult:
    """Run git with few environment variables, without hooks, and with a timeout."""
    program = shutil.which("git")
    if program is None:
        raise GitUnavailable("Git is not installed; it is needed to know which files are ignored.", "Install git.")
    with (
        tempfile.TemporaryFile() as error_file,
        subprocess.Popen(
            [program, "--no-pager", *args],
            cwd=folder,
            env={**_environment(config), **variables},
            stdin=subprocess.PIPE if input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=error_file,
        ) as process,
    ):
        timer = Timer(GIT_TIMEOUT, process.kill)
        timer.start()
        try:
            if process.stdin is not None:
                with suppress(BrokenPipeError):
                    process.stdin.write(input)
                    process.stdin.close()
            assert process.stdout is not None
            output = process.stdout.read(max_bytes)
            process.stdout.close()
            process.wait()
        finally:
            timer.cancel()
        error_file.seek(0)
        error_text = error_file.read(_MAX_ERROR_BYTES).decode(errors="replace").strip()
    if process.returncode == -SIGKILL:
        raise GitUnavailable(
            f"Git did not answer within {GIT_TIMEOUT:g} seconds.",
            "Run `git status` in the workspace to see whether git responds.",
        )
    return GitResult(output, process.returncode, error_text)


def _environment(config: Mapping[str, str]) -> dict[str, str]:
    """Return few of the user's variables, and settings that override every config file."""
    output = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ} | _SAFE_VARIABLES
    settings = {**_SAFE_SETTINGS, **config}
    for number, (name, value) in enumerate(settings.items()):
        output |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return output | {"GIT_CONFIG_COUNT": str(len(settings))}


def create_empty_repository(folder: Path) -> Path:
    """Create an empty git repository in a folder, unless it exists; return the folder.

    As a repository, it is not affected by the ignore rules of an enclosing repository.
    """
    if not (folder / ".git").exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        run_git(folder, ("init", "--quiet", "--template=", "."))
    return folder
