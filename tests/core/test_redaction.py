"""No secret survives redaction, and nothing else is changed."""

from __future__ import annotations

import base64
import json
import random
import string
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundtable.core.text.redaction import PLACEHOLDER_KEYS, Redactor

LETTERS = string.ascii_letters + string.digits


def token(length: int, alphabet: str = LETTERS, seed: int = 7) -> str:
    """A token with digits in it. Made here, so that no scanner takes this file for a leak."""
    letters = "".join(random.Random(seed).choices(alphabet, k=length - 2))
    return letters[:5] + "4" + letters[5:] + "2"


PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{token(64)}\n{token(64)}\n-----END RSA PRIVATE KEY-----"

KNOWN = token(40, seed=3)

SECRETS = {
    "openai-key": [
        "sk-" + token(48),
        "sk-proj-" + token(40) + "-" + token(60),
        "sk-or-v1-" + token(64, "0123456789abcdef"),
    ],
    "anthropic-key": ["sk-ant-api03-" + token(90, LETTERS + "_-")],
    "github-token": ["ghp_" + token(36), "gho_" + token(36)],
    "github-pat": ["github_pat_" + token(22) + "_" + token(59)],
    "gitlab-token": ["glpat-" + token(20)],
    "google-key": ["AIza" + token(35)],
    "xai-key": ["xai-" + token(80)],
    "groq-key": ["gsk_" + token(52)],
    "huggingface-token": ["hf_" + token(34)],
    "aws-key": ["AKIA" + token(16, string.ascii_uppercase + string.digits).upper()],
    "slack-token": ["xoxb-123456789012-" + token(24)],
    "jwt": ["eyJ" + token(30) + ".eyJ" + token(60) + "." + token(43, LETTERS + "_-")],
    "private-key": [PEM, PEM.replace("RSA ", ""), PEM.replace("\n", "\\n"), PEM[: PEM.index("-----END")]],
}
SAMPLES = [(name, secret) for name, secrets in SECRETS.items() for secret in secrets]

VALUE = token(32)
ASSIGNED = [
    f"Authorization: Bearer {VALUE}",
    f'"authorization": "Bearer {VALUE}"',
    f"api_key={VALUE}",
    f'  "apiKey": "{VALUE}",',
    f'{{\\"api_key\\": \\"{VALUE}\\"}}',
    f"export LAB_KEY='{VALUE}'",
    f"x-api-key: {VALUE}",
    f"client_secret := {VALUE}",
    f"https://example.org/?access_token={VALUE}&page=2",
    f"DB_PASSWORD={VALUE}",
    f"postgres://alice:{VALUE}@db.example.org/main",
]

HARMLESS = [
    "A task-based, risk-adjusted plan on disk-backed storage with a sk-loading-indicator-container.",
    "commit 3f2a9c1d5e7b8a90c4d6e8f0a1b2c3d4e5f60718, then revert 42db993.",
    "id: 0193a5c8-7f4e-7b1a-9c3d-2e4f6a8b0c1d",
    "digest = sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "token = get_token(user) and max_tokens = 4096; the token: a word of two syllables",
    "api_key = settings.providers.openai_api_key_v2",
    "password: /run/secrets/postgres/password_file_number_1",
    "token = createVerificationToken2024(user)",
    "Authorization: Bearer $TOKEN, or Authorization: Bearer <your token here>",
    "see https://user:password@example.org and http://localhost:8080/path@2x.png",
    "ghp_short, hf_hub_download_some_file, gsk_x, xai-grok-4-fast-reasoning, AKIA, AIza, eyJ, sk-, sk-ant-",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----",
    "Write `-----BEGIN PRIVATE KEY-----` above it.",
    "The sort_key: customer_identifier_and_date, cache_key=3f2a9c1d5e7b8a90c4d6e8f0",
    "anthropic:claude-haiku-4-5-20251001 and openai:gpt-4o-mini-2024-07-18",
    "data:image/png;base64," + base64.b64encode(random.Random(3).randbytes(50_000)).decode(),
]


@pytest.mark.parametrize(("name", "secret"), SAMPLES)
@pytest.mark.parametrize(
    "around", ["{}", "Use {} here.", "line\n{}\nline", 'key="{}"', "X={}", "https://{}@example.org", "({})"]
)
def test_known_token_formats_are_found_anywhere_in_a_text(name: str, secret: str, around: str) -> None:
    redactor = Redactor()
    text = around.format(secret)
    if secret == PEM[: PEM.index("-----END")]:
        text = secret
    clean = redactor.redact(text)
    assert secret[8:24] not in clean
    assert secret[-12:] not in clean
    assert f"[redacted:{name}]" in clean
    assert name in redactor.finds(text)


