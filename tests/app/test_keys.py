"""Stored keys: overridden by the environment, encrypted on disk, and never lost by a mistake."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from roundtable.app.desk import Roundtable
from roundtable.app.settings import config
from roundtable.app.settings.places import Places
from roundtable.app.settings.secrets import Keys, list_keys, remove_key, resolve_key_name, store_key
from roundtable.app.settings.vault import Vault
from roundtable.core.faults import ConfigError, Fault, FaultKind, NotFound, UsageError
from tests.core.test_redaction import token

KEY = "sk-proj-" + token(40, seed=21)
LAB = '[endpoints.lab]\nbase_url = "http://127.0.0.1:9/v1"\nkey = "secret:LAB"\n'


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "data", tmp_path / "config")


@pytest.fixture
def vault(places: Places) -> Vault:
    return Vault(places.secrets, places.seal)


@pytest.fixture(autouse=True)
def without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "LAB", "LAB_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")


def person(places: Places, text: str) -> None:
    places.user_config.parent.mkdir(parents=True, exist_ok=True)
    places.user_config.write_text(text)


# --- the file -------------------------------------------------------------------------------------


@pytest.mark.feature("S4.105")
def test_a_stored_key_can_be_read_back_and_is_never_in_plain_text(places: Places, vault: Vault) -> None:
    assert vault.put("OPENAI_API_KEY", KEY).place == "file"
    assert Vault(places.secrets, places.seal).get("OPENAI_API_KEY") == KEY
    assert vault.get("OTHER") is None
    files = [path for folder in (places.data, places.config) for path in folder.iterdir()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert all(KEY[:12].encode() not in path.read_bytes() for path in files)
    assert places.seal.parent != places.secrets.parent


def test_a_new_key_replaces_the_stored_one(vault: Vault) -> None:
    vault.put("LAB", "the-first-key-of-the-lab")
    vault.put("OTHER", "another")
    vault.put("LAB", KEY)
    assert (vault.get("LAB"), vault.get("OTHER")) == (KEY, "another")
    assert vault.list_stored()["LAB"].tail == KEY[-4:]
    assert vault.list_stored()["OTHER"].tail == ""


@pytest.mark.parametrize("which", ["secrets", "seal"])
def test_a_key_file_that_others_can_read_is_refused_with_the_command_that_fixes_it(
    places: Places, vault: Vault, which: str
) -> None:
    vault.put("LAB", KEY)
    path: Path = getattr(places, which)
    path.chmod(0o644)
    with pytest.raises(ConfigError) as caught:
        vault.get("LAB")
    assert f"chmod 600 {path}" in caught.value.help
    path.chmod(0o600)
    assert vault.get("LAB") == KEY


@pytest.mark.parametrize("damage", [b"", b"{", b'{"v": 2, "keys": {}}', b'{"v": 1, "keys": {"a": 3}}', b"\xff\xfe"])
def test_a_damaged_key_file_is_reported_and_left_alone(places: Places, vault: Vault, damage: bytes) -> None:
    vault.put("LAB", KEY)
    places.secrets.write_bytes(damage)
    for attempt in (lambda: vault.get("LAB"), lambda: vault.put("NEW", KEY), lambda: vault.remove("LAB")):
        with pytest.raises(ConfigError) as caught:
            attempt()
        assert "damaged" in caught.value.message
    assert places.secrets.read_bytes() == damage


def test_a_missing_seal_does_not_delete_the_stored_keys(places: Places, vault: Vault) -> None:
    vault.put("LAB", KEY)
    seal = places.seal.read_bytes()
    places.seal.unlink()
    for attempt in (lambda: vault.get("LAB"), lambda: vault.put("NEW", KEY)):
        with pytest.raises(ConfigError) as caught:
            attempt()
        assert str(places.seal) in caught.value.message
        assert "roundtable keys remove LAB" in caught.value.help
    assert not places.seal.exists()
    places.seal.touch(0o600)
    places.seal.write_bytes(seal)
    assert vault.get("LAB") == KEY


def test_keys_without_their_seal_can_be_deleted(places: Places, vault: Vault) -> None:
    vault.put("LAB", KEY)
    places.seal.unlink()
    assert vault.remove("LAB") is not None
    vault.put("LAB", KEY)
    assert vault.get("LAB") == KEY


@pytest.mark.parametrize("seal", [b"nonsense", b"A" * 43 + b"="])
def test_a_wrong_seal_is_reported(places: Places, vault: Vault, seal: bytes) -> None:
    vault.put("LAB", KEY)
    places.seal.write_bytes(seal)
    with pytest.raises(ConfigError) as caught:
        vault.get("LAB")
    assert str(places.seal) in caught.value.message


def test_two_processes_can_store_keys_at_the_same_time(places: Places, vault: Vault) -> None:
    program = (
        "import sys; from pathlib import Path; from roundtable.app.settings.vault import Vault\n"
        "vault = Vault(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "for number in range(15): vault.put(f'{sys.argv[3]}{number}', 'value-' + sys.argv[3])"
    )
    command = [sys.executable, "-c", program, str(places.secrets), str(places.seal)]
    writers = [subprocess.Popen([*command, name]) for name in ("A", "B", "C")]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert len(vault.list_stored()) == 45
    assert {vault.get(f"{name}14") for name in "ABC"} == {"value-A", "value-B", "value-C"}


# --- who is asked for a key, and in which order ---------------------------------------------------


async def test_a_key_in_the_environment_overrides_the_stored_key(
    places: Places, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_key(places, workspace, "openai", KEY)
    async with await Roundtable.open(workspace, places) as desk:
        assert desk.parts.keys.find_location("env:OPENAI_API_KEY") == "file"
        assert desk.parts.keys.resolve("env:OPENAI_API_KEY") == KEY
        monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
        assert desk.parts.keys.find_location("env:OPENAI_API_KEY") == "environment"
        assert desk.parts.keys.resolve("env:OPENAI_API_KEY") == "from-the-environment"
        assert desk.parts.keys.resolve("none") is None


async def test_a_stored_key_makes_a_voice_and_is_redacted_from_the_start(places: Places, workspace: Path) -> None:
    person(places, LAB)
    key = "lab/" + token(20, seed=4)
    store_key(places, workspace, "lab", key)
    async with await Roundtable.open(workspace, places) as desk:
        assert desk.redactor.redact(key) == "[redacted:known-key]"
        assert any(seat.voice == "lab:" for seat in await desk.setup.discover())
        assert not isinstance(desk.parts.voices.find("lab:alpha"), Fault)


async def test_a_path_in_a_key_variable_is_not_redacted(
    places: Places, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = f"{workspace}/api2"
    key = "/" + token(30, seed=5)
    for name, value in {"PWD": folder, "OLDPWD": "~/api2/of/mine/and/yours", "LAB": folder, "MY_TOKEN": key}.items():
        monkeypatch.setenv(name, value)
    person(places, LAB)
    async with await Roundtable.open(workspace, places) as desk:
        for path in (folder, "~/api2/of/mine/and/yours"):
            assert desk.redactor.redact(path) == path
        assert desk.redactor.redact(key) == "[redacted:known-key]"


async def test_an_unusable_key_store_is_a_fault_of_the_voice(places: Places, workspace: Path) -> None:
    person(places, LAB)
    store_key(places, workspace, "lab", KEY)
    places.seal.unlink()
    async with await Roundtable.open(workspace, places) as desk:
        fault = desk.parts.voices.find("lab:alpha")
        assert isinstance(fault, Fault)
        assert fault.kind is FaultKind.UNAUTHORIZED
        assert str(places.seal) in fault.message


async def test_a_header_may_name_a_stored_key(places: Places, workspace: Path) -> None:
    person(
        places,
        '[endpoints.lab]\nbase_url = "${LAB_URL}/v1"\nkey = "none"\nheaders = { x-team = "Bearer ${LAB_KEY}" }',
    )
    async with await Roundtable.open(workspace, places) as desk:
        fault = desk.parts.voices.find("lab:alpha")
        assert isinstance(fault, Fault)
        assert "LAB_URL" in fault.message
        store_key(places, workspace, "LAB_URL", "http://127.0.0.1:9")
        store_key(places, workspace, "LAB_KEY", KEY)
        filled = desk.parts.fill_endpoint(desk.parts.endpoints["lab"])
        assert not isinstance(filled, Fault)
        assert (filled.base_url, filled.headers) == ("http://127.0.0.1:9/v1", {"x-team": f"Bearer {KEY}"})
        assert desk.redactor.redact(f"http://127.0.0.1:9 {KEY}") == "http://127.0.0.1:9 [redacted:known-key]"


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("OPENAI_API_KEY", "OPENAI_API_KEY"),
        ("env:OPENAI_API_KEY", "OPENAI_API_KEY"),
        ("${OPENAI_API_KEY}", "OPENAI_API_KEY"),
        ("secret:LAB", "LAB"),
        ("lab", "LAB"),
        ("my-own.key", "my-own.key"),
    ],
)
def test_a_key_is_stored_under_the_name_its_endpoint_reads(
    places: Places, workspace: Path, given: str, name: str
) -> None:
    person(places, LAB)
    assert resolve_key_name(places, workspace, given) == name


@pytest.mark.parametrize("given", [KEY, "ollama", "", "two words", "-x", "../x"])
def test_an_invalid_key_name_is_refused_and_never_repeated(places: Places, workspace: Path, given: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve_key_name(places, workspace, given)
    assert KEY not in caught.value.message + caught.value.help


@pytest.mark.parametrize(
    "key",
    [
        *("", "  \n", "two\nlines", "with\x00zero", "schlüssel", "two words", '""', '"half', "OPENAI_API_KEY="),
        *("A" * 200_000, f"XAI_API_KEY={KEY}"),
    ],
)
def test_a_value_that_is_not_a_key_is_not_stored(places: Places, workspace: Path, key: str) -> None:
    with pytest.raises(UsageError):
        store_key(places, workspace, "openai", key)
    assert list_keys(places, workspace) == []


@pytest.mark.parametrize("form", ['"{}"', "'{}'", "OPENAI_API_KEY={}", ' export OPENAI_API_KEY = "{}"\n', "`{}` "])
def test_quotes_and_prefixes_copied_with_a_key_are_not_stored(
    places: Places, workspace: Path, vault: Vault, form: str
) -> None:
    for key in (KEY, "ABCDEFGHIJKLMNOP1234==", "Od/d+Key=x"):
        store_key(places, workspace, "openai", form.format(key))
        assert vault.get("OPENAI_API_KEY") == key


def test_the_key_list_shows_where_each_key_is_and_which_voices_use_it(
    places: Places, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_key(places, workspace, "openai", KEY)
    store_key(places, workspace, "MINE", "short")
    monkeypatch.setenv("OPENAI_API_KEY", token(30, seed=9))
    listed = [(state.name, state.place, state.tail) for state in list_keys(places, workspace)]
    assert listed == [
        ("MINE", "file", ""),
        ("OPENAI_API_KEY", "environment", token(30, seed=9)[-4:]),
        ("OPENAI_API_KEY", "file", KEY[-4:]),
    ]
    assert "openai" in list_keys(places, workspace)[1].endpoints
    remove_key(places, workspace, "openai")
    with pytest.raises(NotFound):
        remove_key(places, workspace, "openai")


# --- config files name keys and hold none ---------------------------------------------------------

ENDPOINT = '[endpoints.lab-2]\nbase_url = "http://127.0.0.1:9/v1"\n'


@pytest.mark.parametrize(
    ("text", "where", "command"),
    [
        (ENDPOINT + f'key = "{KEY}"', "endpoints.lab-2.key", "roundtable keys set LAB_2_KEY"),
        (ENDPOINT + 'key = "plainpassword"', "endpoints.lab-2.key", "roundtable keys set LAB_2_KEY"),
        (ENDPOINT + f'headers = {{ Authorization = "Bearer {KEY}" }}', "headers.Authorization", "${LAB_2_KEY}"),
        (ENDPOINT + f'headers = {{ x-api-key = "{token(32)}" }}', "headers.x-api-key", "${LAB_2_KEY}"),
        (ENDPOINT.replace("127", f"me:{token(20)}@127"), "base_url", "${LAB_2_KEY}"),
        (ENDPOINT + 'headers = { X-Api = "abcdef0123456789abcdef0123456789" }', "headers.X-Api", "${LAB_2_KEY}"),
        (ENDPOINT.replace("127", "user:pass@127"), "base_url", "${LAB_2_KEY}"),
        (ENDPOINT.replace("/v1", "/v1?key=abc"), "base_url", "${LAB_2_KEY}"),
        (ENDPOINT.replace("/v1", "/v1?page=2&access_token=abc"), "base_url", "${LAB_2_KEY}"),
        (f'[seats.a]\nbrief = "The key is {KEY}."', "seats.a.brief", "roundtable keys set NAME"),
        (f'[seats.a]\nvoices = ["openai:{KEY}"]', "seats.a.voices", "roundtable keys set NAME"),
        (f"[seats.{KEY}]\nvoices = []", "seats.name", "roundtable keys set NAME"),
        (f'language = "{KEY}"', "language", "roundtable keys set NAME"),
    ],
)
@pytest.mark.feature("S4.63", "S4.105")
def test_a_key_in_a_config_file_is_refused_with_the_command_that_stores_it(
    places: Places, workspace: Path, text: str, where: str, command: str
) -> None:
    person(places, text)
    with pytest.raises(ConfigError) as caught:
        config.load_settings(places, workspace)
    said = caught.value.message + caught.value.help
    assert where in caught.value.message
    assert command in caught.value.help
    assert KEY not in said
    assert token(32) not in said


def test_a_refused_config_does_not_prevent_storing_the_key(places: Places, workspace: Path) -> None:
    person(places, ENDPOINT + f'key = "{KEY}"')
    assert store_key(places, workspace, "LAB_2_KEY", KEY)[0].name == "LAB_2_KEY"


@pytest.mark.parametrize("key", ["env:LAB_KEY", "${LAB_KEY}", "secret:OPENAIPRODUCTION2024KEY", "none"])
@pytest.mark.feature("S4.61", "S4.63")
def test_a_config_file_that_only_names_keys_may_be_readable_by_everybody(
    places: Places, workspace: Path, key: str
) -> None:
    person(places, ENDPOINT + f'key = "{key}"\nheaders = {{ Authorization = "Bearer ${{LAB_KEY}}" }}')
    places.user_config.chmod(0o644)
    assert "lab-2" in config.load_settings(places, workspace).config.endpoints


@pytest.mark.parametrize("key", ["${LAB_KEY", "$LAB_KEY", "env:", "secret:"])
def test_a_malformed_key_reference_is_not_used_as_a_key(places: Places, workspace: Path, key: str) -> None:
    person(places, ENDPOINT + f'key = "{key}"')
    with pytest.raises(ConfigError) as caught:
        config.load_settings(places, workspace)
    assert "endpoints.lab-2.key is not the name of a key" in caught.value.message
    assert "${NAME}" in caught.value.help


@pytest.mark.parametrize(
    "text",
    [
        ENDPOINT + f'headers = {{ OpenAI-Organization = "org-{token(24)}", x-client-id = "{token(24)}" }}',
        ENDPOINT.replace("/v1", "/v1?api-version=2024-10-21&key=${LAB_KEY}"),
        ENDPOINT.replace("127", "me:${LAB_KEY}@127"),
    ],
)
def test_random_looking_text_that_is_not_a_key_is_allowed_in_a_config(
    places: Places, workspace: Path, text: str
) -> None:
    person(places, text)
    assert "lab-2" in config.load_settings(places, workspace).config.endpoints


def test_a_process_that_holds_a_key_writes_no_core_dump(places: Places) -> None:
    _, hard = before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    try:
        keys = Keys(places, [])
        assert keys.resolve("secret:OPENAI_API_KEY") is None
        assert resource.getrlimit(resource.RLIMIT_CORE) == (hard, hard), "no key, nothing to hide"
        store_key(places, places.data, "OPENAI_API_KEY", token(40))
        assert keys.resolve("secret:OPENAI_API_KEY")
        assert resource.getrlimit(resource.RLIMIT_CORE) == (0, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)
