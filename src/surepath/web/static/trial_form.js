// The form of a trial: ask for the next trial, type its scores in, mark a failure, cancel it.

import { post } from "./api.js";
import { card, h, set } from "./dom.js";

export class TrialForm {
  constructor(name, steps, changed) {
    this.query = { study: name };
    this.steps = steps;
    this.changed = changed;
    this.place = h("div", {});
    this.said = h("p", { role: "alert", class: "wrong" });
    this.done = h("p", { role: "status", class: "muted" });
    this.element = card("Run a trial", { class: "trial-form" }, this.place, this.done, this.said);
    this.idle();
  }

  idle() {
    const button = h("button", { type: "button", class: "main", onclick: () => this.act(async () => {
      this.request ??= crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
      const { trials: [trial] } = await post("ask", this.query, { worker: "page", request: this.request });
      this.request = null;
      this.open(trial);
      this.done.textContent = "";
    }) }, "Ask for the next trial");
    this.free = true;
    if (this.over) set(this.place, h("p", { class: "muted" }, "What was asked for is proven: there is nothing left to run. study.tighten() goes on to a smaller epsilon."));
    else set(this.place, h("p", { class: "muted" }, "surepath chooses the plan from which most is learned. Run it, then type in its scores."), button);
  }

  rest(over) {
    if (this.over === over) return;
    this.over = over;
    if (this.free) this.idle();
  }

  open(trial) {
    this.free = false;
    const steps = trial.options.map((option, i) => [this.steps[i], option]);
    const inputs = steps.map(([step, option], i) => h("input", { id: `score-${i}`, inputmode: "decimal", autocomplete: "off", "aria-label": `Score of ${option} at ${step}`, disabled: trial.known?.[i], placeholder: trial.known?.[i] ? "known" : "score" }));
    const rows = steps.map(([step, option], i) => h("tr", {}, h("th", { scope: "row" }, step), h("td", {}, option), h("td", {}, inputs[i])));
    const note = h("input", { id: "note", maxlength: 2000, autocomplete: "off", placeholder: "what went wrong", "aria-label": "Note on a failure" });
    const path = (verb) => `trials/${trial.number}/${verb}`;
    const button = (text, run, kind) => h("button", { type: kind === "main" ? "submit" : "button", class: kind, onclick: kind === "main" ? null : () => this.act(run) }, text);
    const tell = async () => {
      const { outcome } = await post(path("tell"), this.query, { rewards: scores(inputs, true) });
      this.finish(`Trial ${trial.number}: ${outcome === "late" ? "its lease had run out, or it was cancelled: the result is kept in the log and does not count" : "scores recorded"}.`);
    };
    set(this.place, h("form", { onsubmit: (event) => { event.preventDefault(); this.act(tell); } },
      h("h3", { tabindex: -1 }, `Trial ${trial.number}${trial.cases.length ? ` on case ${trial.cases.join(", ")}` : ""}`),
      h("table", { class: "entry" }, h("thead", {}, h("tr", {}, ["Step", "Option", "Score"].map((title) => h("th", { scope: "col" }, title)))), h("tbody", {}, rows)),
      h("div", { class: "buttons" }, button("Record scores", null, "main"),
        button("Cancel it", async () => { await post(path("cancel"), this.query); this.finish(`Trial ${trial.number} is cancelled.`); })),
      h("div", { class: "buttons failed" }, note, button("It failed", async () => {
        await post(path("tell"), this.query, { failed: true, rewards: scores(inputs, false), note: note.value });
        this.finish(`Trial ${trial.number} is recorded as failed; scores before the failure are kept.`);
      }))));
    this.element.scrollIntoView({ block: "nearest" });
    (inputs.find((input) => !input.disabled) ?? this.place).focus();
  }

  finish(text) {
    this.idle();
    this.done.textContent = text;
    this.changed();
  }

  async act(run) {
    this.said.textContent = "";
    try { await run(); } catch (error) { this.said.textContent = error.message; }
  }
}

// Scores typed in, in the order of steps; for a failure those before the first empty field.
function scores(inputs, all) {
  const found = [];
  for (const input of inputs) {
    const text = input.value.trim().replace(/^([+-]?\d*),(\d+)$/, "$1.$2"), value = Number(text);
    if (input.disabled) { found.push(0); continue; }
    if (text === "") {
      if (all) { input.focus(); throw new Error("Every step needs a score; if the trial broke off, mark it as failed."); }
      break;
    }
    if (!Number.isFinite(value)) { input.focus(); throw new Error(`"${input.value}" is not a number.`); }
    found.push(value);
  }
  return found;
}
