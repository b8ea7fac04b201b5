// The curve of all searches on the page, its legend, and the same as a table.
import { SHAPES, curve, element, finder, short } from "./curve.js";
import { byId, node } from "./dom.js";
import { meaning } from "./palette.js";
import { NAMES } from "./panel.js";

const WHO = { start: "", strategy: "a local strategy", network: "the network", exact: "exact search", tree: "the tree" };
const LARGER_IS_BETTER = ["maximize", "cut", "gain"];
const DASHES = ["", "7 3"]; // the second search is told by more than colour
const MOST_ROWS = 200;

export function overview(panels) {
  if (!panels.length) return;
  // Until there is an objective to speak of, the curve is that of what is violated.
  const valued = panels.some((panel) => panel.points.some((point) => point.objective !== null));
  const objective = valued ? panels[0].objective : null;
  const series = panels.flatMap((panel, k) => seriesOf(panel, k, objective));
  const label = objective ? `best ${NAMES[objective]}` : "violated weight";
  const last = series.filter((s) => s.marks && s.points.length).map((s) => short(s.points.at(-1).value));
  byId("curve-title").textContent = objective
    ? `Best ${NAMES[objective]} against time, ${LARGER_IS_BETTER.includes(objective) ? "larger" : "smaller"} is better`
    : "Violated constraints (by weight) against time: the best of all runs, and each run fainter";
  byId("curve").replaceChildren(curve(series, {
    label, width: byId("curve").clientWidth, logTime: byId("log-time").checked,
    summary: `${label} against time, now ${last.join(" and ")}`,
  }));
  legend(panels, series);
  table(panels);
}

const colorOf = (k) => meaning(k ? "second" : "accent");

export function seriesOf(panel, k, objective) {
  const runs = new Map();
  for (const point of panel.points) {
    const value = objective ? point.objective : point.weight;
    if (value === null) continue;
    if (!runs.has(point.run)) runs.set(point.run, []);
    runs.get(point.run).push({ ...point, value });
  }
  // What was found last may be later than the time that is told: a curve that ended before it would go back.
  const end = Math.max(panel.seconds, ...panel.points.map((point) => point.seconds));
  const style = { color: colorOf(k), dash: DASHES[k], end };
  const each = runs.size > 1 ? [...runs.values()].map((points) => ({ ...style, points, faint: true })) : [];
  return [...each, { ...style, points: bestOf([...runs.values()].flat(), objective), marks: true }];
}

function bestOf(points, objective) {
  const better = LARGER_IS_BETTER.includes(objective) ? (a, b) => a > b : (a, b) => a < b;
  const found = [];
  for (const point of points.sort((a, b) => a.seconds - b.seconds)) {
    if (!found.length || better(point.value, found.at(-1).value)) found.push(point);
  }
  return found;
}

function legend(panels, series) {
  const sign = (drawn) => element("svg", { viewBox: "0 0 26 14", "aria-hidden": "true" }, drawn);
  const line = (k) => sign(element("line", {
    x1: 1, x2: 25, y1: 7, y2: 7, stroke: colorOf(k), "stroke-width": 2.2, "stroke-dasharray": DASHES[k] || "none",
  }));
  const mark = (kind) => sign(element("path", {
    d: SHAPES[kind](13, 7), fill: kind === "start" ? "none" : meaning("ink"), stroke: meaning("ink"), "stroke-width": 1.5,
  }));
  const finders = [...new Set(series.flatMap((s) => (s.marks ? s.points : [])).map((point) => point.found_by))];
  const named = (kind) => {
    if (kind === "start") return "where it began";
    const own = kind === "strategy" ? ` (${finders.filter((name) => finder(name) === kind).join(", ")})` : "";
    return `found by ${WHO[kind]}${own}`;
  };
  byId("legend").replaceChildren(
    ...panels.map((panel, k) => node("span", {}, line(k), panel.name)),
    ...Object.keys(WHO).filter((kind) => finders.some((name) => finder(name) === kind)).map((kind) => node("span", {}, mark(kind), named(kind))),
  );
}

function table(panels) {
  const names = ["search", "seconds", "step", "run", "violated", "objective", "found by"];
  const row = (cells) => node("tr", {}, ...cells.map((text) => node("td", { text })));
  const inTime = (points) => [...points].sort((a, b) => a.seconds - b.seconds); // some are told a little late
  const rows = panels.flatMap((panel) => inTime(panel.points.slice(-MOST_ROWS)).map((p) =>
    row([panel.name, p.seconds.toFixed(3), p.step, p.run, p.violated, p.objective ?? "", p.found_by])));
  byId("improvements").replaceChildren(
    node("caption", { class: "quiet", text: `the last ${MOST_ROWS} of each search` }),
    node("thead", {}, node("tr", {}, ...names.map((text) => node("th", { scope: "col", text })))),
    node("tbody", {}, ...rows),
  );
}
