// Charts as SVG: the parts of a score, the rank of a chunk through the steps, moves between two lists, a heat map.

import { s, number } from "./dom.js";

const PHONE = 576; // as in the style sheet: 36rem
const SIGN = { add: "+", mul: "×", set: "=" };

export function waterfall(parts, label) {
  const phone = innerWidth < PHONE;
  const width = phone ? 330 : 560, row = 26, left = phone ? 116 : 190, right = phone ? 74 : 90;
  const before = parts.map((_, place) => (place ? parts[place - 1].score : 0));
  const ends = [0, ...parts.map((part) => part.score)];
  const low = Math.min(...ends), high = Math.max(...ends);
  const x = (value) => left + ((value - low) / (high - low || 1)) * (width - left - right);
  const rows = parts.map((part, place) => {
    const [from, to] = [before[place], part.score].sort((a, b) => a - b);
    const kind = part.op === "set" ? "set" : part.score >= before[place] ? "up" : "down";
    const y = place * row;
    return s("g", {}, s("title", {}, `${part.part}: ${SIGN[part.op]} ${part.value}, the score is then ${part.score}`),
      s("text", { x: 0, y: y + 17 }, shorten(part.part, phone ? 12 : 20) + (part.rank ? ` #${part.rank}` : "")),
      s("rect", { class: kind, x: x(from), y: y + 5, width: Math.max(2, x(to) - x(from)), height: 15, rx: 2 }),
      s("text", { x: width - right + 8, y: y + 17 }, `${SIGN[part.op]} ${number(part.value)}`));
  });
  const height = parts.length * row;
  return s("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    s("line", { class: "axis", x1: x(0), x2: x(0), y1: 0, y2: height }), rows);
}

export function moves(pairs, height) {
  // pairs: [y in A, y in B, how far it moved, name]
  return s("svg", { "aria-hidden": "true", viewBox: `0 0 80 ${height}`, preserveAspectRatio: "none" },
    pairs.map(([a, b, far, name]) => s("path", { d: `M0 ${a} C40 ${a} 40 ${b} 80 ${b}`, class: far > 2 ? "far" : "" }, s("title", {}, name))));
}

// The same map as in the lab's reports (assay/page/charts.py): a long row goes on in the next line.
// rows: [{ name, cells: [{ share 0..1, mark, title, chosen, href }] }]; ramp: "heat" for errors, "cool" for scores
export function heatmap(rows, label, ramp = "heat") {
  const width = innerWidth < PHONE ? 360 : 720, size = 28, left = 96, steps = ramp === "heat" ? [0, 0.05, 0.2, 0.5] : [0.02, 0.25, 0.5, 0.75];
  const columns = Math.floor((width - left - 4) / size), marks = [];
  let y = 8;
  for (const row of rows) {
    marks.push(s("text", { x: 0, y: y + 17 }, shorten(row.name, 15)));
    row.cells.forEach((cell, place) => {
      if (place && place % columns === 0) y += size;
      const x = left + (place % columns) * size, step = steps.filter((bound) => cell.share > bound).length;
      const box = [s("rect", { class: `${ramp}${step}${cell.chosen ? " chosen" : ""}`, x, y, width: size - 3, height: size - 3 }, s("title", {}, cell.title)),
        cell.mark && s("text", { class: step >= 3 ? "cell deep" : "cell", x: x + (size - 3) / 2, y: y + 17 }, cell.mark)];
      marks.push(cell.href ? s("a", { href: cell.href, "aria-label": cell.title }, box) : box);
    });
    y += size + 8;
  }
  const linked = rows.some((row) => row.cells.some((cell) => cell.href));
  return s("svg", { class: "chart", viewBox: `0 0 ${width} ${y}`, role: linked ? "group" : "img", "aria-label": label }, marks);
}

export function bar(value, most, label) {
  return s("svg", { class: "chart meter", viewBox: "0 0 100 8", role: "img", "aria-label": label, preserveAspectRatio: "none" },
    s("rect", { class: "set", x: 0, y: 1, width: Math.max(0, Math.min(100, (100 * value) / (most || 1))), height: 6, rx: 1 }));
}

export const shorten = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
