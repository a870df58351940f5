// Documents: what the store holds, by name, and each with all its fields.

import { errorBox, get } from "./api.js";
import { announce, field, h, replace, table } from "./dom.js";
import { showDocument } from "./page-compare.js";

const PAGE = 100;

export async function render(target, params, { goTo, setExport }) {
  const prefix = h("input", { type: "search", value: params.get("prefix") ?? "" });
  const output = h("div", {});
  replace(target, h("h1", {}, "Documents"), h("form", { class: "bar", onsubmit: (event) => { event.preventDefault(); goTo("documents", { prefix: prefix.value }); } },
    field("Name begins with", prefix, { class: "half" }), h("div", {}, h("button", { class: "primary" }, "Show"))), output);
  const offset = Number(params.get("offset")) || 0;
  const found = await get("/documents", { prefix: params.get("prefix") ?? "", limit: PAGE, offset });
  setExport(found);
  const open = async (name) => {
    try {
      const whole = await get(`/documents/${name.split("/").map(encodeURIComponent).join("/")}`, { limit: 1 });
      await showDocument({ ...whole.chunks[0] });
    } catch (error) { output.append(errorBox(error)); }
  };
  replace(output, found.total === 0 ? h("p", { class: "empty" }, params.get("prefix") ? "No document begins so." : "This store is empty. Fill it: ", params.get("prefix") ? null : h("code", {}, "assay add ./my-docs"))
    : [h("p", { class: "soft" }, `${found.total.toLocaleString("en")} files and records`), table(["name", "chunks", "tokens", "folder"], found.documents.map((one) => [h("button", { class: "link", type: "button", onclick: () => open(one.origin) }, one.origin), one.chunks, one.tokens, one.folder]), [1, 2]),
      h("p", { class: "row" }, offset > 0 && h("button", { type: "button", onclick: () => goTo("documents", { prefix: params.get("prefix"), offset: Math.max(0, offset - PAGE) || "" }) }, "Back"),
        found.next_offset !== null && h("button", { type: "button", onclick: () => goTo("documents", { prefix: params.get("prefix"), offset: found.next_offset }) }, "More"))]);
  announce(`${found.total} documents`);
}
