"""Endpoints: where voices of an API dialect are reached. Adding one is adding a data file or a config section."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Any, Literal

import msgspec

from roundtable.core.faults import ConfigError
from roundtable.voices.data_file import convert_data, parse_data_file

ResolveKey = Callable[[str], str | None]
"""Finds the key behind `env:NAME` or `secret:NAME`; None where there is none."""

DialectName = Literal["openai-chat", "openai-responses", "anthropic", "gemini"]

ReplyConstraint = Literal["schema", "tool", ""]
"""How a reply is held to a form; servers that work with grammars take a schema and make one of it."""

ModelSelection = bool | tuple[str, ...]
"""All models, none, or those whose name matches one of these globs."""

_VARIABLE = re.compile(r"\$\{(\w+)\}")


class Endpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One server, its dialect, its key's name, what its models can do and what it is like to ask it.

    `structured` says which models can be held to a JSON schema, `tools` which others to the form of a tool call.
    `schema_in_prefix` says that the schema or tool stands before the prompt in what the provider caches: a changed form
    costs a long prompt its place there, so long prompts ask for the form in words.
    `reasoning` models think before they speak: they get `thinking_tokens` on top of the limit for words.
    `rename`, `omit`, `extra` and `schema_without` adapt the request; `omit_for` does so by a glob on the model's name.
    `context` and `tokens_per_minute` are by a glob on the model's name as well: how much it takes in at once, and how
    much an account may send it and have back in a minute, which the models of one glob share.
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
        """The strongest means by which this model's replies can be held to a form here."""
        if _is_selected(self.structured, model):
            return "schema"
        return "tool" if _is_selected(self.tools, model) else ""

    def is_reasoning_model(self, model: str) -> bool:
        """Whether this model spends tokens on thoughts before its first word."""
        return _is_selected(self.reasoning, model)

    def has_vision(self, model: str) -> bool:
        """Whether this model can be shown pictures."""
        return _is_selected(self.vision, model)

    def find_context_window(self, model: str) -> int:
        """How many tokens this model can take in; 0 where nobody knows."""
        return _find_by_glob(self.context, model)[1]

    def find_token_limit(self, model: str) -> tuple[str, int]:
        """The glob of the models that share a limit with this one, and their tokens a minute; 0 where there is none."""
        return _find_by_glob(self.tokens_per_minute, model)

    def find_vendor(self, model: str) -> str:
        """Whose model it is: a reseller's models belong to the maker named before the slash."""
        if self.vendor:
            return self.vendor
        maker, slash, _ = model.partition("/")
        return maker if slash else self.name

    def find_omitted_keys(self, model: str) -> set[str]:
        """The body's keys that this model's server does not take."""
        by_model = (keys for glob, keys in self.omit_for.items() if fnmatchcase(model, glob))
        return set(self.omit).union(*by_model)


def _find_by_glob(sizes: Mapping[str, int], model: str) -> tuple[str, int]:
    return next(((glob, size) for glob, size in sizes.items() if fnmatchcase(model, glob)), ("", 0))


def _is_selected(which: ModelSelection, model: str) -> bool:
    return which if isinstance(which, bool) else any(fnmatchcase(model, glob) for glob in which)


def parse_endpoint(name: str, data: Mapping[str, Any], where: str = "") -> Endpoint:
    """An endpoint from a config section or a data file."""
    where = where or f"endpoints.{name}"
    endpoint = convert_data(Endpoint, {**data, "name": name}, where)
    if not endpoint.base_url.startswith(("http://", "https://", "${")):
        raise ConfigError(f"{where}: base_url must start with http:// or https://.", "Give the whole address.")
    if endpoint.concurrency < 1:
        raise ConfigError(f"{where}: concurrency must be 1 or more.", "Leave it out for 4.")
    if endpoint.per_minute < 0:
        raise ConfigError(f"{where}: per_minute must be 0 or more.", "Leave it out where there is no limit.")
    if min(endpoint.tokens_per_minute.values(), default=1) < 1:
        raise ConfigError(
            f"{where}: tokens_per_minute must be 1 or more for each model.", "Leave out those that have no limit."
        )
    return msgspec.structs.replace(
        endpoint, base_url=endpoint.base_url.rstrip("/"), key=parse_key_reference(endpoint.key, where)
    )


def parse_own_endpoint(name: str, data: Mapping[str, Any], where: str = "") -> Endpoint:
    """An endpoint of a config; without an address of its own it is the shipped one of that name, with these changes."""
    shipped = load_shipped_endpoints().get(name) if "base_url" not in data else None
    return parse_endpoint(name, {**msgspec.to_builtins(shipped), **data} if shipped else data, where)


def find_endpoint_variables(endpoint: Endpoint) -> list[str]:
    """The names of the variables that its address and headers are made of, written as `${NAME}`."""
    return [name for text in (endpoint.base_url, *endpoint.headers.values()) for name in _VARIABLE.findall(text)]


def fill_endpoint_variables(endpoint: Endpoint, values: Mapping[str, str]) -> Endpoint:
    """The endpoint with these values in place of `${NAME}`."""

    def put_in(text: str) -> str:
        return _VARIABLE.sub(lambda found: values[found.group(1)].rstrip("/"), text)

    headers = {name: put_in(value) for name, value in endpoint.headers.items()}
    return msgspec.structs.replace(endpoint, base_url=put_in(endpoint.base_url), headers=headers)


def parse_key_reference(key: str, where: str = "key") -> str:
    """The one form of a key's name, `env:NAME`, `secret:NAME` or `none`; a key itself is refused."""
    variable = _VARIABLE.fullmatch(key)
    if variable:
        return f"env:{variable.group(1)}"
    kind, colon, name = key.partition(":")
    if key == "none" or (kind in ("env", "secret") and colon and name):
        return key
    raise ConfigError(
        f"{where}: a key is named, never written down.",
        "Use env:NAME, ${NAME}, secret:NAME or none.",
    )


@cache
def load_shipped_endpoints() -> dict[str, Endpoint]:
    """The catalog that comes with the product, one data file each."""
    folder = resources.files("roundtable.voices") / "catalog" / "endpoints"
    files = sorted((item for item in folder.iterdir() if item.name.endswith(".toml")), key=lambda item: item.name)
    return {
        name: parse_endpoint(name, parse_data_file(item.read_bytes(), item.name), item.name)
        for item in files
        for name in (item.name.removesuffix(".toml"),)
    }


def merge_endpoints(*groups: Iterable[Endpoint]) -> dict[str, Endpoint]:
    """Later groups replace endpoints of the same name."""
    return {endpoint.name: endpoint for group in groups for endpoint in group}
