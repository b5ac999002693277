"""Endpoints: the servers that API dialects talk to. A data file or a config section adds one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Any, Literal

import msgspec

from roundtable.core.faults import ConfigError
from roundtable.core.text.strict_toml import convert_toml_table_to_struct, parse_toml_text

ResolveKey = Callable[[str], str | None]
"""Returns the key for `env:NAME` or `secret:NAME`, or None."""

DialectName = Literal["openai-chat", "openai-responses", "anthropic", "gemini"]

ReplyConstraint = Literal["schema", "tool", ""]
"""How a reply is held to a schema. Servers with grammars convert a schema themselves."""

ModelSelection = bool | tuple[str, ...]
"""All models, none, or those whose name matches one of these globs."""

_VARIABLE = re.compile(r"\$\{(\w+)\}")


class Endpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One server: its dialect, key name, limits, and what its models can do.

    `structured` selects the models whose replies can be held to a JSON schema, `tools` those that need a tool call
    for it. `schema_in_prefix` says that the provider caches the schema before the prompt: another schema makes a long
    prompt lose its cache entry, so long prompts ask for the format in words.
    `reasoning` models think before they answer: they get `thinking_tokens` on top of the limit for words.
    `rename`, `omit`, `extra` and `schema_without` adapt the request; `omit_for` uses a glob on the model's name.
    `context` and `tokens_per_minute` use globs on the model's name too: the context window, and the tokens an account
    may send and receive in a minute; the models of one glob share that limit.
    `conversation_field` and `conversation_header` tell a prompt cache which calls belong together.
    """

    name: str
    base_url: str
    dialect: DialectName = "openai-chat"
    key: str = "none"
    key_header: str = ""
    vendor: str = ""
    title: str = ""
    local: bool = False
    probe: str = ""

    default_model: str = ""
    judge_model: str = ""
    prices: str = ""

    concurrency: int = 4
    per_minute: int = 0
    tokens_per_minute: dict[str, int] = {}
    context: dict[str, int] = {}

    structured: ModelSelection = False
    tools: ModelSelection = False
    prompt_cache: bool = False
    schema_in_prefix: bool = False
    reasoning: ModelSelection = False
    vision: ModelSelection = False

    headers: dict[str, str] = {}
    rename: dict[str, str] = {}
    omit: tuple[str, ...] = ()
    omit_for: dict[str, tuple[str, ...]] = {}
    extra: dict[str, Any] = {}
    schema_without: tuple[str, ...] = ()
    thinking_tokens: int = 8192
    conversation_field: str = ""
    conversation_header: str = ""

    def find_reply_constraint(self, model: str) -> ReplyConstraint:
        """Return the strongest way to hold this model's replies to a schema."""
        if _is_selected(self.structured, model):
            return "schema"
        return "tool" if _is_selected(self.tools, model) else ""

    def is_reasoning_model(self, model: str) -> bool:
        """Return whether this model thinks before its first word."""
        return _is_selected(self.reasoning, model)

    def has_vision(self, model: str) -> bool:
        """Return whether this model accepts images."""
        return _is_selected(self.vision, model)

    def find_context_window(self, model: str) -> int:
        """Return the context window of this model in tokens; 0 if unknown."""
        return _find_by_glob(self.context, model)[1]

    def find_token_limit(self, model: str) -> tuple[str, int]:
        """Return the glob whose models share a limit with this one, and their tokens a minute; 0 for no limit."""
        return _find_by_glob(self.tokens_per_minute, model)

    def find_vendor(self, model: str) -> str:
        """Return the maker of the model; a reseller's model names its maker before the slash."""
        if self.vendor:
            return self.vendor
        maker, slash, _ = model.partition("/")
        return maker if slash else self.name

    def find_omitted_keys(self, model: str) -> set[str]:
        """Return the keys of the body that this model's server rejects."""
        by_model = (keys for glob, keys in self.omit_for.items() if fnmatchcase(model, glob))
        return set(self.omit).union(*by_model)

    def list_variables(self) -> list[str]:
        """Return the variables that the address and headers name as `${NAME}`."""
        return [name for text in (self.base_url, *self.headers.values()) for name in _VARIABLE.findall(text)]

    def with_variables(self, values: Mapping[str, str]) -> Endpoint:
        """Return the endpoint with `${NAME}` replaced by values."""

        def fill(text: str) -> str:
            return _VARIABLE.sub(lambda variable: values[variable[1]].rstrip("/"), text)

        headers = {name: fill(value) for name, value in self.headers.items()}
        return msgspec.structs.replace(self, base_url=fill(self.base_url), headers=headers)


