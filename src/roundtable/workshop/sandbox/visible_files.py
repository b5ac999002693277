"""The parts of this machine that a sandboxed program sees.

These are system programs, its toolchain, package caches, and its folder without sensitive files. Home folders and
Roundtable's own folders are hidden even where they lie among programs.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from roundtable.core.sandbox import Job
from roundtable.core.text.file_names import is_sensitive_file_name


def _package_cache_mounts(tool: str, home: str) -> dict[str, str]:
    """Return folders of downloaded packages by where a tool expects them in a home folder; never clones, settings or
    keys."""
    if tool != "cargo":
        return {}
    downloaded = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo") / "registry"
    return {os.path.join(home, ".cargo/registry"): str(downloaded)} if downloaded.is_dir() else {}


_INSTALLATION_PARTS = ("bin", "lib", "lib64", "libexec", "pyvenv.cfg")
_JAVA_PARTS = ("conf", "jmods", "release")
_TOOLCHAIN_PARTS = {
    "go": ("src", "pkg", "VERSION", "go.env"),
    "gofmt": ("src", "pkg", "VERSION", "go.env"),
    "java": _JAVA_PARTS,
    "javac": _JAVA_PARTS,
    "mvn": ("boot", "conf"),
    "gradle": ("init.d",),
}
"""Further folders and files of the installation that these tools need."""
_MAX_SHEBANG = 256
_MAX_SYMLINKS = 16
_COMMON_TOOLS = re.compile(
    r"(?:python|pypy|pip)[\d.]*|node|npm|npx|yarn|pnpm|deno|bun|go|cargo|rustc|ruby|gem|bundle|rake|php|composer"
    r"|java|javac|mvn|gradle|dotnet|make|cmake"
)


def _is_common_tool(name: str) -> bool:
    """Whether a name is that of a common interpreter or build tool, next to which no private files lie."""
    return _COMMON_TOOLS.fullmatch(name) is not None


def find_sandbox_toolchain_paths(program: str, workspace: Path, place: str = "") -> list[str]:
    """Return paths outside the workspace that hold a program or its interpreter, with the libraries next to them.

    Only `bin` and its neighbors in the same installation: never a whole home folder, and never the `place` where a
    workspace is mounted.
    """
    paths: dict[str, None] = {}
    not_installations = (*find_home_folders_hidden_from_sandbox(), place)
    for path in (path for start in _program_and_interpreter(program, workspace) for path in _follow_symlinks(start)):
        if not path.is_relative_to(workspace):
            root = path.parent.parent
            installed = path.parent.name == "bin" and str(root) not in not_installations
            names = (*_INSTALLATION_PARTS, *_TOOLCHAIN_PARTS.get(path.name, ()))
            parts = [root / name for name in names] if installed else [path]
            paths |= {str(place): None for place in parts if place.exists() and _stays_in_installation(place, root)}
    return list(paths)


def _stays_in_installation(place: Path, root: Path) -> bool:
    """Whether a path lies in its installation and is not a symlink out of it."""
    return place.resolve().is_relative_to(root.resolve())


def resolve_shim_for_sandbox(program: Path) -> str:
    """Return the real program behind a shim of a version manager (pyenv, rbenv, asdf, rustup…).

    A shim needs its manager and the user's home, which a sandbox does not show.
    """
    for manager in _managers(program):
        if manager and os.access(manager, os.X_OK):
            environment = _ask_manager(manager, program.name)
            if environment.startswith("/"):
                return environment
    return str(program)


def _managers(program: Path) -> tuple[str | Path | None, ...]:
    """Return the possible managers of a shim; empty if the program is not a shim."""
    rustup = program.with_name("rustup")
    if program != rustup and rustup.exists() and program.samefile(rustup):
        return (rustup,)
    if program.parent.name != "shims":
        return ()
    root = program.parent.parent
    name = root.name.removeprefix(".")
    return root / "bin" / name, root / "libexec" / name, shutil.which(name)


def _ask_manager(manager: str | Path, name: str) -> str:
    """Ask a version manager for a program's path; it runs in `/`, because it would obey files of the project."""
    environment = {
        name: os.environ[name] for name in ("PATH", "HOME", "RUSTUP_HOME", "CARGO_HOME") if name in os.environ
    }
    try:
        result = subprocess.run(
            [manager, "which", name],
            cwd="/",
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""


def _program_and_interpreter(program: str, workspace: Path) -> Iterator[str]:
    """Yield the program, then the interpreter of a script's first line.

    A script in the workspace may only name a common interpreter outside it: otherwise it could expose any folder of
    this machine.
    """
    yield program
    try:
        with open(program, "rb") as file:
            first = file.readline(_MAX_SHEBANG)
    except OSError:
        return
    words = os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []
    if words and words[0].startswith("/"):
        interpreter = Path(words[0])
        outside = Path(program).is_relative_to(workspace) and not interpreter.is_relative_to(workspace)
        if not outside or (_is_common_tool(interpreter.name) and interpreter.is_file()):
            yield words[0]


def _follow_symlinks(start: str) -> Iterator[Path]:
    """Yield a path and every path its symlinks lead through, up to the real file."""
    path = Path(start)
    for _ in range(_MAX_SYMLINKS):
        yield path
        if not path.is_symlink():
            break
        path = Path(os.path.normpath(path.parent / os.readlink(path)))
    yield Path(os.path.realpath(start))


EMPTY_FILE = Path(__file__).parent / "nothing.txt"
"""An empty file, mounted over files that must stay hidden."""
LOCALHOST_MOUNTS = {f"/etc/{name}": str(Path(__file__).parent / "etc" / name) for name in ("hosts", "nsswitch.conf")}
"""Files that let a run without a network resolve localhost."""
USER_MOUNTS = {f"/etc/{name}": str(Path(__file__).parent / "etc" / name) for name in ("passwd", "group")}
SANDBOX_VARIABLES = {
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "LOGNAME": "nobody",
    "USER": "nobody",
    "NO_COLOR": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}

_SYSTEM = (
    *(f"/usr/{name}" for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "libexec", "include", "share")),
    *(f"/usr/local/{name}" for name in ("bin", "lib", "lib64", "libexec", "include")),
    "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store",
)  # fmt: skip
"""Folders of programs and libraries. Not `/opt` or all of `/usr`: services keep their data and settings there."""
_LOWEST_PERSONAL_UID = 1000
_SETTINGS = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime")
_NETWORK = (
    "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf",
    "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
)  # fmt: skip
"""Files needed in addition to reach and verify other machines."""
_PUBLISHED_PACKAGES = frozenset({"node_modules", "site-packages", "__pycache__"})
"""Folders of published packages of others: nothing in them is a private key."""


