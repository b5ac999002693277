"""The system's own keychain, through `keyring`, on machines that have one."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from roundtable.core.faults import UsageError

RECOMMENDED = 1
"""Backends below this priority fail, forget, or keep passwords in plain text."""


class KeychainError(UsageError):
    """The keychain is locked, or says no."""


class Keychain:
    """The keys of one home among everything else that is in the keychain."""

    def __init__(self, service: str) -> None:
        self._service = service

    @property
    def usable(self) -> bool:
        """Whether this machine has a keychain, and we can reach it."""
        try:
            import keyring
        except ImportError:
            return False
        with _any_error():
            return keyring.get_keyring().priority >= RECOMMENDED

    def get(self, name: str) -> str | None:
        """The key of that name."""
        import keyring

        with _any_error():
            return keyring.get_password(self._service, name)

    def put(self, name: str, value: str) -> None:
        """Keep a key."""
        import keyring

        with _any_error():
            keyring.set_password(self._service, name, value)

    def remove(self, name: str) -> None:
        """Forget a key."""
        import keyring

        with _any_error():
            if keyring.get_password(self._service, name) is not None:
                keyring.delete_password(self._service, name)


@contextmanager
def _any_error() -> Generator[None]:
    """Every backend fails in its own way. Only the kind is told: an error's text may hold what was to be kept."""
    try:
        yield
    except Exception as error:
        kind = type(error).__name__
        raise KeychainError(f"The keychain cannot be used ({kind}).", "Unlock it and try again.") from None
