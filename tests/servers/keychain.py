"""A keychain for tests, through keyring's own door for backends: it can be locked, and forgets nothing by itself."""

from __future__ import annotations

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked


class FileKeychain(KeyringBackend):
    """Passwords in the file that TEST_KEYCHAIN names; locked while there is a file of that name with `.locked`."""

    priority = 5  # pyright: ignore[reportAssignmentType]

    def get_password(self, service: str, username: str) -> str | None:
        return self._passwords().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self._keep({**self._passwords(), f"{service}/{username}": password})

    def delete_password(self, service: str, username: str) -> None:
        self._keep({name: value for name, value in self._passwords().items() if name != f"{service}/{username}"})

    def _passwords(self) -> dict[str, str]:
        if Path(os.environ["TEST_KEYCHAIN"] + ".locked").exists():
            raise KeyringLocked("it is locked")
        path = Path(os.environ["TEST_KEYCHAIN"])
        return json.loads(path.read_text()) if path.exists() else {}

    def _keep(self, passwords: dict[str, str]) -> None:
        Path(os.environ["TEST_KEYCHAIN"]).write_text(json.dumps(passwords))
