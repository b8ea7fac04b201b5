// Draws the pictures of anycsp.pictures on a canvas: what stays (`picture`) and what changes (`frame`, or
// its `soft`: what a network leans to).
import { short, ticks } from "./curve.js";
import { color, inkOn, meaning } from "./palette.js";

const HEIGHTS = {
  graph: () => 1, board: (p) => p.rows / p.columns, route: () => 1,
  schedule: (p) => Math.min(1.2, Math.max(0.3, (p.lanes.length * 34) / 600)),
  heat: (p) => Math.ceil(p.cells / p.columns) / p.columns,
};

export function draw(canvas, picture, frame) {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(200, canvas.clientWidth || 560);
  const height = Math.round(width * HEIGHTS[picture.kind](picture));
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = meaning("card");
  pen.fillRect(0, 0, width, height);
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  if (frame) DRAWN[picture.kind](pen, width, height, picture, frame);
  canvas.setAttribute("aria-label", frame ? `${NAMES[picture.kind]}: ${frame.says}` : NAMES[picture.kind]);
}

const NAMES = { graph: "Graph", board: "Board", route: "Route", schedule: "Schedule", heat: "Heat map of constraints" };

const DRAWN = {
  graph(pen, width, height, picture, frame) {
    const places = spread(picture.places, width, height);
    const bad = new Set(frame.links);
    const thin = picture.links.length > 2000 ? 0.5 : 1;
    lines(pen, picture.links.filter((_, k) => !bad.has(k)), places, meaning("edge"), thin, 0.6);
    // Many of them, as in a cut, would hide everything else.
    const thick = Math.max(1.3, Math.min(3, 25 / Math.sqrt(bad.size)));
    lines(pen, picture.links.filter((_, k) => bad.has(k)), places, meaning("bad"), thick, thick < 3 ? 0.8 : 1);
    const radius = Math.max(2, Math.min(11, (0.2 * width) / Math.sqrt(places.length)));
    const rim = radius < 4 ? 0.4 : 1; // a small node is its colour
    const wrong = new Set(frame.bad);
    places.forEach(([x, y], k) => {
      pen.beginPath();
      pen.arc(x, y, radius, 0, 2 * Math.PI);
      pen.fillStyle = meaning("card");
      pen.fill();
      pen.globalAlpha = paleness(frame, k);
      pen.fillStyle = color(frame.color[k]);
      pen.fill();
      pen.globalAlpha = 1;
      pen.lineWidth = wrong.has(k) ? 3 : rim;
      pen.strokeStyle = wrong.has(k) ? meaning("bad") : meaning("ink");
      pen.stroke();
    });
  },

  board(pen, width, height, picture, frame) {
    const side = width / picture.columns;
    const bad = new Set(frame.bad);
    const fixed = new Set(picture.fixed);
    for (let cell = 0; cell < picture.rows * picture.columns; cell++) {
      const [row, column] = [Math.floor(cell / picture.columns), cell % picture.columns];
      const [x, y] = [column * side, row * side];
      let fill = meaning("card");
      if (frame.color.length) fill = color(frame.color[cell]);
      else if (fixed.has(cell) || (picture.checkered && (row + column) % 2)) fill = meaning("fixed");
      pen.globalAlpha = frame.color.length ? paleness(frame, cell) : 1;
      pen.fillStyle = fill;
      pen.fillRect(x, y, side, side);
      pen.globalAlpha = 1;
      if (bad.has(cell) && side > 20) hatched(pen, x, y, side, side); // in a small one the frame must do
      pen.lineWidth = 0.5;
      pen.strokeStyle = meaning("edge");
      pen.strokeRect(x, y, side, side);
      if (frame.text[cell]) {
        pen.font = `${fixed.has(cell) ? "bold " : ""}${Math.round(side * letters(picture, frame.text[cell]))}px system-ui, sans-serif`;
        pen.globalAlpha = frame.color.length ? 1 : paleness(frame, picture.checkered ? column : cell);
        pen.fillStyle = frame.color.length ? inkOn(fill) : meaning("ink");
        pen.fillText(frame.text[cell], x + side / 2, y + side * 0.54);
        pen.globalAlpha = 1;
      }
    }
    if (picture.box) {
      pen.strokeStyle = meaning("ink");
      pen.lineWidth = 2;
      for (let at = 0; at <= picture.rows; at += picture.box) {
        segment(pen, at * side, 0, at * side, height);
        segment(pen, 0, at * side, width, at * side);
      }
    }
    const thick = side > 20 ? 3 : 2;
    pen.lineWidth = thick;
    pen.strokeStyle = meaning("bad");
    for (const cell of bad) {
      const [x, y] = [(cell % picture.columns) * side, Math.floor(cell / picture.columns) * side];
      pen.strokeRect(x + thick / 2, y + thick / 2, side - thick, side - thick);
    }
  },

  schedule(pen, width, height, picture, frame) {
    const axis = 18;
    const lane = (height - axis) / picture.lanes.length;
    pen.font = "11px system-ui, sans-serif";
    const isRead = lane - 4 > 11; // whether letters fit into a lane
    const longest = Math.max(...picture.lanes.map((name) => pen.measureText(name).width));
    const left = isRead ? Math.min(longest + 8, 0.25 * width) : 0;
    const last = picture.shown || picture.last;
    const unit = (width - left) / Math.max(1, last - picture.first);
    const at = (time) => left + (time - picture.first) * unit;
    const bad = new Set(frame.bad);
    pen.strokeStyle = meaning("line");
    pen.lineWidth = 1;
    for (let k = 0; k <= picture.lanes.length; k++) segment(pen, 0, k * lane, width, k * lane);
    pen.fillStyle = meaning("ink");
    pen.textAlign = "left";
    if (isRead) picture.lanes.forEach((name, k) => pen.fillText(name, 0, (k + 0.5) * lane, left - 8));
    pen.textAlign = "center";
    frame.bars.forEach(([row, start, length, job, name], k) => {
      const [x, y, wide, high] = [at(start), row * lane + 2, length * unit, lane - 4];
      pen.globalAlpha = 0.85;
      pen.fillStyle = color(job);
      pen.fillRect(x, y, wide, high);
      pen.globalAlpha = 1;
      if (bad.has(k)) hatched(pen, x, y, wide, high);
      pen.lineWidth = bad.has(k) ? 2.5 : 1;
      pen.strokeStyle = bad.has(k) ? meaning("bad") : meaning("ink");
      pen.strokeRect(x, y, wide, high);
      if (isRead && pen.measureText(name).width < wide - 4) {
        pen.fillStyle = inkOn(color(job));
        pen.fillText(name, x + wide / 2, y + high / 2);
      }
    });
    pen.fillStyle = meaning("ink");
    pen.strokeStyle = meaning("edge");
    pen.lineWidth = 1;
    for (const time of ticks(picture.first, last, Math.max(2, width / 80))) {
      const x = at(time);
      segment(pen, x, height - axis, x, height - axis + 4);
      pen.textAlign = x < 12 ? "left" : x > width - 12 ? "right" : "center";
      pen.fillText(short(time), Math.min(Math.max(x, 2), width - 2), height - axis / 2 + 2);
    }
  },

  route(pen, width, height, picture, frame) {
    const places = spread(picture.places, width, height);
    const bad = new Set(frame.bad);
    frame.arrows.forEach(([a, b], k) => {
      pen.setLineDash(bad.has(k) ? [6, 4] : []);
      arrow(pen, places[a], places[b], bad.has(k) ? meaning("bad") : meaning("accent"), bad.has(k) ? 3 : 2);
    });
    pen.setLineDash([]);
    for (const [x, y] of places) {
      pen.beginPath();
      pen.arc(x, y, places.length > 200 ? 3 : 6, 0, 2 * Math.PI);
      pen.fillStyle = meaning("ink");
      pen.fill();
    }
  },

  heat(pen, width, height, picture, frame) {
    const side = width / picture.columns;
    frame.heat.forEach((hits, cell) => {
      const [x, y] = [(cell % picture.columns) * side, Math.floor(cell / picture.columns) * side];
      const own = Math.max(0.5, side - (side > 6 ? 1 : 0));
      pen.fillStyle = meaning("cold");
      pen.fillRect(x, y, own, own);
      if (!hits) return;
      pen.globalAlpha = Math.max(0.35, hits / picture.per_cell);
      pen.fillStyle = meaning("hot");
      pen.fillRect(x, y, own, own);
      pen.globalAlpha = 1;
    });
  },
};

