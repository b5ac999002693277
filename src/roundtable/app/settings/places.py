"""Where a person's things live, and where a workspace begins."""

from __future__ import annotations

import os
import tempfile
from hashlib import sha256
from pathlib import Path

import msgspec

from roundtable.workshop.identity import current_user_name as current_user_name

LONGEST_SOCKET_PATH = 100
"""Unix sockets take about 104 bytes of path, whatever the file system allows."""


class Places(msgspec.Struct, frozen=True):
    """The folders of one person: data and config, in one place when ROUNDTABLE_HOME says so."""

    data: Path
    config: Path

    @classmethod
    def of_this_person(cls) -> Places:
        """ROUNDTABLE_HOME, or the platform's own folders."""
        home = os.environ.get("ROUNDTABLE_HOME")
        if home:
            return cls(Path(home).expanduser().absolute(), Path(home).expanduser().absolute())
        from platformdirs import user_config_path, user_data_path

        return cls(user_data_path("roundtable", appauthor=False), user_config_path("roundtable", appauthor=False))

    @property
    def database(self) -> Path:
        """The record."""
        return self.data / "roundtable.db"

    @property
    def models(self) -> Path:
        """Weights of embedded models."""
        return self.data / "models"

    @property
    def user_config(self) -> Path:
        """The person's own settings."""
        return self.config / "config.toml"

    @property
    def trusted(self) -> Path:
        """Which workspaces may name endpoints and programs."""
        return self.data / "trusted.json"

    @property
    def chosen(self) -> Path:
        """The seats the person picked when asked."""
        return self.data / "chosen.json"

    @property
    def secrets(self) -> Path:
        """The keys the person stored."""
        return self.data / "secrets"

    @property
    def seal(self) -> Path:
        """What opens them, kept apart."""
        return self.config / "secrets.key"

    @property
    def journals(self) -> Path:
        """What was written to workspaces, so that it can be finished or taken back."""
        return self.data / "journals"

    @property
    def worktrees(self) -> Path:
        """Folders of their own in which candidates and tasks are worked on."""
        return self.data / "worktrees"

    @property
    def nothing(self) -> Path:
        """The empty folder that projects stand on which start from nothing."""
        return self.data / "nothing"

    def socket(self, session: str) -> Path:
        """Where the process that runs a session lets others listen."""
        path = self.data / "live" / f"{session}.sock"
        if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
            return path
        name = f"{sha256(os.fsencode(self.data)).hexdigest()[:12]}-{session[-12:]}.sock"
        return Path(tempfile.gettempdir()) / f"roundtable-{os.getuid()}" / name


def find_session_workspace(workspace: str, here: Path) -> Path:
    """The workspace that a session belongs to; this one, where that is not there any more."""
    return Path(workspace) if Path(workspace).is_dir() else here


def find_workspace(start: Path) -> Path:
    """The nearest folder upwards that is a workspace or a repository, else the folder itself."""
    start = start.absolute()
    for folder in (start, *start.parents):
        if (folder / ".roundtable").is_dir() or (folder / ".git").exists():
            return folder
    return start
