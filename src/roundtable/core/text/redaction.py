"""Secrets never reach the record: known keys everywhere, token shapes in prose and output."""

from __future__ import annotations

import json
import re
from binascii import b2a_base64
from collections.abc import Iterable, Iterator
from typing import Any, cast
from urllib.parse import quote, quote_plus

import msgspec

SHORTEST = 8
"""Shorter known secrets are left alone: they would tear holes into ordinary words."""

KNOWN = "known-key"
HEAD = 4
"""So many letters are enough to see quickly that a text does not begin like a known secret."""

LONGEST_NAME = 32
"""How far before a value its name is looked for."""

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

_URL_SAFE = str.maketrans("+/", "-_")

_RANDOM = re.compile(r"(?=[A-Za-z+/]{0,40}[0-9])(?=[0-9+/]{0,40}[A-Za-z])[A-Za-z0-9+/]{12}", re.ASCII)


Span = tuple[int, int, str]
"""Where something secret begins and ends, and what it is called."""


class Redactor:
    """Takes known secrets and token shapes out of whatever is about to be written down or shown.

    `forms` are the known secrets as they may be written, `heads` their beginnings, and `harmless` words that a stream
    has judged before; a model says the same few thousand words again and again.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.forms: tuple[str, ...] = ()
        self.heads: frozenset[str] = frozenset()
        self.harmless: set[str] = set()
        self.learn(*secrets)

    def learn(self, *secrets: str) -> None:
        """Know these too from now on, in every form in which servers and programs write them."""
        known = (secret for secret in secrets if len(secret) >= SHORTEST and secret not in PLACEHOLDERS)
        fresh = {form for secret in known for form in _forms(secret)}
        if not fresh.issubset(self.forms):
            self.forms = tuple(sorted(fresh.union(self.forms), key=len, reverse=True))
            self.heads = frozenset(form[:length] for form in self.forms for length in range(1, HEAD + 1))
            self.harmless.clear()

    def redact(self, text: str) -> str:
        """The text without secrets; the very same object when there are none."""
        spans = self.spans(text)
        return without(text, spans) if spans else text

    def spans(self, text: str, begin: int = 0) -> list[Span]:
        """Where secrets stand from `begin` on, in order; those that overlap are one."""
        found = [span for form in self.forms if form in text for span in _places(form, text, begin)]
        found += _shapes(text, begin)
        found.sort(key=lambda span: span[0])
        merged: list[Span] = []
        for start, end, name in found:
            if merged and start < merged[-1][1]:
                first, last, before = merged[-1]
                merged[-1] = (first, max(last, end), KNOWN if KNOWN in (name, before) else before)
            else:
                merged.append((start, end, name))
        return merged

    def redact_json(self, data: bytes) -> bytes:
        """One JSON document without secrets in any of its strings; the very same object when there are none."""
        document = msgspec.json.decode(data)
        clean = self._walk(document)
        return data if clean is document else msgspec.json.encode(clean)

    def finds(self, text: str) -> tuple[str, ...]:
        """The names of what would be taken out, each once."""
        return tuple(dict.fromkeys(name for _, _, name in self.spans(text)))

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


def without(text: str, spans: Iterable[Span], begin: int = 0) -> str:
    """The text from `begin` on, with a mark in place of each span."""
    pieces: list[str] = []
    for start, end, name in spans:
        pieces += (text[begin:start], f"[redacted:{name}]")
        begin = end
    return "".join((*pieces, text[begin:]))


def telling(name: str) -> bool:
    """Whether whatever has this name is a secret: `LAB_KEY`, `authorization`, `db-password`."""
    return _SECRET_NAME.search(name) is not None


def random_looking(value: str) -> bool:
    """Whether this could be a key, rather than a word somebody put where a key is asked for."""
    return len(value) >= 16 and _RANDOM.search(value) is not None


def _places(form: str, text: str, begin: int) -> Iterator[Span]:
    start = text.find(form, begin)
    while start >= 0:
        yield start, start + len(form), KNOWN
        start = text.find(form, start + 1)


def _shapes(text: str, begin: int) -> Iterator[Span]:
    """Each token shape found: where it begins and ends, and its name."""
    for match in _SHAPES.finditer(text, begin):
        group = match.lastgroup or ""
        if group in _BACK:
            yield match.start() - _BACK[group], match.end(), group.replace("_", "-")
        elif group == "url_password":
            yield *match.span(group), "url-password"
        elif _RANDOM.search(match[group]) and named_secret(text, match.start()):
            yield *match.span(group), "assigned-secret"


def named_secret(text: str, mark: int) -> bool:
    """Whether what stands before the colon or equals sign at `mark` calls the value after it a secret."""
    return _SECRET_NAME.search(text, max(0, mark - LONGEST_NAME), mark) is not None


def _forms(secret: str) -> set[str]:
    """How a secret looks as it is, inside JSON, in an address, and within a longer text in base64."""
    inside_json = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    slashes = {form.replace("/", r"\/") for form in inside_json}
    addressed = {quote(secret, safe=""), quote_plus(secret)} if _is_text(secret) else set[str]()
    return {secret} | inside_json | slashes | addressed | _in_base64(secret)


def _in_base64(secret: str) -> set[str]:
    """The letters that stand for a secret in base64 whatever stands around it: one form for each alignment."""
    raw = secret.encode(errors="replace")
    if len(raw) < 2 * SHORTEST:
        return set()
    forms: set[str] = set()
    for before, lost in ((0, 0), (1, 2), (2, 3)):
        coded = b2a_base64(bytes(before) + raw, newline=False).decode()
        whole = (before + len(raw)) * 8 // 6  # letters no bit of which belongs to what comes after
        forms |= {coded[lost:whole], coded[lost:whole].translate(_URL_SAFE)}
    return forms


def _is_text(secret: str) -> bool:
    """Half of a surrogate pair, which odd bytes in the environment become, cannot be written in an address."""
    return not any("\ud800" <= char <= "\udfff" for char in secret)
