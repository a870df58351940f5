"""A language model behind an OpenAI-compatible server: `POST <url>/chat/completions` at temperature 0."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from assay.embed.endpoint import Endpoint
from assay.errors import ConfigError, ModelError

KEY_VARIABLE = "ASSAY_CHAT_KEY"


@dataclass(frozen=True)
class ChatModel:
    """The model `model` of the server at `url` (such as https://host/v1); its key is in `$ASSAY_CHAT_KEY`."""

    url: str
    model: str
    timeout: float = 30.0
    retries: int = 4
    backoff: float = 0.5

    @cached_property
    def endpoint(self) -> Endpoint:
        return Endpoint(
            f"{self.url.rstrip('/')}/chat/completions", KEY_VARIABLE, self.timeout, self.retries, self.backoff
        )

    def payload(self, prompt: str) -> dict[str, Any]:
        """The body of the request with this prompt."""
        # JSON carries valid Unicode only: a lone surrogate becomes "?".
        prompt = prompt.encode("utf-8", "replace").decode("utf-8")
        return {"model": self.model, "temperature": 0, "messages": [{"role": "user", "content": prompt}]}

    def ask(self, prompt: str) -> str:
        """Return the model's answer on one line. ModelError when the server fails or answers without a text."""
        answer = self.endpoint.post(self.payload(prompt))
        try:
            content = answer["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError):
            content = None
        if not isinstance(content, str):
            raise ModelError(
                f"{self.endpoint.url} answered without a message",
                "check that the address serves OpenAI-compatible chats",
            )
        return " ".join(content.split())


def open_chat(spec: str) -> ChatModel:
    """Open the spec `https://host/v1#model-name`."""
    url, _, model = spec.partition("#")
    if not url or not model:
        raise ConfigError("a language model needs an address and a name", "write https://host/v1#model-name")
    made = ChatModel(url, model)
    made.endpoint  # noqa: B018  refuses an address that is none
    return made
