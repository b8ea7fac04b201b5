// One search: its state, its curve's points, its picture with the slider to replay, its buttons.
import * as api from "./api.js";
import { draw } from "./picture.js";
import { node } from "./dom.js";

const PLAY_MS = 80;

// What the number is called that a search makes small or large.
export const NAMES = { minimize: "objective", maximize: "objective", cut: "cut", cost: "cost", gain: "gain" };

export class Panel {
  constructor(name, request, { changed, restart }) {
    Object.assign(this, { name, request, changed });
    this.points = []; // as they came, of all runs
    this.frames = [];
    this.state = "waiting";
    this.over = false; // as the server says: a page that is left has lost its connection, and the search goes on
    this.at = -1; // the frame shown; the last one unless somebody looks back
    this.live = true;
    this.seconds = 0;
    this.buttons = {
      stop: node("button", { type: "button", text: "Stop", click: () => this.stop() }),
      restart: node("button", { type: "button", text: "Restart", click: restart }),
      play: node("button", { type: "button", text: "Play", disabled: true, click: () => this.play() }),
    };
    this.status = node("p", { role: "status", class: "state", text: "waiting" });
    this.error = node("p", { class: "error", role: "alert", hidden: true });
    this.canvas = node("canvas", { role: "img", "aria-label": "Picture" });
    this.says = node("p", { class: "quiet says" });
    this.slider = node("input", { type: "range", min: 0, max: 0, value: 0, disabled: true, "aria-label": `Replay ${name}`, input: () => this.look(+this.slider.value) });
    this.when = node("output", { class: "quiet", text: "" });
    this.softBox = node("input", { type: "checkbox", checked: true, change: () => this.look(this.at) });
    this.soft = node("label", { class: "check", hidden: true }, this.softBox, " Show what the network leans to (pale: unsure)");
    this.links = node("span", { class: "downloads" });
    this.element = node("article", { class: "panel", "aria-label": name },
      node("h3", { text: name }), this.status, this.error,
      node("div", { class: "bar" }, this.buttons.stop, this.buttons.restart, this.links),
      this.canvas, this.says,
      node("div", { class: "replay" }, this.buttons.play, this.slider, this.when), this.soft);
    this.resized = new ResizeObserver(() => this.paint());
    this.resized.observe(this.element);
  }

  async start() {
    try {
      const job = await api.post("/api/jobs", this.request);
      this.id = job.id;
      this.unfollow = api.follow(job.id, (event) => this.hear(event));
    } catch (error) {
      this.fail(error.message);
    }
  }

  hear(event) {
    const heard = {
      state: () => this.become(event),
      place: () => this.say(event.place ? `waiting, ${event.place} before it` : "waiting, next in turn"),
      problem: () => Object.assign(this, { picture: event.picture, objective: event.objective }),
      point: () => this.points.push(event),
      frame: () => this.add(event),
      tick: () => Object.assign(this, { seconds: event.seconds, step: event.step, bound: event.bound ?? this.bound }),
      remark: () => { this.remark = event.text; },
      end: () => { this.result = event.result; this.seconds = event.result.seconds; },
      error: () => {},
      lost: () => this.fail("the connection to the server is lost"),
    }[event.event];
    heard?.();
    this.seconds = Math.max(this.seconds, event.seconds || 0);
    if (this.state === "running") this.say(this.progress());
    this.changed();
  }

  progress() {
    const best = this.frames.at(-1);
    const value = best ? this.value(best) : "no assignment yet";
    const by = best ? `, found by ${best.found_by},` : "";
    const bound = this.bound === undefined || this.bound === null ? "" : `, none better than ${this.bound}`;
    return `running: ${value}${by} after ${this.seconds.toFixed(1)} s${bound}${this.remark ? ` (${this.remark})` : ""}`;
  }

  value(event) {
    const violated = `${event.violated} violated`;
    if (event.objective === null || event.objective === undefined) return violated;
    return `${NAMES[this.objective] || "objective"} ${event.objective}`;
  }

  become({ state, message }) {
    this.state = state;
    this.element.dataset.state = state;
    this.over = ["done", "stopped", "failed"].includes(state);
    this.buttons.stop.disabled = this.over;
    if (state === "failed") this.fail(message);
    if (!this.over) return;
    if (this.result) {
      const { status, found_by, seconds, search, model } = this.result;
      const last = this.frames.at(-1);
      this.say(`${status}: ${last ? this.value(last) : ""}, found by ${found_by}; ${seconds.toFixed(2)} s of ${search} search${model === "none" ? "" : `, model ${model}`}`);
      this.links.replaceChildren(
        ...[["solution", "Solution"], ["trace", "Trace"]].map(([what, text]) =>
          node("a", { href: `/api/jobs/${this.id}/${what}`, download: "", text, class: `get-${what}` })),
        node("a", { href: `/api/problems/${this.request.problem}/file`, download: "", text: "Problem file", class: "get-problem" }));
    } else this.say(state + (message && state !== "failed" ? `: ${message}` : ""));
  }

  say(text) { if (this.status.textContent !== text) this.status.textContent = text; }

  fail(message) {
    this.state = "failed";
    this.element.dataset.state = "failed";
    this.error.textContent = message;
    this.error.hidden = false;
    this.say("failed");
    this.buttons.stop.disabled = true;
  }

  add(event) {
    this.frames.push(event);
    this.slider.max = this.frames.length - 1;
    this.slider.disabled = this.buttons.play.disabled = this.frames.length < 2;
    // One scale for all frames; that of schedules that hold, since the others reach to the end of time.
    if (event.frame.end && !event.violated) this.picture.shown = Math.max(this.picture.shown || 0, event.frame.end);
    if (event.frame.soft) this.soft.hidden = false;
    if (this.live) this.look(this.frames.length - 1);
  }

  look(at) {
    this.at = at;
    this.live = at === this.frames.length - 1;
    this.slider.value = at;
    const shown = this.frames[at];
    const text = `step ${shown.step.toLocaleString("en")}, ${shown.seconds.toFixed(2)} s`;
    this.when.textContent = text;
    this.slider.setAttribute("aria-valuetext", `${text}, ${this.value(shown)}`);
    const leans = this.softBox.checked && shown.frame.soft;
    this.says.textContent = leans ? `The network leans to: ${leans.says}. Best so far: ${shown.frame.says}.` : `${shown.frame.says}; found by ${shown.found_by}`;
    if (!this.painting) {
      this.painting = true;
      requestAnimationFrame(() => { this.painting = false; this.paint(); });
    }
  }

  paint() {
    const frame = this.frames[this.at]?.frame;
    if (this.picture) draw(this.canvas, this.picture, (this.softBox.checked && frame?.soft) || frame);
  }

  play() {
    if (this.playing) {
      clearInterval(this.playing);
      this.playing = undefined;
    } else {
      if (this.at === this.frames.length - 1) this.look(0);
      this.playing = setInterval(() => {
        if (this.at + 1 < this.frames.length) this.look(this.at + 1);
        if (this.at + 1 >= this.frames.length) this.play();
      }, PLAY_MS);
    }
    this.buttons.play.textContent = this.playing ? "Pause" : "Play";
  }

  async stop() {
    this.buttons.stop.disabled = true;
    try {
      if (this.id) await api.stop(this.id);
    } catch (error) {
      this.fail(error.message);
    }
  }

  // Nobody looks at it any more: a search that goes on would only keep others waiting.
  close() {
    this.unfollow?.();
    clearInterval(this.playing);
    this.resized.disconnect();
    if (this.id && !this.over) api.stop(this.id).catch(() => {});
  }
}
