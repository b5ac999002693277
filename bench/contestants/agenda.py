"""What every contestant is asked, word for word, and where its words go."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager

KEY = "sk-local"
SEATS = ("ada", "ben", "cyd")
SYSTEM = "You sit at a round table with other experts. Answer plainly, and say what would change your mind."
QUESTION = "REST or GraphQL for the public API of a small product with five screens and two developers?"
BLIND = "Answer the question on your own. Give your reasons in a few sentences, then your position."
AGAIN = "Above are the others' answers. Reconsider, and write your answer again so that it can stand alone."
JUDGE = "Above is what the table said. Judge: name the strongest answer and say why in a few sentences."


@contextmanager
def sink() -> Generator[int]:
    """A pipe whose other end is read and forgotten by another process."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as reader:
        assert reader.stdin is not None
        yield reader.stdin.fileno()


@contextmanager
def lines() -> Generator[Callable[[bytes], None]]:
    """The same for whoever writes whole lines: each is flushed at once."""
    with sink() as fd, open(fd, "wb", closefd=False) as out:

        def tell(line: bytes) -> None:
            out.write(line + b"\n")
            out.flush()

        yield tell
