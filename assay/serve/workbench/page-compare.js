// Two pipelines side by side: common and unique results, moves, the parts of each score, and why something is missing.

import { errorBox, get, post } from "./api.js";
import { moves, shorten, waterfall } from "./charts.js";
import { announce, date, field, h, number, openDialog, replace, select, table } from "./dom.js";

const MOST_TEXT = 320;

export async function render(target, params, { goTo, setExport }) {
  const [{ pipelines }, fields] = await Promise.all([get("/pipelines"), get("/fields").catch(() => ({ fields: {} }))]);
  const names = pipelines.filter((one) => !one.error).map((one) => [one.name, one.name]);
  const value = (name, other = "") => params.get(name) ?? other;
  const own = [params.get("bt") && ["(edited)", "edited TOML"]].filter(Boolean);
  const inputs = {
    q: h("input", { name: "q", type: "search", value: value("q"), autocomplete: "off", required: true, maxlength: 10000 }),
    a: select("a", names, value("a", "default")),
    b: select("b", [["", "none: one list"], ...own, ...names], params.get("bt") ? "(edited)" : value("b")),
    k: h("input", { name: "k", type: "number", min: 1, max: 100, value: value("k"), placeholder: "the pipeline's own" }),
    where: h("input", { name: "where", value: value("where"), placeholder: 'lang = "en" and created >= 2025-01-01' }),
    scope: h("input", { name: "scope", value: value("scope") }),
    at: h("input", { name: "at", value: value("at"), placeholder: "2026-05-01" }),
    budget: h("input", { name: "budget", type: "number", min: 1, value: value("budget") }),
  };
  const form = h("form", { class: "bar", onsubmit: (event) => {
    event.preventDefault();
    const now = Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value.trim()]));
    const edited = now.b === "(edited)";
    goTo("compare", { ...now, b: edited ? "" : now.b, bt: edited ? params.get("bt") : "" });
  } },
  field("Question", inputs.q, { class: "wide" }), field("Pipeline A", inputs.a), field("Pipeline B", inputs.b),
  field("Results", inputs.k), h("div", {}, h("button", { class: "primary" }, "Search")),
  h("details", { class: "wide", open: Boolean(value("where") || value("scope") || value("at") || value("budget")) },
    h("summary", {}, "Filter, scope, clock, token budget"), h("div", { class: "bar-inner" },
      field("Filter", inputs.where, { class: "wide" }), filterBuilder(fields.fields ?? {}, inputs.where),
      field("Scope", inputs.scope), field("As of (hides what is newer)", inputs.at), field("Context of so many tokens", inputs.budget))));
  const results = h("div", {});
  replace(target, h("h1", {}, "Search and compare"), form, results);
  if (!value("q")) {
    replace(results, h("p", { class: "empty" }, "Ask a question, and choose a second pipeline to see both answers side by side. Every result shows how its score came about."));
    return;
  }
  try {
    const settings = { text: value("q"), ...optional(params) };
    const b = params.get("bt") ? { pipeline_toml: params.get("bt") } : value("b") ? { pipeline: value("b") } : null;
    const sides = [{ ...settings, pipeline: value("a", "default") }, ...(b ? [{ ...settings, ...b }] : [])];
    const answers = await Promise.all(sides.map((side) => post("/search", side)));
    setExport({ request: sides, answers });
    replace(results, showAnswers(answers, sides));
    drawMoves(results, answers);
    new ResizeObserver(() => drawMoves(results, answers)).observe(results);
    announce(answers.map((one) => `${one.hits.length} results from ${one.pipeline}`).join(", "));
  } catch (error) {
    replace(results, errorBox(error));
  }
}

function optional(params) {
  const found = {};
  for (const name of ["where", "scope", "at"]) if (params.get(name)) found[name] = params.get(name);
  for (const name of ["k", "budget"]) if (params.get(name)) found[name] = Number(params.get(name));
  return found;
}

function filterBuilder(fields, input) {
  const names = Object.keys(fields).sort();
  if (!names.length) return null;
  const name = select("field", names.map((one) => [one, one]));
  const operator = select("operator", [["=", "is"], ["!=", "is not"], [">=", "at least"], ["<=", "at most"], ["has", "contains"]]);
  const value = h("input", { "aria-label": "Value" });
  const add = () => {
    if (!value.value.trim()) return;
    const kinds = fields[name.value] ?? [];
    const raw = value.value.trim();
    const plain = /^[A-Za-z_][\w.]*$/.test(name.value) ? name.value : `\`${name.value}\``;
    const literal = (kinds.includes("number") && raw !== "" && !Number.isNaN(Number(raw))) || /^\d{4}-\d\d-\d\d$/.test(raw) || ["true", "false"].includes(raw)
      ? raw : JSON.stringify(raw);
    input.value = [input.value.trim(), `${plain} ${operator.value} ${literal}`].filter(Boolean).join(" and ");
    value.value = "";
    input.focus();
  };
  return h("fieldset", { class: "row" }, h("legend", { class: "small soft" }, "Add a condition"),
    h("label", {}, "Field", name), h("label", {}, "Test", operator), h("label", {}, "Value", value),
    h("button", { type: "button", onclick: add }, "Add"));
}

