"""`voices`: who can be given a seat from here, and how to write it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from roundtable.doors.cli.output import run_at_desk
from roundtable.doors.cli.tables import print_json, print_table

if TYPE_CHECKING:
    from roundtable.app.desk import EndpointState, Roundtable

_USAGE = """
Seats on the command line: --seat NAME=VOICE[,FALLBACK…]
  endpoint:model          openai:gpt-4o, ollama:llama3.2; add other servers under [endpoints.NAME] in the config
  cli:agent[:model]       an agent you are logged in to: claude, codex, gemini, agy, opencode
  acp:agent[:model]       an agent over the Agent Client Protocol: gemini, opencode, claude with its adapter
  embedded:model          a model on this machine; `roundtable models` lists them
  script:path.toml        a scripted seat, for testing
""".strip("\n")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def voices_command(as_json: bool) -> None:
    """List the voices you can use from here.

    Keys are looked up but never shown, and no paid model is asked.

    \b
    Example:
      roundtable voices
    """

    async def look(desk: Roundtable) -> dict[str, Any]:
        return {
            "v": 1,
            "endpoints": await desk.setup.list_endpoints(),
            "agents": desk.setup.list_agents(),
            "embedded": desk.setup.list_models(),
            "embedded_runtime": desk.setup.has_model_runtime(),
        }

    found = run_at_desk(look)
    if as_json:
        print_json(found)
        return
    rows = [(it.voice, "yes" if it.usable else "no", _endpoint_note(it) + _judges(it)) for it in found["endpoints"]]
    rows += [(f"cli:{name}", "yes", path) for name, path in found["agents"].items()]
    for model in found["embedded"]:
        usable = "yes" if model.installed and found["embedded_runtime"] else "no"
        note = model.title if model.installed else f"{model.title}; `roundtable models get {model.name}` downloads it"
        rows.append((f"embedded:{model.name}", usable, note))
    print_table(("voice", "usable", "note"), rows)
    click.echo("\n" + _USAGE, err=True)


def _judges(it: EndpointState) -> str:
    return f"; judges as {it.judge}" if it.judge and it.usable else ""


def _endpoint_note(it: EndpointState) -> str:
    if it.local:
        return f"{it.title} at {it.base_url}" if it.answers else f"{it.title}: no server answers at {it.base_url}"
    name = it.key.partition(":")[2]
    if not it.key_present:
        variable = f"set {name}, or " if it.key.startswith("env:") else ""
        return f"{it.title}: {variable}`roundtable keys set {it.name}`"
    return f"{it.title}, key from {it.key_origin}" if name else f"{it.title}, needs no key"
