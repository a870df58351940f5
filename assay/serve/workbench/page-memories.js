// Memories: browse by scope, edit, replace by a newer one, read the history, forget one or all of a scope.

import { call, errorBox, get, post } from "./api.js";
import { announce, field, h, openDialog, replace } from "./dom.js";

const PAGE = 50;

export async function render(target, params, { goTo, setExport }) {
  const value = (name) => params.get(name) ?? "";
  const inputs = { scope: h("input", { name: "scope", value: value("scope"), placeholder: "global" }), category: h("input", { name: "category", value: value("category") }),
    everything: h("input", { type: "checkbox", ...(value("everything") ? { checked: true } : {}) }) };
  const list = h("div", {});
  const again = () => dispatchEvent(new HashChangeEvent("hashchange"));
  replace(target, h("h1", {}, "Memories"), h("form", { class: "bar", onsubmit: (event) => {
    event.preventDefault();
    goTo("memories", { scope: inputs.scope.value.trim(), category: inputs.category.value.trim(), everything: inputs.everything.checked ? "1" : "" });
  } }, field("Scope", inputs.scope), field("Category", inputs.category), h("div", {}, h("label", { class: "check" }, inputs.everything, "also superseded and expired")), h("div", {}, h("button", { class: "primary" }, "Show"))), list);
  try {
    const offset = Number(value("offset")) || 0;
    const { memories, more } = await get("/memories", { scope: value("scope"), category: value("category"), everything: value("everything") ? "true" : "", limit: PAGE, offset });
    setExport({ memories });
    const turn = (to) => goTo("memories", { ...Object.fromEntries(params), offset: to || "" });
    replace(list, memories.length === 0 ? h("p", { class: "empty" }, "No memories here. They are stored by agents over MCP, by ", h("code", {}, "assay memory store"), ", or with POST /memories.")
      : [h("ol", { class: "hits" }, memories.map((one) => memoryCard(one, again))),
        h("p", { class: "row" }, offset > 0 && h("button", { type: "button", onclick: () => turn(Math.max(0, offset - PAGE)) }, "Newer"), more && h("button", { type: "button", onclick: () => turn(offset + PAGE) }, "Older"),
          h("button", { type: "button", onclick: () => forgetAll(memories, value("scope") || "global", again) }, `Forget all ${memories.length} shown of ${value("scope") || "global"}`))]);
    announce(`${memories.length} memories`);
  } catch (error) { replace(list, errorBox(error)); }
}

function memoryCard(one, again) {
  return h("li", { class: "hit" }, h("p", {}, one.text), h("p", { class: "small soft" },
    [one.scope, one.category, `importance ${one.importance}`, one.created.slice(0, 16).replace("T", " "), one.superseded_by && `superseded by ${one.superseded_by}`, ...(one.tags ?? [])].filter(Boolean).join(" · ")),
  h("p", { class: "row" }, h("button", { class: "link", type: "button", onclick: () => edit(one, again) }, "Edit"),
    h("button", { class: "link", type: "button", onclick: () => supersede(one, again) }, "Replace by a newer one"),
    h("button", { class: "link", type: "button", onclick: () => history(one) }, "History"),
    h("button", { class: "link", type: "button", onclick: () => forget(one, again) }, "Forget")));
}

function dialogForm(title, note, control, button, send) {
  const output = h("div", {});
  const dialog = openDialog(title, h("p", {}, note), h("form", { onsubmit: async (event) => {
    event.preventDefault();
    try { await send(); dialog.close(); } catch (error) { replace(output, errorBox(error)); }
  } }, control, h("p", {}, h("button", { class: "primary" }, button))), output);
}

function edit(one, again) {
  const text = h("textarea", { "aria-label": "Text" });
  text.value = one.text;
  dialogForm("Edit this memory", "The state before stays in its history.", text, "Save", async () => {
    await call("PATCH", `/memories/${encodeURIComponent(one.id)}`, { text: text.value, scope: one.scope });
    again();
  });
}

function supersede(one, again) {
  const text = h("textarea", { "aria-label": "The newer statement" });
  text.value = one.text;
  dialogForm("Replace by a newer one", "The old one stays readable and is served as the new one.", text, "Replace", async () => {
    await post("/memories", { text: text.value, scope: one.scope, category: one.category, supersedes: [one.id], on_duplicate: "force" });
    again();
  });
}

function forget(one, again) {
  dialogForm("Forget this memory?", one.text, null, "Forget it", async () => {
    await call("DELETE", `/memories/${encodeURIComponent(one.id)}?${new URLSearchParams({ scope: one.scope })}`);
    again();
  });
}

function forgetAll(memories, scope, again) {
  const typed = h("input", { "aria-label": `Type ${scope} to confirm`, required: true, pattern: scope.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), title: scope });
  dialogForm(`Forget ${memories.length} memories of ${scope}?`, `Type ${scope} to confirm.`, typed, "Forget them all", async () => {
    for (const one of memories) await call("DELETE", `/memories/${encodeURIComponent(one.id)}?${new URLSearchParams({ scope: one.scope })}`);
    again();
  });
}

async function history(one) {
  try {
    const { states } = await get(`/memories/${encodeURIComponent(one.id)}/history`, { scope: one.scope });
    openDialog("History", h("ol", {}, states.map((state) => h("li", {}, h("pre", {}, JSON.stringify(state, null, 1))))));
  } catch (error) { openDialog("History", errorBox(error)); }
}