class Mount(NamedTuple):
    """A path that a job sees, and the path of this machine that is mounted there read-only; empty for an empty
    folder."""

    target: str
    source: str = ""


class SandboxView(msgspec.Struct, frozen=True):
    """The view of a job: its program, the mounts of this machine's programs, hidden files and folders of the job's
    own folder, PATH, and paths mounted elsewhere."""

    program: str
    mounts: tuple[Mount, ...]
    emptied_files: tuple[str, ...]
    emptied_folders: tuple[str, ...]
    path: str
    lent: dict[str, str]


class _Program(NamedTuple):
    """A program: its real path, the path that the job sees, and the folder that is mounted as a whole."""

    real: str
    seen: str
    home: Path


def plan_sandbox_view(job: Job, private: Sequence[str] = ()) -> SandboxView | None:
    """Return what a job sees if it uses programs of this machine; None if its program does not exist.

    `private` are folders that are hidden, like home folders, wherever they lie.
    """
    program = _locate_program(job.argv[0], job)
    if program is None:
        return None
    programs = [*filter(None, (_allowed_program(name, job) for name in job.programs)), program]
    places = [*_SYSTEM, *_SETTINGS, *(_NETWORK if job.network else ())]
    places += [
        place
        for program_found in programs
        for place in find_sandbox_toolchain_paths(program_found.real, program_found.home, job.visible_at)
    ]
    files, folders = find_hidden_paths(Path(job.folder), private)
    found_in = [os.path.dirname(program_found.seen) for program_found in programs]
    path = os.pathsep.join(dict.fromkeys((*found_in, "/usr/local/bin", "/usr/bin", "/bin")))
    there = [place for place in dict.fromkeys(places) if os.path.exists(place) and not _copy_has_own(job, place)]
    mounts = (
        *(Mount(place, place) for place in there),
        *_plan_masks(there, (*find_home_folders_hidden_from_sandbox(), *private)),
    )
    downloaded = _package_cache_mounts(os.path.basename(program.real), SANDBOX_VARIABLES["HOME"])
    outermost_first = tuple(sorted(mounts, key=lambda mount: mount.target.rstrip("/").count("/")))
    return SandboxView(program.seen, outermost_first, files, folders, path, {**downloaded, **plan_lent_mounts(job)})


def find_home_folders_hidden_from_sandbox() -> tuple[str, ...]:
    """Return the home folders of people and of this user, whatever HOME says; never the folder of a system's own
    programs, which some accounts have as their home."""
    homes = [os.path.expanduser("~")]
    with suppress(OSError):
        own = (0, os.getuid())
        homes += [entry.pw_dir for entry in pwd.getpwall() if entry.pw_uid in own or _is_personal(entry.pw_uid)]
    programs = [os.path.realpath(place) for place in _SYSTEM]
    return tuple(
        home
        for home in dict.fromkeys(map(os.path.abspath, homes))
        if not any(place == home or is_inside_sandbox_mount(place, home) for place in programs)
    )


