"""Writes the parts of docs/ that are made from the code; `--check` fails when they have gone stale."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

import click
import msgspec
from features import features
from replies import forms

from roundtable.app.opening.stage_lists import ShippedStages
from roundtable.app.settings.config import (
    Config,
    ContextSettings,
    HookSettings,
    LimitSettings,
    MemorySettings,
    QuorumSettings,
    SeatSettings,
    TableSettings,
    WorktreeSettings,
)
from roundtable.core.decide import decrees
from roundtable.core.events import EVENT_KINDS, PERSON_EVENTS, UnknownEvent, build_event_schemas
from roundtable.core.faults import Fault, FaultKind
from roundtable.core.stages import encode_session_stages
from roundtable.doors.cli.main import cli as command_line
from roundtable.meetings import MEETINGS
from roundtable.voices.agents.catalog import Agent, load_shipped_agent_clis
from roundtable.voices.endpoints import Endpoint, load_shipped_voice_endpoints
from roundtable.workshop.sandbox import SandboxSettings

DOCS = Path(__file__).parent
HEAD = "<!-- Made by docs/generate.py from the code. Edit the code, then run `make docs`. -->\n\n"


def first_line(thing: Any) -> str:
    """The sentence that says why something exists."""
    return (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")


def events() -> str:
    """Every kind of fact."""
    parts = [HEAD + "# Events\n\nThe record is made of these facts and nothing else. One line of `--json`, one line "]
    parts.append("of JSONL and one SSE data field are the same object: `v`, `seq`, `at`, `session`, `kind`, and the ")
    parts.append("event's own fields beside them. `docs/schemas/events.json` has the JSON Schemas.\n")
    for kind, event in EVENT_KINDS.items():
        if event is UnknownEvent:
            continue
        whose = "a person's, always taken" if event in PERSON_EVENTS else "the engine's, fenced by its lease"
        fields = ", ".join(f"`{field.encode_name}`" for field in msgspec.structs.fields(event)) or "none"
        parts.append(f"\n## {kind}\n\n{first_line(event)}\n\nWhose: {whose}. Fields: {fields}.\n")
    parts.append("\n## delta\n\nWords being said right now: shown, never stored, and the only line without a `seq`.\n")
    return "".join(parts)


def settings() -> str:
    """Every setting a config file may hold."""
    parts = [HEAD + "# Settings\n\nThe command line over `.roundtable/config.toml` over the person's `config.toml`.\n"]
    tables = {
        "(top)": Config,
        "[table]": TableSettings,
        "[limits]": LimitSettings,
        "limits.quorum": QuorumSettings,
        "[context]": ContextSettings,
        "[sandbox]": SandboxSettings,
        "[worktrees]": WorktreeSettings,
        "[memory]": MemorySettings,
        "[hooks]": HookSettings,
        "[seats.NAME]": SeatSettings,
        "[endpoints.NAME]": Endpoint,
        "[agents.NAME]": Agent,
    }
    for name, table in tables.items():
        parts.append(f"\n## {name}\n\n{first_line(table)}\n\n| key | default |\n|---|---|\n")
        for field in msgspec.structs.fields(table):
            default = field.default if field.default is not msgspec.NODEFAULT else ""
            default = ", ".join(map(str, default)) if isinstance(default, tuple) else default
            default_text = default if isinstance(default, str | int | float | bool) and default != "" else ""
            parts.append(f"| `{field.encode_name}` | {default_text} |\n")
    parts.append("\n## [checks]\n\nChecks that seats may ask for, each a name and a list of arguments, such as ")
    parts.append('`tests = ["pytest", "-q"]`. They are run in a sandbox that only reads; see context.md.\n')
    parts.append('\n[hooks] are lists of arguments too, such as `consensus_reached = ["notify-send", "Roundtable"]`. ')
    parts.append("A hook reads one line of JSON: `hook`, `session`, `question`, `outcome`, `position`.\n")
    for name, meeting in MEETINGS.items():
        if options := meeting.settable():
            parts.append(f"\n## [meetings.{name}]\n\n{meeting.summary}\n\n| key | default |\n|---|---|\n")
            parts += [f"| `{key}` | {default} |\n" for key, default in options.items()]
    return "".join(parts)


def endpoints() -> str:
    """Every endpoint that is shipped."""
    parts = [HEAD + "# Endpoints\n\nWhere voices such as `openai:gpt-4o` are reached. Each is a data file in "]
    parts.append("`voices/catalog/endpoints/`; `[endpoints.NAME]` in a config file adds one or replaces one, and ")
    parts.append("without a `base_url` changes one.\n\n")
    parts.append("| name | | dialect | key | speaks by default | judges by default |\n|---|---|---|---|---|---|\n")
    for name, endpoint in load_shipped_voice_endpoints().items():
        models = (f"`{model}`" if model else "" for model in (endpoint.default_model, endpoint.judge_model))
        parts.append(f"| `{name}` | {endpoint.title} | {endpoint.dialect} | {endpoint.key} | {' | '.join(models)} |\n")
    return "".join(parts)


def agents() -> str:
    """Every agent command line that is shipped."""
    parts = [HEAD + "# Agents\n\nCoding agents that can take a seat as `cli:NAME` or `cli:NAME:MODEL`, with your own "]
    parts.append(
        "login. Each is described by a file in `voices/catalog/agents/`; `[agents.NAME]` in the config changes one, "
    )
    parts.append(
        "such as its `command` (a name or a path) or its `default_model`. Agents that edit files do so in `build` "
    )
    parts.append("and `apply`, each in its own worktree (worktrees.md).\n\n")
    parts.append(
        "| name | program | tested with | adds to a prompt | structured output | keeps its session | edits files "
        "| also as `acp:NAME` |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    for name, agent in load_shipped_agent_clis().items():
        answers = ("yes" if answer else "no" for answer in (agent.structured, agent.keeps_session, agent.can_edit))
        adds = f"{agent.overhead_bytes} bytes" if agent.overhead_bytes else "not measured"
        acp = "no" if agent.acp is None else f"with `{agent.acp.command}`" if agent.acp.command else "yes"
        row = (f"`{name}`", agent.title, agent.checked or "not tested", adds, *answers, acp)
        parts.append(f"| {' | '.join(row)} |\n")
    parts += (
        f"\n`{name}`: {' '.join(item.unverified.split())}\n"
        for name, item in load_shipped_agent_clis().items()
        if item.unverified
    )
    return "".join(parts)


def reference() -> str:
    """The closed sets: faults, meetings, codecs."""
    parts = [HEAD + "# Reference\n\n# Faults\n\nThe ways in which a seat can fail to answer.\n\n"]
    parts.append("| fault | retried | what a person can do |\n|---|---|---|\n")
    for kind in FaultKind:
        fault = Fault.of(kind, "")
        parts.append(f"| `{kind}` | {'yes' if fault.retryable else 'no'} | {fault.help} |\n")
    parts.append(
        "\n# Meetings\n\nEach meeting with its rounds, their reply formats and its gates. Every meeting may also "
    )
    parts.append(f"open the gate `{decrees.DECREE_GATE}`, when a decision repeats a rejected proposal.\n\n")
    for name, meeting in MEETINGS.items():
        parts.append(f"- `{name}` (version {meeting.version}): {meeting.summary}\n")
        rounds = dict.fromkeys(f"{each.template} `{each.codec}`" for each in meeting.planned_rounds(_fullest(name), ()))
        parts.append(f"  - rounds: {', '.join(rounds)}\n")
        parts.append(f"  - gates: {', '.join(f'`{gate}`' for gate in meeting.gates) or 'none of its own'}\n")
    parts.append("\n# Reply formats\n\nThe formats in which a seat is asked for its verdict, with a valid reply in ")
    parts.append("each; the choices in these examples are A, B and C.\n")
    parts.append(forms())
    return "".join(parts)


def _fullest(meeting: str) -> dict[str, Any]:
    """The settings with which a meeting comes to most kinds of rounds."""
    if meeting == "second-opinion":
        return {"follow_up": True}
    return {"stages": encode_session_stages(ShippedStages.load().stages)} if meeting == "sdlc" else {}


def commands() -> str:
    """The help of every command, as people see it."""
    parts = [HEAD + "# Commands\n"]
    context = click.Context(command_line, info_name="roundtable")
    for name in command_line.list_commands(context):
        command = command_line.get_command(context, name)
        assert command is not None
        parts.append(_help(command, context, f"roundtable {name}"))
        if isinstance(command, click.Group):
            inner = click.Context(command, info_name=name, parent=context)
            parts += [_help(sub, inner, f"roundtable {name} {title}") for title, sub in command.commands.items()]
    return "".join(parts)


def _help(command: click.Command, parent: click.Context, title: str) -> str:
    context = click.Context(command, info_name=command.name, parent=parent, max_content_width=100, terminal_width=100)
    return f"\n## {title}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"


def pages() -> dict[Path, str]:
    """Everything generated, by file."""
    schemas = json.dumps(build_event_schemas(), indent=1, sort_keys=True) + "\n"
    return {
        DOCS / "schemas" / "events.json": schemas,
        DOCS / "events.md": events(),
        DOCS / "endpoints.md": endpoints(),
        DOCS / "agents.md": agents(),
        DOCS / "settings.md": settings(),
        DOCS / "reference.md": reference(),
        DOCS / "commands.md": commands(),
        DOCS / "features.md": features(HEAD),
    }


def run() -> int:
    """Write, or only compare."""
    check = "--check" in sys.argv
    stale = [path for path, text in pages().items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if check:
            print(f"{path.name} is stale: run `make docs`.", file=sys.stderr)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(pages()[path])
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(run())
