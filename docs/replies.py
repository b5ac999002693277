"""The forms of replies, made from the codecs: what a seat is asked for, and an example that is read."""

from __future__ import annotations

import re

from roundtable.core.replies import CODECS
from roundtable.core.values import Expect

CHOICES = ("A", "B", "C")
"""What there is to choose from in the examples, where a form has choices."""
OF_FILES = ("changes", "changes-in-parts")
"""Forms whose choices are paths; without any, all may be written."""

_BLANK = re.compile(r"<([^<>]+)>")
_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"^[A-Z_]+(?::.*)?$", re.MULTILINE)
_PLACES = {"best": "A", "second": "B", "third": "C"}
_SAMPLES = {
    "path/to/file.py": "src/hello.py",
    "the complete new file, every line of it": 'print("Hello")',
    "old lines": 'print("Hi")',
    "new lines": 'print("Hello")',
}


def forms() -> str:
    """Every form with its example."""
    return "".join(_section(name) for name in CODECS)


def _section(name: str) -> str:
    form = CODECS[name].text_format(Expect(name, () if name in OF_FILES else CHOICES)).strip()
    instruction = f"A seat is asked:\n\n{_indented(form)}\n\n" if form else ""
    return f"\n## {name}\n\n{instruction}A reply:\n\n{_indented(_example(form))}\n"


def _example(form: str) -> str:
    """Words, and below them the last block of the form, or the first of the lines it allows, filled in."""
    stated = _BLOCK.findall(form)[-1:] or _LINE.findall(form)[:1]
    filled = "".join(_BLANK.sub(_filling, item) for item in stated)
    for asked, sample in _SAMPLES.items():
        filled = filled.replace(asked, sample)
    return f"I have thought about it.\n\n{filled}".strip()


def _filling(blank: re.Match[str]) -> str:
    """What stands in place of a blank, judged by how it is described."""
    words = blank[1]
    if words.startswith("0 to 10"):
        return "8"
    if words.startswith("true or false"):
        return "false"
    if words.startswith("a program"):
        return "raise SystemExit(0)"
    if "empty" in words:
        return ""
    if words.endswith("or none"):
        return "none"
    if choices := re.search(r": ([^:]+) \| ", words):
        return choices[1].partition(" | ")[0]
    if such := re.search(r"such as ([\w./:-]+)", words):
        return such[1]
    if dashed := re.search(r"\w+(?:-\w+){2,}$", words):
        return dashed[0]
    return _PLACES.get(words, words)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())
