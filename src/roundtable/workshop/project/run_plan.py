"""How a project says it is run: the file `run.toml` at its root, or what its other files let one guess.

[install]                       # what it needs from elsewhere; only with a person's yes
argv = ["pip", "install", "-r", "requirements.txt"]

[run]
argv = ["python", "app.py"]
seconds = 60                    # it is stopped after that

[check]                         # for a service: asks it whether it works, while it runs
argv = ["python", "check.py"]

[env]
PORT = "8000"
"""

from __future__ import annotations

import json
import posixpath
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from roundtable.core.decide.ruling import join_names
from roundtable.core.file_kinds import is_test_file
from roundtable.core.text.sanitize import reveal_hidden_characters, sanitize_line

RUN_PLAN_FILE = "run.toml"

_LARGEST = 16_000
_MOST, _LONGEST = 64, 4_000
_LONGEST_INSTALL = 1_000
_SECONDS = 600.0
_KEYS = {"install": ("argv",), "run": ("argv", "seconds"), "check": ("argv",)}
_ALSO_CALLED = ("command", "cmd", "args")
_SHELL = re.compile(r"&&|\|\||[|;<>&]|\$\(|`")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,60}")
_FENCE = re.compile(r"\A\s*```\w*\n(.*?)\n?```\s*\Z", re.DOTALL)
_PYTHON = ("main.py", "app.py", "server.py", "run.py", "cli.py", "__main__.py", "src/main.py", "src/app.py")
_JAVASCRIPT = ("server.js", "index.js", "app.js", "main.js", "server.mjs", "index.mjs")

TomlTable = dict[str, object]


class RunPlan(msgspec.Struct, frozen=True):
    """One program and what belongs to it, each by its argument list; `guess` says so where the project did not."""

    run: tuple[str, ...]
    seconds: float = 60.0
    install: tuple[str, ...] = ()
    check: tuple[str, ...] = ()
    env: dict[str, str] = {}
    guess: str = ""


class _Wrong(Exception):
    """What is wrong with a plan, and what to write instead."""


def choose_project_run_plan(files: Mapping[str, str]) -> RunPlan | str:
    """How these files are run, or in two sentences why nobody can tell."""
    return parse_project_run_plan(files[RUN_PLAN_FILE]) if RUN_PLAN_FILE in files else _guessed(files)


def parse_project_run_plan(text: str) -> RunPlan | str:
    """The plan in the text of a `run.toml`, or what is wrong with it and what to do."""
    try:
        return _plan(_sections(text))
    except _Wrong as wrong:
        return f"{RUN_PLAN_FILE} is not understood: {wrong}"


def _sections(text: str) -> dict[str, TomlTable]:
    if len(text) > _LARGEST:
        raise _Wrong(f"it has more than {_LARGEST:,} characters. Write only how the program is run.")
    fenced = _FENCE.match(text)
    try:
        found = cast(TomlTable, tomllib.loads(fenced[1] if fenced else text))
    except tomllib.TOMLDecodeError as error:
        raise _Wrong(
            f"it is no TOML ({sanitize_line(str(error), 100)}). Write [run] and below it argv = [...]."
        ) from None
    except ValueError:
        raise _Wrong("it has a number of too many digits. Write numbers that have a meaning.") from None
    except RecursionError:
        raise _Wrong("it is nested too deeply. Write [run] and below it argv = [...].") from None
    if "run" not in found:
        own = {key: found.pop(key) for key in ("argv", "seconds", *_ALSO_CALLED) if key in found}
        found["run"] = own
    if unknown := [key for key in found if key not in _KEYS and key != "env"]:
        raise _Wrong(f"{_named(unknown)} has no meaning there. It has [run], [install], [check] and [env].")
    return {name: _table(name, value) for name, value in found.items()}


def _table(name: str, value: object) -> TomlTable:
    if isinstance(value, str | list) and name != "env":
        return {"argv": cast(object, value)}
    if not isinstance(value, dict):
        raise _Wrong(f"{name} is no section. Write [{name}] on a line of its own.")
    table = cast(TomlTable, value)
    if name == "env":
        return table
    for other in _ALSO_CALLED:
        if other in table and "argv" not in table:
            table["argv"] = table.pop(other)
    if unknown := [key for key in table if key not in _KEYS[name]]:
        raise _Wrong(f"{_named(unknown)} has no meaning in [{name}]. It has {' and '.join(_KEYS[name])}.")
    return table


def _plan(sections: dict[str, TomlTable]) -> RunPlan:
    return RunPlan(
        _argv("run", sections["run"]),
        _seconds(sections["run"].get("seconds", 60.0)),
        _install(sections["install"]) if "install" in sections else (),
        _argv("check", sections["check"]) if "check" in sections else (),
        _env(sections.get("env", {})),
    )


