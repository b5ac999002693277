"""A program that behaves like an agent's command line: it replays a recording and can misbehave in addition.

Run by its path; it imports nothing of Roundtable. It writes its input to `--notes`, one JSON line for each start.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


def main() -> None:
    """Read the prompt, say what is recorded, then do what is asked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--says", type=Path)
    parser.add_argument("--notes", type=Path)
    parser.add_argument("--trouble", default="", help="words for standard error")
    parser.add_argument("--exit", type=int, default=0)
    parser.add_argument("--writes", action="append", default=[], metavar="PATH=FILE", help="a copy of a file, here")
    parser.add_argument("--act", default="")
    parser.add_argument("given", nargs="*")
    options = parser.parse_args()
    prompt = "" if options.act == "reads nothing" else sys.stdin.buffer.read().decode()
    if options.notes:
        _note(options.notes, options.given, prompt)
    for path, _, source in (write.partition("=") for write in options.writes):
        Path(path).write_bytes(Path(source).read_bytes())
    if options.act == "does not know the session" and "--resume" in options.given:
        sys.stderr.write("No conversation found with session ID: gone\n")
        sys.exit(1)
    if options.says:
        _say(options.says.read_text(), options.act)
    if options.trouble:
        sys.stderr.write(options.trouble + "\n")
        sys.stderr.flush()
    _act(options.act, options.notes)
    sys.exit(options.exit)


def _say(text: str, act: str) -> None:
    first, _, rest = text.partition("\n")
    if act == "works in silence":
        time.sleep(1.5)
        print(first, flush=True)
    sys.stdout.write(rest if act == "works in silence" else text)
    sys.stdout.flush()


def _note(path: Path, arguments: list[str], prompt: str) -> None:
    entry = {"argv": arguments, "prompt": prompt, "env": dict(os.environ), "cwd": os.getcwd(), "files": os.listdir()}
    with path.open("a") as file:
        file.write(json.dumps(entry) + "\n")


def _act(act: str, notes: Path | None) -> None:
    if act in ("stays", "reads nothing"):
        time.sleep(600)
    elif act == "stays whatever it is told":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    elif act == "leaves children":
        _have_children(notes)
    elif act == "leaves children and stays":
        _have_children(notes)
        time.sleep(600)
    elif act == "floods":
        while True:
            os.write(1, b"x" * 65536)
    elif act == "breaks off":
        os.write(1, b'{"type": "stream_ev')
    elif act == "is killed":
        os.kill(os.getpid(), signal.SIGKILL)


def _have_children(notes: Path | None) -> None:
    """One child in our process group, one in a session of its own that also ignores polite signals."""
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
    near = subprocess.Popen(SLEEP)
    far = subprocess.Popen([sys.executable, "-c", stubborn], start_new_session=True, stdout=subprocess.PIPE)
    assert far.stdout is not None
    far.stdout.readline()
    assert notes is not None
    (notes.parent / "children").write_text(json.dumps([os.getpid(), near.pid, far.pid]))


if __name__ == "__main__":
    main()
