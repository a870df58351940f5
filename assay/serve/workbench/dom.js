// Builds elements. Everything from the store becomes text nodes: no function here, or anywhere in the page, parses HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(4)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);
export const s = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);

export function replace(node, ...children) {
  node.replaceChildren(...children.flat(4).filter((child) => child || child === 0).map((child) =>
    child instanceof Node ? child : document.createTextNode(String(child))));
  return node;
}

export function field(label, control, props) {
  return h("div", props, h("label", {}, label, control));
}

export function select(name, options, value) {
  const control = h("select", { name }, options.map(([key, text]) => h("option", { value: key }, text)));
  control.value = value ?? options[0]?.[0] ?? "";
  return control;
}

export function table(head, rows, numbers = []) {
  const kind = (place) => (numbers.includes(place) ? "number" : "");
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Table: ${head.join(", ")}` }, h("table", {},
    h("thead", {}, h("tr", {}, head.map((cell, place) => h("th", { scope: "col", class: kind(place) }, cell)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, place) => h("td", { class: kind(place) }, cell)))))));
}

export function announce(text) { document.getElementById("announce").textContent = text; }

export function openDialog(title, ...content) {
  const dialog = document.getElementById("dialog");
  replace(dialog, h("header", {}, h("h2", { id: "dialog-title" }, title),
    h("button", { type: "button", onclick: () => dialog.close() }, "Close")), ...content);
  if (!dialog.open) dialog.showModal();
  return dialog;
}

export const number = (value) => (value === null || value === undefined ? "–"
  : Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(2) : value.toFixed(4));
export const date = (seconds) => (seconds === null || seconds === undefined ? "" : new Date(seconds * 1000).toISOString().slice(0, 10));

export function download(name, text) {
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
}
