// Training runs: learning curves as they grow, what they are held against, and the table of `learn`.
import * as api from "./api.js";
import { curve } from "./curve.js";
import { node } from "./dom.js";
import { color, meaning } from "./palette.js";

const LOOK_MS = 2000;

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
      this.button = node("button", { type: "button", class: "use-policy", text: "Search with this policy", click: () => this.watch(`run:${run.name}`) });
      this.charts = node("div", {});
      this.lesson = node("div", { class: "scroll" });
      this.detail.replaceChildren(this.facts, this.button, this.charts, this.lesson);
    }
    this.button.hidden = !run.has_model;
    this.facts.textContent = `${run.name}: ${run.updates.toLocaleString("en")} updates in ${run.minutes.toFixed(1)} minutes`;
    this.charts.replaceChildren(...charts(run, Math.min(860, this.charts.clientWidth)));
    this.lesson.replaceChildren(...lesson(run.lesson));
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

function chart(title, points, held, marks, width) {
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
