"""Secrets are refused or masked and never repeated; scopes have limits; exports come back as they were."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from assay import memory
from assay.errors import ConfigError, QueryError
from assay.memory.safety import StoreLimits
from assay.memory.service import MemoryService
from assay.text.secrets import find_secrets, mask_secrets
from tests.memory.conftest import Clock

GITHUB = "ghp_" + "a1B2" * 9
SECRETS = {
    f"The deploy token of Atlas is {GITHUB}": "GitHub token",
    "AWS: " + "AKIA" + "ABCDEFGHIJKLMNOP": "AWS access key",
    "use sk-ant-" + "abcdefghij0123456789xyz" + " for the bot": "API key",
    "The password for the router is hunter2!": "password or key",
    "PIN: 4711": "password or key",
    "api_key=9f8e7d6c5b4a": "password or key",
    "postgres://ada:s3cret@db.example/atlas": "password in a URL",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----": "private key",
    "Authorization: Bearer abcdefghijklmnopqrstuvwxyz": "bearer token",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY": "password or key",
    "export DB_PASSWORD=hunter2x": "password or key",
    "DB_PASSWORD_PROD='hunter2x'": "password or key",
    "client_secret: 8Xq~" + "7Ff0d2Kq1": "password or key",
    "the refresh token is 1//0gZx" + "9abcDEF": "password or key",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQOYBF\n-----END PGP PRIVATE KEY BLOCK-----": "private key",
    "AGE-SECRET-KEY-1" + "QQPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" * 2: "age key",
    "the bot is 123456789:" + "AAabcdefghijklmnopqrstuvwxyz0123456": "Telegram token",
    "SG." + "abcdefghijklmnopqrstuv" + "." + "a" * 43: "SendGrid key",
}
HARMLESS = [
    "The password manager we use is Bitwarden; the shared vault belongs to the operations team.",
    "The password is written in the blue binder.",
    "The Wi-Fi password changes every Monday.",
    "Ada forgot her password again and was locked out.",
    "The secret of the soup is two bay leaves.",
    "Her pin is a small silver owl.",
    "The token budget is 4,000 per answer.",
    "Error E4102 means that the licence server cannot be reached.",
    "The unspoken_passwords table is empty: nobody uses it.",
    "The OKR token_count = 4000 is what we aim at.",
    "Ada and password_strength are unrelated.",
    "Read https://example.org:8080/path@v2 first.",
    "The commit 215b885a7f6e5d4c3b2a190817263544abcdef01 broke the build.",
]


@pytest.mark.parametrize(("text", "kind"), SECRETS.items())
def test_secrets_are_found_and_masked(text: str, kind: str) -> None:
    (secret,) = find_secrets(text)
    assert secret.kind == kind
    masked = mask_secrets(text)
    assert text[secret.start : secret.end] not in masked
    assert f"[{kind}]" in masked
    assert not find_secrets(masked)


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_texts_are_left_alone(text: str) -> None:
    assert find_secrets(text) == ()
    assert mask_secrets(text) == text


def test_a_secret_in_a_label_is_refused_too(mem: MemoryService) -> None:
    for labels in ({"tags": ["home", GITHUB]}, {"category": GITHUB}):
        with pytest.raises(QueryError, match="GitHub token") as caught:
            mem.store("The router is in the hall.", **labels)
        assert GITHUB not in str(caught.value)
        (refused,) = mem.store_many(["The router is in the hall."], **labels)
        assert refused.action == "refused"
        assert GITHUB not in json.dumps(refused.to_json())
    name = mem.store("The router is in the hall.").id
    with pytest.raises(QueryError, match="GitHub token"):
        mem.update(name, scope="global", tags=[GITHUB])
    assert mem.get(name, scope="global").tags == ()


def test_long_hostile_texts_take_linear_time() -> None:
    for text in (
        "password " * 20_000,
        "a:" * 50_000,
        "eyJ" * 50_000,
        "-----BEGIN PRIVATE KEY-----" * 5_000,
        "password_" * 20_000,
    ):
        find_secrets(text)


def test_a_secret_is_refused_on_the_record_and_not_repeated(mem: MemoryService) -> None:
    text = f"The deploy token of Atlas is {GITHUB}"
    refused = mem.store(text)
    assert (refused.action, refused.id) == ("refused", "")
    assert "GitHub token" in refused.reason
    assert GITHUB not in json.dumps(refused.to_json())
    assert mem.stats("global").memories == 0
    name = mem.store("The deploy token of Atlas is in Bitwarden.").id
    with pytest.raises(QueryError, match="GitHub token") as caught:
        mem.update(name, scope="global", text=text)
    assert GITHUB not in str(caught.value)
    done = mem.import_([json.dumps({"text": text})], scope="global")
    assert (done.stored, done.refused) == (0, 1)
    assert "GitHub token" in done.problems[0][1]
    assert GITHUB not in json.dumps(done.to_json())


def test_a_secret_is_masked_or_allowed_if_asked(tmp_path: Path, home: Path) -> None:
    text = f"The deploy token of Atlas is {GITHUB}"
    with memory.open(tmp_path / "m", embedder="none", secrets="mask") as masking:
        stored = masking.store(text)
        assert stored.memory is not None
        assert stored.memory.text == "The deploy token of Atlas is [GitHub token]"
        assert "masked: GitHub token" in stored.reason
    with memory.open(tmp_path / "m", embedder="none", secrets="allow") as allowing:
        assert GITHUB in allowing.store(text).memory.text
    with pytest.raises(ConfigError, match="no policy"):
        memory.open(tmp_path / "m", secrets="ask")  # type: ignore[arg-type]


def test_limits_of_a_scope(tmp_path: Path, home: Path, clock: Clock) -> None:
    limits = StoreLimits(characters=50, memories=3, per_minute=4)
    with memory.open(tmp_path / "m", embedder="none", clock=clock, limits=limits) as limited:
        with pytest.raises(QueryError, match="60 characters"):
            limited.store("x" * 60)
        for number in range(2):
            limited.store(f"The door of room {number} is green.")
        limited.store("Thanks a lot!")  # noise counts as a call
        with pytest.raises(QueryError, match="within a minute"):
            limited.store("The door of room 7 is green.")
        assert limited.store("The door of room 7 is blue.", scope="user:ada").action == "stored"
        clock.now += 61.0
        limited.store("The door of room 8 is green.")
        with pytest.raises(QueryError, match="holds 3 memories"):
            limited.store("The door of room 9 is green.")
        assert limited.stats("global").memories == 3
    with pytest.raises(ConfigError):
        StoreLimits(per_minute=0)


def test_many_threads_lose_nothing_and_exceed_no_limit(tmp_path: Path, home: Path, clock: Clock) -> None:
    with memory.open(tmp_path / "m", embedder="none", clock=clock, limits=StoreLimits(per_minute=20)) as limited:
        refused: list[str] = []

        def store(start: int) -> None:
            for number in range(start, start + 8):
                try:
                    limited.store(f"Shelf {number} holds box {number * 7}.")
                except QueryError as error:
                    refused.append(error.cure)

        threads = [threading.Thread(target=store, args=(first,)) for first in (0, 100, 200, 300)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert limited.stats("global").memories == 20
        assert len(refused) == 12
        assert all("try again in" in cure for cure in refused)


def test_a_memory_of_a_megabyte_and_an_unknown_scope_get_a_clear_answer(mem: MemoryService) -> None:
    with pytest.raises(QueryError, match="1,048,576 characters"):
        mem.store("x" * 1_048_576)
    silence = mem.recall("anything at all?", scope="user:nobody").silence
    assert silence == 'Nothing is known here in the scope user:nobody (for another: scope="NAME").'
    assert mem.list(scope="user:nobody") == ()


def test_an_export_comes_back_as_it_was(mem: MemoryService, tmp_path: Path, home: Path, clock: Clock) -> None:
    old = mem.store("Ada lives in Lisbon.", tags=["home"], created="2025-01-01", importance=0.3).id
    mem.store("Ada lives in Porto.", supersedes=old, category="entity")
    mem.store("Zeilen\nund „Zeichen“ – 東京", expires="2030-01-01", scope="user:ada")
    lines = list(mem.export(["global", "user:ada"]))
    clock.pass_days(5)
    with memory.open(tmp_path / "copy", embedder="none", clock=clock) as copy:
        assert copy.import_(lines, scope=["global", "user:ada"]).stored == 3
        again = list(copy.export(["global", "user:ada"]))
        assert [_without_links(line) for line in again] == [_without_links(line) for line in lines]
        assert copy.import_(lines, scope=["global", "user:ada"]).stored == 0


def _without_links(line: str) -> dict[str, object]:
    """A line of an export; `updated` of linked memories is when they were linked."""
    return {name: value for name, value in json.loads(line).items() if name != "updated"}
