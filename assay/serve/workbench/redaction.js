// Replaces what people wrote by its length, and names by numbers, so that an export can be shown to others.

const WRITTEN = new Set(["text", "title", "section", "query", "question", "toml", "where", "detail", "about", "excerpt", "rater", "judge", "scope", "tags", "keywords", "entities", "summary", "reasons", "notes", "context", "why_not"]);
const NAMES = new Set(["doc_id", "id", "document", "ids", "common", "only_a", "only_b", "name", "path", "chunk"]);

export function redact(value, names = new Map(), key = "") {
  if (key === "meta" || key === "metadata") return "[redacted]";
  if (typeof value === "string") {
    if (WRITTEN.has(key)) return `[redacted, ${value.length} characters]`;
    if (!NAMES.has(key)) return value;
    if (!names.has(value)) names.set(value, `name-${names.size + 1}`);
    return names.get(value);
  }
  if (Array.isArray(value)) return WRITTEN.has(key) ? `[redacted, ${value.length} entries]` : value.map((one) => redact(one, names, key));
  if (value && typeof value === "object") {
    if (WRITTEN.has(key) && !("text" in value)) return "[redacted]";
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, redact(one, names, name)]));
  }
  return value;
}
