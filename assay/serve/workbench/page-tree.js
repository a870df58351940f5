// The tree of chunks: its nodes with keywords and sentences, and how a walk for a question chose among them.

import { errorBox, get, post } from "./api.js";
import { heatmap } from "./charts.js";
import { announce, field, h, replace, select, table } from "./dom.js";

export async function render(target, params, { goTo, setExport }) {
  const q = h("input", { type: "search", name: "q", value: params.get("q") ?? "" });
  const walk = select("pipeline", [["hcr", "hcr"], ["hcr-margin", "hcr-margin"]], params.get("pipeline") ?? "hcr");
  const map = h("div", {}), nodes = h("div", {});
  replace(target, h("h1", {}, "The tree"), h("form", { class: "bar", onsubmit: (event) => { event.preventDefault(); goTo("tree", { q: q.value.trim(), pipeline: walk.value, path: params.get("path") }); } },
    field("Question: which nodes does a walk choose?", q, { class: "half" }), field("Walk", walk), h("div", {}, h("button", { class: "primary" }, "Walk"))), map, nodes);
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
    replace(nodes, error.status === 409 || error.status === 422 || error.status === 404 ? h("p", { class: "empty" }, error.message, ". ", error.cure ?? "") : errorBox(error));
    return;
  }
  if (!params.get("q")) return;
  try {
    const answer = await post("/search", { text: params.get("q"), pipeline: walk.value, k: 10 });
    const logs = answer.trace.flatMap((span) => span.notes.map((note) => note.data?.routing).filter((log) => log?.levels).map((log) => [span.step, log]));
    replace(map, logs.length ? logs.map(([step, log]) => [h("h2", {}, `${step}: ${log.rows.toLocaleString("en")} of ${log.of.toLocaleString("en")} chunks scored`),
      h("p", { class: "small soft" }, "One row per expanded node, best child first; the stronger the colour, the higher the score; chosen children have a border."),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Heat map" }, heatmap(log.levels.map(decision), `Scores of the nodes for ${params.get("q")}`))])
      : h("p", { class: "empty" }, "This walk left no decisions: the store may be too small for a tree, or a step was skipped.", answer.status.degraded.map((line) => ` ${line}`)));
  } catch (error) { replace(map, errorBox(error)); }
}

function decision(level) {
  const columns = Object.entries(level.scores);
  const sum = level.children.map((_, place) => (level.scores.path ? level.scores.path[place] : columns.filter(([name]) => name !== "rerank").reduce((total, [, values]) => total + values[place], 0)));
  const low = Math.min(...sum), high = Math.max(...sum);
  const cells = level.children.map((child, place) => ({ name: child, value: high > low ? (sum[place] - low) / (high - low) : 1, chosen: level.chosen.includes(child),
    title: `node ${child}: ${sum[place].toFixed(3)} (${columns.map(([name, values]) => `${name} ${values[place].toFixed(2)}`).join(", ")})${level.chosen.includes(child) ? ", chosen" : ""}` }));
  return { name: `level ${level.level}, node ${level.node}`, cells: cells.sort((x, y) => y.value - x.value).slice(0, 40) };
}

function describe(node) {
  return h("div", { class: "empty" }, h("p", {}, h("strong", {}, node.keywords.slice(0, 12).join(", ") || "no keywords")), h("p", { class: "small soft" }, `${node.chunks.toLocaleString("en")} chunks · ${node.tokens.toLocaleString("en")} tokens · level ${node.level} · ${node.children} nodes below`),
    h("ul", {}, node.summary.slice(0, 5).map((one) => h("li", {}, one.text))));
}
