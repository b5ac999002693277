"""Makes readable names out of text that are safe as folder names."""

from __future__ import annotations

import unicodedata

from roundtable.core.text.sanitize import is_file_name_letter

MAX_SLUG_WORDS = 6
MAX_SLUG_BYTES = 80


def make_slug_from_text(question: str, day: str) -> str:
    """Return a slug such as `2026-11-15-rest-or-graphql`; Latin letters lose their accents, other scripts are kept."""
    letters = "".join(map(_remove_accents, unicodedata.normalize("NFKC", question))).lower()
    words = "".join(letter if is_file_name_letter(letter) else " " for letter in letters).split()[:MAX_SLUG_WORDS]
    slug = "-".join([day, *(words or ["meeting"])])
    return slug.encode()[:MAX_SLUG_BYTES].decode(errors="ignore").rstrip("-")


def _remove_accents(letter: str) -> str:
    return unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode() or letter
