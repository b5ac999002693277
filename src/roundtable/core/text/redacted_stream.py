"""The same redaction for words that come in pieces: what could be the beginning of a secret waits for the rest."""

from __future__ import annotations

import re
import string

from roundtable.core.text.redaction import HEAD, LONGEST_NAME, SHORTEST, Redactor, Span, named_secret, without

_CONTEXT = LONGEST_NAME + 16
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
        spans = self._spans(text) if len(text) - told >= SHORTEST else ()
        if any(start < cut < end for start, end, _ in spans):
            cut = told  # one secret may go on in another: wait, with the sign before it, until both are there
        shown = without(text[:cut], [span for span in spans if span[1] <= cut], told) if spans else text[told:cut]
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
        shown = without(text, self._spans(text), self._told)
        self._text, self._told, self._size, self._enough = "", 0, 0, 0
        return shown

    def _spans(self, text: str) -> list[Span]:
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
            if text[start : start + HEAD] in heads:
                rest = text[start:]
                if any(form.startswith(rest) for form in forms):
                    return start
        return len(text)


def _open_value(text: str, mark: int) -> int:
    """From where the end of the text may be a secret value, or an address with a password in it."""
    address = _ADDRESSING.search(text, mark)
    cut = address.end() if address else len(text)
    for value in _ASSIGNING.finditer(text, mark):
        if value.end() < cut and named_secret(text, value.start()):
            return value.end()
    return cut


__all__ = ["RedactedStream"]
