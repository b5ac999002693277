"""Secrets never reach the record: known keys everywhere, token shapes in prose and output.

The same redaction for words that come in pieces: what could be the beginning of a secret waits for the rest.
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
"""Shorter known secrets are left alone: they would tear holes into ordinary words."""

KNOWN_SECRET = "known-key"
SECRET_HEAD_LENGTH = 4
"""So many letters are enough to see quickly that a text does not begin like a known secret."""

LONGEST_SECRET_NAME = 32
"""How far before a value its name is looked for."""

PLACEHOLDER_KEYS = frozenset({"lm-studio", "no-key-needed", "no-key-required", "not-needed", "sk-no-key-required"})
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


SecretSpan = tuple[int, int, str]
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
        known = (secret for secret in secrets if len(secret) >= SHORTEST_SECRET and secret not in PLACEHOLDER_KEYS)
        fresh = {form for secret in known for form in _forms(secret)}
        if not fresh.issubset(self.forms):
            self.forms = tuple(sorted(fresh.union(self.forms), key=len, reverse=True))
            self.heads = frozenset(form[:length] for form in self.forms for length in range(1, SECRET_HEAD_LENGTH + 1))
            self.harmless.clear()

    def redact(self, text: str) -> str:
        """The text without secrets; the very same object when there are none."""
        spans = self.spans(text)
        return replace_secret_spans(text, spans) if spans else text

    def spans(self, text: str, begin: int = 0) -> list[SecretSpan]:
        """Where secrets stand from `begin` on, in order; those that overlap are one."""
        found = [span for form in self.forms if form in text for span in _places(form, text, begin)]
        found += _shapes(text, begin)
        found.sort(key=lambda span: span[0])
        merged: list[SecretSpan] = []
        for start, end, name in found:
            if merged and start < merged[-1][1]:
                first, last, before = merged[-1]
                merged[-1] = (first, max(last, end), KNOWN_SECRET if KNOWN_SECRET in (name, before) else before)
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


def replace_secret_spans(text: str, spans: Iterable[SecretSpan], begin: int = 0) -> str:
    """The text from `begin` on, with a mark in place of each span."""
    pieces: list[str] = []
    for start, end, name in spans:
        pieces += (text[begin:start], f"[redacted:{name}]")
        begin = end
    return "".join((*pieces, text[begin:]))


def is_secret_name(name: str) -> bool:
    """Whether whatever has this name is a secret: `LAB_KEY`, `authorization`, `db-password`."""
    return _SECRET_NAME.search(name) is not None


def looks_like_random_secret(value: str) -> bool:
    """Whether this could be a key, rather than a word somebody put where a key is asked for."""
    return len(value) >= 16 and _RANDOM.search(value) is not None


def _places(form: str, text: str, begin: int) -> Iterator[SecretSpan]:
    start = text.find(form, begin)
    while start >= 0:
        yield start, start + len(form), KNOWN_SECRET
        start = text.find(form, start + 1)


def _shapes(text: str, begin: int) -> Iterator[SecretSpan]:
    """Each token shape found: where it begins and ends, and its name."""
    for match in _SHAPES.finditer(text, begin):
        group = match.lastgroup or ""
        if group in _BACK:
            yield match.start() - _BACK[group], match.end(), group.replace("_", "-")
        elif group == "url_password":
            yield *match.span(group), "url-password"
        elif _RANDOM.search(match[group]) and has_secret_name_before(text, match.start()):
            yield *match.span(group), "assigned-secret"


def has_secret_name_before(text: str, mark: int) -> bool:
    """Whether what stands before the colon or equals sign at `mark` calls the value after it a secret."""
    return _SECRET_NAME.search(text, max(0, mark - LONGEST_SECRET_NAME), mark) is not None


def _forms(secret: str) -> set[str]:
    """How a secret looks as it is, inside JSON, in an address, and within a longer text in base64."""
    inside_json = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    slashes = {form.replace("/", r"\/") for form in inside_json}
    addressed = {quote(secret, safe=""), quote_plus(secret)} if _is_text(secret) else set[str]()
    return {secret} | inside_json | slashes | addressed | _in_base64(secret)


def _in_base64(secret: str) -> set[str]:
    """The letters that stand for a secret in base64 whatever stands around it: one form for each alignment."""
    raw = secret.encode(errors="replace")
    if len(raw) < 2 * SHORTEST_SECRET:
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


_CONTEXT = LONGEST_SECRET_NAME + 16
"""How much of what was let go is still needed to judge what comes after it."""

_PATIENT = 512
"""From this many characters on, what waits is judged anew when it has grown by half: no text costs its square."""

_WORD, _VOCABULARY = 16, 4096
_SIGNS = frozenset(":=")
"""After one of these it matters what was said before."""

_TOKEN_LETTERS = string.ascii_letters + string.digits + "_-."


def _begun(*letters: str) -> str:
    """A pattern for a beginning: all of these letters, or as many as the text has before it ends."""
    first, *rest = letters
    return rf"{first}(?:\Z|{_begun(*rest)})" if rest else first


# Each token shape of `redaction` by its first letters. Looked for in the last word of the text alone.
_BEGINNING = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    + "|".join(_begun(*word) for word in ("sk-", "xai-", "gsk_", "hf_", "eyJ", "AK", "AIz"))
    + ")|"
    + "|".join(
        (
            _begun("x", "o", "x", "[abeoprs]", "-"),
            _begun(*"glpat-"),
            _begun("g", "h", "[oprsu]", "_"),
            _begun(*"github_pat_"),
            _begun(*"-----BEGIN"),
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
    """One text in pieces: all that `feed` and `finish` return is what `Redactor.redact` makes of the whole."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._text = ""
        self._told = 0
        self._pieces: list[str] = []
        self._size = 0
        self._enough = 0

    def feed(self, piece: str) -> str:
        """What may be shown now that this piece is there."""
        if piece in self._redactor.harmless and not self._size and self._text[-1:] not in _SIGNS:
            self._remember(self._text + piece, self._told + len(piece))
            return piece
        self._size += len(piece)
        if self._size < self._enough:
            self._pieces.append(piece)
            return ""
        text = self._gather(piece)
        told, cut = self._told, self._still_open(text)
        spans = self._spans(text) if len(text) - told >= SHORTEST_SECRET else ()
        if any(start < cut < end for start, end, _ in spans):
            cut = told  # one secret may go on in another: wait, with the sign before it, until both are there
        shown = (
            replace_secret_spans(text[:cut], [span for span in spans if span[1] <= cut], told)
            if spans
            else text[told:cut]
        )
        if told + len(piece) == cut == len(text) and not spans:
            self._learn(piece)
        self._size = len(text) - cut
        self._enough = self._size * 3 // 2 if self._size > _PATIENT else 0
        self._remember(text, cut)
        return shown

    def _learn(self, word: str) -> None:
        """A word that passed whole will pass again: what begins with a space does not depend on what came before."""
        harmless = self._redactor.harmless
        if word[:1] == " " and len(word) <= _WORD and len(harmless) < _VOCABULARY and not _SIGNS.intersection(word):
            harmless.add(word)

    def _remember(self, text: str, told: int) -> None:
        forget = told - _CONTEXT if told > 4 * _CONTEXT else 0
        self._text, self._told = text[forget:], told - forget

    def finish(self) -> str:
        """What was still waiting, now that nothing comes after it."""
        text = self._gather("")
        shown = replace_secret_spans(text, self._spans(text), self._told)
        self._text, self._told, self._size, self._enough = "", 0, 0, 0
        return shown

    def _spans(self, text: str) -> list[SecretSpan]:
        """The secrets in what was not told yet; the sign by which a value is found may be the last thing told."""
        spans = self._redactor.spans(text, max(0, self._told - 1))
        return [span for span in spans if span[0] >= self._told]

    def _gather(self, piece: str) -> str:
        if self._pieces:
            piece = "".join((*self._pieces, piece))
            self._pieces.clear()
        return self._text + piece

    def _still_open(self, text: str) -> int:
        """The first place from which the text may yet turn out to be a secret; its end if there is none."""
        told, cut = self._told, len(text)
        if beginning := _BEGINNING.search(text, max(told, len(text.rstrip(_TOKEN_LETTERS)))):
            cut = beginning.start()
        mark = max(0, told - 1)
        if text.find("=", mark) >= 0 or text.find(":", mark) >= 0:
            cut = min(cut, _open_value(text, mark))
        if "-----BEGIN " in text and (key := _PRIVATE_KEY.search(text, told)):
            cut = min(cut, key.start())
        if self._redactor.forms:
            cut = min(cut, self._open_form(text))
        return cut

    def _open_form(self, text: str) -> int:
        """From where the end of the text is the beginning of a known secret."""
        forms, heads = self._redactor.forms, self._redactor.heads
        for start in range(max(self._told, len(text) - len(forms[0]) + 1), len(text)):
            if text[start : start + SECRET_HEAD_LENGTH] in heads:
                rest = text[start:]
                if any(form.startswith(rest) for form in forms):
                    return start
        return len(text)


def _open_value(text: str, mark: int) -> int:
    """From where the end of the text may be a secret value, or an address with a password in it."""
    address = _ADDRESSING.search(text, mark)
    cut = address.end() if address else len(text)
    for value in _ASSIGNING.finditer(text, mark):
        if value.end() < cut and has_secret_name_before(text, value.start()):
            return value.end()
    return cut