function ranksOf(answer) { return new Map((answer?.hits ?? []).map((hit) => [hit.id, hit.rank])); }

function showAnswers(answers, sides) {
  const [a, b] = answers;
  const ranks = answers.map(ranksOf);
  const common = b ? a.hits.filter((hit) => ranks[1].has(hit.id)).length : 0;
  const summary = b && h("p", { class: "row" }, h("span", { class: "chip both" }, `${common} in both`),
    h("span", { class: "chip only-a" }, `${a.hits.length - common} only in A`), h("span", { class: "chip only-b" }, `${b.hits.length - common} only in B`));
  return [summary, missingForm(answers, sides), h("div", { class: b ? "sides" : "sides single" },
    side("A", 0, answers, ranks, sides), b && h("div", { class: "moves" }), b && side("B", 1, answers, ranks, sides)),
  answers.map((answer, place) => answer.context && h("section", {}, h("h2", {}, `Context${b ? ` of ${"AB"[place]}` : ""}`), h("pre", { tabindex: 0 }, answer.context.text)))];
}

function side(letter, place, answers, ranks, sides) {
  const answer = answers[place];
  const judged = answer.answerability;
  return h("section", { class: "side", "aria-label": `Answer ${letter}` },
    h("h2", {}, answers.length > 1 ? `${letter}: ${answer.pipeline}` : answer.pipeline),
    h("p", { class: "small soft" }, `${answer.status.word} · ${answer.hits.length} of ${answer.searched.toLocaleString("en")} chunks · ${answer.ms.toFixed(1)} ms · v${answer.version}`),
    answer.status.degraded.map((line) => h("p", { class: "error small" }, h("strong", {}, "Not as planned"), `: ${line}`)),
    answer.status.remarks.map((line) => h("p", { class: "small soft" }, line)),
    judged?.word === "impossible" && h("p", { class: "small" }, h("strong", {}, "Judged impossible"), `: ${judged.why}`),
    answer.hits.length === 0 && h("p", { class: "empty" }, "Nothing found. Try other words, or loosen the filter."),
    h("ol", { class: "hits" }, answer.hits.map((hit) => card(hit, letter, place, ranks, answers, sides))),
    h("details", {}, h("summary", {}, "Steps and times"), table(["step", "in", "out", "ms", "note"],
      answer.trace.map((span) => [span.step, span.candidates_in ?? "", span.candidates_out, span.ms.toFixed(1), span.skipped ?? ""]), [1, 2, 3])));
}

function card(hit, letter, place, ranks, answers, sides) {
  const other = ranks.length > 1 ? ranks[1 - place].get(hit.id) : undefined;
  const kind = ranks.length === 1 ? "both" : other === undefined ? `only-${letter.toLowerCase()}` : "both";
  const change = other === undefined ? 0 : place === 0 ? hit.rank - other : other - hit.rank;
  const move = ranks.length === 1 ? null : other === undefined ? `only in ${letter}`
    : change === 0 ? "same rank" : `${change > 0 ? "▲" : "▼"} ${Math.abs(change)} in B`;
  const more = h("div", {});
  const text = h("p", {}, shorten(hit.text, MOST_TEXT));
  const item = h("li", { class: `hit ${kind}`, "data-id": hit.id, tabindex: -1 },
    h("h3", {}, `${hit.rank}. ${hit.title || hit.doc_id}${hit.section ? ` › ${hit.section}` : ""}`),
    h("p", { class: "row" }, move && h("span", { class: `chip ${kind}` }, move), h("span", { class: "file" }, hit.doc_id), h("span", { class: "file" }, date(hit.created))),
    text,
    h("p", { class: "row" }, h("strong", {}, number(hit.score)),
      h("button", { class: "link", type: "button", "aria-expanded": "false", onclick: (event) => toggleWhy(event.currentTarget, more, hit, sides[place]) }, "Why this score"),
      h("button", { class: "link", type: "button", onclick: () => showDocument(hit, ranks) }, "Document"),
      hit.text.length > MOST_TEXT && h("button", { class: "link", type: "button", onclick: (event) => { text.textContent = hit.text; event.currentTarget.remove(); } }, "Whole text")),
    more);
  const link = (on) => document.querySelectorAll(`[data-id="${CSS.escape(hit.id)}"]`).forEach((one) => one.classList.toggle("linked", on && ranks.length > 1 && other !== undefined));
  item.addEventListener("mouseenter", () => link(true));
  item.addEventListener("mouseleave", () => link(false));
  return item;
}

