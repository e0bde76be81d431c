// One study: what is proven, the graph, the gap, challengers, workers and trials, kept up to date.

import { blob, get, listen } from "./api.js";
import { TrialForm } from "./trial_form.js";
import { card, h, set, setText, throttle } from "./dom.js";
import { Gap } from "./gap.js";
import { Graph, legend, zoom } from "./graph.js";
import { Trials } from "./trials.js";
import { atMost, count, number, plans, plural, span } from "./words.js";

export async function openStudy({ name, mayWrite, main, where, live }) {
  const query = { study: name }, ending = new AbortController();
  set(main, h("p", { class: "hint", role: "status" }, `Opening ${name} …`));
  let status = await get("status", query);
  document.title = `${name} · surepath`;
  set(where, h("a", { href: "#all" }, "Studies"), h("span", { "aria-hidden": "true" }, " / "), h("h1", {}, name));

  // What is proven.
  const badge = h("span", {}), sentence = h("p", { class: "sentence", role: "status" }), facts = h("dl", { class: "facts" });
  const download = h("button", { type: "button", onclick: () => save().catch((error) => { said.textContent = error.message; }) }, "Download the certificate");
  const said = h("p", { class: "wrong", role: "alert" });
  const hero = h("section", { class: "hero", "aria-label": "What is proven" }, badge, sentence, facts, h("div", { class: "buttons" }, download), said);
  async function save() {
    said.textContent = "";
    const link = h("a", { href: URL.createObjectURL(await blob("certificate", query)), download: "certificate.json" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // The graph and the gap.
  const graphBox = h("div", { class: "graph scroll" }), graphTip = h("div", { class: "tip", hidden: true }), zoomBox = h("div", {});
  const graph = new Graph(graphBox, graphTip);
  const gapBox = h("div", { class: "gap" }), gapTip = h("div", { class: "tip", hidden: true }), gapNote = h("p", { class: "muted" });
  const gap = new Gap(gapBox, gapTip);
  let stages = {};
  async function loadGraph() {
    const found = await get("graph", { ...query, ...stages });
    graph.load(found);
    set(zoomBox, zoom(found, (first, last) => { stages = { first, last }; loadGraph(); }));
  }
  async function loadGap() {
    const found = await get("gap", query);
    gap.load(found.points);
    gapNote.textContent = found.complete ? "" : "Reading the past…";
    if (!found.complete && !ending.signal.aborted) setTimeout(() => loadGap().catch(() => {}), 1500);
  }

  // What is beside them.
  const plan = h("tbody", {}), total = h("p", { class: "muted" });
  const rivals = h("ol", { class: "rivals" }), rivalNote = h("p", { class: "muted" }), forecast = h("p", {});
  const warnings = h("ul", { class: "warnings" }), warned = card("Warnings", { class: "warned", hidden: true }, warnings);
  const workers = h("div", {});
  async function loadRivals() {
    const [found, ahead] = await Promise.all([get("explain", query), get("forecast", query)]);
    set(rivals, found.rivals.map((rival) => h("li", {}, h("strong", {}, atMost(rival.bound)), h("div", {}, differs(rival)))));
    setText(rivalNote, found.rivals.length ? "" : status.certified_gap === null ? "Challengers are named once every option has a score." : "No plan that is left can be better.");
    setText(forecast, ahead.words || "A forecast comes with the first proven gap.");
    if (ahead.pending && !ending.signal.aborted) setTimeout(() => later[0](), 2500);
  }

  const trialForm = mayWrite ? new TrialForm(name, () => trials.first()) : null;
  const trials = new Trials(name, trialForm ? (trial) => trialForm.open(trial) : null);

  set(main, hero, warned,
    card("Options", { class: "wide" }, h("div", { class: "over" }, graphBox, graphTip), legend(), zoomBox),
    h("div", { class: "columns" },
      card("Proven gap", {}, h("div", { class: "over" }, gapBox, gapTip, gap.said, gap.hint), gapNote),
      card("Current plan", {}, h("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "Table of the current plan" }, h("table", { class: "planned" }, h("thead", {}, h("tr", {}, ["Step", "Option", status.worth ? "Worth" : "Score", "Trials"].map((title) => h("th", { scope: "col" }, title)))), plan)), total),
      card("Challengers", {}, h("p", { class: "muted" }, "How much better each may still be than the current plan, and where it differs."), rivals, rivalNote),
      h("div", { class: "stack" }, trialForm?.element, card("Forecast", {}, forecast), card("Workers", {}, workers))),
    trials.element);

  function show() {
    const doubt = status.findings.length > 0;
    badge.className = `badge ${doubt ? "doubt" : status.done ? "done" : ""}`;
    setText(badge, doubt ? "In doubt" : status.done ? (status.certified_gap === null ? "Stopped" : "Proven") : status.certified_gap !== null ? "Running" : status.trials ? "Gathering" : "New");
    setText(sentence, status.sentence);
    const items = [["Trials", count(status.trials)], ["Proven within", status.certified_gap === null ? "–" : atMost(status.certified_gap)], ["Asked for", number(status.epsilon)],
      ["Probability", `≥ ${number(1 - status.delta, 6)}`], ["Ruled out", `${count(status.ruled_out)} of ${plural(status.options, "option")}`], ["Out of", plans(status.plans_log)]];
    set(facts, items.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))));
    download.hidden = status.certified_gap === null;
    set(plan, status.plan.map((row) => h("tr", {}, h("th", { scope: "row" }, row.step), h("td", {}, row.option),
      h("td", { class: "num" }, row.mean === null ? "–" : number(row.mean), row.visits && !row.known ? h("small", {}, ` ± ${number(row.width, 2)}`) : null), h("td", { class: "num" }, row.known ? "known" : count(row.visits)))));
    setText(total, !status.settled ? "No score yet: until there are some, this plan is as good as any other." : status.estimate === null ? "" : `Together about ${number(status.estimate)}, ${status.direction === "minimize" ? "smaller is better" : "larger is better"}.${costs(status)}`);
    trialForm?.rest(status.done);
    warned.hidden = !status.warnings.length;
    set(warnings, status.warnings.map((text) => h("li", {}, text)));
    showWorkers();
  }

  function showWorkers() {
    const notes = [status.states.waiting ? `${plural(status.states.waiting, "plan")} waiting in the queue` : null, status.ahead ? `${plural(status.ahead, "result")} waiting for earlier trials` : null].filter(Boolean);
    set(workers, status.workers.length
      ? h("table", {}, h("thead", {}, h("tr", {}, ["Worker", "Running trials", "Lease ends in"].map((title) => h("th", { scope: "col" }, title)))),
        h("tbody", {}, status.workers.map((one) => h("tr", {}, h("th", { scope: "row" }, one.name), h("td", { class: "num" }, count(one.trials)), h("td", { class: "num" }, one.lease_until < status.now ? "over" : span(one.lease_until - status.now))))))
      : h("p", { class: "muted" }, status.done ? "No trial is running." : "No trial is running. A worker begins with study.ask()."),
    notes.length ? h("p", { class: "muted" }, notes.join("; "), ".") : null);
  }

  show();
  const quiet = (work) => () => Promise.resolve(work()).catch(() => {});
  const later = [throttle(quiet(loadRivals), 2000), throttle(quiet(() => trials.refresh()), 1000)];
  await Promise.all([loadGraph(), loadGap(), loadRivals(), trials.load()]);

  // Deltas hold absolute numbers, so one that begins at or before what is drawn can be applied; a gap is read anew.
  const reload = throttle(quiet(() => Promise.all([loadGraph(), loadGap()])), 1000);
  listen(query, ending.signal, {
    joined: (hello) => {
      set(live, h("span", { class: "dot" }), "live");
      if (hello.change !== null && hello.change > graph.graph.change) reload();
    },
    change: (event) => {
      if (live.querySelector(".away")) set(live, h("span", { class: "dot" }), "live");
      if (event.gap) gap.add(event.gap);
      if (!event.status) return;
      const was = status;
      status = { ...status, ...event.status };
      show();
      if (event.arcs && event.since <= graph.graph.change) {
        graph.graph.change = Math.max(graph.graph.change, event.change);
        if (!graph.update(event.arcs, status.best_path)) reload();
      } else if (event.change > graph.graph.change) reload();
      if (was.change !== status.change) later.forEach((run) => run());
    },
    away: (message) => { set(live, h("span", { class: "dot away" }), message); },
    lost: (error) => { set(live, h("span", { class: "dot away" }), error ? error.message : "no connection; trying again"); },
  });
  return () => { ending.abort(); graph.close(); gap.close(); };
}

// Where a challenger differs from the current plan, the least tried steps first.
function differs(rival) {
  const least = (one) => Math.min(one.visits, one.current_visits);
  const steps = rival.differs.slice().sort((a, b) => least(a) - least(b));
  const estimated = Math.abs(rival.estimate) <= 1e-6 * rival.bound ? "Estimated just as good so far" : `Estimated ${number(Math.abs(rival.estimate))} worse so far`;
  return [`${estimated}; may still be better by up to ${atMost(rival.bound)}. It takes`, h("ul", {}, steps.slice(0, 4).map((one) => h("li", {}, `${one.step}: `, h("b", {}, one.option),
    one.same_option ? " after another option" : ` in place of ${one.instead_of}`, `, tried ${count(one.visits)} and ${count(one.current_visits)} times`)),
  steps.length > 4 ? h("li", {}, `and ${plural(steps.length - 4, "step")} more`) : null)];
}

/* How worth is counted where costs enter it, and what the trials have cost. */
function costs(status) {
  if (status.spent === null) return "";
  return `${status.worth ? ` Counted: ${status.worth}.` : ""} Spent on trials: ${number(status.spent)}.`;
}