def _argv(name: str, table: TomlTable) -> tuple[str, ...]:
    """An argument list. A line is taken apart as a shell would, and what only a shell understands is refused."""
    value = table.get("argv")
    if isinstance(value, str):
        if _SHELL.search(value):
            raise _Wrong(f"argv of [{name}] is written for a shell. Write one program and its arguments as a list.")
        try:
            words: Sequence[object] = shlex.split(value)
        except ValueError:
            raise _Wrong(f"a quote in argv of [{name}] is never closed. Write the arguments as a list.") from None
    else:
        words = cast("list[object]", value) if isinstance(value, list) else ()
    told = [_word(it) for it in words]
    argv = tuple(it for it in told if it is not None)
    if not argv or len(argv) < len(told) or not argv[0].strip():
        raise _Wrong(f'[{name}] names no program. Write argv = ["python", "main.py"] there, each argument in quotes.')
    if len(argv) > _MOST or any(len(it) > _LONGEST or "\0" in it for it in argv):
        raise _Wrong(f"argv of [{name}] is too long, or has a sign no argument can have. Write it shorter.")
    if argv[0].startswith("/") or posixpath.normpath(argv[0]).split("/")[0] == "..":
        raise _Wrong(
            f"[{name}] names a program outside the project. Write its bare name, or a path within the project."
        )
    return argv


def _install(table: TomlTable) -> tuple[str, ...]:
    """That of an install step, which a person must be able to read as a whole."""
    argv = _argv("install", table)
    if len(" ".join(argv)) > _LONGEST_INSTALL or any(reveal_hidden_characters(it) != it for it in argv):
        raise _Wrong(
            f"argv of [install] has more than {_LONGEST_INSTALL:,} characters, or one that nobody sees. "
            "Write it so that a person can read it."
        )
    return argv


def _word(value: object) -> str | None:
    """A plain value as it is written; some numbers are too long for that."""
    try:
        return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    except ValueError:
        return None


def _seconds(value: object) -> float:
    try:
        seconds = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else 0.0
    except (ValueError, OverflowError):
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise _Wrong(f"seconds of [run] is no time. Write a number between 1 and {_SECONDS:g}.")
    return min(max(seconds, 1.0), _SECONDS)


def _env(table: TomlTable) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in table.items():
        told = str(value).lower() if isinstance(value, bool) else _word(value)
        if told is None or not _VARIABLE.fullmatch(name) or len(told) > _LONGEST or "\0" in told:
            raise _Wrong(f'{_named([name])} in [env] is no variable. Write NAME = "value".')
        found[name] = told
    if "PATH" in found:
        raise _Wrong("[env] sets PATH, without which no program is found. Name programs by their path instead.")
    if len(found) > _MOST:
        raise _Wrong(f"[env] has more than {_MOST} variables. Write only those the program needs.")
    return found


def _named(names: Sequence[str]) -> str:
    return join_names([sanitize_line(it, 40) or "an empty name" for it in names[:3]])


# --- what can be guessed -----------------------------------------------------------------------


def _guessed(files: Mapping[str, str]) -> RunPlan | str:
    """The usual way to start what lies there."""
    run = _start(files)
    if not run:
        return f"Nothing says how this project is run. Add a {RUN_PLAN_FILE} with [run] and below it argv = [...]."
    packages = files.get("requirements.txt", "").splitlines()
    needs_packages = any(line.strip() and not line.startswith("#") for line in packages)
    install: tuple[str, ...] = ()
    if run[0] == "python" and needs_packages:
        install = ("python", "-m", "pip", "install", "-r", "requirements.txt")
    elif run[0] in ("npm", "node") and _package(files).get("dependencies"):
        install = ("npm", "install")
    return RunPlan(run, install=install, guess=f"There is no {RUN_PLAN_FILE}, so it was run as `{' '.join(run)}`.")


def _start(files: Mapping[str, str]) -> tuple[str, ...]:
    scripts = _package(files).get("scripts")
    if isinstance(scripts, dict) and "start" in scripts:
        return ("npm", "start")
    for usual, program in ((_PYTHON, "python"), (_JAVASCRIPT, "node"), (("run.sh", "start.sh"), "sh")):
        if found := next((path for path in usual if path in files), ""):
            return (program, found)
    if "main.go" in files:
        return ("go", "run", ".")
    alone = [path for path in files if path.endswith(".py") and "/" not in path and not is_test_file(path)]
    return ("python", alone[0]) if len(alone) == 1 else ()


def _package(files: Mapping[str, str]) -> TomlTable:
    try:
        told = json.loads(files.get("package.json", "{}"))
    except (ValueError, RecursionError):
        return {}
    return cast(TomlTable, told) if isinstance(told, dict) else {}
