// Judging: the union of both pipelines' results, with the rank hidden or shown; every grade is stored before the next.

import { errorBox, get, noticeBox, post } from "./api.js";
import { announce, field, h, replace, select } from "./dom.js";

const GRADES = [[0, "0 not relevant"], [1, "1 related"], [2, "2 relevant"], [3, "3 answers it"]];

export async function render(target, params, { goTo, setExport }) {
  const [{ pipelines }, state] = await Promise.all([get("/pipelines"), get("/judgements").catch((error) => error)]);
  const value = (name, other = "") => params.get(name) ?? other;
  if (state instanceof Error) {
    replace(target, h("h1", {}, "Judge"), state.status === 404 || state.status === 409 ? noticeBox(state) : errorBox(state));
    return;
  }
  const names = pipelines.filter((one) => !one.error).map((one) => [one.name, one.name]);
  const inputs = {
    q: h("input", { name: "q", type: "search", value: value("q"), required: true }),
    rater: h("input", { name: "rater", value: value("rater", localStorage.getItem("assay-rater") ?? ""), required: true, autocomplete: "off" }),
    a: select("a", names, value("a", "default")), b: select("b", names, value("b", "bm25")),
    ranks: select("ranks", [["hidden", "hidden, in random order"], ["shown", "shown"]], value("ranks", "hidden")),
  };
  const pool = h("div", {});
  replace(target, h("h1", {}, "Judge results"),
    h("p", { class: "soft" }, `${state.judgements} judgements of ${state.queries} questions by ${state.raters.length} raters so far. They become a dataset that `, h("code", {}, "assay bench run"), " reads."),
    h("form", { class: "bar", onsubmit: (event) => {
      event.preventDefault();
      localStorage.setItem("assay-rater", inputs.rater.value.trim());
      goTo("judge", Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value.trim()])));
    } }, field("Question", inputs.q, { class: "wide" }), field("Your name", inputs.rater), field("Pool of A", inputs.a), field("and B", inputs.b),
    field("Ranks", inputs.ranks), h("div", {}, h("button", { class: "primary" }, "Show the pool"))),
    h("p", {}, h("button", { type: "button", onclick: (event) => writeDataset(event.currentTarget) }, "Write the dataset")), h("div", { id: "written" }), pool);
  if (!value("q") || !value("rater")) {
    replace(pool, h("p", { class: "empty" }, "Give a question and your name. The first ten results of both pipelines are pooled; keys 0 to 3 grade the one in focus, u takes the grade back."));
    return;
  }
  try {
    const answers = await Promise.all([value("a", "default"), value("b", "bm25")].map((pipeline) => post("/search", { text: value("q"), k: 10, pipeline })));
    const hidden = value("ranks", "hidden") === "hidden";
    const items = pooled(answers, hidden, value("q"));
    const mine = new Map((await get("/judgements", { query: value("q"), rater: value("rater") })).entries.map((one) => [one.doc_id, one.grade]));
    setExport({ question: value("q"), pool: items.map(({ hit }) => ({ doc_id: hit.doc_id, id: hit.id, grade: mine.get(hit.doc_id) ?? null })) });
    replace(pool, items.length ? h("ol", { class: "hits" }, items.map((one) => judgeCard(one, hidden, value("q"), value("rater"), mine)))
      : h("p", { class: "empty" }, "Neither pipeline found anything for this question."));
    announce(`${items.length} documents to judge`);
  } catch (error) { replace(pool, errorBox(error)); }
}

function pooled(answers, hidden, question) {
  const best = new Map();
  for (const answer of answers) for (const hit of answer.hits) {
    const before = best.get(hit.doc_id);
    if (!before || hit.rank < before.rank) best.set(hit.doc_id, { hit, rank: hit.rank });
  }
  const order = (one) => (hidden ? mix(`${question}\u001f${one.hit.doc_id}`) : one.rank);
  return [...best.values()].sort((x, y) => order(x) - order(y) || (x.hit.id < y.hit.id ? -1 : 1));
}

function mix(text) {
  // FNV-1a: the same order for every rater, and unrelated to ranks
  let hash = 2166136261;
  for (const letter of text) hash = Math.imul(hash ^ letter.codePointAt(0), 16777619);
  return hash >>> 0;
}

function judgeCard({ hit, rank }, hidden, question, rater, mine) {
  const status = h("span", { class: "small soft" }, mine.has(hit.doc_id) ? "judged" : "open");
  const buttons = GRADES.map(([grade, text]) => h("button", { type: "button", "aria-pressed": String(mine.get(hit.doc_id) === grade), onclick: () => give(grade) }, text));
  const give = async (grade, undo = false) => {
    try {
      await post("/judgements", { query: question, chunk_id: hit.id, rater, grade, rank: hidden ? null : rank, undo });
      if (undo) mine.delete(hit.doc_id); else mine.set(hit.doc_id, grade);
      buttons.forEach((button, place) => button.setAttribute("aria-pressed", String(!undo && GRADES[place][0] === grade)));
      status.textContent = undo ? "open" : "judged";
      announce(undo ? "taken back" : `graded ${grade}`);
      if (!undo) item.nextElementSibling?.focus();
    } catch (error) { item.append(errorBox(error)); }
  };
  const item = h("li", { class: "hit", tabindex: 0, onkeydown: (event) => {
    if (event.target !== item || event.ctrlKey || event.metaKey || event.altKey) return;
    if ("0123".includes(event.key)) give(Number(event.key));
    if (event.key === "u") give(0, true);
    if (event.key === "ArrowDown" || event.key === "j") item.nextElementSibling?.focus();
    if (event.key === "ArrowUp" || event.key === "k") item.previousElementSibling?.focus();
  } }, h("h3", {}, `${hidden ? "" : `${rank}. `}${hit.title || hit.doc_id}${hit.section ? ` › ${hit.section}` : ""}`),
  h("p", { class: "file" }, hit.doc_id), h("p", {}, hit.text), h("p", { class: "row grade" }, buttons, status));
  return item;
}

async function writeDataset(button) {
  const place = document.getElementById("written");
  button.disabled = true;
  try {
    const done = await post("/judgements/dataset", {});
    replace(place, h("p", { class: "empty" }, `Written: ${done.queries} questions, ${done.judgements} judgements, ${done.relevant} relevant. `, "Run it: ", h("code", {}, done.command)));
  } catch (error) { replace(place, errorBox(error)); }
  button.disabled = false;
}
