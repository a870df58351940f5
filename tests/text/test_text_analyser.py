"""The analyser: hand-checked terms, and what holds of any text."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.errors import ConfigError
from assay.text import analyser
from assay.text.analyser import LONGEST_TERM, Analyser, list_languages, load_stop_words
from assay.text.normalisation import fold, strip_marks

ENGLISH = Analyser()

TERMS = {
    # plain words are stemmed, whatever their case
    "running RUNNING Runs": ["run", "run", "run"],
    "the cat": ["the", "cat"],
    # identifiers: whole, unstemmed, and in parts
    "JINA_API_KEY": ["jina_api_key", "jina", "api", "key"],
    "maxRetries_v2": ["maxretries_v2", "maxretries", "maxretri", "max", "retri", "v2", "2"],
    "__init__": ["__init__", "init"],
    "_emphasis_": ["emphasi"],
    "camelCaseName": ["camelcasename", "camelcasenam", "camel", "case", "name"],
    "HTMLParser": ["htmlparser", "html", "parser"],
    "YouTube": ["youtube", "youtub", "you", "tube"],
    "APIs IDs": ["api", "id"],
    "foo.bar.baz()": ["foo.bar.baz", "foo", "bar", "baz"],
    "CVE-2024-1234": ["cve-2024-1234", "cve", "2024", "1234"],
    "sha256sum": ["sha256sum", "sha", "256", "sum"],
    "k8s": ["k8s", "8"],
    "3fdb78089783f225041f3dccad80bcf5bf283176": ["3fdb78089783f225041f3dccad80bcf5bf283176"],
    # versions, dates, numbers: prefixes
    "v1.29.3": ["v1.29.3", "1", "1.29", "1.29.3"],
    "v1.29.3-rc.1": ["v1.29.3-rc.1", "v1.29.3", "1", "1.29", "1.29.3", "rc", "1"],
    "log4j-2.17.1.jar": ["log4j-2.17.1.jar", "log4j", "log", "4", "2.17.1", "2", "2.17", "jar"],
    "3.5": ["3.5", "3"],
    "2024-01-15": ["2024-01-15", "2024", "2024-01"],
    "15.01.2024": ["15.01.2024", "15", "15.01", "2024"],
    "10.0.0.1": ["10.0.0.1", "10", "10.0", "10.0.0"],
    "1,000.5": ["1000.5", "1000"],
    "1,234,567": ["1234567"],
    "1,2,3": ["1,2,3", "1", "1,2", "2", "3"],
    "12:30": ["12:30", "12"],
    "24/7": ["24/7", "24"],
    # addresses and paths
    "user@example.com": ["user@example.com", "user", "example.com", "exampl", "com"],
    "/etc/hosts": ["etc/hosts", "etc", "host"],
    "C:\\Temp\\a.txt": ["c", "temp/a.txt", "temp", "a.txt", "txt"],
    "https://docs.example.com/b-c?x=1": [
        *("https", "docs.example.com/b-c", "docs.example.com", "doc", "exampl", "com"),
        *("b-c", "bc", "x", "1"),
    ],
    "and/or": ["and/or", "and", "or"],
    # signs
    "C++ C# C": ["c++", "c#", "c"],
    "C++17": ["c++17", "c++"],
    ".NET": [".net", "net"],
    "ASP.NET": ["asp.net", "asp", "net"],
    "--dry-run": ["--dry-run", "dry-run", "dryrun", "dri", "run"],
    "#34524": ["#34524", "34524"],
    "AT&T R&D": ["at&t", "at", "r&d"],
    # hyphens and apostrophes
    "state-of-the-art": ["state-of-the-art", "state", "of", "the", "art"],
    "non-profit": ["non-profit", "nonprofit", "non", "profit"],
    "e-mail": ["e-mail", "email", "mail"],
    "don't don’t": ["don't", "don't"],
    "John's users'": ["john", "user"],
    "O'Brien": ["o'brien", "obrien", "brien"],
    "U.S. e.g.": ["u.s", "us", "e.g", "eg"],
    # marks, case, width
    "café CAFÉ cafe\u0301": ["cafe", "cafe", "cafe"],
    "Straße STRASSE": ["strass", "strass"],
    "İstanbul istanbul": ["istanbul", "istanbul"],
    "naïve-Bayes": ["naive-bayes", "naivebay", "naiv", "bay"],
    "ｆｕｌｌ": ["full"],
    "हिन्दी": ["हिन्दी"],
    "שָׁלוֹם": [fold("שָׁלוֹם"), "שלום"],
    "٢٠٢٤": ["2024"],
    # scripts without spaces: pairs and, for one-character queries, single characters
    "日本語": ["日", "日本", "本", "本語", "語"],
    "猫": ["猫"],
    "iPhone手机": ["iphone", "iphon", "phone", "手", "手机", "机"],
    "学校に行く": ["学", "学校", "校", "校に", "に", "に行", "行", "行く", "く"],
    "학교": ["학", "학교", "교"],
    "ｶﾞｲﾄﾞ": ["ガ", "ガイ", "イ", "イド", "ド"],
    "สวัสดี": ["ส", "สวั", "วั", "วัส", "ส", "สดี", "ดี"],
    "😀🇩🇪": ["😀", "🇩🇪"],
    # nothing
    "": [],
    "... --- *** () \x00 \ud800 \u200b": [],
}


@pytest.mark.parametrize("text", TERMS)
def test_terms(text: str) -> None:
    assert ENGLISH.terms(text) == TERMS[text]


def test_punctuation_around_a_word_is_not_part_of_it() -> None:
    for text in [
        "word.",
        "(word)",
        '"word"',
        "word,",
        "**word**",
        "`word`",
        "[word](",
        "word:",
        "word…",
        "¿word?",
        "|word|",
    ]:
        assert ENGLISH.terms(text) == ["word"], text
    assert ENGLISH.terms("a;b!c?d=e") == ["a", "b", "c", "d", "e"]


QUERIES = {
    "how do I rotate the signing key?": ["key", "rotat", "sign"],
    "to be or not to be": ["be", "not", "or", "to"],  # nothing else: stop words stay
    "what's the US policy of the WHO": ["polici", "us", "who"],
    "WHO IS IT": ["is", "it", "who"],
    "THE KEY": ["key"],
    "cats AND dogs NOT fish": ["cat", "dog", "fish"],
    "don't panic": ["panic"],
    "state-of-the-art": ["art", "state", "state-of-the-art"],
    "日本語": ["日本", "本語"],
    "猫": ["猫"],
    "v1.29.3": ["1.29", "1.29.3", "v1.29.3"],
    "1.29.3": ["1", "1.29", "1.29.3"],
    "CVE-2024-1234": ["cve", "cve-2024-1234"],
    "sha256": ["sha", "sha256"],
    "GPT-4": ["gpt", "gpt-4"],
    "docs/2024/notes": ["doc", "docs/2024/notes", "note"],
    "2019-nCoV": ["2019-ncov", "co", "ncov"],
    "30-day": ["30", "30-day", "day"],  # quantities, ordinals, decades and years joined to a word are words
    "3rd": ["3", "3rd", "rd"],
    "the 1990s": ["1990", "1990s"],
    "1990's": ["1990"],
    "Mid-2023": ["2023", "mid", "mid-2023"],
    "#34524": ["#34524", "34524"],
    "": [],
    "😀": ["😀"],
    "key Key KEY": ["key"],
}


@pytest.mark.parametrize("text", QUERIES)
def test_query_terms(text: str) -> None:
    assert ENGLISH.query_terms(text) == QUERIES[text]


def test_query_terms_are_counted() -> None:
    counts = ENGLISH.query_term_counts("GPT-4 and GPT-3.5: keys, Key of the GPT")
    assert dict(counts) == {"3.5": 1, "gpt": 3, "gpt-3.5": 1, "gpt-4": 1, "key": 2}
    assert list(counts) == sorted(counts)
    split = ENGLISH.query_term_counts("GPT-4 and GPT-3.5", split_identifiers=True)
    assert dict(split) == {"3": 1, "3.5": 1, "4": 1, "gpt": 2, "gpt-3.5": 1, "gpt-4": 1}


@given(st.text(max_size=60))
def test_only_bare_digits_are_left_out(text: str) -> None:
    split = ENGLISH.query_term_counts(text, split_identifiers=True)
    left_out = split.keys() - set(ENGLISH.query_terms(text))
    assert all(term.isnumeric() for term in left_out) or not ENGLISH.query_terms(text)
    assert set(split) <= set(ENGLISH.terms(text))
    assert bool(split) == bool(ENGLISH.query_terms(text))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("1.29", "Kubernetes v1.29.3 is out"),
        ("youtube", "on YouTube"),
        ("YouTube", "on youtube"),
        ("nonprofit", "a non-profit"),
        ("email", "send an e-mail"),
        ("cafe", "das Café"),
        ("jina key", "export JINA_API_KEY=x"),
        ("2024-01", "on 2024-01-15"),
        ("1000", "about 1,000 people"),
        ("US", "the U.S. economy"),
        ("obrien", "Mr. O'Brien"),
        ("本語", "日本語"),
        ("語", "日本語"),
        ("שלום", "שָׁלוֹם"),
        ("dotnet .NET", "use .NET"),
    ],
)
def test_a_query_finds_what_a_reader_would_expect(query: str, text: str) -> None:
    assert set(ENGLISH.query_terms(query)) & set(ENGLISH.terms(text))


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("french", "aimée", "aimer"),
        ("french", "aimee", "aimée"),
        ("french", "l'homme", "hommes"),
        ("german", "Häuser", "Haus"),
        ("german", "Hauser", "Häuser"),
        ("spanish", "canciones", "cancion"),
        ("russian", "ёлки", "елка"),
        ("greek", "ΆΝΘΡΩΠΟΣ", "ανθρωπος"),
        ("turkish", "IŞIK", "ışık"),
        ("turkish", "KİTAPLARI", "kitaplari"),
        ("arabic", "كِتَابٌ", "الكتاب"),
        ("swedish", "flickorna", "flicka"),
    ],
)
def test_languages_conflate_with_and_without_marks(language: str, one: str, other: str) -> None:
    analyser = Analyser(language)
    assert set(analyser.terms(one)) & set(analyser.terms(other))


def test_stop_words_of_other_languages() -> None:
    assert Analyser("german").query_terms("Wie kann ich den Schlüssel erneuern?") == ["erneu", "schlussel"]
    assert Analyser("french").query_terms("est-ce qu'il faut changer la clé ?") == [
        "chang",
        "cle",
        "est-ce",
        "estce",
        "faut",
    ]
    assert Analyser("none").query_terms("the key") == ["key", "the"]
    assert Analyser(stop="none").query_terms("the key") == ["key", "the"]
    assert load_stop_words("tamil") == frozenset()


def test_every_stop_list_belongs_to_a_stemmer_and_is_folded() -> None:
    from importlib.resources import files

    lines = files("assay.text").joinpath("data/stop.txt").read_text("utf-8").splitlines()
    for line in lines:
        name, *words = line.split()
        assert name in list_languages()
        assert len(words) > 50
        assert all(word == strip_marks(fold(word)) for word in load_stop_words(name))


def test_choices() -> None:
    assert Analyser(stem=False).terms("running cafés") == ["running", "cafes"]
    assert Analyser("none").terms("running") == ["running"]
    assert Analyser(cjk="unigram").terms("日本語") == ["日", "本", "語"]
    assert Analyser(cjk="unigram").query_terms("日本語") == sorted("日本語")


def test_the_config_is_plain_and_its_digest_covers_it() -> None:
    config = {"language": "english", "stem": True, "cjk": "bigram", "stop": "language"}
    assert asdict(ENGLISH) == config == json.loads(json.dumps(config))
    assert Analyser(**config) == ENGLISH  # type: ignore[arg-type]
    others = [Analyser("german"), Analyser(stem=False), Analyser(cjk="unigram"), Analyser(stop="none")]
    assert len({analyser.digest for analyser in [ENGLISH, *others]}) == 5
    assert ENGLISH.digest == Analyser().digest
    assert len(ENGLISH.digest) == 64


@pytest.mark.parametrize(
    ("config", "cure"),
    [({"language": "englsh"}, "english"), ({"cjk": "bigrams"}, "bigram"), ({"stop": "languages"}, "language")],
)
def test_a_misspelt_choice_names_the_right_one(config: dict[str, str], cure: str) -> None:
    with pytest.raises(ConfigError, match=f"did you mean '{cure}'"):
        Analyser(**config)  # type: ignore[arg-type]


def test_long_terms_are_shortened_not_lost_and_stay_apart() -> None:
    one, other = "x" * 5_000 + "a", "x" * 5_000 + "b"
    assert len(ENGLISH.terms(one)[0]) == LONGEST_TERM
    assert ENGLISH.terms(one) == ENGLISH.query_terms(one) == ENGLISH.terms(one.upper())
    assert ENGLISH.terms(one) != ENGLISH.terms(other)
    assert max(map(len, ENGLISH.terms("ﷺ" * 100))) <= LONGEST_TERM
    path = "/".join(["segment"] * 400)
    assert Counter(ENGLISH.terms(path)) == {"segment": 400}, "a line of data gives its parts only"


UNITS = [
    *("Word", "word", "WORD", "camelCase", "don't", "O'Brien", "v1.29.3", "1,000.5", "snake_case", "__x__", "état"),
    *("日本", "か\u3099", "ｶﾞ", "한국", "ที่", "हिन्दी", "שָׁ", "ﷺ", "½", "①", "😀", "🇩🇪", "İ", "ß", "٣", "\U00010400", "🄰"),
    *(".", "-", "--", "_", "'", "’", "/", "\\", "@", "#", "+", "++", "&", ":", ",", "·", "‑", "(", ")", '"', "`", "*"),
    *(" ", "\n", "\t", "\u00a0", "\u3000", "\x1c", "\x00", "\ud800", "\u200d", "\u00ad", "\u0301", "\u200b", "1", "a"),
]
ANY = st.one_of(st.lists(st.sampled_from(UNITS), max_size=14).map("".join), st.text(st.characters(), max_size=40))
ANALYSERS = st.sampled_from([ENGLISH, Analyser("german"), Analyser("turkish"), Analyser("none", cjk="unigram")])


@settings(max_examples=800, deadline=None)
@given(ANY, ANALYSERS)
@example("a++b c# .5 ..x --- #a", ENGLISH)
@example("Ǆ ŉ ﬀ ǰ", ENGLISH)
def test_laws(text: str, analyser: Analyser) -> None:
    terms = analyser.terms(text)
    spans = analyser.spans(text)
    assert Counter(terms) == Counter(term for term, _, _ in spans), "terms and spans agree"
    assert all(0 <= start < end <= len(text) for _, start, end in spans)
    for term in terms:
        assert term
        assert len(term) <= LONGEST_TERM
        assert not any(c.isspace() or c == "\x00" for c in term)
        term.encode("utf-8")
    wanted = analyser.query_terms(text)
    assert wanted == sorted(set(wanted))
    assert set(wanted) <= set(terms), "a text contains whatever it asks for"
    assert bool(wanted) == bool(terms)


@settings(max_examples=300, deadline=None)
@given(ANY, ANY)
def test_terms_of_two_texts_are_those_of_each(one: str, other: str) -> None:
    assert ENGLISH.terms(f"{one} {other}") == ENGLISH.terms(one) + ENGLISH.terms(other)


@settings(max_examples=300, deadline=None)
@given(ANY)
def test_a_span_shows_its_term(text: str) -> None:
    """Analysing what a span covers gives the span's term again, so a highlight is never beside the point."""
    for term, start, end in ENGLISH.spans(text):
        assert term in ENGLISH.terms(text[start:end])


