// Pipelines: read a preset, edit its TOML, see what preflight says while typing, and try it at once.

import { errorBox, get, post } from "./api.js";
import { announce, field, h, replace, select, table } from "./dom.js";

export async function render(target, params, { goTo, setExport }) {
  const { pipelines } = await get("/pipelines");
  const name = params.get("name") ?? "default";
  const toml = h("textarea", { name: "toml", spellcheck: "false", "aria-label": "Pipeline as TOML" });
  const question = h("input", { type: "search", name: "q", value: params.get("q") ?? "", required: true });
  const findings = h("div", { "aria-live": "polite" });
  const chooser = select("name", pipelines.map((one) => [one.name, one.name]), name);
  chooser.addEventListener("change", () => goTo("pipelines", { name: chooser.value, q: question.value }));
  replace(target, h("h1", {}, "Pipelines"), h("div", { class: "bar-inner" }, field("Start from", chooser)), h("p", { class: "soft" }, pipelines.find((one) => one.name === name)?.about ?? ""),
    toml, h("h2", {}, "Preflight"), findings,
    h("form", { class: "bar", onsubmit: (event) => { event.preventDefault(); goTo("compare", { q: question.value, a: name, bt: toml.value }); } },
      field("Question to try it with", question, { class: "half" }), h("div", {}, h("button", { class: "primary" }, `Try it beside ${name}`))));
  toml.value = params.get("toml") ?? (await get(`/pipelines/${encodeURIComponent(name)}`)).toml;
  let timer = 0;
  const check = async () => {
    try {
      const found = await post("/pipelines/preflight", { toml: toml.value || " " });
      setExport({ toml: toml.value, preflight: found });
      replace(findings, describe(found));
      announce(found.valid ? "the pipeline reads" : "the pipeline does not read");
    } catch (error) { replace(findings, errorBox(error)); }
  };
  toml.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(check, 300); });
  await check();
}

function describe(found) {
  if (!found.valid) return h("div", { class: "error" }, h("p", {}, h("strong", {}, "It does not read"), `: ${found.error.detail}`), found.error.cure && h("p", {}, `What helps: ${found.error.cure}`));
  return [h("p", {}, `It reads: ${found.legs.join(", ")}${found.steps.length ? ` → ${found.steps.join(" → ")}` : ""}, k = ${found.k}, digest ${found.digest.slice(0, 8)}.`),
    found.findings.length ? h("ul", {}, found.findings.map((one) => h("li", {}, `${one.level} · ${one.where}: ${one.text}`))) : h("p", { class: "soft" }, "Preflight finds nothing to say."),
    found.effects?.length ? h("ul", {}, found.effects.map((one) => h("li", {}, `${one.where} ${one.effect}: ${one.allowed ? "allowed" : "not allowed on this server"}`))) : null,
    found.scales?.length ? h("details", {}, h("summary", {}, "Scales of the scores"), table(["step", "scale", "from", "to"], found.scales.map((one) => [one.step, one.scale, one.lo ?? "–∞", one.hi ?? "∞"]), [2, 3])) : null];
}