def _find_by_glob(sizes: Mapping[str, int], model: str) -> tuple[str, int]:
    return next(((glob, size) for glob, size in sizes.items() if fnmatchcase(model, glob)), ("", 0))


def _is_selected(which: ModelSelection, model: str) -> bool:
    return which if isinstance(which, bool) else any(fnmatchcase(model, glob) for glob in which)


def parse_voice_endpoint(name: str, data: Mapping[str, Any], where: str = "") -> Endpoint:
    """Parse an endpoint from a config section or a data file."""
    where = where or f"endpoints.{name}"
    endpoint = convert_toml_table_to_struct(Endpoint, {**data, "name": name}, where)
    if not endpoint.base_url.startswith(("http://", "https://", "${")):
        raise ConfigError(f"{where}: base_url must start with http:// or https://.", "Give the whole address.")
    if endpoint.concurrency < 1:
        raise ConfigError(f"{where}: concurrency must be 1 or more.", "Remove `concurrency` to use the default, 4.")
    if endpoint.per_minute < 0:
        raise ConfigError(f"{where}: per_minute must be 0 or more.", "Remove `per_minute` if there is no limit.")
    if min(endpoint.tokens_per_minute.values(), default=1) < 1:
        raise ConfigError(
            f"{where}: tokens_per_minute must be 1 or more for each model.",
            "Remove models without a limit from `tokens_per_minute`.",
        )
    return msgspec.structs.replace(
        endpoint, base_url=endpoint.base_url.rstrip("/"), key=_parse_key_reference(endpoint.key, where)
    )


def override_shipped_voice_endpoint(name: str, data: Mapping[str, Any], where: str = "") -> Endpoint:
    """Parse an endpoint of a config; without `base_url` it changes the shipped endpoint of that name."""
    shipped = load_shipped_voice_endpoints().get(name) if "base_url" not in data else None
    return parse_voice_endpoint(name, {**msgspec.to_builtins(shipped), **data} if shipped else data, where)


def _parse_key_reference(key: str, where: str = "key") -> str:
    """Return a key reference as `env:NAME`, `secret:NAME` or `none`; a key itself is rejected."""
    variable = _VARIABLE.fullmatch(key)
    if variable:
        return f"env:{variable.group(1)}"
    kind, colon, name = key.partition(":")
    if key == "none" or (kind in ("env", "secret") and colon and name):
        return key
    raise ConfigError(
        f"{where}: `key` must name a key, not contain one.",
        "Use env:NAME, ${NAME}, secret:NAME or none.",
    )


@cache
def load_shipped_voice_endpoints() -> dict[str, Endpoint]:
    """Return the endpoints of the shipped catalog by name."""
    folder = resources.files("roundtable.voices") / "catalog" / "endpoints"
    files = sorted((item for item in folder.iterdir() if item.name.endswith(".toml")), key=lambda item: item.name)
    return {
        name: parse_voice_endpoint(name, parse_toml_text(item.read_bytes(), item.name), item.name)
        for item in files
        for name in (item.name.removesuffix(".toml"),)
    }


def merge_voice_endpoints(*groups: Iterable[Endpoint]) -> dict[str, Endpoint]:
    """Return the endpoints by name; later groups replace earlier ones."""
    return {endpoint.name: endpoint for group in groups for endpoint in group}