@pytest.mark.parametrize("text", ASSIGNED)
def test_values_of_secret_names_are_redacted_and_the_rest_is_kept(text: str) -> None:
    clean = Redactor().redact(text)
    assert VALUE not in clean
    head, tail = text.split(VALUE)
    assert clean.startswith(head)
    assert clean.endswith(tail)


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_text_is_not_redacted(text: str) -> None:
    redactor = Redactor(["correct-horse-battery"])
    assert redactor.redact(text) is text
    assert redactor.finds(text) == ()


def test_the_source_code_contains_nothing_to_redact() -> None:
    from roundtable.core import events, faults, ports, values
    from roundtable.core.text import redaction

    for module in (events, faults, ports, redaction, values):
        assert module.__file__ is not None
        with open(module.__file__, encoding="utf-8") as source:
            assert Redactor().finds(source.read()) == ()


def test_short_secrets_and_placeholders_are_left_alone() -> None:
    text = "the lm-studio seat says hunter2"
    assert Redactor(["hunter2", "lm-studio", ""]).redact(text) is text


def test_a_longer_secret_is_redacted_before_one_it_contains() -> None:
    assert Redactor(["abcdefgh", "abcdefghijkl"]).redact("abcdefghijkl") == "[redacted:known-key]"


@pytest.mark.parametrize(
    "written",
    [
        KNOWN.encode().hex(),
        KNOWN.encode().hex().upper(),
        f"{KNOWN[:9]}\n            {KNOWN[9:]}",
        f'"{KNOWN[:12]}" + \\\n    "{KNOWN[12:20]}" + "{KNOWN[20:]}"',
        " ".join(KNOWN),
    ],
)
def test_a_known_secret_is_found_in_hexadecimal_digits_and_in_parts(written: str) -> None:
    redacted = Redactor([KNOWN]).redact(f"It is {written}!")
    assert redacted.replace('"', "") == "It is [redacted:known-key]!"


def test_parts_of_a_secret_with_words_between_them_are_no_secret() -> None:
    text = f"{KNOWN[:9]} and {KNOWN[9:]}"
    assert Redactor([KNOWN]).redact(text) is text


def test_redacting_a_text_takes_bounded_time() -> None:
    program = (
        "from roundtable.core.text.redaction import Redactor\n"
        "for part in ('sk-', 'eyJ', 'eyJaaaaaaaa.', '-----BEGIN PRIVATE KEY-----', '://a:', 'token=', 'xoxb-',\n"
        "             'sk-aaaaa', '=', '_a', '-'):\n"
        "    Redactor().redact(part * (200000 // len(part)))\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


secrets = st.text(st.characters(exclude_characters="[]", exclude_categories=["Cs"]), min_size=8, max_size=40).filter(
    lambda text: text not in PLACEHOLDER_KEYS and text not in "[redacted:known-key]"
)
trees = st.recursive(
    st.none() | st.integers(-5, 5) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(secrets, min_size=1, max_size=3), st.text(), st.text())
def test_a_known_secret_never_survives(known: list[str], before: str, after: str) -> None:
    redactor = Redactor(known)
    text = before + known[0] + after
    assert redactor.finds(text)
    for written, form in ((text, known[0]), (json.dumps(text), json.dumps(known[0])[1:-1])):
        assert form not in redactor.redact(written)


@settings(max_examples=200, deadline=None)
@given(secrets, trees, st.text(), st.sampled_from([secret for _, secret in SAMPLES]))
def test_redacting_json_removes_only_the_secrets(secret: str, tree: Any, text: str, shape: str) -> None:
    redactor = Redactor([secret])
    document = {"tree": tree, "list": [text + secret, f"{text} {shape}"]}
    clean = redactor.redact_json(msgspec.json.encode(document))
    decoded = msgspec.json.decode(clean)
    assert secret not in decoded["list"][0]
    assert shape not in decoded["list"][1]
    assert redactor.redact_json(clean) == clean


def test_a_document_without_secrets_is_returned_unchanged() -> None:
    data = b'{ "text": "nothing here", "list": [1, 2.50, null, {"a": "b"}] }'
    assert Redactor(["correct-horse-battery"]).redact_json(data) is data
