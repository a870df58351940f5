// The tree of chunks: its nodes, how a walk for a question chose among them, and where walks lose their evidence (ε).

import { errorBox, get, getAll, noticeBox, post } from "./api.js";
import { heatmap } from "./charts.js";
import { announce, field, h, replace, select, table } from "./dom.js";

export async function render(target, params, { goTo, setExport }) {
  const q = h("input", { type: "search", name: "q", value: params.get("q") ?? "" });
  const walk = select("pipeline", [["hcr", "hcr"], ["hcr-margin", "hcr-margin"]], params.get("pipeline") ?? "hcr");
  const map = h("div", {}), nodes = h("div", {}), errors = h("div", {});
  const keep = (more) => ({ q: params.get("q"), pipeline: walk.value, path: params.get("path"), errors: params.get("errors"), ...more });
  replace(target, h("h1", {}, "The tree"), h("form", { class: "bar", onsubmit: (event) => { event.preventDefault(); goTo("tree", keep({ q: q.value.trim() })); } },
    field("Question: which nodes does a walk choose?", q, { class: "half" }), field("Walk", walk), h("div", {}, h("button", { class: "primary" }, "Walk"))), map, nodes, errors);
  try {
    const found = await get("/tree", { path: params.get("path") ?? "root" });
    setExport(found);
    const [node, ...children] = found.nodes;
    const up = node.path === "root" ? null : node.path.includes(".") ? node.path.split(".").slice(0, -1).join(".") : "root";
    replace(nodes, h("h2", {}, `Node ${node.path}`), up && h("p", {}, h("a", { href: `#/tree?path=${up}` }, `Up to ${up}`)), describe(node),
      children.length ? table(["node", "keywords", "chunks", "sentence"], children.map((one) => [h("a", { href: `#/tree?${new URLSearchParams({ path: one.path })}` }, one.path), one.keywords.slice(0, 6).join(", "), one.chunks, one.summary[0]?.text ?? ""]), [2])
        : h("p", { class: "soft" }, "A leaf: it has no nodes below it."));
    announce(`${children.length} nodes below ${node.path}`);
  } catch (error) {
    replace(nodes, error.status === 409 || error.status === 422 || error.status === 404 ? noticeBox(error) : errorBox(error));
    showErrors(errors, params, keep, goTo);  // it may walk for many questions: the page does not wait
    return;
  }
  showErrors(errors, params, keep, goTo);  // it may walk for many questions: the page does not wait
  if (!params.get("q")) return;
  try {
    const answer = await post("/search", { text: params.get("q"), pipeline: walk.value, k: 10 });
    const logs = answer.trace.flatMap((span) => span.notes.map((note) => note.data?.routing).filter((log) => log?.levels).map((log) => [span.step, log]));
    replace(map, logs.length ? logs.map(([step, log]) => [h("h2", {}, `${step}: ${log.rows.toLocaleString("en")} of ${log.of.toLocaleString("en")} chunks scored`),
      h("p", { class: "small soft" }, "One row per expanded node, best child first; the stronger the colour, the higher the score; chosen children have a border."),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Heat map" }, heatmap(log.levels.map(decision), `Scores of the nodes for ${params.get("q")}`, "cool"))])
      : h("p", { class: "empty" }, "This walk left no decisions: the store may be too small for a tree, or a step was skipped.", answer.status.degraded.map((line) => ` ${line}`)));
  } catch (error) { replace(map, errorBox(error)); }
}

function decision(level) {
  const columns = Object.entries(level.scores);
  const sum = level.children.map((_, place) => (level.scores.path ? level.scores.path[place] : columns.filter(([name]) => name !== "rerank").reduce((total, [, values]) => total + values[place], 0)));
  const low = Math.min(...sum), high = Math.max(...sum);
  const cells = level.children.map((child, place) => ({ mark: "", share: high > low ? (sum[place] - low) / (high - low) : 1, chosen: level.chosen.includes(child),
    title: `node ${child}: ${sum[place].toFixed(3)} (${columns.map(([name, values]) => `${name} ${values[place].toFixed(2)}`).join(", ")})${level.chosen.includes(child) ? ", chosen" : ""}` }));
  return { name: `level ${level.level}, node ${level.node}`, cells: cells.sort((x, y) => y.share - x.share).slice(0, 40) };
}

function describe(node) {
  return h("div", { class: "empty" }, h("p", {}, h("strong", {}, node.keywords.slice(0, 12).join(", ") || "no keywords")), h("p", { class: "small soft" }, `${node.chunks.toLocaleString("en")} chunks · ${node.tokens.toLocaleString("en")} tokens · level ${node.level} · ${node.children} nodes below`),
    h("ul", {}, node.summary.slice(0, 5).map((one) => h("li", {}, one.text))));
}

async function showErrors(place, params, keep, goTo) {
  const receipts = (await getAll("/receipts", "receipts").catch(() => [])).filter((one) => one.kind === "rb006");
  const source = select("errors", [["", "choose …"], ["judged", "judged questions of this server"], ...receipts.map((one) => [one.name, `RB-006: ${one.name}`])], params.get("errors") ?? "");
  source.addEventListener("change", () => goTo("tree", keep({ errors: source.value })));
  const output = h("div", {});
  replace(place, h("h2", {}, "Where walks lose the evidence"), h("div", { class: "bar-inner" }, field("From", source)), output);
  if (!params.get("errors")) return;
  replace(output, h("p", { class: "empty" }, "Walking for every judged question …"));
  try {
    const found = params.get("errors") === "judged" ? await get("/tree/errors", { pipeline: params.get("pipeline") ?? "hcr" }) : await readReceipt(params.get("errors"));
    replace(output, showLevels(found), showNodes(found));
  } catch (error) {
    replace(output, error.status === 404 ? noticeBox(error) : errorBox(error));
  }
}

async function readReceipt(name) {
  const { canonical } = await get(`/receipts/${name.split("/").map(encodeURIComponent).join("/")}`);
  const at = canonical.scales[String(canonical.judged_at)];
  return { questions: canonical.suite.queries, levels: at.routing.race?.strata?.all ?? [], nodes: at.nodes, about: `RB-006, ${canonical.judged_at.toLocaleString("en")} chunks; the nodes are those of its tree, not of this store.` };
}

function showLevels(found) {
  const cell = (value) => (value === null || value === undefined ? "–" : value.toFixed(3));
  return [h("p", { class: "soft" }, found.about ?? `${found.questions} of ${found.judged} judged questions with a relevant chunk were walked for.`),
    found.levels.length ? table(["level", "ε", "95 %", "lost", "of", "by chance", "children"], found.levels.map((one) => [one.level, cell(one.eps_any), one.interval ? `${cell(one.interval[0])} … ${cell(one.interval[1])}` : "–", one.misses, one.queries, cell(one.chance), one.children === null ? "–" : one.children.toFixed(2)]), [1, 2, 3, 4, 5, 6])
      : h("p", { class: "empty" }, "No walk was measured: the pipeline has no leg that walks, or the store is too small for a tree.")];
}

function showNodes(found) {
  if (!found.nodes.length) return null;
  const levels = [...new Set(found.nodes.map((one) => one.level))].sort((x, y) => x - y);
  const say = (one) => `node ${one.path ?? one.node}, level ${one.level}: ${one.missed} of ${one.walks} walks lost their evidence`;
  const rows = levels.map((level) => ({ name: `level ${level}`, cells: found.nodes.filter((one) => one.level === level)
    .sort((x, y) => y.missed - x.missed || y.walks - x.walks || x.node - y.node).slice(0, 46)
    .map((one) => ({ share: one.missed / one.walks, mark: one.missed ? String(one.missed) : "", title: say(one), href: one.path && `#/tree?${new URLSearchParams({ path: one.path, errors: "judged" })}` })) }));
  return [h("h3", {}, "By node"), h("p", { class: "small soft" }, "Each square is a node with evidence below it; the number counts walks that chose no child that leads to it, the colour is their share."),
    heatmap(rows, "Routing errors by node"),
    h("details", {}, h("summary", {}, "As a table"), table(["node", "level", "lost", "walks"], found.nodes.slice(0, 100).map((one) => [one.path ?? one.node, one.level, one.missed, one.walks]), [1, 2, 3]))];
}