def _is_personal(uid: int) -> bool:
    return uid >= _LOWEST_PERSONAL_UID


def _plan_masks(places: Sequence[str], hidden: Sequence[str]) -> Iterator[Mount]:
    """Yield an empty folder over each hidden folder inside a mounted place, under every path that leads to it."""
    for place in places:
        real_place = os.path.realpath(place)
        for folder in map(os.path.realpath, hidden):
            if is_inside_sandbox_mount(folder, real_place) and os.path.isdir(folder):
                yield Mount(f"{place}{folder.removeprefix(real_place)}")


def find_hidden_paths(folder: Path, private: Sequence[str] = ()) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the sensitive files and the sensitive folders below a folder, including git configs, which name
    remotes, and private folders."""
    root = os.path.realpath(folder)
    own = [os.path.realpath(path) for path in private]
    hidden_folders = [
        os.path.relpath(path, root) for path in own if is_inside_sandbox_mount(path, root) and os.path.isdir(path)
    ]
    sensitive: list[str] = []
    for place, folders, files in os.walk(folder):
        mounts = os.path.relpath(place, folder)
        for name in (*folders, *files):
            path = os.path.join(place, name)
            if name != ".git" and is_sensitive_file_name(os.path.join(mounts, name)) and not os.path.islink(path):
                sensitive.append(os.path.relpath(path, folder))
        if ".git" in folders and os.path.isfile(config := os.path.join(place, ".git", "config")):
            sensitive.append(os.path.relpath(config, folder))
        folders[:] = [
            name
            for name in folders
            if name not in _PUBLISHED_PACKAGES
            and name != ".git"
            and not is_sensitive_file_name(name)
            and os.path.normpath(os.path.join(mounts, name)) not in hidden_folders
        ]
    hidden_folders += [path for path in sensitive if (folder / path).is_dir() and path not in hidden_folders]
    return tuple(path for path in sensitive if path not in hidden_folders), tuple(hidden_folders)


def plan_lent_mounts(job: Job) -> dict[str, str]:
    """Return where lent folders are mounted; the job's own files take precedence."""
    if not job.works_on_copy:
        return {}
    return {
        os.path.join(job.visible_at, path): source
        for path, source in job.lent.items()
        if not (_is_occupied(job.folder, path) or any(is_inside_sandbox_mount(own, path) for own in job.files))
    }


def _is_occupied(folder: str, path: str) -> bool:
    """Whether a path exists in a folder, or is blocked by something that is not a folder."""
    above = os.path.join(folder, os.path.dirname(path))
    while above != folder and not os.path.lexists(above):
        above = os.path.dirname(above)
    in_the_way = above != folder and (os.path.islink(above) or not os.path.isdir(above))
    return in_the_way or os.path.lexists(os.path.join(folder, path))


def _copy_has_own(job: Job, place: str) -> bool:
    """Whether a path lies inside the copy and the copy has something there."""
    mounts = job.works_on_copy and is_inside_sandbox_mount(place, job.visible_at)
    return mounts and _is_occupied(job.folder, os.path.relpath(place, job.visible_at))


def _allowed_program(name: str, job: Job) -> _Program | None:
    """Return a program that a project names if it is a system program, a common tool or our own interpreter.

    Showing a program also shows the folders next to it, and a project could name anything.
    """
    program = _locate_program(name, job)
    if program is None or _is_common_tool(name) or name == sys.executable:
        return program
    return program if os.path.realpath(program.real).startswith(tuple(f"{folder}/" for folder in _SYSTEM)) else None


def _locate_program(name: str, job: Job) -> _Program | None:
    """Find a program on the user's PATH, or at a path as the job sees it."""
    folder = Path(job.folder)
    if "/" not in name:
        program = shutil.which(name)
        real = resolve_shim_for_sandbox(Path(program)) if program else ""
        return _Program(real, real, folder) if real else None
    visible_path = os.path.normpath(os.path.join(job.visible_at, name))
    mounts = {**plan_lent_mounts(job), job.visible_at: job.folder}
    candidates = [
        (f"{source}{visible_path.removeprefix(at)}", source)
        for at, source in mounts.items()
        if is_inside_sandbox_mount(visible_path, at)
    ]
    for real, home in (*candidates, *([(visible_path, job.folder)] if os.path.isabs(name) else [])):
        if os.path.isfile(real) and os.access(real, os.X_OK):
            return _Program(real, visible_path, Path(home))
    return None


def is_inside_sandbox_mount(path: str, folder: str) -> bool:
    """Whether a path lies below a folder, judged by its name."""
    return path.startswith(f"{folder.rstrip('/')}/")
