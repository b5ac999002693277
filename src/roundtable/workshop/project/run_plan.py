"""The run plan of a project: the file `run.toml` at its root, or a guess from its other files.

[install]                       # what it needs from the network; only with a person's yes
argv = ["pip", "install", "-r", "requirements.txt"]

[run]
argv = ["python", "app.py"]
seconds = 60                    # the program is stopped after that

[check]                         # for a service: a program that tests it while it runs
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

from roundtable.core.text.file_names import is_test_file_name
from roundtable.core.text.sanitize import reveal_hidden_characters, sanitize_line
from roundtable.core.text.wording import join_names_as_text

RUN_PLAN_FILE = "run.toml"

_MAX_FILE_CHARACTERS = 16_000
_MAX_ENTRIES, _MAX_CHARACTERS = 64, 4_000
_MAX_INSTALL_CHARACTERS = 1_000
_MAX_SECONDS = 600.0
_SECTION_KEYS = {"install": ("argv",), "run": ("argv", "seconds"), "check": ("argv",)}
_ARGV_ALIASES = ("command", "cmd", "args")
_SHELL_SYNTAX = re.compile(r"&&|\|\||[|;<>&]|\$\(|`")
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,60}")
_FENCE = re.compile(r"\A\s*```\w*\n(.*?)\n?```\s*\Z", re.DOTALL)
_PYTHON_MAIN_FILES = ("main.py", "app.py", "server.py", "run.py", "cli.py", "__main__.py", "src/main.py", "src/app.py")
_JAVASCRIPT_MAIN_FILES = ("server.js", "index.js", "app.js", "main.js", "server.mjs", "index.mjs")

TomlTable = dict[str, object]


class RunPlan(msgspec.Struct, frozen=True):
    """The argument lists for each step of running a project. `guess` says so if the project has no plan of its own."""

    run: tuple[str, ...]
    seconds: float = 60.0
    install: tuple[str, ...] = ()
    check: tuple[str, ...] = ()
    env: dict[str, str] = {}
    guess: str = ""


class _InvalidPlan(Exception):
    """A plan is invalid; the message says what is wrong and what to write instead."""


def choose_project_run_plan(files: Mapping[str, str]) -> RunPlan | str:
    """Return how these files are run, or in two sentences why that is unknown."""
    return parse_project_run_plan(files[RUN_PLAN_FILE]) if RUN_PLAN_FILE in files else _guess_plan(files)


def parse_project_run_plan(text: str) -> RunPlan | str:
    """Parse the text of a `run.toml`; if it is invalid, return what is wrong and what to do."""
    try:
        return _build_plan(_read_sections(text))
    except _InvalidPlan as error:
        return f"{RUN_PLAN_FILE} is invalid: {error}"


def _read_sections(text: str) -> dict[str, TomlTable]:
    if len(text) > _MAX_FILE_CHARACTERS:
        raise _InvalidPlan(f"it has more than {_MAX_FILE_CHARACTERS:,} characters. Write only how the program is run.")
    fenced = _FENCE.match(text)
    try:
        sections = cast(TomlTable, tomllib.loads(fenced[1] if fenced else text))
    except tomllib.TOMLDecodeError as error:
        raise _InvalidPlan(
            f"it is not valid TOML ({sanitize_line(str(error), 100)}). Write a [run] section with argv = [...]."
        ) from None
    except ValueError:
        raise _InvalidPlan("a number has too many digits. Write a shorter number.") from None
    except RecursionError:
        raise _InvalidPlan("it is nested too deeply. Write a [run] section with argv = [...].") from None
    if "run" not in sections:
        top_level = {key: sections.pop(key) for key in ("argv", "seconds", *_ARGV_ALIASES) if key in sections}
        sections["run"] = top_level
    if unknown := [key for key in sections if key not in _SECTION_KEYS and key != "env"]:
        raise _InvalidPlan(
            f"unknown section: {_shown_names(unknown)}. Known sections: [run], [install], [check] and [env]."
        )
    return {name: _read_section(name, value) for name, value in sections.items()}


def _read_section(name: str, value: object) -> TomlTable:
    if isinstance(value, str | list) and name != "env":
        return {"argv": cast(object, value)}
    if not isinstance(value, dict):
        raise _InvalidPlan(f"{name} is not a section. Write [{name}] on a line of its own.")
    table = cast(TomlTable, value)
    if name == "env":
        return table
    for other in _ARGV_ALIASES:
        if other in table and "argv" not in table:
            table["argv"] = table.pop(other)
    if unknown := [key for key in table if key not in _SECTION_KEYS[name]]:
        raise _InvalidPlan(
            f"unknown key in [{name}]: {_shown_names(unknown)}. Known keys: {' and '.join(_SECTION_KEYS[name])}."
        )
    return table


def _build_plan(sections: dict[str, TomlTable]) -> RunPlan:
    return RunPlan(
        _read_argv("run", sections["run"]),
        _read_seconds(sections["run"].get("seconds", 60.0)),
        _read_install_argv(sections["install"]) if "install" in sections else (),
        _read_argv("check", sections["check"]) if "check" in sections else (),
        _read_env(sections.get("env", {})),
    )


def _read_argv(name: str, table: TomlTable) -> tuple[str, ...]:
    """Return an argument list. A string is split as a shell would; shell syntax in it is refused."""
    value = table.get("argv")
    if isinstance(value, str):
        if _SHELL_SYNTAX.search(value):
            raise _InvalidPlan(f"argv of [{name}] uses shell syntax. Write one program and its arguments as a list.")
        try:
            words: Sequence[object] = shlex.split(value)
        except ValueError:
            raise _InvalidPlan(f"a quote in argv of [{name}] is not closed. Write the arguments as a list.") from None
    else:
        words = cast("list[object]", value) if isinstance(value, list) else ()
    texts = [_as_text(word) for word in words]
    argv = tuple(word for word in texts if word is not None)
    if not argv or len(argv) < len(texts) or not argv[0].strip():
        raise _InvalidPlan(
            f'[{name}] names no program. Write argv = ["python", "main.py"] there, each argument in quotes.'
        )
    if len(argv) > _MAX_ENTRIES or any(len(argument) > _MAX_CHARACTERS or "\0" in argument for argument in argv):
        raise _InvalidPlan(f"argv of [{name}] is too long or has an invalid character. Write it shorter.")
    if argv[0].startswith("/") or posixpath.normpath(argv[0]).split("/")[0] == "..":
        raise _InvalidPlan(
            f"[{name}] names a program outside the project. Write its bare name, or a path within the project."
        )
    return argv


def _read_install_argv(table: TomlTable) -> tuple[str, ...]:
    """Return the argument list of the install step, which a person must be able to read completely."""
    argv = _read_argv("install", table)
    if len(" ".join(argv)) > _MAX_INSTALL_CHARACTERS or any(
        reveal_hidden_characters(argument) != argument for argument in argv
    ):
        raise _InvalidPlan(
            f"argv of [install] has more than {_MAX_INSTALL_CHARACTERS:,} characters, or an invisible one. "
            "Write an argv that a person can read."
        )
    return argv


def _as_text(value: object) -> str | None:
    """Return a plain value as text; None for other values and for numbers that are too long."""
    try:
        return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    except ValueError:
        return None


def _read_seconds(value: object) -> float:
    try:
        seconds = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else 0.0
    except (ValueError, OverflowError):
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise _InvalidPlan(f"seconds of [run] is not a valid time. Write a number between 1 and {_MAX_SECONDS:g}.")
    return min(max(seconds, 1.0), _MAX_SECONDS)


def _read_env(table: TomlTable) -> dict[str, str]:
    variables: dict[str, str] = {}
    for name, value in table.items():
        text = str(value).lower() if isinstance(value, bool) else _as_text(value)
        if text is None or not _VARIABLE_NAME.fullmatch(name) or len(text) > _MAX_CHARACTERS or "\0" in text:
            raise _InvalidPlan(f'{_shown_names([name])} in [env] is not a valid variable. Write NAME = "value".')
        variables[name] = text
    if "PATH" in variables:
        raise _InvalidPlan("[env] must not set PATH. Name programs by their path instead.")
    if len(variables) > _MAX_ENTRIES:
        raise _InvalidPlan(f"[env] has more than {_MAX_ENTRIES} variables. Write only those the program needs.")
    return variables


def _shown_names(names: Sequence[str]) -> str:
    return join_names_as_text([sanitize_line(name, 40) or "an empty name" for name in names[:3]])


# --- what can be guessed -----------------------------------------------------------------------


def _guess_plan(files: Mapping[str, str]) -> RunPlan | str:
    """Return the usual way to start a project with these files."""
    run = _guess_program(files)
    if not run:
        return (
            "Roundtable does not know how to run this project. "
            f"Add a {RUN_PLAN_FILE} that contains a [run] section with argv = [...]."
        )
    requirements = files.get("requirements.txt", "").splitlines()
    needs_packages = any(line.strip() and not line.startswith("#") for line in requirements)
    install: tuple[str, ...] = ()
    if run[0] == "python" and needs_packages:
        install = ("python", "-m", "pip", "install", "-r", "requirements.txt")
    elif run[0] in ("npm", "node") and _read_package_json(files).get("dependencies"):
        install = ("npm", "install")
    return RunPlan(
        run, install=install, guess=f"There is no {RUN_PLAN_FILE}, so the project was run as `{' '.join(run)}`."
    )


def _guess_program(files: Mapping[str, str]) -> tuple[str, ...]:
    scripts = _read_package_json(files).get("scripts")
    if isinstance(scripts, dict) and "start" in scripts:
        return ("npm", "start")
    for main_files, program in (
        (_PYTHON_MAIN_FILES, "python"),
        (_JAVASCRIPT_MAIN_FILES, "node"),
        (("run.sh", "start.sh"), "sh"),
    ):
        if main_file := next((path for path in main_files if path in files), ""):
            return (program, main_file)
    if "main.go" in files:
        return ("go", "run", ".")
    single_files = [path for path in files if path.endswith(".py") and "/" not in path and not is_test_file_name(path)]
    return ("python", single_files[0]) if len(single_files) == 1 else ()


def _read_package_json(files: Mapping[str, str]) -> TomlTable:
    try:
        package = json.loads(files.get("package.json", "{}"))
    except (ValueError, RecursionError):
        return {}
    return cast(TomlTable, package) if isinstance(package, dict) else {}
