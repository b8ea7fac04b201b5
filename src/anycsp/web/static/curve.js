// Step curves as SVG: the best of every run against time, a mark where something better was found.
const NS = "http://www.w3.org/2000/svg";
let [WIDTH, HEIGHT] = [720, 300]; // those of the place it is drawn in, so that letters keep their size
const BOX = { left: 64, right: 16, top: 12, bottom: 40 };

export function element(name, attributes = {}, ...children) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Who found it, by shape.
export const SHAPES = {
  start: (x, y) => `M${x - 4},${y - 4}l8,8m0,-8l-8,8`,
  strategy: (x, y) => `M${x - 4},${y}a4,4 0 1 0 8,0a4,4 0 1 0 -8,0`,
  network: (x, y) => `M${x - 4},${y - 4}h8v8h-8z`,
  exact: (x, y) => `M${x},${y - 5}l5,9h-10z`,
  tree: (x, y) => `M${x},${y - 5}l5,5l-5,5l-5,-5z`,
};

export function finder(name) {
  if (["initial", "greedy"].includes(name)) return "start";
  if (["network", "polish"].includes(name)) return "network";
  return name === "exact" || name === "tree" ? name : "strategy";
}

// series: [{points: [{seconds, value, found_by}], end, color, dash, faint, marks}]
export function curve(series, { label, logTime, xLabel = "seconds", held = [], summary, width = 720 }) {
  WIDTH = Math.max(300, width);
  HEIGHT = Math.min(300, Math.round(WIDTH / 2)); // on a narrow page the picture below is to be seen too
  const all = series.flatMap((s) => s.points);
  const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": summary || label });
  if (!all.length) return svg;
  const values = [...all.map((p) => p.value), ...held.map((h) => h.value)];
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (low >= 0 && low < high / 2) low = 0;
  if (low === high) [low, high] = [low - 1, high + 1];
  const first = logTime ? Math.min(...all.map((p) => p.seconds).filter((s) => s > 0), 0.1) : 0;
  const last = Math.max(...series.map((s) => s.end || 0), ...all.map((p) => p.seconds), 1e-3);
  const along = logTime
    ? (s) => Math.log(Math.max(s, first) / first) / Math.max(Math.log(last / first), 1e-9)
    : (s) => s / last;
  const x = (s) => BOX.left + along(s) * (WIDTH - BOX.left - BOX.right);
  const y = (v) => BOX.top + ((high - v) / (high - low)) * (HEIGHT - BOX.top - BOX.bottom);
  axes(svg, { x, y, low, high, first, last, logTime, label, xLabel });
  for (const line of held) {
    svg.append(element("line", { x1: BOX.left, x2: WIDTH - BOX.right, y1: y(line.value), y2: y(line.value), stroke: line.color, "stroke-dasharray": "3 4", "stroke-width": 1.5 }));
  }
  for (const one of series) {
    if (!one.points.length) continue;
    const path = one.points.map((p, k) => {
      if (!k) return `M${x(p.seconds)},${y(p.value)}`;
      return one.straight ? `L${x(p.seconds)},${y(p.value)}` : `H${x(p.seconds)}V${y(p.value)}`;
    });
    if (one.end && !one.straight) path.push(`H${x(one.end)}`);
    svg.append(element("path", {
      d: path.join(""), fill: "none", stroke: one.color, "stroke-width": one.faint ? 1 : 2.2,
      "stroke-opacity": one.faint ? 0.45 : 1, "stroke-dasharray": one.dash || "none", class: "series",
    }));
    if (!one.marks) continue;
    for (const p of thinned(one.points, x)) {
      const kind = finder(p.found_by);
      svg.append(element("path", {
        d: SHAPES[kind](x(p.seconds), y(p.value)), fill: kind === "start" ? "none" : one.color, stroke: one.color,
        "stroke-width": 1.5, class: `mark ${kind}`,
      }, element("title", {}, `${p.value} after ${p.seconds.toFixed(2)} s by ${p.found_by}`)));
    }
  }
  for (const line of held) {
    svg.append(element("text", { x: BOX.left + 4, y: y(line.value) + 14, class: "held" }, line.name));
  }
  return svg;
}

// Marks that would lie on each other are left out, but for the last.
function thinned(points, x) {
  let at = -99;
  return points.filter((p, k) => {
    if (k < points.length - 1 && x(p.seconds) - at < 7) return false;
    at = x(p.seconds);
    return true;
  });
}

function axes(svg, { x, y, low, high, first, last, logTime, label, xLabel }) {
  for (const value of ticks(low, high, 5)) {
    svg.append(element("line", { x1: BOX.left, x2: WIDTH - BOX.right, y1: y(value), y2: y(value), class: "rule" }));
    svg.append(element("text", { x: BOX.left - 8, y: y(value) + 4, "text-anchor": "end" }, short(value)));
  }
  for (const s of logTime ? decades(first, last) : ticks(0, last, 6)) {
    svg.append(element("line", { x1: x(s), x2: x(s), y1: HEIGHT - BOX.bottom, y2: HEIGHT - BOX.bottom + 5, class: "axis" }));
    svg.append(element("text", { x: x(s), y: HEIGHT - BOX.bottom + 18, "text-anchor": "middle" }, short(s)));
  }
  svg.append(element("line", { x1: BOX.left, x2: WIDTH - BOX.right, y1: HEIGHT - BOX.bottom, y2: HEIGHT - BOX.bottom, class: "axis" }));
  svg.append(element("text", { x: (BOX.left + WIDTH) / 2, y: HEIGHT - 5, "text-anchor": "middle" }, xLabel));
  svg.append(element("text", { x: 14, y: HEIGHT / 2 - 14, "text-anchor": "middle", transform: `rotate(-90 14 ${HEIGHT / 2 - 14})` }, label));
}

export function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + 1e-9 * step; value += step) found.push(value);
  return found;
}

function decades(first, last) {
  const found = [];
  for (let power = Math.ceil(Math.log10(first)); 10 ** power <= last; power++) found.push(10 ** power);
  return found;
}

export const short = (value) => (Math.abs(value) >= 1e5 || (value && Math.abs(value) < 1e-3) ? value.toExponential(1) : String(+value.toPrecision(4)));
