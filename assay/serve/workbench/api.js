// Calls the server and remembers what was sent, so that the page can show itself as curl and Python.

import { h } from "./dom.js";

export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || `the server answered ${status}`);
    Object.assign(this, { status, cure: body.cure, type: body.type, request: body.request_id });
  }
}

const sent = [];
export const requests = () => sent;
export const forgetRequests = () => { sent.length = 0; };
const key = () => sessionStorage.getItem("assay-key");

export async function call(method, path, body) {
  sent.push({ method, path, body });
  if (sent.length > 20) sent.shift();
  const headers = { ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...(key() ? { Authorization: `Bearer ${key()}` } : {}) };
  let response;
  try {
    response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store" });
  } catch {
    throw new Problem(0, { detail: "the server does not answer", cure: "see whether assay serve still runs, then try again" });
  }
  const text = await response.text();
  let data = {};
  try { data = text ? JSON.parse(text) : {}; } catch { data = { detail: text.slice(0, 300) }; }
  if (!response.ok) throw new Problem(response.status, data);
  return data;
}

export const get = (path, query = {}) => {
  const parts = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return call("GET", parts.length ? `${path}?${new URLSearchParams(parts)}` : path);
};
// A whole list, page by page: the server gives at most 500 at a time.
export async function getAll(path, name, limit = 500) {
  const found = [];
  for (let offset = 0; offset !== null;) {
    const page = await get(path, { limit, offset });
    found.push(...page[name]);
    offset = page.next_offset;
  }
  return found;
}
export const post = (path, body) => call("POST", path, body);

export function errorBox(error) {
  const noRoute = error.type === "urn:assay:problem:http" && (error.status === 404 || error.status === 405);
  const kinds = { 401: "This server wants a key", 403: "Not permitted", 503: "The server is busy" };
  const box = h("div", { class: "error", role: "alert" },
    h("p", {}, h("strong", {}, kinds[error.status] ?? "That did not work"), ": ", error.message),
    error.cure && error.status !== 401 && h("p", {}, "What helps: ", error.cure),
    noRoute && h("p", { class: "small" }, "This server may be older than the page."),
    error.request && h("p", { class: "small soft" }, `Request ${error.request}`));
  if (error.status === 401) {
    const input = h("input", { type: "password", autocomplete: "off" });
    box.append(h("form", { class: "row", onsubmit: (event) => {
      event.preventDefault();
      sessionStorage.setItem("assay-key", input.value.trim());
      dispatchEvent(new HashChangeEvent("hashchange"));
    } }, h("label", {}, "Your key (who runs the server makes one with: assay key create NAME)", input),
    h("button", { class: "primary" }, "Use this key until the tab is closed")));
  }
  if (!(error instanceof Problem)) console.error(error);
  return box;
}

// For what is expected, such as a store without a tree: the message and its cure as sentences.
const sentence = (text) => (text ? `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}` : "");
export const noticeBox = (error) => h("p", { class: "empty" }, `${sentence(error.message)} ${sentence(error.cure)}`.trim());

const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

export function asCurl({ method, path, body }) {
  const auth = key() ? ` \\\n  -H "Authorization: Bearer $ASSAY_KEY"` : "";
  const data = body === undefined ? "" : ` \\\n  -H 'Content-Type: application/json' -d ${quote(JSON.stringify(body))}`;
  return `curl -s${method === "GET" || method === "POST" ? "" : ` -X ${method}`} ${quote(location.origin + path)}${auth}${data}`;
}

const python = (value) => (value === null || value === undefined ? "None" : value === true ? "True" : value === false ? "False"
  : Array.isArray(value) ? `[${value.map(python).join(", ")}]`
    : typeof value === "object" ? `{${Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${python(one)}`).join(", ")}}`
      : JSON.stringify(value));

export function asPython({ method, path, body }) {
  const lines = ["import json, os, urllib.request", "",
    `request = urllib.request.Request(`, `    ${JSON.stringify(location.origin + path)},`, `    method=${JSON.stringify(method)},`];
  if (body !== undefined) lines.push(`    data=json.dumps(${python(body)}).encode(),`);
  lines.push(`    headers={"Content-Type": "application/json"${key() ? ', "Authorization": "Bearer " + os.environ["ASSAY_KEY"]' : ""}},`,
    ")", "print(json.load(urllib.request.urlopen(request)))");
  return lines.join("\n");
}