// Size of what stands in a cell, as a share of its side: a queen fills hers, numbers leave a margin.
const letters = (picture, text) => (picture.checkered ? 0.85 : text.length > 2 ? 0.38 : 0.55);

// Unsure of a variable, the network's choice is pale.
const paleness = (frame, variable) => (frame.sure ? 0.15 + (0.85 * frame.sure[variable]) / 100 : 1);

const MARGIN = 14;
const spread = (places, width, height) =>
  places.map(([x, y]) => [MARGIN + x * (width - 2 * MARGIN), MARGIN + y * (height - 2 * MARGIN)]);

function lines(pen, pairs, places, stroke, width, alpha) {
  pen.beginPath();
  for (const [a, b] of pairs) {
    pen.moveTo(...places[a]);
    pen.lineTo(...places[b]);
  }
  pen.globalAlpha = alpha;
  pen.strokeStyle = stroke;
  pen.lineWidth = width;
  pen.stroke();
  pen.globalAlpha = 1;
}

function segment(pen, x1, y1, x2, y2) {
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.lineTo(x2, y2);
  pen.stroke();
}

function arrow(pen, [x1, y1], [x2, y2], stroke, width) {
  pen.strokeStyle = pen.fillStyle = stroke;
  pen.lineWidth = width;
  segment(pen, x1, y1, x2, y2);
  const turn = Math.atan2(y2 - y1, x2 - x1);
  const [x, y] = [x1 + 0.6 * (x2 - x1), y1 + 0.6 * (y2 - y1)];
  pen.beginPath();
  pen.moveTo(x + 7 * Math.cos(turn), y + 7 * Math.sin(turn));
  for (const side of [2.5, -2.5]) pen.lineTo(x + 7 * Math.cos(turn + side), y + 7 * Math.sin(turn + side));
  pen.fill();
}

// Conflict is told by a pattern too, not by colour alone.
function hatched(pen, x, y, width, height) {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, width, height);
  pen.clip();
  pen.strokeStyle = meaning("bad");
  pen.globalAlpha = 0.55;
  pen.lineWidth = 1.5;
  for (let at = -height; at < width; at += 7) segment(pen, x + at, y + height, x + at + height, y);
  pen.restore();
}
