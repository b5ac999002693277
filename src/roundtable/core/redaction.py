"""Secrets never reach the record: known keys everywhere, token shapes in prose and output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

import msgspec

SHORTEST = 8
"""Shorter known secrets are left alone: they would tear holes into ordinary words."""

PLACEHOLDERS = frozenset({"lm-studio", "no-key-needed", "no-key-required", "not-needed", "sk-no-key-required"})
"""What people write where a local server wants a key and takes any; seats are often called the same."""

_VALUE = r"""(?=\s{0,3}(?:\\?["'`])?(?:(?:[Bb]earer|[Bb]asic|[Tt]oken)\s{1,3})?
    (?P<%s>(?![./~])[\w+/.~-]{16,}+={0,2}+)(?!\())"""

# Every shape is found from one character that is rare in prose and looks back from there: searching for the
# first letters of all these prefixes would try them at every second character. What repeats is possessive or
# bounded, so that no text, however made, takes more than linear time.
_SHAPES = re.compile(
    rf"""
    -(?:
        (?P<private_key>----BEGIN\ [A-Z ]*+(?:(?<=PRIVATE\ KEY)|(?<=PRIVATE\ KEY\ BLOCK))-----
            (?:(?:[^"-]|-(?!----))*+-----END\ [A-Z ]*+-----
            |(?:\s|\\[nr])*+[A-Za-z0-9+/=]{{32}}(?:[A-Za-z0-9+/=\s]|\\[nr])*+))
        |(?<=sk-)(?<![A-Za-z0-9]sk-)(?:
            (?P<anthropic_key>ant-[\w-]{{16,}})
            |(?P<openai_key>(?=[\w-]{{0,80}}?\w{{20}})(?=[A-Za-z_-]{{0,80}}+[0-9])[\w-]{{20,}}))
        |(?<=xai-)(?<!\wxai-)(?P<xai_key>[A-Za-z0-9]{{20,}})
        |(?<=xox[abeoprs]-)(?P<slack_token>(?=[A-Za-z-]{{0,80}}+[0-9])[A-Za-z0-9-]{{10,}})
        |(?<=glpat-)(?P<gitlab_token>[\w-]{{20,}})
    )
    |_(?=[A-Za-z0-9]{{20}})(?:
        (?<=gh[oprsu]_)(?P<github_token>[A-Za-z0-9]{{30,}})
        |(?<=github_pat_)(?P<github_pat>\w{{22,}})
        |(?<=gsk_)(?<!\wgsk_)(?P<groq_key>[A-Za-z0-9]{{20,}})
        |(?<=hf_)(?<!\whf_)(?P<huggingface_token>[A-Za-z0-9]{{20,}})
    )
    |J(?<=eyJ)(?<![\w-]eyJ)(?P<jwt>[\w-]{{8,}}+\.[\w-]{{8,}}+\.[\w-]{{8,}}+)
    |K(?<=AK)(?<![A-Za-z0-9]AK)(?P<aws_key>IA[A-Z0-9]{{16}})(?![A-Za-z0-9+/=])
    |z(?<=AIz)(?<![A-Za-z0-9]AIz)(?P<google_key>a[\w-]{{35}})
    |:(?:
        (?=//[^\s:/@"'<>]{{1,64}}+:(?P<url_password>(?!(?:pass|passwd|password|pw|secret)@)[^\s/@"'<>{{}}$*]{{3,128}}+)@)
        |{_VALUE % "headed"}
    )
    |={_VALUE % "assigned"}
    """,
    re.VERBOSE | re.ASCII,
)

_BACK = {
    "private_key": 0,
    "anthropic_key": 2,
    "openai_key": 2,
    "xai_key": 3,
    "slack_token": 4,
    "gitlab_token": 5,
    "github_token": 3,
    "github_pat": 10,
    "groq_key": 3,
    "huggingface_token": 2,
    "jwt": 2,
    "aws_key": 1,
    "google_key": 2,
}
"""How many characters of a secret stand before the one it is found by."""

_SECRET_NAME = re.compile(
    r"""
    (?: [A-Z0-9]_KEY
    | (?i:(?:api|access|account|auth|encryption|master|secret|service|signing)[ _-]?key
        |authorization|credentials?|passphrase|passw(?:or)?d|pwd|secret|token)
    ) \\?["'`]?\s{0,3}:?$
    """,
    re.VERBOSE | re.ASCII,
)

_RANDOM = re.compile(r"(?=[A-Za-z+/]{0,40}[0-9])(?=[0-9+/]{0,40}[A-Za-z])[A-Za-z0-9+/]{12}", re.ASCII)


class Redactor:
    """Takes known secrets and token shapes out of whatever is about to be written down."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {secret for secret in secrets if len(secret) >= SHORTEST and secret not in PLACEHOLDERS}
        escaped = {form for secret in known for form in _escaped(secret)}
        self._known = sorted(known | escaped, key=len, reverse=True)

    def redact(self, text: str) -> str:
        """The text without secrets; the very same object when there are none."""
        for secret in self._known:
            if secret in text:
                text = text.replace(secret, "[redacted:known-key]")
        pieces: list[str] = []
        done = 0
        for name, start, end in _shapes(text):
            if end > done:
                pieces += (text[done : max(start, done)], f"[redacted:{name}]")
                done = end
        return "".join((*pieces, text[done:])) if pieces else text

    def redact_json(self, data: bytes) -> bytes:
        """One JSON document without secrets in any of its strings; the very same object when there are none."""
        document = msgspec.json.decode(data)
        clean = self._walk(document)
        return data if clean is document else msgspec.json.encode(clean)

    def finds(self, text: str) -> tuple[str, ...]:
        """The names of what would be taken out, each once."""
        known = ["known-key"] if any(secret in text for secret in self._known) else []
        return tuple(dict.fromkeys([*known, *(name for name, _, _ in _shapes(text))]))

    def _walk(self, node: Any) -> Any:
        """The node without secrets; what holds none is returned itself, not a copy."""
        if isinstance(node, str):
            return self.redact(node) if len(node) >= SHORTEST else node
        if isinstance(node, dict):
            fields = cast("dict[str, Any]", node)
            clean = {self._walk(key): self._walk(value) for key, value in fields.items()}
            return fields if all(clean.get(key) is value for key, value in fields.items()) else clean
        if isinstance(node, list):
            items = cast("list[Any]", node)
            fresh = [self._walk(item) for item in items]
            return items if all(old is new for old, new in zip(items, fresh, strict=True)) else fresh
        return node


def _shapes(text: str) -> Iterator[tuple[str, int, int]]:
    """Each token shape found: its name, and where it begins and ends."""
    for match in _SHAPES.finditer(text):
        group = match.lastgroup or ""
        if group in _BACK:
            yield group.replace("_", "-"), match.start() - _BACK[group], match.end()
        elif group == "url_password":
            yield "url-password", *match.span(group)
        elif _RANDOM.search(match[group]) and _SECRET_NAME.search(text, max(0, match.start() - 32), match.start()):
            yield "assigned-secret", *match.span(group)


def _escaped(secret: str) -> set[str]:
    """How a secret looks inside JSON, with and without escaped letters."""
    return {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
