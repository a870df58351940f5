// Charts as SVG: the parts of a score, the rank of a chunk through the steps, moves between two lists, a heat map.

import { s, number } from "./dom.js";

const SIGN = { add: "+", mul: "×", set: "=" };

export function waterfall(parts, label) {
  const width = 560, row = 26, left = 190, right = 90;
  const before = parts.map((_, place) => (place ? parts[place - 1].score : 0));
  const ends = [0, ...parts.map((part) => part.score)];
  const low = Math.min(...ends), high = Math.max(...ends);
  const x = (value) => left + ((value - low) / (high - low || 1)) * (width - left - right);
  const rows = parts.map((part, place) => {
    const [from, to] = [before[place], part.score].sort((a, b) => a - b);
    const kind = part.op === "set" ? "set" : part.score >= before[place] ? "up" : "down";
    const y = place * row;
    return s("g", {}, s("title", {}, `${part.part}: ${SIGN[part.op]} ${part.value}, the score is then ${part.score}`),
      s("text", { x: 0, y: y + 17 }, shorten(part.part, 20) + (part.rank ? ` #${part.rank}` : "")),
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

export function heatmap(rows, label) {
  // rows: [{ name, cells: [{ name, value 0..1, chosen, title }] }]
  const cell = 30, left = 130, most = Math.max(1, ...rows.map((one) => one.cells.length));
  return s("svg", { class: "chart heat", viewBox: `0 0 ${left + most * cell} ${rows.length * cell}`, role: "img", "aria-label": label },
    rows.map((one, y) => [s("text", { x: 0, y: y * cell + 20 }, shorten(one.name, 17)),
      one.cells.map((each, x) => s("rect", { x: left + x * cell + 1, y: y * cell + 1, width: cell - 3, height: cell - 3, class: each.chosen ? "chosen" : "",
        fill: "var(--both)", "fill-opacity": (0.06 + 0.9 * each.value).toFixed(3) }, s("title", {}, each.title)))]));
}

export function bar(value, most, label) {
  return s("svg", { class: "chart", viewBox: "0 0 100 8", role: "img", "aria-label": label, preserveAspectRatio: "none" },
    s("rect", { class: "set", x: 0, y: 1, width: Math.max(0, Math.min(100, (100 * value) / (most || 1))), height: 6, rx: 1 }));
}

export const shorten = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
