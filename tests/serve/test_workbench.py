"""The workbench in a real browser: every page, the keyboard, hostile texts, narrow and dark, axe-core."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest

import assay
from assay.bench.datasets import load
from assay.serve.http.app import WORKBENCH, make_server_app
from assay.serve.http.context import ServerContext
from assay.serve.http.settings import ServerSettings
from assay.testing.chromium import FLAGS, REQUIRED, explain_missing, find_browser
from tests.serve.http_server import running

HOSTILE = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>"
RECORDS = [
    {"id": "keys", "text": "Rotate the signing key every ninety days.", "title": "Keys", "lang": "en"},
    {"id": "gauges", "text": "A gauge that lost its key goes back to the workshop.", "title": "Gauges", "lang": "en"},
    {"id": "tee", "text": "The key of the tea kitchen hangs on the board.", "title": "Tea", "lang": "de"},
    {"id": HOSTILE, "text": f"{HOSTILE} signing key", "title": HOSTILE, HOSTILE: HOSTILE, "section": HOSTILE},
]
WORDS = "k = 3\n[legs.exact]\nk = 50\n[legs.bm25]\nk = 50\n[fuse]\nuse = 'rrf'\n"
RECEIPTS = Path(__file__).resolve().parents[2] / "receipts" / "lab"
PAGES = ("compare", "judge", "results", "pipelines", "memories", "tree", "documents")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("workbench")
    (folder / "pipelines").mkdir()
    (folder / "pipelines" / "words.toml").write_text("k = 3\n[legs.bm25]\nk = 50\n")
    (folder / "pipelines" / "exact.toml").write_text("k = 3\n[legs.exact]\nk = 50\n")
    (folder / "receipts").mkdir()
    for receipt in sorted(RECEIPTS.glob("scifact.test.*.json"))[:3]:
        shutil.copy(receipt, folder / "receipts")
    with assay.open(folder / "kb", embedder="none") as base:
        base.add(RECORDS)
        settings = ServerSettings(
            workers=2,
            waiting=30,
            pipelines=folder / "pipelines",
            judgements=folder / "judged",
            receipts=folder / "receipts",
        )
        context = ServerContext.make(base, settings)
        with running(make_server_app(context)) as address:
            yield address, folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory):
    why = explain_missing()
    if why and os.environ.get(REQUIRED, "") not in ("", "0"):
        pytest.fail(f"{REQUIRED} is set, but {why}")
    if why:
        pytest.skip(why)
    webdriver = pytest.importorskip("selenium.webdriver")
    place, driver = find_browser() or ("", "")
    options = webdriver.ChromeOptions()
    options.binary_location = str(place)
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=str(driver)))
    found.set_window_size(1280, 900)
    yield found
    found.quit()


class Page:
    """What a test does in the browser."""

    def __init__(self, browser, address: str) -> None:
        self.browser, self.address = browser, address

    def open(self, page: str, **params: str) -> Page:
        self.browser.get("about:blank")
        self.browser.get(f"{self.address}/workbench/#/{page}{'?' + urlencode(params) if params else ''}")
        self.wait("document.getElementById('announce') && document.getElementById('announce').textContent !== ''")
        return self

    def wait(self, condition: str) -> None:
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.browser, 60).until(lambda b: b.execute_script(f"return Boolean({condition})"))

    def run(self, script: str):
        return self.browser.execute_script(f"return {script}")

    def text(self, selector: str = "main") -> str:
        return self.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def click(self, label: str, within: str = "main") -> None:
        for one in self.browser.find_elements("css selector", f"{within} button, {within} summary"):
            if one.text.strip().startswith(label):
                one.click()
                return
        raise AssertionError(f"no button {label!r}")

    def shoot(self, name: str) -> None:
        if folder := os.environ.get("ASSAY_SCREENSHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            height = self.run("Math.min(document.documentElement.scrollHeight, 3000)")
            self.browser.set_window_size(self.browser.get_window_size()["width"], max(700, height))
            self.browser.save_screenshot(str(Path(folder) / f"{name}.png"))


@pytest.fixture
def page(browser, server) -> Page:
    browser.set_window_size(1280, 900)
    return Page(browser, server[0])


def test_two_pipelines_side_by_side(page: Page) -> None:
    page.open("compare", q="signing key", a="words", b="exact", k="3")
    page.wait("document.querySelectorAll('.side').length === 2")
    assert page.run("document.querySelectorAll('.side .hit').length") >= 3
    assert "only in A" in page.text()
    assert "A: words" in page.text(".side")
    page.shoot("compare-1280-light")


def test_common_results_are_joined_by_lines(page: Page) -> None:
    page.open("compare", q="signing key", a="words", bt=WORDS, k="3")
    page.wait("document.querySelectorAll('.moves path').length > 0")
    common = page.run("document.querySelectorAll('.side[aria-label=\"Answer A\"] .hit.both').length")
    assert page.run("document.querySelectorAll('.moves path').length") == common > 0


def test_the_score_of_a_hit_through_every_step(page: Page) -> None:
    page.open("compare", q="signing key", a="words")
    page.click("Why this score")
    page.wait("document.querySelector('.hit svg.chart') && document.querySelector('.hit table')")
    assert "bm25" in page.text(".hit table")
    assert "#1" in page.text(".hit table")
    page.shoot("why-1280-light")


def test_why_a_document_is_not_here(page: Page) -> None:
    page.open("compare", q="ninety days", a="words", k="1")
    page.click("Why is this document not here?")
    page.browser.find_element("name", "missing").send_keys("tee")
    page.click("Explain")
    page.wait("document.querySelector('#missing ul li')")
    assert "It is not in the answer" in page.text("#missing")
    assert "bm25 finds nothing of the query in it" in page.text("#missing ul")


def test_a_document_with_all_its_fields_and_ranks(page: Page) -> None:
    page.open("compare", q="tea kitchen", a="words", b="exact", k="5")
    page.click("Document")
    page.wait("document.querySelector('dialog[open] details')")
    assert "A: rank 1" in page.text("dialog")
    assert "B: not in the answer" in page.text("dialog")
    assert "lang" in page.text("dialog")


def test_a_filter_is_built_from_the_fields(page: Page) -> None:
    page.open("compare", q="key", a="words")
    page.click("Filter, scope")
    page.run("(() => { document.querySelector('[name=field]').value = 'lang'; return 1 })()")
    page.browser.find_element("css selector", "fieldset input").send_keys("de")
    page.click("Add")
    assert page.run("document.querySelector('[name=where]').value") == 'lang = "de"'
    page.click("Search")
    page.wait("document.querySelectorAll('.hit').length === 1")
    assert "Tea" in page.text(".hit")


def test_judging_by_keyboard_makes_a_dataset(page: Page, server: tuple[str, Path]) -> None:
    page.open("judge", q="signing key", rater="ada", a="words", b="exact")
    page.wait("document.querySelectorAll('.hit').length >= 3")
    assert "1." not in page.text(".hit h3")  # ranks are hidden
    first = page.browser.find_elements("css selector", ".hit")[0]
    first.send_keys("3")
    page.wait("document.querySelector('.hit [aria-pressed=true]')")
    page.wait("document.activeElement === document.querySelectorAll('.hit')[1]")
    page.browser.switch_to.active_element.send_keys("0")
    page.wait("document.querySelectorAll('.hit [aria-pressed=true]').length === 2")
    page.shoot("judge-1280-light")
    page.click("Write the dataset")
    page.wait("document.querySelector('#written p')")
    assert "2 judgements" in page.text("#written")
    dataset = load(str(server[1] / "judged"), split="test")
    assert len(dataset.topics) == 1
    lines = [json.loads(line) for line in (server[1] / "judged" / "judgements.jsonl").read_text().splitlines()]
    assert [(one["judge"], one["grade"]) for one in lines] == [("ada", 3), ("ada", 0)]


def test_runs_by_query_worst_first(page: Page) -> None:
    names = httpx.get(f"{page.address}/receipts", params={"limit": 500}).json()["receipts"]
    scifact = [one["name"] for one in names]
    assert len(scifact) == 3
    page.open("results", run="|".join(scifact), metrics="nDCG@10|R@10")
    page.wait("document.querySelectorAll('main tbody tr').length > 50")
    lowest = page.run(
        "[...document.querySelectorAll('main tbody tr')].slice(1, 60).map("
        "r => Math.min(...[1, 2, 3].map(i => Number(r.children[i].textContent))))"
    )
    assert len(lowest) == 59
    assert lowest == sorted(lowest)
    page.shoot("results-1280-light")


def test_a_pipeline_is_checked_while_it_is_typed(page: Page) -> None:
    page.open("pipelines", name="words")
    area = page.browser.find_element("name", "toml")
    area.clear()
    area.send_keys("k = 3\n[legs.nothing]")
    page.wait("document.querySelector('main .error')")
    assert "What helps" in page.text("main .error")
    area.clear()
    area.send_keys("k = 2\n[legs.bm25]\nk = 9")
    page.wait("document.querySelector('main').textContent.includes('It reads: bm25')")
    page.browser.find_element("name", "q").send_keys("signing key")
    page.click("Try it beside words")
    page.wait("document.querySelectorAll('.side').length === 2")
    assert page.run("document.querySelectorAll('.side[aria-label=\"Answer B\"] .hit').length") == 2


def test_memories_are_edited_replaced_and_forgotten(page: Page) -> None:
    with httpx.Client(base_url=page.address) as client:
        client.post("/memories", json={"text": f"Ada likes tea. {HOSTILE}", "scope": "user:ada"}).raise_for_status()
    page.open("memories", scope="user:ada")
    page.wait("document.querySelectorAll('.hit').length === 1")
    assert page.run("window.hacked") is None
    page.click("Edit")
    area = page.browser.find_element("css selector", "dialog textarea")
    area.clear()
    area.send_keys("Ada likes coffee.")
    page.click("Save", "dialog")
    page.wait("document.querySelector('.hit') && document.querySelector('.hit').textContent.includes('coffee')")
    page.click("History")
    page.wait("document.querySelectorAll('dialog[open] li').length === 2")
    page.click("Close", "dialog")
    page.click("Replace by")
    page.browser.find_element("css selector", "dialog textarea").send_keys(" Since May, cocoa.")
    page.click("Replace", "dialog")
    page.wait("document.querySelector('.hit') && document.querySelector('.hit').textContent.includes('cocoa')")
    page.click("Forget all")
    page.browser.find_element("css selector", "dialog input").send_keys("user:ada")
    page.click("Forget them all", "dialog")
    page.wait("document.querySelector('main').textContent.includes('No memories')")


@pytest.mark.parametrize("name", PAGES)
def test_every_control_is_reached_by_the_keyboard_and_shows_it(page: Page, name: str) -> None:
    from selenium.webdriver.common.keys import Keys

    page.open(name)
    controls = page.run(
        "[...document.querySelectorAll('a[href], button, input, select, textarea, summary')]"
        ".filter((one) => one.checkVisibility() && !one.disabled).map((one, i) => (one.dataset.n = i)).length"
    )
    page.run("document.activeElement.blur()")
    reached, unseen = set(), []
    for _ in range(2 * controls + 10):
        page.browser.switch_to.active_element.send_keys(Keys.TAB)
        number, mark, label = page.run(
            "((one) => [one.dataset.n ?? null, getComputedStyle(one).outlineStyle, one.outerHTML.slice(0, 80)])"
            "(document.activeElement)"
        )
        if number is not None:
            reached.add(number)
            unseen += [label] if mark == "none" else []
        if len(reached) == controls:
            break
    assert controls > 5
    assert len(reached) == controls, "controls that Tab never reaches"
    assert not unseen, "controls without a visible focus"


def test_a_search_by_keyboard_has_an_address_that_shows_it_again(page: Page) -> None:
    from selenium.webdriver.common.keys import Keys

    page.open("compare")
    field = page.browser.find_element("css selector", "main input")
    field.send_keys("signing key", Keys.ENTER)
    page.wait("document.querySelectorAll('.hit').length > 0")
    address, hits = (
        page.browser.current_url,
        page.run("[...document.querySelectorAll('.hit')].map((one) => one.textContent)"),
    )
    page.browser.get("about:blank")
    page.browser.get(address)
    page.wait("document.querySelectorAll('.hit').length > 0")
    assert page.run("[...document.querySelectorAll('.hit')].map((one) => one.textContent)") == hits


def test_the_page_as_a_request(page: Page) -> None:
    page.open("compare", q="signing 'key'", a="words")
    page.browser.find_element("id", "as-request").click()
    shown = page.text("dialog pre")
    assert shown.startswith("curl -s 'http://127.0.0.1")
    assert "'\\''key'\\''" in shown


@contextmanager
def on_a_phone(page: Page) -> Iterator[None]:
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": False}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        yield
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("name", ["compare", "judge", "tree", "pipelines"])
def test_a_phone_shows_every_field(page: Page, name: str) -> None:
    with on_a_phone(page):
        page.open(name)
        hidden = page.run(
            "[...document.querySelectorAll('main input, main select, main summary')].filter((one) => "
            "!one.checkVisibility() && !one.closest('details:not([open])')).map((one) => one.name || one.textContent)"
        )
        assert page.run("document.querySelector('main input[name=q]').checkVisibility()")
        assert hidden == []


def test_charts_can_be_read_on_a_phone(page: Page) -> None:
    with on_a_phone(page):
        page.open("compare", q="signing key", a="words")
        page.click("Why this score")
        page.wait("document.querySelector('.hit svg.chart text')")
        scale = page.run(
            "((svg) => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)"
            "(document.querySelector('.hit svg.chart'))"
        )
        assert 12 * scale >= 11  # the texts of charts are 12 units high


def test_an_impossible_question_is_said_to_be_so(page: Page) -> None:
    page.open("compare", q="what does CVE-2099-1234 break?", a="words")
    page.wait("document.querySelector('.side')")
    judged = httpx.post(f"{page.address}/search", json={"text": "what does CVE-2099-1234 break?", "pipeline": "words"})
    assert judged.json()["answerability"]["word"] == "impossible"
    assert f"Judged impossible: {judged.json()['answerability']['why']}" in page.text(".side")


def test_an_error_says_it_once_and_blames_nothing_else(page: Page) -> None:
    page.open("compare", q="key", a="words", k="5000")
    page.wait("document.querySelector('[role=alert]')")
    assert page.text("[role=alert]").count("less than or equal to 1000") == 1
    page.open("compare", q="key", a="words")
    page.click("Why is this document not here?")
    page.browser.find_element("name", "missing").send_keys("no such document")
    page.click("Explain")
    page.wait("document.querySelector('#missing [role=alert]')")
    assert "older than the page" not in page.text("#missing")


def test_a_link_that_cannot_be_copied_is_not_said_to_be(page: Page) -> None:
    page.open("compare", q="key", a="words")
    page.run("Object.defineProperty(navigator, 'clipboard', {value: undefined, configurable: true}) && 1")
    page.browser.find_element("id", "export").click()
    page.click("Copy the link", "dialog")
    page.wait("document.querySelector('dialog [role=status]').textContent !== ''")
    assert "address bar" in page.text("dialog [role=status]")
    page.run(
        "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (t) => { window.kept = t }}, "
        "configurable: true}) && 1"
    )
    page.click("Copy the link", "dialog")
    page.wait("document.querySelector('dialog [role=status]').textContent.includes('copied')")
    assert page.run("window.kept === location.href")


def test_runs_are_found_by_words(page: Page) -> None:
    page.open("results")
    every = page.run("document.querySelectorAll('main input[type=checkbox]').length")
    assert every == 3
    page.browser.find_element("name", "find").send_keys("scifact BM25")
    shown = "[...document.querySelectorAll('main label.check')].filter((one) => one.checkVisibility())"
    assert page.run(f"{shown}.length") == 1
    assert page.run(f"{shown}[0].textContent") == "scifact test · bm25"
    page.run(f"{shown}[0].click()")
    page.click("Show these runs")
    page.wait("document.querySelectorAll('main tbody tr').length > 50")


def test_all_pages_of_a_list_are_read(page: Page) -> None:
    names = page.browser.execute_async_script(
        "const done = arguments[0]; import('/workbench/api.js').then(m => m.getAll('/receipts', 'receipts', 2))"
        ".then(found => done(found.map(one => one.name)))"
    )
    assert names == [one["name"] for one in httpx.get(f"{page.address}/receipts").json()["receipts"]]
    assert len(names) == 3


def test_an_export_hides_texts(page: Page) -> None:
    page.open("compare", q="signing key", a="words")
    hidden = page.browser.execute_async_script(
        "const done = arguments[0]; import('/workbench/redaction.js').then(m => done(JSON.stringify(m.redact("
        "{answers: [{query: {text: 'secret'}, hits: [{text: 'secret', id: 'secret', rank: 1, meta: {a: 'secret'}}]}],"
        " request: [{text: 'secret', k: 3}]}))))"
    )
    assert "secret" not in hidden
    assert json.loads(hidden)["answers"][0]["hits"][0]["rank"] == 1


@pytest.mark.parametrize("name", PAGES)
def test_hostile_texts_stay_texts(page: Page, name: str) -> None:
    page.browser.get_log("browser")
    page.open(name, q=f"signing key {HOSTILE}", rater=HOSTILE, a="words", prefix="<", path=HOSTILE, scope="a")
    assert page.run("window.hacked") is None
    assert page.run("document.querySelectorAll('main img, main script').length") == 0
    policy = [one["message"] for one in page.browser.get_log("browser") if "Content Security" in one["message"]]
    assert policy == []


def test_hostile_titles_are_shown_as_they_are(page: Page) -> None:
    page.open("compare", q="signing key", a="words")
    assert HOSTILE in page.text("ol.hits")
    page.open("documents")
    assert HOSTILE in page.text("table")


def test_errors_are_written_for_people(page: Page) -> None:
    page.open("compare", q="key", a="words", where="lang = ")
    page.wait("document.querySelector('[role=alert]')")
    assert "What helps" in page.text("[role=alert]")
    page.open("compare")
    assert "Ask a question" in page.text(".empty")
    page.open("tree")
    assert page.run("document.querySelector('main').textContent.length") > 40


def test_where_walks_lose_the_evidence(page: Page) -> None:
    """Which tests ran before decides what there is to say: nothing is judged yet, the store holds memories, or a judged
    question had no tree to walk. Each is said, with its cure or its reason, and never as a table of nothing."""
    page.open("tree", errors="judged")
    page.wait("document.querySelector('select[name=errors]') && document.querySelectorAll('main .empty').length >= 2")
    assert "Where walks lose the evidence" in page.text()
    told = ["grade some results", "keep them in a store of their own", "the store is too small for a tree"]
    shown = "document.querySelector('main').textContent.toLowerCase()"
    page.wait(f"{json.dumps(told)}.some((text) => {shown}.includes(text))")
    assert "Walking for" not in page.text()


def test_the_ideal_order_stands_beside_the_runs(page: Page, server: tuple[str, Path]) -> None:
    oracle = RECEIPTS / "scifact.test.oracle.json"
    shutil.copy(oracle, server[1] / "receipts")
    try:
        page.open(
            "results", run="scifact.test.bm25.json", metrics="P@10" if "P@10" in oracle.read_text() else "nDCG@10"
        )
        page.wait("document.querySelectorAll('main tbody tr').length > 50")
        heads = page.run("[...document.querySelectorAll('main thead th')].map(one => one.textContent)")
        assert heads[-1].endswith(" ideal")
        assert "the order of the judgements themselves" in page.text()
        assert "--with-text" in page.text()  # the committed receipts hold no texts
    finally:
        (server[1] / "receipts" / oracle.name).unlink()


def axe_source() -> str:
    package = pytest.importorskip("axe_core_python")
    return (Path(package.__file__).parent / "axe.min.js").read_text("utf-8")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_serious_for_axe_and_nothing_beside_the_screen(page: Page, width: int, theme: str) -> None:
    script = axe_source()
    params = {"q": "signing key", "a": "words", "b": "exact", "rater": "ada"}
    try:
        for name in PAGES:
            page.browser.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
            )
            page.browser.execute_cdp_cmd(
                "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]}
            )
            page.open(name, **params)
            page.shoot(f"{name}-{width}-{theme}")
            assert page.run("document.documentElement.scrollWidth") <= width, name
            page.browser.execute_script(script)
            found = page.browser.execute_async_script(
                "const done = arguments[0]; axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa']}).then(r => "
                "done(r.violations.filter(v => ['serious', 'critical'].includes(v.impact)).map(v => [v.id, "
                "v.nodes.map(n => n.html + ' ' + n.failureSummary)])))"
            )
            assert found == [], name
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_first_paint_is_small(page: Page) -> None:
    page.browser.execute_cdp_cmd("Network.clearBrowserCache", {})
    page.open("compare")
    loaded = page.run(
        "performance.getEntries().filter((one) => one.decodedBodySize !== undefined)"
        ".map((one) => [new URL(one.name).pathname, one.decodedBodySize])"
    )
    assert {"/workbench/", "/workbench/style.css", "/workbench/app.js", "/pipelines"} <= {name for name, _ in loaded}
    assert 10_000 < sum(size for _, size in loaded) <= 150_000  # before compression


def test_the_policy_is_strict(server: tuple[str, Path]) -> None:
    response = httpx.get(f"{server[0]}/workbench/")
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for path in WORKBENCH.iterdir():
        source = path.read_text("utf-8")
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "http://", "https://"):
            assert word not in source.replace("http://www.w3.org/2000/svg", ""), f"{path.name}: {word}"
