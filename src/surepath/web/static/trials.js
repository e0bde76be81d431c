// Trials by page, newest first, with a filter.

import { blob, get } from "./api.js";
import { card, h, set } from "./dom.js";
import { clock, count, number, plural } from "./words.js";

const STATES = ["running", "complete", "partial", "failed", "expired", "cancelled"];
const LIMIT = 25;

const LONG = 12; // steps beyond which a row shows only where a plan differs from the current one
const narrow = () => matchMedia("(max-width: 900px)").matches;

export class Trials {
  constructor(name, report) {
    this.name = name;
    this.report = report;
    this.plan = []; // the current one, arc by arc
    this.scored = []; // which steps have a score of their own
    this.steps = []; // their names
    this.sort = "";
    this.before = [null]; // the pages on the way here
    this.body = h("tbody", {});
    this.note = h("p", { class: "muted", role: "status" });
    this.state = h("select", { onchange: () => this.first() }, h("option", { value: "" }, "all states"), STATES.map((state) => h("option", { value: state }, state)));
    this.text = h("input", { type: "search", placeholder: "option, worker or note", maxlength: 200 });
    this.newer = h("button", { type: "button", onclick: () => { this.before.pop(); this.load(); } }, "← Newer");
    this.older = h("button", { type: "button", onclick: () => { this.before.push(this.next); this.load(); } }, "Older →");
    const save = (format) => h("button", { type: "button", onclick: () => this.save(format) }, format === "csv" ? "Export CSV" : "JSON lines");
    const form = h("form", { class: "filter", role: "search", onsubmit: (event) => { event.preventDefault(); this.first(); } },
      h("label", {}, "State ", this.state), h("label", {}, "Containing ", this.text), h("button", {}, "Filter"), h("span", { class: "export" }, save("csv"), save("jsonl")));
    this.heads = [["Trial", ""], ["State"], ["Total", "total"], ["Plan and scores"], ["Worker"], ["Reported"]].map(([title, sort]) => h("th", { scope: "col" },
      sort === undefined ? title : h("button", { type: "button", class: "sort", "data-sort": sort, onclick: () => { this.sort = this.sort === sort && sort ? `-${sort}` : sort; this.first(); } }, title)));
    const head = [...this.heads, h("td", {})];
    this.element = card("Trials", { class: "wide" }, form,
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of trials" }, h("table", { class: "trials" }, h("thead", {}, h("tr", {}, head)), this.body)),
      h("div", { class: "pages" }, this.newer, this.older, this.note));
  }

  first() { this.before = [null]; return this.load(); }

  // New trials change only the newest page.
  refresh() { return this.before.length === 1 ? this.load() : null; }

  async save(format) {
    try {
      const link = h("a", { href: URL.createObjectURL(await blob("export", { study: this.name, format })), download: `${this.name}.${format}` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    } catch (error) { this.note.textContent = error.message; }
  }

  async load() {
    const before = this.before.at(-1), turn = this.turn = (this.turn ?? 0) + 1;
    let page;
    try {
      page = await get("trials", { study: this.name, before, limit: narrow() ? LIMIT / 5 * 2 : LIMIT, state: this.state.value, text: this.text.value.trim(), sort: this.sort });
    } catch (error) {
      if (turn === this.turn) this.note.textContent = error.message;
      return;
    }
    if (turn !== this.turn) return; // another page or filter was asked for meanwhile
    this.next = page.next;
    for (const head of this.heads) {
      const sort = head.firstChild.dataset?.sort;
      if (sort !== undefined) head.setAttribute("aria-sort", this.sort.replace("-", "") !== sort ? "none" : sort === "" || !this.sort.startsWith("-") ? "descending" : "ascending");
    }
    this.newer.disabled = this.before.length === 1;
    this.older.disabled = page.next === null;
    set(this.body, page.trials.map((trial) => this.row(trial)));
    const filtered = this.state.value || this.text.value.trim();
    if (!page.total) this.note.textContent = "No trial yet. Workers begin with study.ask(), or ask for one here.";
    else if (!page.trials.length) this.note.textContent = page.next === null ? "No trial matches." : `None of the trials ${count(page.searched[0])} to ${count(page.searched[1])} matches; older ones may.`;
    else if (this.sort) this.note.textContent = `The ${count(page.trials.length)} ${this.sort.startsWith("-") ? "smallest" : "largest"} totals of ${page.searched[0] > 1 ? `the last ${count(page.searched[1] - page.searched[0] + 1)}` : "all"} trials`;
    else this.note.textContent = filtered ? `${plural(page.trials.length, "match", "matches")} on this page` : `Trials ${count(page.trials.at(-1).number)} to ${count(page.trials[0].number)}`;
  }

  row(trial) {
    const total = this.scored.filter(Boolean).length === 1; // then the total is the only score
    const steps = trial.options.map((option, i) => ({ step: this.steps[i], option, score: i < trial.rewards.length && this.scored[i] && !total ? trial.rewards[i] : null, same: trial.path[i] === this.plan[i] }));
    const taken = ({ step, option, score }, named) => h("span", { class: "taken" }, named ? h("span", { class: "muted" }, `${step}: `) : null, h("bdi", {}, option), score === null ? null : h("b", {}, ` ${number(score)}`));
    const joined = (list, named) => list.map((one, i) => [i ? (named ? ", " : " › ") : null, taken(one, named)]).flat();
    const changed = steps.filter((one) => !one.same), long = steps.length > (narrow() ? 3 : LONG);
    const options = !long ? joined(steps) : h("details", {}, h("summary", {}, changed.length ? [`differs in ${plural(changed.length, "step")}: `, joined(changed.slice(0, 3), true), changed.length > 3 ? " …" : null] : "the current plan"), h("p", {}, joined(steps, true)));
    const extra = [trial.cases.length ? `case ${trial.cases.join(", ")}` : null, trial.source === "asked" ? null : `${trial.source}${trial.of ? ` (trial ${trial.of})` : ""}`, trial.note || null, trial.cost === null ? null : `cost ${number(trial.cost)}`].filter(Boolean).join("; ");
    return h("tr", { "data-trial": trial.number },
      h("th", { scope: "row" }, count(trial.number)),
      h("td", {}, h("span", { class: `state ${trial.state}` }, trial.state)),
      h("td", { class: "num" }, trial.total === null ? "" : number(trial.total)),
      h("td", { class: "plan" }, options, extra ? h("span", { class: "extra", title: extra }, extra) : null),
      h("td", {}, trial.worker),
      h("td", { class: "when" }, trial.told ? clock(trial.told) : `until ${clock(trial.lease)}`),
      h("td", {}, this.report && trial.state === "running" ? h("button", { type: "button", "aria-label": `Report trial ${trial.number}`, onclick: () => this.report(trial) }, "Report") : null));
  }
}
