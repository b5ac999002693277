"""Seats that write code, for stories at a real desk: replies as models write them, and a small repository."""

from __future__ import annotations

import re
from pathlib import Path

from tests.repository import own_python, repository

SLUG = """def slugify(text):
    return text.strip().lower().replace(" ", "-")
"""
JOINED_SLUG = """def slugify(text):
    return "-".join(text.lower().split())
"""
BROKEN_SLUG = """def slugify(text):
    return text.replace(" ", "-")
"""
SLUG_TEST = """import unittest

from slug import slugify


class SlugTest(unittest.TestCase):
    def test_words_are_joined(self):
        self.assertEqual(slugify(" Hello World "), "hello-world")


if __name__ == "__main__":
    unittest.main()
"""
TABS_TEST = SLUG_TEST.replace('" Hello World "', '"Hello\\tWorld"')
"""What the first of these slugs fails, and those pass that split words at any space."""
STUB = """def slugify(text):
    raise NotImplementedError
"""
TASK = "Make slugify() in slug.py return the words in small letters, joined by dashes."

Turns = list[dict[str, str]]


def wrote(files: dict[str, str], words: str = "Here it is.") -> str:
    """A reply with whole files."""
    return words + "\n\n" + "\n".join(f"### {path}\n```python\n{text}```\n" for path, text in files.items())


def writer(*texts: str, judge: str = "", **more: str) -> Turns:
    """A seat that writes these slugs, one after the other; what it says in other rounds goes by their purpose.

    As a judge of two, it prefers the same work in both readings: what was called A is called B in the second.
    """
    rounds = [{"round": f"*-{purpose}*", "text": text} for purpose, text in more.items()]
    if judge:
        other = re.sub("candidate-([AB])", lambda found: f"candidate-{'BA'['AB'.index(found[1])]}", judge)
        rounds += [{"round": "*-judge-ab", "text": judge}, {"round": "*-judge-ba", "text": other}]
    writing = ("*-propose", "*-mend")[: len(texts)]
    written = zip(writing, texts, strict=True)
    return [*rounds, *({"round": round, "text": wrote({"slug.py": file})} for round, file in written)]


def verdict(base: str, incorporate: str = "none") -> str:
    """A judge's ruling as a model writes it."""
    return f"Both are fine.\nCONSENSUS: BASE={base}. INCORPORATE: {incorporate} MUST_FIX: none"


def slug_repository(folder: Path) -> Path:
    """A repository with a stub and a test that the stub fails."""
    repository(folder, {"slug.py": STUB, "test_slug.py": SLUG_TEST, "README.md": "Slugs.\n"})
    own_python(folder)
    return folder
