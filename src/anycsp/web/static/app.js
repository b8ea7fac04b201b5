// The page: load a problem, choose one or two searches, watch them.
import * as api from "./api.js";
import { Choices } from "./choices.js";
import { byId, node, oncePerFrame } from "./dom.js";
import { overview } from "./overview.js";
import { Panel } from "./panel.js";
import { Training } from "./training.js";

let options;
let choices;
let problem;
let loads = 0; // so many were begun; what an earlier one finds is no longer wanted
let hasOwnSeconds = false; // whether somebody has edited those of the second search
let panels = [];
let training;
const redraw = oncePerFrame(() => overview(panels));

// ── theme ──────────────────────────────────────────────────────────────────────────────────────────
const preferred = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme || (preferred.matches ? "dark" : "light")) === "dark";

function theme(name) {
  if (name) document.documentElement.dataset.theme = name;
  byId("theme").textContent = isDark() ? "Light" : "Dark";
  panels.forEach((panel) => panel.paint());
  training?.paint();
  redraw();
}

// ── problem ────────────────────────────────────────────────────────────────────────────────────────
async function load(what, how, button) {
  const number = ++loads;
  const pressed = (chosen) => {
    for (const other of document.querySelectorAll("#gallery button")) other.setAttribute("aria-pressed", other === chosen);
  };
  pressed(button);
  byId("load-error").hidden = true;
  byId("loaded").textContent = `reading ${what} …`;
  byId("start").disabled = true;
  try {
    const read = await how();
    if (number !== loads) return;
    problem = read;
    const extra = problem.warnings.length ? ` Warning: ${problem.warnings.join("; ")}` : "";
    const asked = problem.objective && problem.objective !== "colors" ? `, ${problem.objective}` : "";
    const count = (number, things) => `${number.toLocaleString("en")} ${things}`;
    byId("loaded").textContent =
      `${problem.name || what}: ${count(problem.variables, "variables")}, ${count(problem.constraints, "constraints")}` +
      `${asked} (${problem.format}).${extra}`;
    for (const choice of choices) choice.colorsField.hidden = !problem.takes_colors;
    byId("start").disabled = false;
  } catch (error) {
    if (number !== loads) return;
    problem = undefined;
    pressed();
    byId("loaded").textContent = "No problem is loaded.";
    byId("load-error").textContent = `${what}: ${here(error.message)}`;
    byId("load-error").hidden = false;
  }
}

// What a reader of files says, in the words of the page: the server does not know the file's name, and has no options.
const here = (message) => message
  .replace(/^file:(\d+): /, "line $1: ").replace(/^file: /, "")
  .replace("say which with --format", "choose which under Format");

function bring(file) {
  if (!file) return;
  const limit = options.largest_upload;
  if (file.size > limit) {
    byId("load-error").textContent = `${file.name}: larger than the ${Math.round(limit / 2 ** 20)} MB that may be uploaded`;
    byId("load-error").hidden = false;
    return;
  }
  // An example has a search that shows it well; for somebody's own problem it may be far from the best.
  if (document.querySelector("#gallery [aria-pressed=true]")) choices[0].choose("auto");
  load(file.name, () => api.upload(file, byId("format").value || byName(file.name)));
}

// The ending of the name decides where the content could be of several formats; it is sent as one of a fixed list.
function byName(name) {
  const ending = name.toLowerCase().replace(/\.(gz|xz|bz2|lzma|zst)$/, "").match(/\.[a-z0-9]+$/)?.[0];
  return options.formats.find((format) => format.extensions.includes(ending))?.name || "";
}

function pick(example, button) {
  choices[0].choose(options.searches.includes(example.search) ? example.search : "auto");
  choices[0].seconds.value = Math.min(example.seconds, options.longest_search);
  followSeconds();
  load(example.title, () => api.post(`/api/examples/${example.name}`), button);
}

// Two searches are compared over the same time, until the second is given its own.
function followSeconds() {
  if (!hasOwnSeconds) choices[1].seconds.value = choices[0].seconds.value;
}

