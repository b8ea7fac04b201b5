// Training runs: learning curves as they grow, what they are held against, and the table of `learn`.
import * as api from "./api.js";
import { curve } from "./curve.js";
import { node, oncePerFrame } from "./dom.js";
import { seriesOf } from "./overview.js";
import { color, meaning } from "./palette.js";
import { Panel } from "./panel.js";

const LOOK_MS = 2000;
const WATCH_SECONDS = 10; // of a search by the policy

export class Training {
  constructor(place, watch) {
    Object.assign(this, { place, watch, number: 0 });
    this.list = node("div", { class: "runs", role: "group", "aria-label": "Runs" });
    this.detail = node("div", {});
    place.append(node("section", { "aria-label": "Training runs" }, node("h2", { text: "Training runs" }), this.list, this.detail));
  }

  open() {
    this.look();
    this.timer ||= setInterval(() => this.look(), LOOK_MS);
  }

  paint() { this.panel?.paint(); }

  close() {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  async look() {
    if (document.hidden) return;
    try {
      const runs = await api.get("/api/runs");
      this.listed(runs);
      if (runs.length) this.drawn(await api.get(`/api/runs/${Math.min(this.number, runs.length - 1)}`));
      else this.detail.replaceChildren(node("p", { text: "No runs in this folder yet." }));
    } catch (error) {
      this.detail.replaceChildren(node("p", { class: "error", role: "alert", text: error.message }));
    }
  }

  listed(runs) {
    const names = JSON.stringify(runs.map((run) => run.name));
    if (this.names !== names) {
      this.names = names;
      this.list.replaceChildren(...runs.map((run) => node("button", {
        type: "button", text: run.name, click: () => { this.number = run.number; this.look(); },
      })));
    }
    [...this.list.children].forEach((button, k) => button.setAttribute("aria-pressed", k === this.number));
  }

  drawn(run) {
    if (this.shown !== run.number) {
      this.shown = run.number;
      this.facts = node("p", { role: "status" });
      const button = (name, text, click) => node("button", { type: "button", class: name, text, click });
      this.show = button("watch-policy", "Watch it search", () => this.search(run));
      this.button = button("use-policy", "Search your own with it", () => this.watch(`run:${run.name}`));
      this.charts = node("div", {});
      this.lesson = node("div", { class: "scroll" });
      this.error = node("p", { class: "error", role: "alert", hidden: true });
      this.searched = node("div", {});
      this.panel?.close();
      this.panel = undefined;
      this.detail.replaceChildren(
        this.facts, node("div", { class: "bar" }, this.show, this.button), this.error, this.searched, this.charts, this.lesson);
    }
    this.button.hidden = !run.has_model;
    this.show.hidden = !run.has_model || !run.can_draw;
    this.facts.textContent = `${run.name}: ${run.updates.toLocaleString("en")} updates in ${run.minutes.toFixed(1)} minutes`;
    this.charts.replaceChildren(...charts(run, Math.min(860, this.charts.clientWidth)));
    this.lesson.replaceChildren(...lesson(run.lesson));
  }

  // The best policy so far on a problem such as it is validated on: another one every time.
  async search(run) {
    this.error.hidden = true;
    this.show.disabled = true;
    try {
      const problem = await api.post(`/api/runs/${run.number}/problem`);
      const request = { problem: problem.id, search: "neural", model: `run:${run.name}`, seconds: WATCH_SECONDS };
      this.follow(`${run.name} searches ${problem.name}`, request);
    } catch (error) {
      this.error.textContent = error.message;
      this.error.hidden = false;
    }
    this.show.disabled = false;
  }

  follow(title, request) {
    this.panel?.close();
    const figure = node("figure", { class: "curve" });
    const redraw = oncePerFrame(() => figure.replaceChildren(...curveOf(this.panel, Math.min(860, figure.clientWidth))));
    this.panel = new Panel(title, request, { changed: redraw, restart: () => this.follow(title, request) });
    this.searched.replaceChildren(node("div", { class: "panels" }, this.panel.element), figure);
    this.panel.start();
  }
}

function charts(run, width) {
  const { minutes = [], ...columns } = run.validation;
  const depths = Object.keys(columns).filter((name) => name.startsWith("depth_"));
  const found = depths.map((name) => {
    const depth = name.slice("depth_".length);
    const points = columns[name].map((value, k) => ({ seconds: minutes[k], value, found_by: "network" }));
    const held = run.references.filter((r) => r.unsatisfied[depth] !== undefined)
      .map((r, k) => ({ name: r.name, value: r.unsatisfied[depth], color: color(k + 1) }));
    return chart(`Mean unsatisfied after ${depth} steps, on instances held out`, points, held, true, width);
  });
  const train = run.training;
  for (const [name, title] of [["return", "return of a search"], ["best", "violated at best, in a search"]].filter(([key]) => train[key])) {
    found.push(chart(`Training: ${title}`, train[name].map((value, k) => ({ seconds: train.minutes?.[k] ?? k, value })), [], false, width));
  }
  return found;
}

function curveOf(panel, width) {
  const series = seriesOf(panel, 0, null);
  const now = series.at(-1).points.at(-1)?.value ?? "unknown";
  return [node("figcaption", { text: "Violated constraints (by weight) against time" }),
    curve(series, { label: "violated weight", width, summary: `Violated weight against time, now ${now}` })];
}

function chart(title, all, held, marks, width) {
  const points = all.filter((point) => point.value !== null); // what was not a number
  const last = points.at(-1)?.value;
  return node("figure", { class: "curve chart" }, node("figcaption", { text: title }),
    curve([{ points, color: meaning("accent"), straight: true, marks }], { label: "", width, xLabel: "minutes of training", held, summary: `${title}, now ${last}` }));
}

function lesson(rows) {
  if (!rows.length) return [];
  const head = ["search", "solved", "s to target", "in the end", "times as fast (95% interval)"];
  return [node("table", {}, node("caption", { text: "What was learnt, on instances held out" }),
    node("thead", {}, node("tr", {}, ...head.map((text) => node("th", { scope: "col", text })))),
    node("tbody", {}, ...rows.map((row) => node("tr", {},
      ...[`${row.name}${row.best ? " (kept)" : ""}`, `${Math.round(100 * row.solved)} %`, row.seconds.toPrecision(3), row.quality.toPrecision(4), row.faster]
        .map((text) => node("td", { text }))))))];
}
