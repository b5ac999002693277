"""A grammar of hostile texts: a beginning, a part that is repeated, and an end, made of what readers look for."""

from __future__ import annotations

import random
from typing import NamedTuple

from tests.fuzz.seeds import damage, random_events, random_messages, random_reply, seeds

FENCES = ("```\n", "```python\n", "```python a.py\n", "````\n", "~~~\n", "~~~ x\n", "```", "`", "- ```\n", "   ```\n")
JSON_PARTS = (
    *(
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        '"',
        "'",
        "“",
        "\\",
        "\\u",
        "\\ud800",
        "/*",
        "*/",
        "//",
        "1",
        "1.",
        ".5",
        "1e9",
        "-",
    ),
    *('{"position":', '{"position": "', '{"a":[', '{"a":1}\n', '{a:"x', '{"answer": "', '"x"', "true", "null", "NaN"),
    *('{"position":"P1"}', '{"ratings":{"P1":"same"}}\n', '{"stand": "P1", ', '{"findings": [', '{"suspects": ["a"'),
)
TAGS = (
    *(
        "AGREE: ",
        "AGREE: P1\n",
        "OBJECT: ",
        "ADD: ",
        "PROVE: x\n",
        "PROVE: x\n```\n",
        "RANKING: ",
        "RANKING: P1 > P2\n",
    ),
    *("APPROVE\n", "REQUEST_CHANGES: x\n", "CONSENSUS: ", "DISCUSS: ", "BASE=", "BASE=A. ", "CRITICAL: ", "WARNINGS:"),
    *("P1: same\n", "2. x\n", "1. P1\n", "I agree ", "no objections ", "none ", "没有", "> ", "<think>", "</think>\n"),
)
CHANGES = (
    *("a.py\n", "# a.py\n", "a/", "path=a.py ", 'path="', "for=", "<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n"),
    *("diff --git a/x b/x\n", "--- a/x\n", "+++ b/x\n", "@@ -1 +1 @@\n", "@@ -1,99999 +1,99999 @@\n", "-x\n", "+x\n"),
    *(
        " x\n",
        "\\ No newline at end of file\n",
        "DELETE a.py\n",
        "RENAME a.py -> b.py\n",
        "# ... ",
        "rest of the code ",
    ),
    *("rename from a\n", "index 1..2\n", "new file mode 100644\n", "unchanged ", "and, ", "def f():\n", "--", "<!--"),
)
PLAIN = (
    *("a", "A", "0", " ", "\n", "\t", "\r", "\r\n", "\n\n", "  \n", ".", "…", "(", "<", "|", ";", "*", "**", "_", "# "),
    *(
        "- ",
        "é",
        "我",
        "\u200b",
        "\ufeff",
        "\x1b[",
        "\x1b]",
        "\x9b",
        "\x90",
        "\x9d",
        "\x00",
        "\u202e",
        "\ud800",
        "-",
        "=",
        "@",
        "/",
        "%s",
    ),
)
PROMPT_TAGS = (
    *('<note from="the person">', "</note>", '</answer>\n<answer from="B">', '<answer from = "A">', "< / context >"),
    *('<QUESTION FROM="x">', "</question>", '<memory from="x">', "<check from=", "</ check", "<\n/note>", "<note\n"),
)
CONTAINERS = (
    *(
        "FROM x\n",
        "RUN ",
        "RUN curl x | sh\n",
        "COPY . .\n",
        "ENV A=b\n",
        "# escape=`\n",
        "\\\n",
        "<<EOF\n",
        "EOF\n",
        "&& ",
    ),
    *(
        "services:\n",
        "  web:\n",
        "    image: x\n",
        "    volumes: [",
        "- /:/x\n",
        "&a ",
        "*a\n",
        "${",
        "$(",
        "| sh",
        "''",
        "#",
    ),
)
ASSIGNMENTS = (
    "key = ",
    "[a]\n",
    "[[a]]\n",
    '"""',
    "'''",
    "[a.b]\n",
    "a.b = 1\n",
    "api_key=",
    "token: ",
    "sk-",
    "eyJ",
    "://",
)
EVENTS = ("data: ", "data:", "\n\n", "event: x\n", ": comment\n", "data: {}\n\n", "data: [DONE]\n\n", "\r", "id: 1\n")

PARTS = (*FENCES, *JSON_PARTS, *TAGS, *CHANGES, *PLAIN, *PROMPT_TAGS, *CONTAINERS, *ASSIGNMENTS, *EVENTS)


class Shape(NamedTuple):
    """A hostile text of any length: `head`, then `unit` again and again, then `tail`."""

    head: str
    unit: str
    tail: str = ""

    def text(self, size: int) -> str:
        """The text with about this many repeated characters."""
        return self.head + self.unit * max(1, size // len(self.unit)) + self.tail


def random_shape(dice: random.Random) -> Shape:
    """A shape that repeats one to four parts."""
    unit = "".join(dice.choices(PARTS, k=dice.choice((1, 1, 2, 2, 3, 4))))
    head, tail = ("".join(dice.choices(PARTS, k=dice.choice((0, 0, 1, 2)))) for _ in range(2))
    return Shape(head, unit, tail)


SEEDS = tuple(seeds())


def random_text(dice: random.Random) -> str:
    """A short hostile text: half the time one that a reader accepts, damaged; else a text of parts."""
    if dice.random() < 0.5:
        return random_parts(dice)
    make = dice.choice((random_reply, random_reply, random_events, random_messages, None))
    return damage(dice, make(dice) if make else dice.choice(SEEDS), PARTS)


def random_parts(dice: random.Random) -> str:
    """A short text of parts, of their beginnings, and of arbitrary characters."""
    pieces: list[str] = []
    for _ in range(dice.randrange(1, 24)):
        part = dice.choice(PARTS)
        kind = dice.random()
        if kind < 0.1:
            part = part[: dice.randrange(len(part) + 1)]
        elif kind < 0.2:
            part = chr(dice.choice((dice.randrange(0xD800), dice.randrange(128), dice.randrange(0xE000, 0x10FFFF))))
        elif kind < 0.3:
            part *= dice.randrange(2, 9)
        pieces.append(part)
    return "".join(pieces)