def test_ascii_and_unicode_expressions_agree() -> None:
    text = " ".join(case for case in TERMS if case.isascii())
    assert ENGLISH.terms(text + " é") == [*ENGLISH.terms(text), "e"]


@pytest.mark.parametrize(
    "run",
    [
        "https://github.com/kubernetes/kubernetes/pull/115847",
        "user@Example.COM/a/B/John's",
        "C:\\Users\\x86\\fooBar_baz-qux.tar.gz",
        "2024/01/15",
        "1/a/x",
        "a/v1.2.3/camelCaseName@1,000.5",
        "docs/C++17",
        ".github/workflows/ci.yml",
        "--dry-run/now",
        "src/" + "very-long-segment-" * 9 + "/end",
        "a/" + "x" * 200,
        "straße/weg@été.fr",
    ],
)
def test_the_terms_of_paths_come_in_the_order_of_their_spans(run: str) -> None:
    """A path's segments are remembered one by one; that changes neither its terms nor their order."""
    assert ENGLISH.terms(run) == [term for term, _, _ in ENGLISH.spans(run)]


def test_threads_share_an_analyser() -> None:
    texts = [f"running tests{number} camelCase{number} with JINA_KEY_{number} cafés" for number in range(300)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(Analyser("french").terms, texts * 3))
    assert together == [Analyser("french").terms(text) for text in texts * 3]


@pytest.mark.parametrize("seed", ["0", "1"])
def test_hash_seeds_change_nothing(seed: str) -> None:
    program = (
        "import sys, json; from assay.text.analyser import Analyser; a = Analyser(); t = sys.argv[1];"
        "print(json.dumps([a.terms(t), a.query_terms(t), a.spans(t), a.digest]))"
    )
    text = " ".join(case for case in TERMS if "\x00" not in case)
    done = subprocess.run(
        [sys.executable, "-c", program, text],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        check=True,
    )
    spans = [list(span) for span in ENGLISH.spans(text)]
    assert json.loads(done.stdout) == [ENGLISH.terms(text), ENGLISH.query_terms(text), spans, ENGLISH.digest]


def test_a_query_is_analysed_once_per_analyser() -> None:
    analyser._count_query_terms.cache_clear()
    first = Analyser().query_terms("Signing keys, rotated")
    first.append("changed by its caller")
    assert Analyser().query_terms("Signing keys, rotated") == ["key", "rotat", "sign"]
    assert Analyser(language="none").query_terms("Signing keys, rotated") == ["keys", "rotated", "signing"]
    assert analyser._count_query_terms.cache_info()[:2] == (1, 2), "one hit, two analyses"
