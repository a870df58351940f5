"""Recognises secrets in a text: keys and tokens by their published forms, and passwords that are named as such.

Precision comes before recall: a word after "password is" counts only if it looks like a password (it has a digit or a
sign among its letters), so "the password is in the safe" is no secret, and a password of plain words is not recognised.
Linear time, any string.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Secret(NamedTuple):
    """A secret: what it is, and its characters [start, end)."""

    kind: str
    start: int
    end: int


_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (
            "private key",
            r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----[\s\S]{0,10000}?(?:-----END [A-Z ]{0,40}-----|\Z)",
        ),
        ("age key", r"\bAGE-SECRET-KEY-1[A-Z0-9]{40,80}\b"),
        ("AWS access key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
        ("GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255})\b"),
        ("GitLab token", r"\bglpat-[A-Za-z0-9_-]{20,64}"),
        ("Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,250}"),
        ("Stripe key", r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{10,250}\b"),
        ("API key", r"\bsk-[A-Za-z0-9_-]{20,250}"),
        ("Google API key", r"\bAIza[A-Za-z0-9_-]{35}"),
        ("Hugging Face token", r"\bhf_[A-Za-z0-9]{20,100}\b"),
        ("Telegram token", r"\b\d{8,10}:AA[A-Za-z0-9_-]{33}\b"),
        ("SendGrid key", r"\bSG\.[A-Za-z0-9_-]{16,40}\.[A-Za-z0-9_-]{30,60}"),
        ("PyPI token", r"\bpypi-[A-Za-z0-9_-]{50,300}"),
        ("npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
        ("JSON web token", r"\beyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,1000}"),
        ("bearer token", r"(?i:\bbearer )[A-Za-z0-9._~+/-]{20,2000}=*"),
    )
)
_IN_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{1,100}:([^\s/@]{1,200})@")
_NAMED = re.compile(
    r"(?<![^\W_])(?:passwords?|passphrase|passwd|pwd|pin(?: code| number)?|secret(?:[ _-]key)?|api[ _-]?key"
    r"|access[ _-]?key|(?:access|auth|api|refresh|bot)[ _-]?token)(?:_[A-Za-z0-9_]{1,30})?\b"  # DB_PASSWORD_PROD, too
    r"[^\S\n]{0,3}(?:[\w.'-]{1,30}[^\S\n]){0,6}?(?:is|was|are|=|:)"
    r"[^\S\n]{0,3}"
    r"[\"'`“]?([^\s\"'`”\[][^\s\"'`”]{3,199})",
    re.IGNORECASE,
)
_TRAILING = ".,;:!?)"


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Find the secrets of a text in order; where two overlap, the first and longer one counts."""
    found = [Secret(kind, match.start(), match.end()) for kind, form in _FORMS for match in form.finditer(text)]
    found += [Secret("password in a URL", match.start(1), match.end(1)) for match in _IN_URL.finditer(text)]
    for match in _NAMED.finditer(text):
        value = match[1].rstrip(_TRAILING)
        if _looks_secret(value, match[0]):
            found.append(Secret("password or key", match.start(1), match.start(1) + len(value)))
    kept: list[Secret] = []
    for secret in sorted(found, key=lambda one: (one.start, -one.end)):
        if not kept or secret.start >= kept[-1].end:
            kept.append(secret)
    return tuple(kept)


def mask_secrets(text: str) -> str:
    """A text with every secret replaced by its kind: [GitHub token]."""
    for secret in reversed(find_secrets(text)):
        text = f"{text[: secret.start]}[{secret.kind}]{text[secret.end :]}"
    return text


def _looks_secret(value: str, phrase: str) -> bool:
    """Whether a value has a digit, or a sign inside; a PIN is digits alone."""
    if value.isdigit():
        return phrase[:3].lower() == "pin" or len(value) >= 6
    has_digit = any(character.isdigit() for character in value)
    has_sign = any(not character.isalnum() and character not in "-'’./" for character in value[:-1])
    return len(value) >= 5 and (has_digit or has_sign)
