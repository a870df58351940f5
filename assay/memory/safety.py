"""What may be stored: secrets are refused or masked, and scopes have limits of size and rate."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from assay.errors import ConfigError, QueryError, nearest
from assay.memory.entries import MAX_TEXT, check_text
from assay.text.noise_filter import classify_noise
from assay.text.secrets import find_secrets, mask_secrets

SecretPolicy = Literal["refuse", "mask", "allow"]
"""What happens to a text with a secret: it is not stored; it is stored with the secret's kind in its place; it is
stored as it is."""
MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """Limits for every scope: characters of one memory, memories, and stores in a minute; None is no limit.

    The rate is counted in this process, the memories in the store.
    """

    characters: int = MAX_TEXT
    memories: int | None = None
    per_minute: int | None = None

    def __post_init__(self) -> None:
        for name in ("characters", "memories", "per_minute"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"limits.{name} = {value} is below 1", "give a number from 1, or no limit")


@dataclass
class RateCounter:
    """Counts the stores of each scope in the last minute."""

    limits: StoreLimits
    _moments: dict[str, deque[float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, stores: Mapping[str, int], now: float) -> None:
        """Count some stores by scope; QueryError when a scope has had its share, and then none of them counts."""
        most = self.limits.per_minute
        if most is None:
            return
        with self._lock:
            for scope, new in stores.items():
                self._check(self._moments.setdefault(scope, deque()), scope, new, most, now)
            for scope, new in stores.items():
                self._moments[scope].extend([now] * new)

    def _check(self, moments: deque[float], scope: str, new: int, most: int, now: float) -> None:
        while moments and moments[0] <= now - MINUTE:
            moments.popleft()
        if len(moments) + new <= most:
            return
        what = "this one was" if new == 1 else f"these {new:,} were"
        wait = max(1, round(moments[0] + MINUTE - now)) if moments else 0
        cure = f"try again in {wait} s" if new <= most else f"store at most {most} at a time"
        raise QueryError(
            f"{len(moments)} memories were stored in {scope!r} within a minute, and {most} is the limit; "
            f"{what} not stored",
            f"{cure}, or import many at once: assay memory import",
        )


def check_secret_policy(policy: str) -> SecretPolicy:
    if policy not in get_args(SecretPolicy):
        raise ConfigError(f"there is no policy {policy!r} for secrets", nearest(policy, get_args(SecretPolicy)))
    return policy  # type: ignore[return-value]


def check_labels(labels: Iterable[str], policy: SecretPolicy) -> None:
    """QueryError when a tag or a category holds a secret, which would be masked nowhere."""
    kinds = {secret.kind for label in labels for secret in find_secrets(label)}
    if kinds and policy != "allow":
        raise QueryError(
            f"a tag or the category holds a secret ({', '.join(sorted(kinds))}): nothing was stored",
            "keep it in a password manager, and leave it out",
        )


def handle_secrets(text: str, policy: SecretPolicy) -> tuple[str, str]:
    """Apply the policy: the text to store ("" when it is refused), and what was found, without repeating it."""
    secrets = () if policy == "allow" else find_secrets(text)
    if not secrets:
        return text, ""
    kinds = ", ".join(sorted({secret.kind for secret in secrets}))
    if policy == "mask":
        return mask_secrets(text), f"masked: {kinds}"
    return "", f"it holds a secret ({kinds}): keep it in a password manager, and store where it is kept"


def check_new_text(text: str, policy: SecretPolicy, limits: StoreLimits) -> str:
    """The text of an update, checked like one that is stored; QueryError if it would be refused."""
    checked = check_text(text, limits.characters)
    noise = classify_noise(checked)
    if noise.noisy:
        raise QueryError(f"the new text is noise ({noise.category}): {noise.reason}", "say something to remember")
    allowed, secret = handle_secrets(checked, policy)
    if not allowed:
        raise QueryError(f"the new text was not stored: {secret}", "leave the secret out")
    return allowed
