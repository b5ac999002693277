"""Where an agent works and what it remembers: an empty folder per seat, and the native sessions kept between rounds."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from roundtable.core.values import Message, Request, Usage

SEAT_VARIABLE = "ROUNDTABLE_SEAT"
"""Tells whatever an agent starts that a seat is at work, and not the person."""

MAX_NATIVE_SESSIONS = 64
_FOLDER_NAME = re.compile(r"roundtable-(\d+)-\w+")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")

_PASSED_VARIABLES = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_*", "TZ", "TMPDIR", "XDG_*"),
    *("SSL_CERT_*", "NODE_EXTRA_CA_CERTS", "DBUS_SESSION_BUS_ADDRESS"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
)
_SECRET_VARIABLES = ("*KEY*", "*TOKEN*", "*SECRET*", "*PASSWORD*", "*_PROXY", "*_proxy")


def filter_agent_environment(environ: Mapping[str, str], more: tuple[str, ...]) -> dict[str, str]:
    """The variables an agent may see. Nothing that tells it that it runs inside another agent is among them."""
    globs = (*_PASSED_VARIABLES, *more)
    return {name: value for name, value in environ.items() if any(fnmatchcase(name, glob) for glob in globs)}


def find_environment_secrets(environment: Mapping[str, str]) -> list[str]:
    """Values that must not be told in a fault."""
    return [value for name, value in environment.items() if any(fnmatchcase(name, glob) for glob in _SECRET_VARIABLES)]


class AgentFolder:
    """A folder of its own for one seat: `work` is empty and is where the agent runs, `papers` holds what we write."""

    def __init__(self) -> None:
        self._root = Path(tempfile.mkdtemp(prefix=f"roundtable-{os.getpid()}-"))
        self.work = self._root / "work"
        self.papers = self._root / "papers"
        self.work.mkdir(mode=0o700)
        self.papers.mkdir(mode=0o700)

    def write(self, files: Mapping[str, str], values: Mapping[str, str]) -> None:
        """Write the files an agent wants, with the values filled in."""
        write_agent_files(self._root, files, {**self.placeholders, **values})

    @property
    def placeholders(self) -> dict[str, str]:
        """What `{work}` and `{papers}` stand for."""
        return {"work": str(self.work), "papers": str(self.papers)}

    def remove(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self._root, ignore_errors=True)


def remove_stale_agent_folders() -> None:
    """Remove the folders of runs that were killed before they could: they hold what a seat was told."""
    for path in Path(tempfile.gettempdir()).glob("roundtable-*"):
        owner = _FOLDER_NAME.fullmatch(path.name)
        with suppress(OSError):
            if owner and path.lstat().st_uid == os.getuid() and not _is_process_alive(int(owner[1])):
                shutil.rmtree(path, ignore_errors=True)


def _is_process_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def write_agent_files(root: Path, files: Mapping[str, str], values: Mapping[str, str]) -> None:
    """Write texts under a folder, for the owner's eyes only."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(fill_placeholders(text, values))


def fill_placeholders(text: str, values: Mapping[str, str]) -> str:
    """A text with `{name}` replaced by its value; other braces stay, since many of these texts are JSON."""
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


class NativeSession(msgspec.Struct):
    """A native session: its id, what was said in it, what it has used so far, and where it lives."""

    folder: AgentFolder
    id: str = ""
    messages: tuple[Message, ...] = ()
    used: Usage = Usage()

    def reset(self) -> None:
        """Begin again in the same place."""
        self.id, self.messages, self.used = "", (), Usage()

    def is_continued_by(self, request: Request) -> bool:
        """Whether the request is this conversation and one thing more."""
        told = len(self.messages)
        return bool(self.id) and len(request.messages) > told and request.messages[:told] == self.messages


def is_continuable_request(request: Request) -> bool:
    """Whether a later request may continue this one; nothing continues what was asked aside or done elsewhere."""
    return bool(request.session) and not (request.aside or request.workplace)


class NativeSessionCache:
    """The native sessions of one voice, by session and seat. A cache: whatever is lost here is sent afresh."""

    def __init__(self) -> None:
        self._sessions: dict[tuple[str, str], NativeSession] = {}

    def take(self, request: Request) -> NativeSession:
        """The session this request continues, else a new one. It belongs to the caller until it is given back."""
        kept = self._sessions.pop((request.session, request.seat), None) if is_continuable_request(request) else None
        if kept is not None and not kept.is_continued_by(request):
            kept.folder.remove()
            kept = None
        return kept or NativeSession(AgentFolder())

    def put_back(self, request: Request, kept: NativeSession) -> None:
        """Keep a session for the next round, if it can be continued at all."""
        if not (is_continuable_request(request) and kept.id):
            kept.folder.remove()
            return
        older = self._sessions.pop((request.session, request.seat), None)
        self._sessions[request.session, request.seat] = kept
        spare = [older] if older else []
        while len(self._sessions) > MAX_NATIVE_SESSIONS:
            spare.append(self._sessions.pop(next(iter(self._sessions))))
        for session in spare:
            session.folder.remove()

    def clear(self) -> None:
        """Forget everything."""
        kept, self._sessions = self._sessions, {}
        for session in kept.values():
            session.folder.remove()
