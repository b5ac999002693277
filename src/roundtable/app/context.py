"""Files before the table: snapshotted at the opening, confined to the workspace, refused when they hold a secret."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

from roundtable.core.faults import UsageError
from roundtable.core.ports import Store
from roundtable.core.redaction import Redactor
from roundtable.core.values import ContextItem

LARGEST_FILE = 400_000
SENSITIVE = (
    ".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "id_rsa*", "id_ed25519*", "id_ecdsa*", ".netrc", ".pgpass",
    ".npmrc", ".pypirc", "credentials", "credentials.*", "secrets", "secrets.*", "*.kdbx",
)  # fmt: skip
SENSITIVE_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".kube", ".git"})
_RANGE = re.compile(r"^(?P<path>.+?):(?P<first>\d+)-(?P<last>\d+)$")


class Refused(UsageError):
    """A file that may not come before the table."""


async def snapshot(store: Store, redactor: Redactor, workspace: Path, name: str) -> ContextItem:
    """Keep one file, given as `path` or `path:10-50`, as it is now."""
    data = read_clean(redactor, workspace, name)
    return ContextItem(name, await store.keep(data), len(data))


def read_clean(redactor: Redactor, workspace: Path, name: str) -> bytes:
    """Read a file of the workspace that holds no secret."""
    text = read_confined(workspace, name)
    if found := redactor.finds(text):
        raise Refused(
            f"{name} holds what looks like a secret ({', '.join(found)}).", "Take it out of the file, or leave it out."
        )
    return text.encode()


def read_confined(workspace: Path, name: str) -> str:
    """Read a text file of the workspace; links, `..` and sensitive names do not lead out of it."""
    found = _RANGE.match(name)
    path = found["path"] if found else name
    real_root = workspace.resolve()
    real = (real_root / path).resolve()
    if not real.is_relative_to(real_root):
        raise Refused(f"{name} lies outside the workspace {workspace}.", "Only files of the workspace can be shown.")
    inside = real.relative_to(real_root)
    if any(fnmatch(real.name.lower(), pattern) for pattern in SENSITIVE) or SENSITIVE_FOLDERS & set(inside.parts):
        raise Refused(f"{name} is a sensitive file and is never shown to a model.", "Leave it out.")
    try:
        if real.stat().st_size > LARGEST_FILE:
            raise Refused(f"{name} is larger than {LARGEST_FILE:,} bytes.", f"Show a part of it: {path}:1-400.")
        text = real.read_text()
    except FileNotFoundError:
        raise Refused(f"There is no file {name} in {workspace}.", "Paths are relative to the workspace.") from None
    except IsADirectoryError:
        raise Refused(f"{name} is a folder.", "Name the files in it, each with its own -f.") from None
    except (OSError, UnicodeDecodeError):
        raise Refused(f"{name} cannot be read as text.", "Leave it out.") from None
    if found is not None:
        first, last = int(found["first"]), int(found["last"])
        text = "\n".join(text.splitlines()[max(0, first - 1) : last])
    if not text.strip():
        raise Refused(f"{name} holds nothing to show.", "Check the file and the lines you named.")
    return text
