"""Which voice a seat judges through: the cheaper model of its endpoint, or its own voice."""

from __future__ import annotations

import pytest

from roundtable.core.values import Seat
from roundtable.voices.endpoints import load_shipped_voice_endpoints
from roundtable.voices.judge_voices import choose_default_judge_voices


@pytest.mark.feature("S0.127", "S0.128")
@pytest.mark.parametrize(
    ("endpoint", "model", "judge"),
    [
        ("anthropic", "claude-sonnet-4-6", "claude-haiku-4-5-20251001"),
        ("openai", "gpt-4o", "gpt-4o-mini"),
        ("google", "gemini-3.8-flash", "gemini-3.5-flash-lite"),
    ],
)
def test_a_seat_of_a_shipped_endpoint_judges_through_its_cheaper_model(endpoint: str, model: str, judge: str) -> None:
    """The models of the source document, except for Gemini, whose 1.5 models are shut down."""
    shipped = load_shipped_voice_endpoints()
    assert shipped[endpoint].default_model == model
    (seat,) = choose_default_judge_voices([Seat("one", (f"{endpoint}:{model}",))], shipped)
    assert seat.voice_chain(judging=True) == (f"{endpoint}:{judge}", f"{endpoint}:{model}")
    assert seat.voice_chain() == (f"{endpoint}:{model}",)


@pytest.mark.parametrize(
    "voices",
    [("cli:claude", "anthropic:claude-sonnet-4-6"), ("embedded:smollm2-135m",), ("script:s.toml",), ("ollama:x",), ()],
)
def test_agents_and_local_models_judge_through_their_own_voice(voices: tuple[str, ...]) -> None:
    (seat,) = choose_default_judge_voices([Seat("one", voices)], load_shipped_voice_endpoints())
    assert seat.voice_chain(judging=True) == voices


def test_a_seat_that_already_uses_the_cheaper_model_judges_through_it() -> None:
    (seat,) = choose_default_judge_voices([Seat("one", ("openai:gpt-4o-mini",))], load_shipped_voice_endpoints())
    assert seat.judge == ""
