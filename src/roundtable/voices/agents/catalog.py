"""The catalog of agent command lines. A data file or a config section adds one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from roundtable.core.faults import ConfigError, FaultKind
from roundtable.core.text.strict_toml import convert_toml_table_to_struct, parse_toml_text
from roundtable.core.text.wording import did_you_mean_text

EventPattern = dict[str, str | int | bool]
"""Values expected at certain paths of a line, such as `{"type" = "result", "is_error" = true}`."""


class OutputRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How one kind of line is read: the first rule whose `when` matches applies. Values are paths into the line."""

    when: EventPattern
    says: str = ""
    """A piece of the answer."""
    message: str = ""
    """A whole message of the answer."""
    begins: bool = False
    """The next words begin a new message."""
    answer: str = ""
    """The whole answer at the end; used if there were no words before, or if a schema holds the answer."""
    note: str = ""
    """A remark on the agent's own state, such as a warning or a retry. It explains a silence."""
    denied: str = ""
    """The action that the agent was not allowed to do."""
    fails: str = ""
    """Why the turn failed."""
    status: str = ""
    """The HTTP status behind the failure."""
    kind: FaultKind | None = None
    """The kind of this failure, whatever its words."""
    reason: str = ""
    """The text of a failure that comes without one."""
    session: str = ""
    model: str = ""
    finish: str = ""
    """Why the model stopped."""
    plan: EventPattern = {}
    """Matches if a subscription pays."""
    input: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    cached: str = ""
    written: str = ""
    cost: str = ""
    ends: bool = False
    """The answer ends with this line."""

    @property
    def is_failure(self) -> bool:
        """Whether such a line means that the turn failed."""
        return bool(self.fails or self.reason)


