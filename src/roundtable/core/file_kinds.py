"""Which files no model is ever shown, by their names alone.

Which files are tests, by their names alone.
"""

from __future__ import annotations

import re
from fnmatch import translate

SENSITIVE_FILES = (
    ".env", ".env.*", "*.env", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.p8", "*.jks", "*.keystore", "*.ppk",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.kdbx", "*.ovpn", "*.tfstate", "*.tfstate.*", "*.tfvars",
    ".netrc", "_netrc", ".pgpass", ".my.cnf", ".npmrc", ".yarnrc.yml", ".pypirc", ".htpasswd", ".git-credentials",
    ".dockercfg", ".docker-config.json", ".vault-token", "credentials", "credentials.*", "secret", "secret.*",
    "secrets", "secrets.*", "service-account*.json", "application_default_credentials.json",
)  # fmt: skip
SENSITIVE_FOLDERS = frozenset({".ssh", ".aws", ".azure", ".docker", ".gcloud", ".git", ".gnupg", ".kube", ".secrets"})

ENV_TEMPLATES = frozenset({".env.example", ".env.sample", ".env.template"})
"""These say which secrets there are to be, and hold none; what looks like one is found in them as in every file."""

_CODE = re.compile(
    r"[^.].*\.(?:c|cc|cpp|cs|go|h|hpp|java|[cm]?jsx?|kt|md|php|pyi?|rb|rs|rst|scala|svelte|swift|[cm]?tsx?|vue)"
)
"""A `credentials.py` is a part of the program that deals with some, and an import of it must find it."""

_FILES = re.compile("|".join(f"(?:{translate(pattern)})" for pattern in SENSITIVE_FILES))


def is_sensitive_path(path: str) -> bool:
    """Whether a path, with slashes and relative to the workspace, is that of a file or folder of secrets."""
    parts = path.lower().split("/")
    if not SENSITIVE_FOLDERS.isdisjoint(parts):
        return True
    name = parts[-1]
    return name not in ENV_TEMPLATES and not _CODE.fullmatch(name) and _FILES.match(name) is not None


_HOLDS = re.compile(r"(?:.*/)?(?:(?i:tests?\.[^/]+|test_[^/]*|[^/]*[_.](?:test|spec)\.[^/]+)|[^/]*Tests?\.[^/]+)")
_BY_RUNNERS = re.compile(
    r"(?:.*/)?(?:(?:(?:tests?|spec|__tests__)/.*|test-[^/]*|[^/]*-(?:test|spec))\.[cm]?[jt]sx?|tests/[^/]+\.rs)",
    re.IGNORECASE,
)
"""Where node, Jest and cargo look besides."""
_AMONG = re.compile(r"(?:.*/)?(?:(?:tests?|spec|__tests__)/.*|conftest\.py)", re.IGNORECASE)


def is_collected_test_file(path: str) -> bool:
    """Whether a file is called as those are in which tests are looked for."""
    return any(it.fullmatch(path) for it in (_HOLDS, _BY_RUNNERS))


def is_test_file(path: str) -> bool:
    """Whether it is such a file, or stands among them."""
    return is_collected_test_file(path) or _AMONG.fullmatch(path) is not None
