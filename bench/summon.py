"""How soon `summon` has its prompt on a repository of 5,000 files, beside the `git diff` and `git ls-files` it needs.

python -m bench.summon [FILES]
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from roundtable.app.desk import Agenda, CodeSource, Places, Roundtable
from roundtable.core.values import Seat

FILES = 5_000
PER_FOLDER = 50
CHANGED = 40
RUNS = 15
BOUND = 3.0
SCRIPT = '{"turns": [{"text": "Fine."}]}'


def main() -> None:
    """Measure, print, and fail if the bound is broken."""
    files = int(sys.argv[1]) if len(sys.argv) > 1 else FILES
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "work"
        make_repository(workspace, files)
        home = Path(folder) / "home"
        result, prompt = asyncio.run(side_by_side(workspace, Places(home, home)))
        whole = statistics.median(seconds(lambda: command(workspace, home)) for _ in range(3))
    print(f"{files:,} files, {CHANGED} of them changed; medians in milliseconds")
    print(f"git diff and git ls-files         {result * 1000:8.1f}")
    print(f"summon, until the prompt is ready {prompt * 1000:8.1f}   {prompt / result:.2f} times as long")
    print(f"the whole command, with a scripted seat and start-up {whole * 1000:8.1f}")
    if prompt > BOUND * result:
        sys.exit(f"More than {BOUND:g} times what git takes.")


def make_repository(workspace: Path, files: int) -> None:
    """A repository with so many files, some of them changed, and folders that nobody should look into."""
    for number in range(files):
        path = workspace / f"package{number // PER_FOLDER:03}" / f"module{number % PER_FOLDER:03}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"def f{number}_{line}(value):\n    return value * {line}\n" for line in range(20)))
    (workspace / ".gitignore").write_text("node_modules/\n*.log\n")
    (workspace / "s.json").write_text(SCRIPT)
    git(workspace, "init", "-q", "-b", "main")
    git(workspace, "add", "-A")
    git(workspace, "-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-qm", "All of it")
    for number in range(0, files, max(1, files // CHANGED)):
        path = workspace / f"package{number // PER_FOLDER:03}" / f"module{number % PER_FOLDER:03}.py"
        path.write_text(path.read_text().replace("value * 7", "value * 8"))
    (workspace / "node_modules").mkdir()
    for number in range(files // 10):
        (workspace / "node_modules" / f"{number}.js").write_text("ignored\n")


def git(workspace: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=workspace, check=True, stdout=subprocess.DEVNULL)


def git_alone(workspace: Path) -> None:
    """What a person would wait for git alone."""
    git(workspace, "diff", "HEAD")
    git(workspace, "ls-files", "-co", "--exclude-standard")


def seconds(act: Callable[[], object]) -> float:
    """How long it takes."""
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


async def side_by_side(workspace: Path, places: Places) -> tuple[float, float]:
    """Git alone, and from the command's first step to a charter with everything in it, at a desk that is open.

    In turns, so that a busy machine is as busy for both; the first of each only warms the caches.
    """
    seats = (Seat("a", ("script:s.json",)), Seat("b", ("script:s.json",)))
    durations: list[float] = []
    prompt: list[float] = []
    async with await Roundtable.open(workspace, places) as desk:
        for _ in range(RUNS + 1):
            durations.append(seconds(lambda: git_alone(workspace)))
            begun = time.perf_counter()
            await desk.meetings.draft(
                Agenda("Review these changes.", seats, texts=CodeSource(workspace).read_uncommitted().texts)
            )
            prompt.append(time.perf_counter() - begun)
    return statistics.median(durations[1:]), statistics.median(prompt[1:])


def command(workspace: Path, home: Path) -> None:
    """The whole command line, from nothing to its end; what it decides does not matter here."""
    seats = ("--seat", "a=script:s.json", "--seat", "b=script:s.json")
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [sys.executable, "-m", "roundtable", "summon", *seats, "--headless", "--json"],
            cwd=workspace,
            env=os.environ | {"ROUNDTABLE_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )


if __name__ == "__main__":
    main()
