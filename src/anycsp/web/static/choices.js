// The settings of one search: a row of fields, and what they come to as a request.
import { node } from "./dom.js";

const MEANINGS = {
  auto: "Chosen for the problem: compiled search, with exact search beside it on most.",
  local: "Compiled search: a tree with propagation races several local strategies. It needs no model.",
  neural: "The network alone.",
  hybrid: "Compiled search, with advice from the network now and then.",
  exact: "OR-Tools' CP-SAT: proves that an answer is optimal, or that there is none.",
};

export class Choices {
  constructor(place, name, options, { search }) {
    this.name = name;
    const select = (label, key, values, chosen) => {
      this[key] = node("select", { "data-key": key });
      for (const value of values) this[key].append(node("option", { value, text: value, selected: value === chosen }));
      return node("label", { class: "field" }, label, this[key]);
    };
    const number = (label, key, value, max, empty) => {
      this[key] = node("input", { type: "number", min: key === "seed" ? 0 : 1, max, value, placeholder: empty || "", "data-key": key });
      return node("label", { class: "field" }, label, this[key]);
    };
    this.colorsField = number("Colours", "colors", "", options.most_colors, "fewest");
    this.colorsField.hidden = true;
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", name);
    place.append(
      select("Search", "search", options.searches, search),
      select("Model", "model", options.models, "auto"),
      number("Runs", "runs", "", options.most_runs, "default"),
      number("Seconds", "seconds", 10, options.longest_search),
      number("Seed", "seed", 0, 2 ** 31 - 1),
      this.colorsField,
      this.meaning = node("p", { class: "quiet meaning", id: `${place.id}-meaning` }),
    );
    this.search.setAttribute("aria-describedby", this.meaning.id);
    this.search.addEventListener("change", () => this.choose(this.search.value));
    this.choose(search);
  }

  // Which search, as if it had been picked by hand.
  choose(search) {
    this.search.value = search;
    this.meaning.textContent = MEANINGS[search] || "";
  }

  // Says which field is wrong, by throwing.
  request(problem) {
    const whole = (key) => {
      const field = this[key];
      if (field.value === "" && field.placeholder) return null;
      if (!/^\d+$/.test(field.value) || +field.value < +field.min || +field.value > +field.max) {
        field.focus();
        throw new Error(`${key}: a whole number from ${field.min} to ${field.max}`);
      }
      return +field.value;
    };
    return {
      problem, search: this.search.value, model: this.model.value, runs: whole("runs"), seconds: whole("seconds"),
      seed: whole("seed"), colors: this.colorsField.hidden ? null : whole("colors"),
    };
  }

  get title() {
    const model = this.model.value === "auto" ? "" : `, model ${this.model.value}`;
    return `${this.name}: ${this.search.value}${model}, seed ${this.seed.value}`;
  }
}