async function toggleWhy(button, more, hit, request) {
  const open = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(!open));
  if (open) { replace(more); return; }
  replace(more, h("h4", {}, "The score, part by part"), waterfall(hit.why, `The parts of the score ${hit.score}`), h("p", { class: "small soft" }, "Loading the steps …"));
  try {
    const found = await post("/explain", { ...request, id: hit.id });
    more.lastChild.replaceWith(h("div", {}, h("h4", {}, "Through the steps"), stepTable(found.steps)));
  } catch (error) {
    more.lastChild.replaceWith(errorBox(error));
  }
}

export function stepTable(steps) {
  return table(["step", "rank", "score", "what happened"], steps.map((step) => [step.step, step.rank === null ? "–" : `#${step.rank}`,
    step.score === null ? "" : number(step.score), step.why ?? step.parts.map((part) => `${part.part} ${number(part.value)}`).join(", ")]), [1, 2]);
}

function missingForm(answers, sides) {
  const name = h("input", { name: "missing", list: "documents", required: true, placeholder: "handbook/keys.md or a chunk's id" });
  const list = h("datalist", { id: "documents" });
  const output = h("div", { "aria-live": "polite" });
  name.addEventListener("input", async () => {
    try {
      const { documents } = await get("/documents", { prefix: name.value, limit: 20 });
      replace(list, documents.map((one) => h("option", { value: one.origin })));
    } catch { /* suggestions are a help, not a need */ }
  });
  const ask = async (event) => {
    event.preventDefault();
    replace(output, h("p", { class: "soft" }, "Looking …"));
    const sections = await Promise.all(sides.map(async (request, place) => {
      const heading = sides.length > 1 ? `In ${"AB"[place]}: ${answers[place].pipeline}` : `In ${answers[place].pipeline}`;
      try {
        const found = await explainMissing(request, name.value.trim());
        return [h("h3", {}, heading), h("p", {}, found.rank === null ? "It is not in the answer." : `It is in the answer, at rank ${found.rank}.`),
          h("ul", {}, found.reasons.map((reason) => h("li", {}, reason))), stepTable(found.steps)];
      } catch (error) { return [h("h3", {}, heading), errorBox(error)]; }
    }));
    replace(output, sections);
  };
  return h("details", { id: "missing" }, h("summary", {}, "Why is this document not here?"),
    h("form", { class: "row", onsubmit: ask }, h("label", {}, "Document or chunk", name), list, h("button", {}, "Explain")), output);
}

async function explainMissing(request, name) {
  try {
    return await post("/explain", { ...request, document: name });
  } catch (error) {
    if (error.status !== 404) throw error;
    return post("/explain", { ...request, id: name });
  }
}

export async function showDocument(hit, ranks = []) {
  const places = ranks.map((one, place) => `${"AB"[place]}: ${one.has(hit.id) ? `rank ${one.get(hit.id)}` : "not in the answer"}`);
  const rest = h("div", {}, h("p", { class: "soft" }, "Loading the other parts …"));
  const fields = { ...hit, ...hit.meta };
  const rows = Object.entries(fields).filter(([key]) => !["text", "why", "meta"].includes(key))
    .map(([key, value]) => [key, key === "created" ? `${date(value)} (${value ?? "undated"})` : typeof value === "object" ? JSON.stringify(value) : String(value)]);
  openDialog(hit.title || hit.doc_id, places.length > 1 && h("p", { class: "row" }, places.map((one) => h("span", { class: "chip" }, one))),
    h("pre", { tabindex: 0 }, hit.text), h("h3", {}, "All fields"), table(["field", "value"], rows), h("h3", {}, "The whole document"), rest);
  try {
    const whole = await get(`/documents/${hit.doc_id.split("/").map(encodeURIComponent).join("/")}`, { limit: 100 });
    replace(rest, h("p", { class: "small soft" }, `${whole.total} chunks, ${whole.tokens} tokens`),
      whole.chunks.map((chunk) => h("details", { open: chunk.id === hit.id }, h("summary", {}, `${chunk.section || chunk.title || chunk.id}${chunk.id === hit.id ? " (this one)" : ""}`), h("pre", { tabindex: 0 }, chunk.text))));
  } catch (error) { replace(rest, errorBox(error)); }
}

function drawMoves(results, [a, b]) {
  const strip = results.querySelector(".moves");
  if (!strip || !b) return;
  const top = strip.getBoundingClientRect().top;
  const middle = (sideName, id) => {
    const found = results.querySelector(`.side[aria-label="Answer ${sideName}"] [data-id="${CSS.escape(id)}"]`);
    if (!found) return null;
    const box = found.getBoundingClientRect();
    return box.top - top + Math.min(box.height / 2, 40);
  };
  const ranks = ranksOf(b);
  const pairs = a.hits.filter((hit) => ranks.has(hit.id)).map((hit) => [middle("A", hit.id), middle("B", hit.id), Math.abs(hit.rank - ranks.get(hit.id)), `${hit.title}: ${hit.rank} → ${ranks.get(hit.id)}`]);
  const height = Math.max(1, strip.getBoundingClientRect().height);
  replace(strip, moves(pairs.filter(([x, y]) => x !== null && y !== null), height));
}
