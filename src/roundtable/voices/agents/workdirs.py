"""The folder in which an agent works for a seat, and the native sessions that are kept between rounds."""

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
"""Tells programs that an agent starts that a seat is working, not the person."""

MAX_NATIVE_SESSIONS = 64
_FOLDER_NAME = re.compile(r"roundtable-(\d+)-\w+")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")

_PASSED_VARIABLES = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_*", "TZ", "TMPDIR", "XDG_*"),
    *("SSL_CERT_*", "NODE_EXTRA_CA_CERTS", "DBUS_SESSION_BUS_ADDRESS"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
)
_SECRET_VARIABLES = ("*KEY*", "*TOKEN*", "*SECRET*", "*PASSWORD*", "*_PROXY", "*_proxy")


def filter_agent_cli_environment(environ: Mapping[str, str], more: tuple[str, ...]) -> dict[str, str]:
    """Return the variables that an agent may see; none reveals that it runs inside another agent."""
    globs = (*_PASSED_VARIABLES, *more)
    return {name: value for name, value in environ.items() if any(fnmatchcase(name, glob) for glob in globs)}


def find_agent_cli_environment_secrets(environment: Mapping[str, str]) -> list[str]:
    """Return the secret values among an agent's variables, which must not appear in a fault."""
    return [value for name, value in environment.items() if any(fnmatchcase(name, glob) for glob in _SECRET_VARIABLES)]


class AgentFolder:
    """A temporary folder for one seat: the agent runs in the empty `work`; `papers` holds files written for it."""

    def __init__(self) -> None:
        self._root = Path(tempfile.mkdtemp(prefix=f"roundtable-{os.getpid()}-"))
        self.work = self._root / "work"
        self.papers = self._root / "papers"
        self.work.mkdir(mode=0o700)
        self.papers.mkdir(mode=0o700)

    def write(self, files: Mapping[str, str], values: Mapping[str, str]) -> None:
        """Write the files of the agent's data file, with placeholders filled in."""
        write_agent_cli_files(self._root, files, {**self.placeholders, **values})

    @property
    def placeholders(self) -> dict[str, str]:
        """The values of `{work}` and `{papers}`."""
        return {"work": str(self.work), "papers": str(self.papers)}

    def remove(self) -> None:
        """Remove the folder with all its content."""
        shutil.rmtree(self._root, ignore_errors=True)


def remove_stale_agent_cli_folders() -> None:
    """Remove the folders of killed processes, because they hold text of the conversation."""
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


def write_agent_cli_files(root: Path, files: Mapping[str, str], values: Mapping[str, str]) -> None:
    """Write texts under a folder, readable by the owner only."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(fill_agent_cli_placeholders(text, values))


def fill_agent_cli_placeholders(text: str, values: Mapping[str, str]) -> str:
    """Replace each `{name}` by its value. Other braces stay, because many of these texts are JSON."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text)


class NativeSession(msgspec.Struct):
    """A session that the agent keeps itself: its id, folder, messages and usage so far."""

    folder: AgentFolder
    id: str = ""
    messages: tuple[Message, ...] = ()
    used: Usage = Usage()

    def reset(self) -> None:
        """Start a new session in the same folder."""
        self.id, self.messages, self.used = "", (), Usage()

    def is_continued_by(self, request: Request) -> bool:
        """Return whether the request is this conversation with at least one more message."""
        count = len(self.messages)
        return bool(self.id) and len(request.messages) > count and request.messages[:count] == self.messages


class NativeSessionCache:
    """The native sessions of one voice by session and seat. A lost session only costs sending everything again."""

    def __init__(self) -> None:
        self._sessions: dict[tuple[str, str], NativeSession] = {}

    @staticmethod
    def accepts(request: Request) -> bool:
        """Return whether a later request may continue this one: not for asides or other working folders."""
        return bool(request.session) and not (request.aside or request.workplace)

    def take(self, request: Request) -> NativeSession:
        """Take out the session that this request continues, or create one. The caller puts it back."""
        session = self._sessions.pop((request.session, request.seat), None) if self.accepts(request) else None
        if session is not None and not session.is_continued_by(request):
            session.folder.remove()
            session = None
        return session or NativeSession(AgentFolder())

    def put_back(self, request: Request, session: NativeSession) -> None:
        """Keep a session for the next round if it can be continued, else remove its folder."""
        if not (self.accepts(request) and session.id):
            session.folder.remove()
            return
        older = self._sessions.pop((request.session, request.seat), None)
        self._sessions[request.session, request.seat] = session
        dropped = [older] if older else []
        while len(self._sessions) > MAX_NATIVE_SESSIONS:
            dropped.append(self._sessions.pop(next(iter(self._sessions))))
        for old_session in dropped:
            old_session.folder.remove()

    def clear(self) -> None:
        """Remove all sessions and their folders."""
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            session.folder.remove()
