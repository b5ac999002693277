"""All agents of a process: which exist, which can speak, and the pacer of each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from roundtable.core.faults import Fault, FaultKind
from roundtable.core.text.wording import did_you_mean_text
from roundtable.voices.agents.acp import adapt_agent_cli_to_acp
from roundtable.voices.agents.agent_voice import AgentKind, AgentVoice, find_agent_cli_program
from roundtable.voices.agents.catalog import Agent, LocalServerSetup
from roundtable.voices.agents.workdirs import (
    fill_agent_cli_placeholders,
    remove_stale_agent_cli_folders,
    write_agent_cli_files,
)
from roundtable.voices.rate_limits import CallPacer


class AgentVoices:
    """Finds the voice of `cli:agent`, `cli:agent:model`, `acp:agent` and `acp:agent:model`."""

    def __init__(self, agents: Mapping[str, Agent], environ: Mapping[str, str] | None = None) -> None:
        self._agents = agents
        self._environ = os.environ if environ is None else environ
        self._paces: dict[str, CallPacer] = {}
        remove_stale_agent_cli_folders()

    def find_voice(self, name: str, kind: AgentKind = "cli") -> AgentVoice | Fault:
        """Return the voice of an agent, `name` or `name:model`, or a fault that says why there is none."""
        name, _, model = name.partition(":")
        agent = self._agents.get(name)
        if agent is None:
            message = f"There is no agent called `{name}`.{did_you_mean_text(name, self._agents)}"
            return Fault.of(FaultKind.MISSING, message, help=f"Known agents: {', '.join(self._agents)}.")
        if kind == "acp" and agent.acp is None:
            names = ", ".join(name for name, known_agent in self._agents.items() if known_agent.acp is not None)
            message = f"The agent `{name}` has no settings for the Agent Client Protocol."
            return Fault.of(
                FaultKind.MISSING, message, help=f"Use cli:{name}. These agents support the protocol: {names}."
            )
        program = find_agent_cli_program(adapt_agent_cli_to_acp(agent) if kind == "acp" else agent, self._environ)
        if isinstance(program, Fault):
            return program
        pace = self._paces.setdefault(name, CallPacer(agent.concurrency))
        return AgentVoice(agent, model or agent.default_model, self._environ, pace, kind)


def point_agent_cli_at_endpoint(
    agent: Agent, local: LocalServerSetup, url: str, home: Path, key: str = "sk-local"
) -> Agent:
    """Return the agent with its own HOME, configured to use a server on this machine.

    Run it in an environment without the person's own settings, such as PATH alone.
    """
    values = {"url": url, "key": key}
    write_agent_cli_files(home, local.files, values)
    return msgspec.structs.replace(
        agent,
        default_model=local.model,
        argv=(*agent.argv, *(fill_agent_cli_placeholders(word, values) for word in local.argv)),
        set={
            **agent.set,
            "HOME": str(home),
            **{name: fill_agent_cli_placeholders(value, values) for name, value in local.set.items()},
        },
    )