// ── search ─────────────────────────────────────────────────────────────────────────────────────────
function start(event) {
  event.preventDefault();
  byId("form-error").hidden = true;
  try {
    const both = byId("compare").checked ? choices : choices.slice(0, 1);
    const requests = both.map((choice) => [choice.title, choice.request(problem.id)]);
    panels.forEach((panel) => panel.close());
    panels = [];
    byId("panels").replaceChildren();
    for (const [title, request] of requests) begin(panels.length, title, request);
    byId("watch").hidden = false;
    byId("watch-title").focus({ preventScroll: true });
    byId("watch").scrollIntoView({ block: "start" });
  } catch (error) {
    byId("form-error").textContent = error.message;
    byId("form-error").hidden = false;
  }
}

function begin(place, title, request) {
  const old = panels[place];
  old?.close();
  const panel = new Panel(title, request, { changed: redraw, restart: () => begin(place, title, request) });
  panels[place] = panel;
  if (old) old.element.replaceWith(panel.element);
  else byId("panels").append(panel.element);
  if (old) panel.buttons.restart.focus();
  panel.start();
}

// ── the page as a whole ────────────────────────────────────────────────────────────────────────────
function show(view) {
  for (const name of ["search", "training"]) {
    byId(`${name}-view`).hidden = name !== view;
    byId(`view-${name}`).setAttribute("aria-pressed", name === view);
  }
}

async function queue() {
  if (document.hidden) return;
  try {
    const { waiting, running } = await api.get("/api/queue");
    byId("queue").textContent = running || waiting ? `${running} running, ${waiting} waiting` : "";
  } catch { byId("queue").textContent = "the server does not answer"; }
}

async function open() {
  options = await api.get("/api/options");
  for (const format of options.formats) byId("format").append(node("option", { value: format.name, text: format.name }));
  choices = [
    new Choices(byId("choices-a"), "First search", options, { search: "auto" }),
    new Choices(byId("choices-b"), "Second search", options, { search: "neural" }),
  ];
  for (const example of options.examples) {
    const attributes = { type: "button", "aria-pressed": "false", "data-example": example.name };
    const button = node("button", { ...attributes, click: () => pick(example, button) },
      node("strong", { text: example.title }), node("span", { text: example.text }));
    byId("gallery").append(node("li", {}, button));
  }
  if (options.shows_training) {
    byId("views").hidden = false;
    training = new Training(byId("training-view"), (model) => {
      choices[0].choose("neural");
      if (![...choices[0].model.options].some((o) => o.value === model)) {
        for (const choice of choices) choice.model.append(node("option", { value: model, text: model }));
      }
      choices[0].model.value = model;
      show("search");
      byId("problem-title").scrollIntoView();
    });
    byId("view-training").addEventListener("click", () => { show("training"); training.open(); });
    byId("view-search").addEventListener("click", () => { show("search"); training.close(); });
  }
  byId("form").addEventListener("submit", start);
  byId("compare").addEventListener("change", () => {
    byId("choices-b").hidden = !byId("compare").checked;
    choices[1].choose(choices[0].search.value === "neural" ? "local" : "neural");
    hasOwnSeconds = false;
    followSeconds();
  });
  choices[0].seconds.addEventListener("input", followSeconds);
  choices[1].seconds.addEventListener("input", () => { hasOwnSeconds = true; });
  new ResizeObserver(redraw).observe(byId("curve"));
  byId("log-time").addEventListener("change", redraw);
  byId("theme").addEventListener("click", () => theme(isDark() ? "light" : "dark"));
  preferred.addEventListener("change", () => theme());
  byId("file").addEventListener("change", () => { bring(byId("file").files[0]); byId("file").value = ""; });
  const drop = byId("drop");
  for (const name of ["dragover", "drop", "dragleave"]) {
    document.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", name === "dragover");
      if (name === "drop") bring(event.dataTransfer.files[0]);
    });
  }
  addEventListener("pagehide", () => [...panels, training?.panel].forEach((panel) => panel?.close()));
  theme();
  queue();
  setInterval(queue, 2000);
  document.body.dataset.ready = "yes";
}

open().catch((error) => {
  byId("load-error").textContent = error.message;
  byId("load-error").hidden = false;
});
