"""The one thing here that is not read-only: a short answer is generated, so the model is loaded and works.

Nothing but `profile --generate` comes here (a test and import-linter hold it). What was loaded stays so as
long as it would have, with the context it had; what was not is unloaded again.
"""

import http.client
import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from edge_llm_tests.errors import TargetUnreachableError
from edge_llm_tests.ollama import LoadedModel

__all__ = ["Pace", "generate", "kept_alive_s"]

_PROMPT: Final = "Count from one to one hundred in words, one number a line."
_TOKENS: Final = 64
_TIMEOUT_S: Final = 600.0  # a large model is read from a slow disk before its first token
_LINE_LIMIT_BYTES: Final = 1 << 20
_FOREVER: Final = -1
_FAR_DAYS: Final = 3650


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a model answered.

    Attributes:
        first_token_s: From the request to the first token, loading and waiting included.
        load_s: Of it, loading, by Ollama's own account.
        prompt_tokens: Tokens of the question; fewer if some were cached.
        tokens: Tokens of the answer.
        tokens_per_s: Of the answer, by Ollama's own account.
    """

    first_token_s: float
    load_s: float
    prompt_tokens: int
    tokens: int
    tokens_per_s: float


def kept_alive_s(loaded: LoadedModel | None, now: datetime) -> int | None:
    """The keep-alive that leaves a model as it was: what was left of its own; 0 for one that is not loaded.

    None for one that is being loaded: Ollama's own choice.
    """
    if loaded is None:
        return 0
    if loaded.expires_at is None:
        return None
    if (loaded.expires_at - now).days > _FAR_DAYS:
        return _FOREVER
    return max(1, round((loaded.expires_at - now).total_seconds()))


def generate(url: str, model: str, loaded: LoadedModel | None) -> Pace:
    """Have `model` answer a short question; its words are not kept.

    Raises:
        TargetUnreachableError: Ollama does not answer, or cannot load the model.
    """
    options: dict[str, Any] = {"num_predict": _TOKENS, "temperature": 0, "seed": 0}
    if loaded is not None and loaded.context_length:
        options["num_ctx"] = loaded.context_length  # another context would have it loaded again
    asked: dict[str, Any] = {"model": model, "prompt": _PROMPT, "stream": True, "options": options}
    kept = kept_alive_s(loaded, datetime.now(UTC))
    if kept is not None:
        asked["keep_alive"] = kept
    place = urlsplit(url if "://" in url else f"http://{url}")
    kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
    connection = kind(place.hostname or "", place.port, timeout=_TIMEOUT_S)
    began = time.monotonic()
    try:
        body = json.dumps(asked)
        connection.request("POST", place.path.rstrip("/") + "/api/generate", body=body)
        return _followed(connection.getresponse(), began)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise TargetUnreachableError(
            f"{model} did not answer: {error}", "see `ollama ps` and the log of Ollama"
        ) from None
    finally:
        connection.close()


def _followed(response: http.client.HTTPResponse, began: float) -> Pace:
    first = 0.0
    while line := response.readline(_LINE_LIMIT_BYTES):
        told = json.loads(line)
        if not isinstance(told, dict):
            raise ValueError("an answer that is no document")  # noqa: TRY004 - the server's fault, not a type's
        if "error" in told:
            raise ValueError(str(told["error"])[:400])
        if not first and told.get("response"):
            first = time.monotonic() - began
        if told.get("done"):
            return _pace(told, first or time.monotonic() - began)
    raise ValueError(f"the answer ended early (status {response.status})")


def _pace(told: dict[str, Any], first: float) -> Pace:
    tokens, spent_ns = int(told.get("eval_count", 0)), int(told.get("eval_duration", 0))
    return Pace(
        first_token_s=first,
        load_s=int(told.get("load_duration", 0)) / 1e9,
        prompt_tokens=int(told.get("prompt_eval_count", 0)),
        tokens=tokens,
        tokens_per_s=tokens / spent_ns * 1e9 if spent_ns else 0.0,
    )
