"""Remove known secrets, in every encoding and also if they are split, and anything shaped like a token from text.

`Redactor` takes a whole text; `RedactedStream` takes a text in pieces and holds back what may be the start of a secret.
"""

from __future__ import annotations

import json
import re
import string
from binascii import b2a_base64
from collections.abc import Iterable, Iterator
from typing import Any, cast
from urllib.parse import quote, quote_plus

import msgspec

SHORTEST_SECRET = 8
"""Shorter known secrets are ignored because they occur inside ordinary words."""

_SHORTEST_SPLIT_SECRET = 16
"""Shorter secrets could be parts of ordinary words next to each other."""

KNOWN_SECRET = "known-key"
SECRET_HEAD_LENGTH = 4
"""Number of characters compared first, to reject most positions quickly."""

LONGEST_SECRET_NAME = 32
"""How many characters before a value are searched for its name."""

PLACEHOLDER_KEYS = frozenset({"lm-studio", "no-key-needed", "no-key-required", "not-needed", "sk-no-key-required"})
"""Values used where a local server accepts any key; they are often also names of seats."""

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

_CHARACTERS_BEFORE = {
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
"""How many characters of a secret come before the character that identifies it."""

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

_BREAK_CHARACTERS = " \t\n\r\"'`+\\\u200b"
_WITHOUT_BREAKS = str.maketrans("", "", _BREAK_CHARACTERS)
_LONGEST_BREAK = 24
_BREAK = f"[{re.escape(_BREAK_CHARACTERS)}]{{0,{_LONGEST_BREAK}}}+"
"""The separator between two parts of a secret: a line break with its indentation, or quotes and a plus sign."""

_RANDOM_VALUE = re.compile(r"(?=[A-Za-z+/]{0,40}[0-9])(?=[0-9+/]{0,40}[A-Za-z])[A-Za-z0-9+/]{12}", re.ASCII)


SecretSpan = tuple[int, int, str]
"""Start, end and kind of a secret in a text."""


class Redactor:
    """Replaces known secrets and token shapes in text.

    `forms` are the known secrets in every encoding, `heads` their first characters, `joined_forms` the long ones
    without the characters at which they may be split, and `harmless` words that a stream has already cleared.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.forms: tuple[str, ...] = ()
        self.heads: frozenset[str] = frozenset()
        self.joined_forms: tuple[str, ...] = ()
        self._split_forms: re.Pattern[str] | None = None
        self.harmless: set[str] = set()
        self.learn(*secrets)

    def learn(self, *secrets: str) -> None:
        """Add known secrets in every form in which servers and programs write them."""
        known = [secret for secret in secrets if len(secret) >= SHORTEST_SECRET and secret not in PLACEHOLDER_KEYS]
        fresh = {form for secret in known for form in _encoded_forms(secret)}
        if not fresh.issubset(self.forms):
            self.forms = tuple(sorted(fresh.union(self.forms), key=len, reverse=True))
            self.heads = frozenset(form[:length] for form in self.forms for length in range(1, SECRET_HEAD_LENGTH + 1))
            joined = {secret.translate(_WITHOUT_BREAKS) for secret in known if len(secret) >= _SHORTEST_SPLIT_SECRET}
            self.joined_forms = tuple(sorted(joined.union(self.joined_forms), key=len, reverse=True))
            self._split_forms = re.compile("|".join(_BREAK.join(map(re.escape, form)) for form in self.joined_forms))
            self.harmless.clear()

    def redact(self, text: str) -> str:
        """The text without secrets; the identical object if there are none."""
        spans = self.spans(text)
        return _replace_secret_spans(text, spans) if spans else text

    def spans(self, text: str, begin: int = 0) -> list[SecretSpan]:
        """The secrets from `begin` on, in order, with overlapping ones merged."""
        found = [span for form in self.forms if form in text for span in _find_form(form, text, begin)]
        found += self._find_split_forms(text, begin)
        found += _find_shapes(text, begin)
        found.sort(key=lambda span: span[0])
        merged: list[SecretSpan] = []
        for start, end, name in found:
            if merged and start < merged[-1][1]:
                first, last, before = merged[-1]
                merged[-1] = (first, max(last, end), KNOWN_SECRET if KNOWN_SECRET in (name, before) else before)
            else:
                merged.append((start, end, name))
        return merged

    def _find_split_forms(self, text: str, begin: int) -> Iterator[SecretSpan]:
        if self._split_forms is None or not self.joined_forms:
            return
        joined = text[begin:].translate(_WITHOUT_BREAKS)
        if any(form in joined for form in self.joined_forms):
            yield from ((*found.span(), KNOWN_SECRET) for found in self._split_forms.finditer(text, begin))

    def redact_json(self, data: bytes) -> bytes:
        """A JSON document without secrets in its strings; the identical object if there are none."""
        document = msgspec.json.decode(data)
        clean = self._walk(document)
        return data if clean is document else msgspec.json.encode(clean)

    def finds(self, text: str) -> tuple[str, ...]:
        """The kinds of secrets in a text, each once."""
        return tuple(dict.fromkeys(name for _, _, name in self.spans(text)))

    def _walk(self, node: Any) -> Any:
        """The node without secrets; the node itself if there are none."""
        if isinstance(node, str):
            return self.redact(node) if len(node) >= SHORTEST_SECRET else node
        if isinstance(node, dict):
            fields = cast("dict[str, Any]", node)
            clean = {self._walk(key): self._walk(value) for key, value in fields.items()}
            return fields if all(clean.get(key) is value for key, value in fields.items()) else clean
        if isinstance(node, list):
            items = cast("list[Any]", node)
            fresh = [self._walk(item) for item in items]
            return items if all(old is new for old, new in zip(items, fresh, strict=True)) else fresh
        return node


def _replace_secret_spans(text: str, spans: Iterable[SecretSpan], begin: int = 0) -> str:
    """The text from `begin` on, with a mark in place of each secret."""
    pieces: list[str] = []
    for start, end, name in spans:
        pieces += (text[begin:start], f"[redacted:{name}]")
        begin = end
    return "".join((*pieces, text[begin:]))


def is_secret_name_to_redact(name: str) -> bool:
    """Whether a name such as `LAB_KEY`, `authorization` or `db-password` denotes a secret."""
    return _SECRET_NAME.search(name) is not None


def looks_like_secret_to_redact(value: str) -> bool:
    """Whether a value could be a key rather than a placeholder word."""
    return len(value) >= 16 and _RANDOM_VALUE.search(value) is not None


def _find_form(form: str, text: str, begin: int) -> Iterator[SecretSpan]:
    start = text.find(form, begin)
    while start >= 0:
        yield start, start + len(form), KNOWN_SECRET
        start = text.find(form, start + 1)


def _find_shapes(text: str, begin: int) -> Iterator[SecretSpan]:
    """The token shapes found in a text."""
    for match in _SHAPES.finditer(text, begin):
        group = match.lastgroup or ""
        if group in _CHARACTERS_BEFORE:
            yield match.start() - _CHARACTERS_BEFORE[group], match.end(), group.replace("_", "-")
        elif group == "url_password":
            yield *match.span(group), "url-password"
        elif _RANDOM_VALUE.search(match[group]) and _has_secret_name_before(text, match.start()):
            yield *match.span(group), "assigned-secret"


def _has_secret_name_before(text: str, mark: int) -> bool:
    """Whether the name before the colon or equals sign at `mark` denotes a secret."""
    return _SECRET_NAME.search(text, max(0, mark - LONGEST_SECRET_NAME), mark) is not None


def _encoded_forms(secret: str) -> set[str]:
    """A secret in plain text, JSON, URL encoding, base64 and hexadecimal digits."""
    inside_json = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    slashes = {form.replace("/", r"\/") for form in inside_json}
    addressed = {quote(secret, safe=""), quote_plus(secret)} if _is_encodable(secret) else set[str]()
    digits = secret.encode(errors="replace").hex()
    return {secret, digits, digits.upper()} | inside_json | slashes | addressed | _base64_forms(secret)


def _base64_forms(secret: str) -> set[str]:
    """The base64 forms of a secret inside a longer text, one for each alignment."""
    raw = secret.encode(errors="replace")
    if len(raw) < 2 * SHORTEST_SECRET:
        return set()
    forms: set[str] = set()
    for before, lost in ((0, 0), (1, 2), (2, 3)):
        coded = b2a_base64(bytes(before) + raw, newline=False).decode()
        whole = (before + len(raw)) * 8 // 6  # characters that do not depend on the following text
        forms |= {coded[lost:whole], coded[lost:whole].translate(_URL_SAFE)}
    return forms


def _is_encodable(secret: str) -> bool:
    """Whether a secret can be URL-encoded: lone surrogates from undecodable bytes cannot."""
    return not any("\ud800" <= char <= "\udfff" for char in secret)


_CONTEXT = LONGEST_SECRET_NAME + 16
"""How much text that was already returned is needed to judge the text after it."""

_EAGER_SIZE = 512
"""Above this size, pending text is examined again only after growing by half, so the cost stays linear."""

_LONGEST_WORD, _MOST_WORDS = 16, 4096
_ASSIGNMENT_SIGNS = frozenset(":=")
"""Signs after which the text before matters."""

_TOKEN_LETTERS = string.ascii_letters + string.digits + "_-."


def _prefix_pattern(*letters: str) -> str:
    """A pattern for these characters, or for as many as the text has before it ends."""
    first, *rest = letters
    return rf"{first}(?:\Z|{_prefix_pattern(*rest)})" if rest else first


# Each token shape by its first characters, looked for in the last word of the text only.
_TOKEN_BEGINNING = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    + "|".join(_prefix_pattern(*word) for word in ("sk-", "xai-", "gsk_", "hf_", "eyJ", "AK", "AIz"))
    + ")|"
    + "|".join(
        (
            _prefix_pattern("x", "o", "x", "[abeoprs]", "-"),
            _prefix_pattern(*"glpat-"),
            _prefix_pattern("g", "h", "[oprsu]", "_"),
            _prefix_pattern(*"github_pat_"),
            _prefix_pattern(*"-----BEGIN"),
        )
    )
)

# A colon or equals sign whose value, or whose address with a password, may go on after the end of the text.
_ASSIGNING = re.compile(
    r"""[:=](?=\s{0,3}(?:\\?["'`]?)(?:(?:[Bb]earer|[Bb]asic|[Tt]oken)\s{1,3})?[\w+/.~-]*+={0,2}+\Z)""", re.ASCII
)
_ADDRESSING = re.compile(r""":(?=(?:/(?:/[^\s:/@"'<>]{0,64}+(?::[^\s/@"'<>{}$*]{0,128}+)?)?)?\Z)""")

_PRIVATE_KEY = re.compile(
    r"""
    -----BEGIN\ [A-Z ]*+(?:
        -{0,5}\Z
        |(?:(?<=PRIVATE\ KEY)|(?<=PRIVATE\ KEY\ BLOCK))-----
            (?:[^"-]|-(?!----))*+(?:-----(?:E|EN|END(?:\ [A-Z ]*+-{0,4})?)?)?\Z
    )
    """,
    re.VERBOSE,
)


class RedactedStream:
    """Redacts a text that arrives in pieces; the joined results equal `Redactor.redact` of the whole text."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._text = ""
        self._returned = 0
        self._pieces: list[str] = []
        self._size = 0
        self._next_size = 0

    def feed(self, piece: str) -> str:
        """The text that is safe to show after this piece."""
        if piece in self._redactor.harmless and not self._size and self._text[-1:] not in _ASSIGNMENT_SIGNS:
            self._remember(self._text + piece, self._returned + len(piece))
            return piece
        self._size += len(piece)
        if self._size < self._next_size:
            self._pieces.append(piece)
            return ""
        text = self._join_pieces(piece)
        returned, cut = self._returned, self._first_open_position(text)
        spans = self._spans(text) if len(text) - returned >= SHORTEST_SECRET else ()
        if any(start < cut < end for start, end, _ in spans):
            cut = returned  # two secrets may overlap: wait until both are complete
        shown = (
            _replace_secret_spans(text[:cut], [span for span in spans if span[1] <= cut], returned)
            if spans
            else text[returned:cut]
        )
        if returned + len(piece) == cut == len(text) and not spans:
            self._learn(piece)
        self._size = len(text) - cut
        self._next_size = self._size * 3 // 2 if self._size > _EAGER_SIZE else 0
        self._remember(text, cut)
        return shown

    def _learn(self, word: str) -> None:
        """Remember a word that passed unchanged; one that begins with a space does not depend on what precedes it."""
        harmless = self._redactor.harmless
        if (
            word[:1] == " "
            and len(word) <= _LONGEST_WORD
            and len(harmless) < _MOST_WORDS
            and not _ASSIGNMENT_SIGNS.intersection(word)
        ):
            harmless.add(word)

    def _remember(self, text: str, returned: int) -> None:
        forget = returned - _CONTEXT if returned > 4 * _CONTEXT else 0
        self._text, self._returned = text[forget:], returned - forget

    def finish(self) -> str:
        """The remaining text."""
        text = self._join_pieces("")
        shown = _replace_secret_spans(text, self._spans(text), self._returned)
        self._text, self._returned, self._size, self._next_size = "", 0, 0, 0
        return shown

    def _spans(self, text: str) -> list[SecretSpan]:
        """The secrets in the pending text; the sign before a value may already have been returned."""
        spans = self._redactor.spans(text, max(0, self._returned - 1))
        return [span for span in spans if span[0] >= self._returned]

    def _join_pieces(self, piece: str) -> str:
        if self._pieces:
            piece = "".join((*self._pieces, piece))
            self._pieces.clear()
        return self._text + piece

    def _first_open_position(self, text: str) -> int:
        """The first position from which the text may still become a secret, or its end."""
        returned, cut = self._returned, len(text)
        if beginning := _TOKEN_BEGINNING.search(text, max(returned, len(text.rstrip(_TOKEN_LETTERS)))):
            cut = beginning.start()
        mark = max(0, returned - 1)
        if text.find("=", mark) >= 0 or text.find(":", mark) >= 0:
            cut = min(cut, _open_value_position(text, mark))
        if "-----BEGIN " in text and (key := _PRIVATE_KEY.search(text, returned)):
            cut = min(cut, key.start())
        if self._redactor.forms:
            cut = min(cut, self._open_form_position(text), self._open_split_form_position(text))
        return cut

    def _open_form_position(self, text: str) -> int:
        """The position from which the end of the text is the beginning of a known secret."""
        forms, heads = self._redactor.forms, self._redactor.heads
        for start in range(max(self._returned, len(text) - len(forms[0]) + 1), len(text)):
            if text[start : start + SECRET_HEAD_LENGTH] in heads:
                rest = text[start:]
                if any(form.startswith(rest) for form in forms):
                    return start
        return len(text)

    def _open_split_form_position(self, text: str) -> int:
        """The position from which the end of the text is the beginning of a known secret that is split."""
        forms = self._redactor.joined_forms
        longest = max(map(len, forms), default=0) * (1 + _LONGEST_BREAK)
        first_letters = {form[0] for form in forms}
        for start in range(max(self._returned, len(text) - longest), len(text)):
            if text[start] in first_letters:
                rest = text[start:].translate(_WITHOUT_BREAKS)
                if any(form.startswith(rest) for form in forms):
                    return start
        return len(text)


def _open_value_position(text: str, mark: int) -> int:
    """The position from which the end of the text may be a secret value or an address with a password."""
    address = _ADDRESSING.search(text, mark)
    cut = address.end() if address else len(text)
    for value in _ASSIGNING.finditer(text, mark):
        if value.end() < cut and _has_secret_name_before(text, value.start()):
            return value.end()
    return cut