class FaultSign(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An exit code or words by which this agent reports a certain fault."""

    kind: FaultKind
    words: tuple[str, ...] = ()
    exit: int = 0
    help: str = ""

    def matches(self, text: str, code: int | None) -> bool:
        """Return whether the agent's words or exit code show this fault."""
        return (bool(self.exit) and self.exit == code) or any(word.lower() in text for word in self.words)


class LocalServerSetup(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How to point the agent at a server on this machine. `files` are written into a separate HOME."""

    dialect: str
    model: str
    argv: tuple[str, ...] = ()
    set: dict[str, str] = {}
    files: dict[str, str] = {}


class AcpSetup(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the agent is started to speak the Agent Client Protocol, where that differs from its command line."""

    argv: tuple[str, ...] = ()
    command: str = ""
    """The adapter for an agent that does not speak the protocol itself."""
    mode: str = ""
    """The session mode in which the agent changes nothing."""
    meta: dict[str, Any] = {}
    """Extra data for opening a session; its texts may contain `{system}`."""
    system_in_prompt: bool = False
    """Send the system prompt in the prompt, if `files`, `set` and `meta` do not pass it on."""
    resumes: bool = True
    """Whether a session that the agent claims to be able to load can really be loaded."""
    install: str = ""
    """How to install the adapter."""


class EditSetup(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Changes of the set-up for an agent that may edit the files of its working folder, and no others."""

    hands: tuple[str, ...] = ()
    set: dict[str, str] = {}
    files: dict[str, str] = {}


class Agent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One agent command line.

    `{hands}`, `{model}`, `{schema}` and `{session}` in `argv` are replaced by the lists below; those that do not apply
    are omitted. In all texts `{work}` is the folder it runs in, which is empty unless it may edit files there, and
    `{papers}` is a folder for the files written for it.
    """

    name: str
    command: str
    argv: tuple[str, ...]
    reads: tuple[OutputRule, ...]
    title: str = ""
    vendor: str = ""
    prices: str = ""
    """The price list of its models, if the agent does not report their cost."""
    checked: str = ""
    """The version of the agent with which this entry was tested."""
    unverified: str = ""
    """The parts of this entry that have not been tested yet."""
    install: str = ""
    """How to install the program."""
    help: str = ""
    """How to log in."""
    default_model: str = ""
    concurrency: int = 4
    idle: float = 0.0
    """Seconds of silence after which the agent counts as stuck; 0 if it is silent while the model thinks."""
    overhead_bytes: int = 0
    """Bytes that the agent adds to every prompt, as measured."""
    version: tuple[str, ...] = ("--version",)
    hands: tuple[str, ...] = ()
    """The arguments that keep the agent from changing anything."""
    edits: EditSetup | None = None
    model: tuple[str, ...] = ()
    schema: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    """The session arguments of a call that is not continued."""
    resume: tuple[str, ...] = ()
    """The arguments that continue a native session; empty if the agent cannot."""
    lost: str = ""
    """The words by which the agent says that it no longer knows a session."""
    cumulative: bool = False
    """Usage counts the whole native session, not the turn."""
    stdin: str = "{prompt}"
    system_in_prompt: bool = False
    variables: tuple[str, ...] = ()
    """Globs of the person's variables that the agent may see besides the standard ones."""
    key_variables: tuple[str, ...] = ()
    """If one of these is set a key pays, else a subscription; if empty, the payer is unknown."""
    set: dict[str, str] = {}
    files: dict[str, str] = {}
    retrying: str = ""
    """A line on standard error that means a failed attempt and a silent retry. The engine retries instead."""
    chatter: str = ""
    """Lines of standard error with these words are ignored."""
    signs: tuple[FaultSign, ...] = ()
    local: LocalServerSetup | None = None
    acp: AcpSetup | None = None

    @property
    def can_edit(self) -> bool:
        """Whether the agent can be limited to editing files in one folder."""
        return self.edits is not None

    @property
    def structured(self) -> bool:
        """Whether its answers can be held to a JSON schema."""
        return bool(self.schema)

    @property
    def keeps_session(self) -> bool:
        """Whether it remembers earlier rounds, so that only new messages are sent."""
        return bool(self.resume)

    def has_key(self, environ: Mapping[str, str]) -> bool:
        """Return whether a key pays: one of the person's, or one that it is given."""
        return any(environ.get(name) or self.set.get(name) for name in self.key_variables)

    def find_vendor(self, model: str) -> str:
        """Return the maker of the model; an agent without a vendor names the maker before the slash."""
        maker, slash, _ = model.partition("/")
        return self.vendor or (maker if slash else self.name)


def allow_agent_cli_edits(agent: Agent) -> Agent:
    """Return the agent with permission to edit the files of the folder it runs in."""
    assert agent.edits is not None
    edits = agent.edits
    return msgspec.structs.replace(
        agent, hands=edits.hands, set={**agent.set, **edits.set}, files={**agent.files, **edits.files}
    )


def parse_agent_cli(name: str, data: Mapping[str, Any], where: str = "") -> Agent:
    """Parse an agent from a data file or a config section."""
    where = where or f"agents.{name}"
    agent = convert_toml_table_to_struct(Agent, {**data, "name": name}, where)
    if agent.concurrency < 1:
        raise ConfigError(f"{where}: concurrency must be 1 or more.", "Remove `concurrency` to use the default, 4.")
    return agent


@cache
def load_shipped_agent_clis() -> dict[str, Agent]:
    """Return the agents of the shipped catalog by name."""
    folder = resources.files("roundtable.voices") / "catalog" / "agents"
    files = sorted((item for item in folder.iterdir() if item.name.endswith(".toml")), key=lambda item: item.name)
    return {
        name: parse_agent_cli(name, parse_toml_text(item.read_bytes(), item.name), item.name)
        for item in files
        for name in (item.name.removesuffix(".toml"),)
    }


def merge_agent_cli_catalog(own: Mapping[str, Mapping[str, Any]], where: str = "") -> dict[str, Agent]:
    """Return the catalog with a person's own settings on top; a new name must describe a whole agent."""
    agents = dict(load_shipped_agent_clis())
    for name, data in own.items():
        known: dict[str, Any] = msgspec.to_builtins(agents[name]) if name in agents else {}
        if not known and "argv" not in data:
            near = did_you_mean_text(name, agents)
            raise ConfigError(
                f"{where}agents.{name}: there is no agent called `{name}`.{near}", f"Known agents: {', '.join(agents)}."
            )
        agents[name] = parse_agent_cli(name, {**known, **data}, f"{where}agents.{name}")
    return agents
