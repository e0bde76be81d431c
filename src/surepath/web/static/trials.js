// Trials by page, newest first, with a filter.

import { get } from "./api.js";
import { card, h, set } from "./dom.js";
import { clock, count, number, plural } from "./words.js";

const STATES = ["running", "complete", "partial", "failed", "expired", "cancelled"];
const LIMIT = 25;

export class Trials {
  constructor(name, report) {
    this.name = name;
    this.report = report;
    this.before = [null]; // the pages on the way here
    this.body = h("tbody", {});
    this.note = h("p", { class: "muted", role: "status" });
    this.state = h("select", { onchange: () => this.first() }, h("option", { value: "" }, "all states"), STATES.map((state) => h("option", { value: state }, state)));
    this.text = h("input", { type: "search", placeholder: "option, worker or note", maxlength: 200 });
    this.newer = h("button", { type: "button", onclick: () => { this.before.pop(); this.load(); } }, "← Newer");
    this.older = h("button", { type: "button", onclick: () => { this.before.push(this.next); this.load(); } }, "Older →");
    const form = h("form", { class: "filter", role: "search", onsubmit: (event) => { event.preventDefault(); this.first(); } },
      h("label", {}, "State ", this.state), h("label", {}, "Containing ", this.text), h("button", {}, "Filter"));
    const head = ["Trial", "State", "Plan and scores", "Worker", "Reported"].map((title) => h("th", { scope: "col" }, title));
    head.push(h("td", {}));
    this.element = card("Trials", { class: "wide" }, form,
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of trials" }, h("table", { class: "trials" }, h("thead", {}, h("tr", {}, head)), this.body)),
      h("div", { class: "pages" }, this.newer, this.older, this.note));
  }

  first() { this.before = [null]; return this.load(); }

  // New trials change only the newest page.
  refresh() { return this.before.length === 1 ? this.load() : null; }

  async load() {
    const before = this.before.at(-1), turn = this.turn = (this.turn ?? 0) + 1;
    let page;
    try {
      page = await get("trials", { study: this.name, before, limit: LIMIT, state: this.state.value, text: this.text.value.trim() });
    } catch (error) {
      if (turn === this.turn) this.note.textContent = error.message;
      return;
    }
    if (turn !== this.turn) return; // another page or filter was asked for meanwhile
    this.next = page.next;
    this.newer.disabled = this.before.length === 1;
    this.older.disabled = page.next === null;
    set(this.body, page.trials.map((trial) => this.row(trial)));
    const filtered = this.state.value || this.text.value.trim();
    if (!page.total) this.note.textContent = "No trial yet. Workers begin with study.ask(), or ask for one here.";
    else if (!page.trials.length) this.note.textContent = page.next === null ? "No trial matches." : `None of the trials ${count(page.searched[0])} to ${count(page.searched[1])} matches; older ones may.`;
    else this.note.textContent = filtered ? `${plural(page.trials.length, "match", "matches")} on this page` : `${count(page.trials.at(-1).number)} to ${count(page.trials[0].number)} of ${count(page.total)}`;
  }

  row(trial) {
    const options = Object.values(trial.plan).map((option, i) => [i ? " › " : null, h("span", { class: "taken" }, option,
      i < trial.rewards.length ? h("b", {}, ` ${number(trial.rewards[i])}`) : null)]).flat();
    const extra = [trial.source === "asked" ? null : `${trial.source}${trial.of ? ` (trial ${trial.of})` : ""}`, trial.note || null].filter(Boolean).join(": ");
    return h("tr", { "data-trial": trial.number },
      h("th", { scope: "row" }, count(trial.number)),
      h("td", {}, h("span", { class: `state ${trial.state}` }, trial.state)),
      h("td", { class: "plan" }, options, extra ? h("span", { class: "extra", title: extra }, extra) : null),
      h("td", {}, trial.worker),
      h("td", { class: "when" }, trial.told ? clock(trial.told) : `until ${clock(trial.lease)}`),
      h("td", {}, this.report && trial.state === "running" ? h("button", { type: "button", "aria-label": `Report trial ${trial.number}`, onclick: () => this.report(trial) }, "Report") : null));
  }
}
