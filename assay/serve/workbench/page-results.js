// Receipts of the lab: queries by metric, worst first, several runs and metrics at once, beside the best that was reached.

import { errorBox, get, getAll } from "./api.js";
import { bar } from "./charts.js";
import { announce, field, h, replace } from "./dom.js";

const PAGE = 200;

export async function render(target, params, { goTo, setExport }) {
  const receipts = await getAll("/receipts", "receipts");
  const runs = receipts.filter((one) => one.kind === "run" && !one.error);
  const chosen = params.getAll("run").flatMap((one) => one.split("|")).filter(Boolean);
  const boxes = runs.map((one) => h("input", { type: "checkbox", value: one.name, ...(chosen.includes(one.name) ? { checked: true } : {}) }));
  const label = (one) => `${one.dataset?.name ?? "?"} ${one.dataset?.split ?? ""} · ${one.system ?? one.name}`;
  const labels = runs.map((one, place) => h("label", { class: "check" }, boxes[place], label(one)));
  const find = h("input", { type: "search", name: "find", placeholder: "scifact test", onkeydown: (event) => {
    if (event.key === "Enter") event.preventDefault();
  }, oninput: () => {
    const words = find.value.toLowerCase().split(/\s+/);
    labels.forEach((one, place) => { one.hidden = !boxes[place].checked && !words.every((word) => one.textContent.toLowerCase().includes(word)); });
  } });
  const output = h("div", {});
  replace(target, h("h1", {}, "Results of the lab"), runs.length === 0
    ? h("p", { class: "empty" }, receipts.length ? "There are receipts, but none of a run." : "This server shows no receipts. Start it with ", receipts.length ? null : h("code", {}, "assay serve --receipts receipts/"), ".")
    : h("form", { onsubmit: (event) => {
      event.preventDefault();
      goTo("results", { run: boxes.filter((box) => box.checked).map((box) => box.value).join("|"), metrics: params.get("metrics") });
    } }, h("details", { open: chosen.length === 0 }, h("summary", {}, `Runs (${chosen.length} of ${runs.length} chosen)`),
      field("Only runs with these words", find), h("div", { class: "scroll runs", tabindex: 0, role: "region", "aria-label": "Runs" }, labels)),
    h("p", {}, h("button", { class: "primary" }, "Show these runs"))), output);
  if (!chosen.length) return;
  try {
    const fetchOne = (name) => get(`/receipts/${name.split("/").map(encodeURIComponent).join("/")}`);
    const read = await Promise.all(chosen.map(fetchOne));
    const digests = new Set(read.map((one) => one.canonical.dataset.digest));
    if (digests.size > 1) {
      replace(output, h("p", { class: "error" }, h("strong", {}, "These runs are of different datasets or splits"), ". Choose runs of one."));
      return;
    }
    const ideal = runs.find((one) => one.system === "oracle" && digests.has(one.dataset?.digest));
    showTable(output, read, params, goTo, ideal ? await fetchOne(ideal.name) : null);
    setExport({ runs: read.map((one) => ({ system: one.canonical.system.name, digest: one.digest, aggregates: one.canonical.aggregates.all })) });
  } catch (error) { replace(output, errorBox(error)); }
}

function showTable(output, all_read, params, goTo, ideal) {
  const shown = all_read.filter((one) => one.canonical.system.name !== "oracle");
  const read = shown.length ? shown : all_read;
  const names = read.map((one) => one.canonical.system.name);
  const all = Object.keys(read[0].canonical.scores);
  const metrics = (params.get("metrics")?.split("|") ?? []).filter((name) => all.includes(name));
  if (!metrics.length) metrics.push(all[0]);
  const texts = [...all_read, ...(ideal ? [ideal] : [])].map((one) => one.canonical.texts ?? one.measured?.texts).find(Boolean) ?? {};
  const queries = read[0].canonical.queries;
  const places = read.map((one) => new Map(one.canonical.queries.map((id, place) => [id, place])));
  const score = (run, metric, id) => read[run].canonical.scores[metric]?.[places[run].get(id)] ?? null;
  const rows = queries.map((id) => ({ id, scores: metrics.map((metric) => names.map((_, run) => score(run, metric, id))) }));
  const worst = (row) => Math.min(...row.scores[0].filter((one) => one !== null));
  rows.sort((x, y) => worst(x) - worst(y) || (x.id < y.id ? -1 : 1));
  const boxes = all.map((name) => h("input", { type: "checkbox", value: name, ...(metrics.includes(name) ? { checked: true } : {}) }));
  const idealPlaces = new Map((ideal?.canonical.queries ?? []).map((id, place) => [id, place]));
  const best = (metric, id) => ideal?.canonical.scores[metric]?.[idealPlaces.get(id)] ?? null;
  const heads = metrics.flatMap((metric) => [...names.map((name) => `${metric} ${name}`), `${metric} best of these`, ...(ideal ? [`${metric} ideal`] : [])]);
  const cells = (row) => metrics.flatMap((metric, place) => {
    const found = row.scores[place].map((one) => h("td", { class: "number" }, one === null ? "–" : one.toFixed(3), one !== null && bar(one, 1, `${metric} ${one}`)));
    const known = row.scores[place].filter((one) => one !== null);
    const top = best(metric, row.id);
    return [...found, h("td", { class: "number soft" }, known.length ? Math.max(...known).toFixed(3) : "–"), ideal && h("td", { class: "number soft" }, top === null ? "–" : top.toFixed(3))];
  });
  const idealMean = (metric) => rows.reduce((sum, row) => sum + (best(metric, row.id) ?? 0), 0) / rows.length;
  const mean = (place, run) => rows.reduce((sum, row) => sum + (row.scores[place][run] ?? 0), 0) / rows.length;
  replace(output, h("form", { class: "row", onsubmit: (event) => {
    event.preventDefault();
    goTo("results", { run: params.get("run"), metrics: boxes.filter((box) => box.checked).map((box) => box.value).join("|") });
  } }, h("fieldset", { class: "row" }, h("legend", { class: "small soft" }, "Metrics"), all.map((name, place) => h("label", { class: "check" }, boxes[place], name))), h("button", {}, "Show")),
  h("p", { class: "soft" }, `${rows.length} queries, worst first by ${metrics[0]}. “Best of these” is the best that one of the chosen runs reached. `,
    ideal ? "“Ideal” is the order of the judgements themselves (the system oracle)." : "Run the system oracle on this dataset to see the ideal order beside them.",
    Object.keys(texts).length === 0 && " Queries are shown by name: these receipts hold no texts (assay bench run --with-text)."),
  h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Scores by query" }, h("table", {},
    h("thead", {}, h("tr", {}, ["query", ...heads].map((text, place) => h("th", { scope: "col", class: place ? "number" : "" }, text)))),
    h("tbody", {}, h("tr", {}, h("th", { scope: "row" }, "mean"), metrics.flatMap((metric, place) => [...names.map((__, run) => h("td", { class: "number" }, mean(place, run).toFixed(4))), h("td", {}), ideal && h("td", { class: "number" }, idealMean(metric).toFixed(4))])),
      rows.slice(0, PAGE).map((row) => h("tr", {}, h("th", { scope: "row" }, texts[row.id] ?? row.id,
        texts[row.id] && h("a", { class: "small", href: `#/compare?${new URLSearchParams({ q: texts[row.id] })}` }, " try it")), cells(row)))))),
  rows.length > PAGE && h("p", { class: "soft" }, `The ${PAGE} worst of ${rows.length} are shown.`));
  announce(`${rows.length} queries`);
}
