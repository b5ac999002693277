# pyright: basic, reportMissingImports=false
"""llm-council-core: a council product, through the call that its documentation begins with."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from llm_council import consult_council
from llm_council.unified_config import reload_config

from bench.contestants.agenda import KEY, QUESTION
from bench.contestants.results import contestant_result, return_exceptions


@return_exceptions
async def faulty(base_url: str, models: dict[str, str], timeout: float | None) -> dict[str, Any]:
    """One consultation of three models, one of them out of order; the first has the chair."""
    _configure(base_url, next(iter(models.values())), timeout)
    result = await consult_council(QUESTION, models=list(models.values()))
    by_seat = {seat: result.model_responses[model] for seat, model in models.items() if model in result.model_responses}
    return contestant_result(
        result.metadata.get("status", ""),
        voices={seat: reply.get("response", "") for seat, reply in by_seat.items() if reply["status"] == "ok"},
        failed={
            seat: f"{reply['status']}: {reply.get('error')}"
            for seat, reply in by_seat.items()
            if reply["status"] != "ok"
        },
    )


def _configure(base_url: str, chairman: str, timeout: float | None) -> None:
    """Its config file, which names our server in place of OpenRouter; JSON is YAML too."""
    config: dict[str, Any] = {
        "gateways": {"providers": {"openrouter": {"base_url": f"{base_url}/chat/completions"}}},
        "council": {"chairman": chairman},
    }
    if timeout is not None:
        milliseconds = int(timeout * 1000)
        config["timeouts"] = {"high": {"total": 10 * milliseconds, "per_model": milliseconds}}
    # It keeps notes in the folder it stands in.
    os.chdir(Path.home())
    Path("llm_council.yaml").write_text(json.dumps(config))
    os.environ["OPENROUTER_API_KEY"] = KEY
    reload_config()
