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
from roundtable.voices.datafile import fill, parse_table

ResolveKey = Callable[[str], str | None]
"""Finds the key behind `env:NAME` or `secret:NAME`; None where there is none."""

Dialect = Literal["openai-chat", "openai-responses", "anthropic", "gemini"]

_VARIABLE = re.compile(r"^\$\{(\w+)\}$")


class Endpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One server, its dialect, its key's name and its habits.

    `structured` says which models can be held to a JSON schema: all, none, or those that match a glob.
    `rename` and `omit` adapt the request body; `omit_for` does so by a glob on the model's name.
    """

    name: str
    base_url: str
    dialect: Dialect = "openai-chat"
    key: str = "none"
    vendor: str = ""
    title: str = ""
    concurrency: int = 4
    structured: bool | tuple[str, ...] = False
    headers: dict[str, str] = {}
    rename: dict[str, str] = {}
    omit: tuple[str, ...] = ()
    omit_for: dict[str, tuple[str, ...]] = {}
    default_model: str = ""
    local: bool = False
    probe: str = ""

    def holds_schema(self, model: str) -> bool:
        """Whether this model's replies can be held to a JSON schema here."""
        if isinstance(self.structured, bool):
            return self.structured
        return any(fnmatchcase(model, glob) for glob in self.structured)

    def vendor_of(self, model: str) -> str:
        """Whose model it is: a reseller's models belong to the maker named before the slash."""
        if self.vendor:
            return self.vendor
        maker, slash, _ = model.partition("/")
        return maker if slash else self.name

    def left_out(self, model: str) -> set[str]:
        """The body's keys that this model's server does not take."""
        by_model = (keys for glob, keys in self.omit_for.items() if fnmatchcase(model, glob))
        return set(self.omit).union(*by_model)


def read_endpoint(name: str, data: Mapping[str, Any], where: str = "") -> Endpoint:
    """An endpoint from a config section or a data file."""
    where = where or f"endpoints.{name}"
    endpoint = fill(Endpoint, {**data, "name": name}, where, (Endpoint,))
    if not endpoint.base_url.startswith(("http://", "https://")):
        raise ConfigError(f"{where}: base_url must start with http:// or https://.", "Give the whole address.")
    if endpoint.concurrency < 1:
        raise ConfigError(f"{where}: concurrency must be 1 or more.", "Leave it out for 4.")
    return msgspec.structs.replace(
        endpoint, base_url=endpoint.base_url.rstrip("/"), key=key_reference(endpoint.key, where)
    )


def key_reference(key: str, where: str = "key") -> str:
    """The one form of a key's name, `env:NAME`, `secret:NAME` or `none`; a key itself is refused."""
    variable = _VARIABLE.match(key)
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
def shipped_endpoints() -> dict[str, Endpoint]:
    """The catalog that comes with the product, one data file each."""
    folder = resources.files("roundtable.voices") / "catalog" / "endpoints"
    files = sorted((item for item in folder.iterdir() if item.name.endswith(".toml")), key=lambda item: item.name)
    return {
        name: read_endpoint(name, parse_table(item.read_bytes(), item.name), item.name)
        for item in files
        for name in (item.name.removesuffix(".toml"),)
    }


def merged(*groups: Iterable[Endpoint]) -> dict[str, Endpoint]:
    """Later groups replace endpoints of the same name."""
    return {endpoint.name: endpoint for group in groups for endpoint in group}
