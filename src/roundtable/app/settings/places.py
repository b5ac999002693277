"""The folders and files of a person, and where a workspace starts."""

from __future__ import annotations

import os
import tempfile
from hashlib import sha256
from pathlib import Path

import msgspec

from roundtable.workshop.identity import os_user_name as os_user_name

LONGEST_SOCKET_PATH = 100
"""Unix sockets allow about 104 bytes of path on every file system."""


class Places(msgspec.Struct, frozen=True):
    """The data and config folders of one person; both are ROUNDTABLE_HOME if that is set."""

    data: Path
    config: Path

    @classmethod
    def of_this_person(cls) -> Places:
        """Return the places of the current user: ROUNDTABLE_HOME, or the platform's folders."""
        home = os.environ.get("ROUNDTABLE_HOME")
        if home:
            return cls(Path(home).expanduser().absolute(), Path(home).expanduser().absolute())
        from platformdirs import user_config_path, user_data_path

        return cls(user_data_path("roundtable", appauthor=False), user_config_path("roundtable", appauthor=False))

    @property
    def private_folders(self) -> tuple[str, ...]:
        """The folders of the record, the keys and the config, which no sandboxed program sees."""
        return str(self.data), str(self.config)

    @property
    def database(self) -> Path:
        """The database of records."""
        return self.data / "roundtable.db"

    @property
    def models(self) -> Path:
        """The weights of embedded models."""
        return self.data / "models"

    @property
    def user_config(self) -> Path:
        """The person's config."""
        return self.config / "config.toml"

    @property
    def trusted(self) -> Path:
        """The list of trusted workspaces."""
        return self.data / "trusted.json"

    @property
    def chosen(self) -> Path:
        """The seats that the person chose when asked."""
        return self.data / "chosen.json"

    @property
    def secrets(self) -> Path:
        """The stored keys."""
        return self.data / "secrets"

    @property
    def seal(self) -> Path:
        """The key that opens the stored keys, kept in another folder."""
        return self.config / "secrets.key"

    @property
    def journals(self) -> Path:
        """The journals of changes to workspaces, for finishing or undoing them."""
        return self.data / "journals"

    @property
    def worktrees(self) -> Path:
        """The worktrees of candidates and tasks."""
        return self.data / "worktrees"

    @property
    def nothing(self) -> Path:
        """An empty folder, the base of new projects."""
        return self.data / "nothing"

    def socket(self, session: str) -> Path:
        """Return the socket where the process of a session streams its events."""
        path = self.data / "live" / f"{session}.sock"
        if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
            return path
        name = f"{sha256(os.fsencode(self.data)).hexdigest()[:12]}-{session[-12:]}.sock"
        return Path(tempfile.gettempdir()) / f"roundtable-{os.getuid()}" / name


def find_workspace(start: Path) -> Path:
    """Return the nearest parent folder that is a workspace or repository, else the folder itself."""
    start = start.absolute()
    for folder in (start, *start.parents):
        if (folder / ".roundtable").is_dir() or (folder / ".git").exists():
            return folder
    return start
