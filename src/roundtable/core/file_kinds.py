"""Kinds of files by their names alone: files that no model is ever shown, and tests."""

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
"""Templates that list which secrets are needed and hold none; their content is scanned for secrets like that of any
file."""

_SOURCE_NAME = re.compile(
    r"[^.].*\.(?:c|cc|cpp|cs|go|h|hpp|java|[cm]?jsx?|kt|md|php|pyi?|rb|rs|rst|scala|svelte|swift|[cm]?tsx?|vue)"
)
"""Source files and documentation: a `credentials.py` is part of the program."""

_SENSITIVE_NAME = re.compile("|".join(f"(?:{translate(pattern)})" for pattern in SENSITIVE_FILES))


def is_sensitive_path(path: str) -> bool:
    """Whether a path, relative to the workspace and with slashes, names a file or folder of secrets."""
    parts = path.lower().split("/")
    if not SENSITIVE_FOLDERS.isdisjoint(parts):
        return True
    name = parts[-1]
    return name not in ENV_TEMPLATES and not _SOURCE_NAME.fullmatch(name) and _SENSITIVE_NAME.match(name) is not None


_TEST_MODULE = re.compile(r"(?:.*/)?(?:(?i:tests?\.[^/]+|test_[^/]*|[^/]*[_.](?:test|spec)\.[^/]+)|[^/]*Tests?\.[^/]+)")
_TEST_BY_RUNNER = re.compile(
    r"(?:.*/)?(?:(?:(?:tests?|spec|__tests__)/.*|test-[^/]*|[^/]*-(?:test|spec))\.[cm]?[jt]sx?|tests/[^/]+\.rs)",
    re.IGNORECASE,
)
"""Further names under which node, Jest and cargo look for tests."""
_TEST_HELPER = re.compile(r"(?:.*/)?(?:(?:tests?|spec|__tests__)/.*|conftest\.py)", re.IGNORECASE)


def is_collected_test_file(path: str) -> bool:
    """Whether a test runner would look for tests in a file of this name."""
    return any(pattern.fullmatch(path) for pattern in (_TEST_MODULE, _TEST_BY_RUNNER))


def is_test_file(path: str) -> bool:
    """Whether a file of this name holds tests or belongs to them, such as `conftest.py`."""
    return is_collected_test_file(path) or _TEST_HELPER.fullmatch(path) is not None
