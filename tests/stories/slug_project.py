"""A small repository with a slug function, and seats that write code for it."""

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
"""A test that SLUG fails and JOINED_SLUG passes."""
STUB = """def slugify(text):
    raise NotImplementedError
"""
TASK = "Make slugify() in slug.py return the words in small letters, joined by dashes."

Turns = list[dict[str, str]]


def files_reply(files: dict[str, str], words: str = "Here it is.") -> str:
    """Return a model's reply that contains these files."""
    return words + "\n\n" + "\n".join(f"### {path}\n```python\n{text}```\n" for path, text in files.items())


def slug_writer(*texts: str, judge: str = "", **options: str) -> Turns:
    """Return the turns of a seat that proposes these texts of slug.py, with replies for other rounds by their purpose.

    As a judge it prefers one candidate in both orders; the labels A and B are exchanged in the second order.
    """
    rounds = [{"round": f"*-{purpose}*", "text": text} for purpose, text in options.items()]
    if judge:
        other = re.sub("candidate-([AB])", lambda found: f"candidate-{'BA'['AB'.index(found[1])]}", judge)
        rounds += [{"round": "*-judge-ab", "text": judge}, {"round": "*-judge-ba", "text": other}]
    writing = ("*-propose", "*-mend")[: len(texts)]
    written = zip(writing, texts, strict=True)
    return [*rounds, *({"round": round, "text": files_reply({"slug.py": file})} for round, file in written)]


def merge_verdict(base: str, incorporate: str = "none") -> str:
    """Return a judge's reply in the format `judge-merge`."""
    return f"Both are fine.\nCONSENSUS: BASE={base}. INCORPORATE: {incorporate} MUST_FIX: none"


def create_slug_repository(folder: Path) -> Path:
    """Create a repository with a stub of slug.py and a test that the stub fails."""
    repository(folder, {"slug.py": STUB, "test_slug.py": SLUG_TEST, "README.md": "Slugs.\n"})
    own_python(folder)
    return folder
