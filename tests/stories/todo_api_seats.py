"""Scripted seats and judges that build a to-do API with SQLite from an idea to a running program.

Their texts are in todo_api_words.toml and their programs in todo_api.toml.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

IDEA = "a to-do API with SQLite"
SEATS = ("claude", "gpt", "gemini")
STAGES = ("requirements", "architecture", "development", "code-review", "qa", "devops", "execution")
TITLES = ("Requirements", "Architecture", "Development", "Code Review", "QA", "DevOps", "Execution and Analysis")
REWORK_REQUEST = "Take one connection for all requests."
"""The person's instruction when the architecture stage runs again."""

SAID: dict[str, Any] = tomllib.loads((Path(__file__).parent / "todo_api_words.toml").read_text())
WRITTEN: dict[str, Any] = tomllib.loads((Path(__file__).parent / "todo_api.toml").read_text())
FILES: dict[str, dict[str, dict[str, str]]] = WRITTEN["files"]

RULINGS: dict[str, tuple[str, tuple[str, ...]]] = {
    "development": ("claude", ("replace Store.remove by {gpt}'s", "take read_title from {gemini}")),
    "qa": ("gpt", ("whole file test_titles.py from {gemini}",)),
    "devops": ("gemini", ()),
    "execution": ("claude", ()),
}
"""The base and the merge directives in each stage that writes files."""


def build_script(**options: Any) -> dict[str, Any]:
    """Return the script of all seats, with further top-level keys."""
    return {"seats": {seat: {"turns": _turns(seat)} for seat in SEATS}, **options}


def _turns(seat: str) -> list[dict[str, str]]:
    found = {"findings": SAID["findings"][seat]}
    purposes = {"code-review": "fix", "execution": "analyse"}
    turns = {word.replace("-", "*/*-"): words[seat] for word, words in SAID["words"].items()}
    turns["code-review*/*-chunk"] = f"I read all of it.\n\n```json\n{json.dumps(found)}\n```"
    turns |= {f"{file}*/*-{purposes.get(file, 'write')}": files_reply(files) for file, files in FILES[seat].items()}
    return [{"round": round, "text": text} for round, text in turns.items()]


def write_config(folder: Path, judges: str, **options: Any) -> str:
    """Write the script; return a config whose seats use it and judge through an endpoint at this URL."""
    path = folder / "seats.json"
    path.write_text(json.dumps(build_script(**options)))
    voices = f'voices = ["script:{path}"]\njudge = "court:judge"\n'
    seats = "".join(f"[seats.{name}]\n{voices}" for name in SEATS)
    court = f'[endpoints.court]\ndialect = "openai-chat"\nbase_url = "{judges}"\nkey = "none"\nlocal = true\n'
    return f"[table]\nseats = {json.dumps(SEATS)}\n{seats}{court}"


# --- the judge -------------------------------------------------------------------------------------


def judge_reply(prompt: str) -> str:
    """What a judge says to what it is shown. Candidates stand under letters that are drawn anew in every session."""
    words: dict[str, str] = SAID["judge"]
    match _stage_of(prompt):
        case "requirements":
            return words["requirements-1" if "marked as removed" in prompt else "requirements-2"]
        case "architecture":
            return words["architecture-again" if REWORK_REQUEST in prompt else "architecture"]
        case "code-review":
            return words["code-review"]
        case stage:
            base, parts = RULINGS[stage]
            names = _names(prompt, stage)
            wanted = "".join(f"\n- {part.format(**names)}" for part in parts) or " none"
            return f"They would do.\n\nCONSENSUS: BASE={names[base]}.\nINCORPORATE:{wanted}\nMUST_FIX: none"


def _stage_of(prompt: str) -> str:
    titles = dict(zip(TITLES, STAGES, strict=True))
    return next(stage for title, stage in titles.items() if f"Stage: {title}" in prompt)


def _names(prompt: str, stage: str) -> dict[str, str]:
    """By seat, the name under which its candidate stands in the prompt; it is known by a line only it has."""
    _, *sections = re.split(r'^<answer from="candidates: (candidate-[A-Z])">$', prompt, flags=re.MULTILINE)
    blocks = dict(zip(sections[::2], sections[1::2], strict=True))
    lines = {seat: {line for file in FILES[seat][stage].values() for line in file.splitlines()} for seat in SEATS}
    own_lines = {seat: lines[seat].difference(*(lines[other] for other in SEATS if other != seat)) for seat in SEATS}
    return {seat: name for name, text in blocks.items() for seat in SEATS if own_lines[seat] & set(text.splitlines())}


# --- the project -----------------------------------------------------------------------------------


def files_reply(files: dict[str, str]) -> str:
    """Return a model's reply that contains these files."""
    return "Here it is.\n\n" + "\n".join(
        f"```{path.rpartition('.')[2]} path={path}\n{file}```\n" for path, file in files.items()
    )


def replace_once(text: str, old: str, new: str) -> str:
    """Replace the only occurrence of a text."""
    assert text.count(old) == 1
    return text.replace(old, new)


def apply_edit(text: str, edit: str) -> str:
    """Apply one search-and-replace block to a text."""
    old, new = edit.removeprefix("<<<<<<< SEARCH\n").removesuffix(">>>>>>> REPLACE\n").split("=======\n")
    return replace_once(text, old, new)


def _paragraph_from(text: str, begins: str) -> str:
    """Return the text from this beginning to the next empty line."""
    start = text.index(begins)
    return text[start : text.index("\n\n", start)]


def expected_project(stage: str = STAGES[-1]) -> dict[str, str]:
    """Return the expected files after a stage, assembled by hand."""
    files = dict[str, str]()
    for name in STAGES[: STAGES.index(stage) + 1]:
        match name:
            case "development":
                files = _merged_program()
            case "code-review" | "execution":
                files["app.py"] = apply_edit(files["app.py"], FILES["claude"][name]["app.py"])
            case "qa":
                files |= FILES["gpt"][name] | FILES["gemini"][name]
            case "devops":
                files |= FILES["gemini"][name]
            case _:
                pass
    return files


def _merged_program() -> dict[str, str]:
    """Return claude's program with one method of gpt and one function of gemini."""
    (app, store), (_, others), (theirs, _) = (FILES[seat]["development"].values() for seat in SEATS)
    remove, read = "    def remove(", "def read_title("
    return {
        "app.py": replace_once(app, _paragraph_from(app, read), _paragraph_from(theirs, read)),
        "store.py": replace_once(store, _paragraph_from(store, remove), others[others.index(remove) :].rstrip("\n")),
    }
