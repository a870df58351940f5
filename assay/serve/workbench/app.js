// The shell: pages by the part of the address after #, theme, requests, export. A page is loaded when it is opened.

import { asCurl, asPython, errorBox, forgetRequests, requests } from "./api.js";
import { announce, download, h, openDialog, replace } from "./dom.js";
import { redact } from "./redaction.js";

const PAGES = [
  ["compare", "Search"], ["judge", "Judge"], ["results", "Results"], ["pipelines", "Pipelines"],
  ["memories", "Memories"], ["tree", "Tree"], ["documents", "Documents"],
];
const main = document.getElementById("main");
let exported = null;
let shown = 0;

export function readAddress() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { page: PAGES.some(([name]) => name === path) ? path : "compare", params: new URLSearchParams(query) };
}

export function goTo(page, params) {
  const kept = Object.entries(params).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  location.hash = `/${page}${kept.length ? `?${new URLSearchParams(kept)}` : ""}`;
}

async function show() {
  const turn = ++shown;
  const { page, params } = readAddress();
  document.title = `${PAGES.find(([name]) => name === page)[1]} · Assay workbench`;
  replace(document.getElementById("nav"), PAGES.map(([name, text]) =>
    h("a", { href: `#/${name}`, "aria-current": name === page ? "page" : null }, text)));
  forgetRequests();
  exported = null;
  replace(main, h("p", { class: "empty" }, "Loading …"));
  try {
    const view = await import(`./page-${page}.js`);
    const target = h("div", {});
    await view.render(target, params, { goTo, setExport: (data) => { exported = data; } });
    if (turn === shown) replace(main, target);
    announce(`${document.title} loaded`);
  } catch (error) {
    if (turn === shown) replace(main, errorBox(error));
  }
}

function showRequest() {
  const found = requests().filter((one) => one.method !== "GET").concat(requests().filter((one) => one.method === "GET")).slice(0, 4);
  openDialog("The requests behind this page", found.length === 0 && h("p", {}, "Nothing has been asked yet."),
    found.map((one) => [h("h3", {}, `${one.method} ${one.path.split("?")[0]}`), h("pre", { tabindex: 0 }, asCurl(one)),
      h("details", {}, h("summary", {}, "As Python, standard library only"), h("pre", { tabindex: 0 }, asPython(one)))]));
}

function showExport() {
  const texts = h("input", { type: "checkbox", id: "with-texts" });
  const copied = h("span", { class: "small", role: "status" });
  openDialog("Export this page",
    h("p", {}, "A link to this page is its address: it holds the question and the settings, and the server never sees that part."),
    h("div", { class: "row" }, h("button", { type: "button", onclick: async () => {
      const done = navigator.clipboard && await navigator.clipboard.writeText(location.href).then(() => true, () => false);
      copied.textContent = done ? "The link is copied." : "The browser does not let this page copy: take the link from the address bar.";
    } }, "Copy the link"), copied),
    h("h3", {}, "Data"),
    exported === null ? h("p", {}, "There is no data on this page yet: ask something first.") : [
      h("p", {}, "Questions, texts, titles, names and metadata are replaced unless you include them; ranks, scores and steps stay."),
      h("label", { class: "check" }, texts, "Include questions and texts"),
      h("p", {}, h("button", { class: "primary", type: "button", onclick: () =>
        download("assay-export.json", JSON.stringify(texts.checked ? exported : redact(exported), null, 1)) }, "Save as JSON"))]);
}

function switchTheme() {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  setTheme(dark ? "light" : "dark");
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("assay-theme", theme);
}

if (["light", "dark"].includes(localStorage.getItem("assay-theme"))) setTheme(localStorage.getItem("assay-theme"));
document.getElementById("theme").addEventListener("click", switchTheme);
document.getElementById("as-request").addEventListener("click", showRequest);
document.getElementById("export").addEventListener("click", showExport);
addEventListener("hashchange", show);
show();
