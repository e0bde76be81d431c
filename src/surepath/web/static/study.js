// One study: what is proven, the options, the gap, challengers, workers and trials, kept up to date.

import { blob, get, listen } from "./api.js";
import { TrialForm } from "./trial_form.js";
import { card, h, set, setText, throttle } from "./dom.js";
import { Gap, Pace } from "./gap.js";
import { Graph, legend, zoom } from "./graph.js";
import { Heat, histogram } from "./heat.js";
import { Trials } from "./trials.js";
import { atMost, count, number, plans, plural, span } from "./words.js";

const MANY_STEPS = 12; // beyond which the options are first shown as a table, and the plan in several columns
const MANY_OPTIONS = 80; // of a step, on average: the same

export async function openStudy({ name, main, where, live }) {
  const query = { study: name }, ending = new AbortController();
  set(main, h("p", { class: "hint", role: "status" }, `Opening ${name} …`));
  let [status, { role }] = await Promise.all([get("status", query), get("session")]);
  document.title = `${name} · surepath`;
  set(where, h("a", { href: "#all" }, "Studies"), h("span", { "aria-hidden": "true" }, " / "), h("h1", {}, name));

  // What is proven.
  const head = h("div", {}), sentence = h("p", { class: "sentence", role: "status" }), facts = h("div", {}), notes = h("ul", { class: "notes muted" });
  const download = h("button", { type: "button", onclick: () => save().catch((error) => { said.textContent = error.message; }) }, "Download the certificate");
  const said = h("p", { class: "wrong", role: "alert" });
  const share = h("button", { type: "button", title: "The address of this study; whoever opens it needs a token", onclick: async () => {
    const link = `${location.origin}${location.pathname}#${new URLSearchParams({ study: name })}`;
    try { await navigator.clipboard.writeText(link); share.textContent = "Link copied"; } catch { prompt("The link to this study:", link); }
    setTimeout(() => { share.textContent = "Copy the link"; }, 2000);
  } }, "Copy the link");
  const compare = h("label", { class: "compare", hidden: true }, "Beside ");
  get("studies").then(({ studies }) => {
    const others = studies.filter((other) => other !== name);
    compare.hidden = !others.length;
    compare.append(h("select", { onchange: (event) => { location.hash = new URLSearchParams({ study: name, beside: event.target.value }); } },
      h("option", { value: "" }, "another study"), others.map((other) => h("option", {}, other))));
  }).catch(() => {});
  const hero = h("section", { class: "hero", "aria-label": "What is proven" }, head, sentence, facts, notes, h("div", { class: "buttons" }, download, share, h("button", { type: "button", onclick: () => print() }, "Print"), compare), said);
  async function save() {
    said.textContent = "";
    const link = h("a", { href: URL.createObjectURL(await blob("certificate", query)), download: "certificate.json" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // The options, as a table or as a graph, and the gap.
  const graphBox = h("div", { class: "graph scroll" }), graphTip = h("div", { class: "tip", hidden: true }), zoomBox = h("div", {});
  const graphHint = h("p", { class: "muted sideways", hidden: true });
  const graph = new Graph(graphBox, graphTip, graphHint);
  const heatBox = h("div", {}), chosen = h("div", { class: "chosen", role: "status" });
  const heat = new Heat(heatBox, showScores);
  const asGraph = h("div", {}, h("div", { class: "over" }, graphBox, graphTip), graphHint, legend());
  const views = ["Graph", "Table"].map((view) => h("button", { type: "button", onclick: () => choose(view === "Table") }, view));
  let table = status.best_path.length > MANY_STEPS || status.options > MANY_OPTIONS * status.best_path.length;
  function choose(wanted) {
    table = wanted;
    asGraph.hidden = table;
    heatBox.hidden = !table;
    views.forEach((button, i) => button.setAttribute("aria-pressed", (i === 1) === table));
    if (graph.graph) { if (table) heat.draw(graph); else graph.draw(); }
  }
  async function showScores(option) {
    set(chosen, h("p", { class: "muted" }, "Reading the scores …"));
    try {
      const found = await get("scores", { ...query, stage: option.stage, option: option.label });
      set(chosen, h("h3", {}, `${option.label} at ${option.step}`), h("p", { class: "muted" }, option.words), histogram(found.scores, "score"),
        found.all ? null : h("p", { class: "muted" }, `Of the last ${count(found.searched)} trials.`));
    } catch (error) { set(chosen, h("p", { class: "wrong" }, error.message)); }
  }
  const gapBox = h("div", { class: "gap" }), gapTip = h("div", { class: "tip", hidden: true });
  const gap = new Gap(gapBox, gapTip);
  let stages = {};
  async function loadGraph() {
    const found = await get("graph", { ...query, ...stages });
    graph.load(status.evidence ? found : { ...found, best_path: [] }); // no plan before there is a score
    if (table) heat.draw(graph);
    set(zoomBox, zoom(found, (first, last) => { stages = { first, last }; loadGraph(); }));
  }
  async function loadGap() {
    gap.load((await get("gap", query)).points);
  }
  const paceBox = h("div", { class: "pace" }), pace = new Pace(paceBox);
  async function loadPace() {
    pace.load((await get("pace", query)).points);
  }

  // What is beside them.
  const plan = h("div", { class: "plans" }), total = h("p", { class: "muted" });
  const rivals = h("ol", { class: "rivals" }), rivalNote = h("p", { class: "muted" }), forecast = h("p", {});
  const warnings = h("ul", { class: "warnings" }), warned = card("Warnings", { class: "warned", hidden: true }, warnings);
  const workers = h("div", {}), cases = h("div", {}), hard = card("Hard cases", { hidden: true }, cases);
  async function loadCases() {
    const found = (await get("cases", query)).cases;
    hard.hidden = !found.length;
    set(cases, hardCases(found));
  }
  async function loadRivals() {
    const [found, ahead] = await Promise.all([get("explain", query), get("forecast", query)]);
    const most = Math.max(1e-300, status.epsilon, ...found.rivals.map((rival) => rival.bound));
    set(rivals, found.rivals.map((rival) => challenger(rival, most, status.epsilon)));
    setText(rivalNote, found.rivals.length ? "" : status.certified_gap === null ? "Challengers are named once every option has a score." : "No plan that is left can be better.");
    setText(forecast, ahead.words || (ahead.pending ? "The forecast is being made …" : "A forecast comes with the first proven gap."));
    if (ahead.pending && !ending.signal.aborted) setTimeout(() => later[0](), 2500);
  }

  const trialForm = role === "write" ? new TrialForm(name, status.plan.map((row) => row.step), () => trials.first()) : null;
  const trials = new Trials(name, trialForm ? (trial) => trialForm.open(trial) : null);

  const planned = card("Current plan", {}, plan, total), many = status.best_path.length > MANY_STEPS;
  const challengers = card("Challengers", {}, h("p", { class: "muted" }, status.round === null
    ? "By how much each may still be better than the current plan, and what it changes. The first is the proven gap."
    : "By how much each change of one stretch may still improve the current plan. Several may go together: the proven gap covers every plan."), rivals, rivalNote);
  set(main, hero, warned,
    card("Options", { class: "wide" }, h("div", { class: "views", role: "group", "aria-label": "How to show the options" }, views), asGraph, heatBox, zoomBox, chosen),
    many ? planned : null,
    h("div", { class: "columns" },
      h("div", { class: "stack" }, card("Proven gap", {}, h("div", { class: "over" }, gapBox, gapTip, gap.said, gap.hint)), many ? card("Forecast", {}, forecast) : challengers, card("Spend and pace", {}, paceBox)),
      h("div", { class: "stack" }, many ? challengers : planned, trialForm?.element, many ? null : card("Forecast", {}, forecast), hard, card("Workers", {}, workers))),
    trials.element);

  function show() {
    set(head, badge(status));
    setText(sentence, status.sentence);
    set(facts, factsOf(status));
    download.hidden = status.certified_gap === null;
    set(plan, !status.evidence ? [] : planTable(status));
    setText(total, !status.evidence ? "There is none yet: it begins with the first score." : status.estimate === null ? "" : `Together about ${number(status.estimate)}, ${status.direction === "minimize" ? "smaller is better" : "larger is better"}.${costs(status)}`);
    trials.plan = status.best_path;
    trials.scored = status.scored;
    trials.steps = status.plan.map((row) => row.step);
    trialForm?.rest(status.done);
    warned.hidden = !status.warnings.length;
    set(warnings, status.warnings.map((text) => h("li", {}, text)));
    set(notes, status.notes.map((text) => h("li", {}, text)));
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

  choose(table);
  show();
  const quiet = (work) => () => Promise.resolve(work()).catch(() => {});
  const later = [throttle(quiet(loadRivals), 2000), throttle(quiet(() => trials.refresh()), 1000), throttle(quiet(loadCases), 5000), throttle(quiet(loadPace), 5000)];
  await Promise.all([loadGraph(), loadGap(), loadRivals(), loadCases(), trials.load()]);
  later.at(-1)();

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
        if (!graph.update(event.arcs, status.evidence ? status.best_path : [])) reload();
        else if (table) heat.draw(graph);
      } else if (event.change > graph.graph.change) reload();
      if (was.change !== status.change) later.forEach((run) => run());
    },
    away: (message) => { set(live, h("span", { class: "dot away" }), message); },
    lost: (error) => { set(live, h("span", { class: "dot away" }), error ? error.message : "no connection; trying again"); },
  });
  return () => { ending.abort(); graph.close(); gap.close(); pace.close(); };
}

// How far a study is, in a word.
export function badge(status) {
  const doubt = status.findings.length > 0, proven = status.certified_gap !== null;
  return h("span", { class: `badge ${doubt ? "doubt" : status.done ? "done" : ""}` }, doubt ? "In doubt" : status.done ? (proven ? "Proven" : "Stopped") : proven ? "Running" : status.settled ? "Gathering" : "New");
}

export function factsOf(status) {
  const items = [["Trials", [count(status.settled), status.states.running ? h("small", {}, ` + ${count(status.states.running)} running`) : null]], ["Proven within", status.certified_gap === null ? "–" : atMost(status.certified_gap)], ["Asked for", number(status.epsilon)], status.round === null ? null : ["Round", roundsOf(status.round)],
    ["Probability", `≥ ${number(1 - status.delta, 6)}`], ["Ruled out", `${count(status.ruled_out)} of ${plural(status.options, "option")}`], ["Out of", plans(status.plans_log)]].filter(Boolean);
  return h("dl", { class: "facts" }, items.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))));
}

function roundsOf({ number: round, told, size }) {
  return size ? [count(round), h("small", {}, ` ${count(told)} of ${plural(size, "score")}`)] : `${count(round)} done`;
}

// The current plan, whole; many steps in several columns.
export function planTable(status, marked = () => false) {
  const whole = status.scored.includes(false); // one score for several steps: none of a step alone
  const titles = ["Step", "Option", whole ? null : status.worth ? "Worth" : "Score", "Trials"].filter(Boolean);
  const rows = status.plan.map((row) => h("tr", { class: marked(row) ? "marked" : null }, h("th", { scope: "row" }, row.step), h("td", {}, row.option),
    whole ? null : h("td", { class: "num" }, row.mean === null ? "–" : number(row.mean), row.visits && !row.known ? h("small", {}, ` ± ${number(row.width, 2)}`) : null),
    h("td", { class: "num" }, row.known ? "known" : count(row.visits))));
  return h("table", { class: "planned" }, h("thead", {}, h("tr", {}, titles.map((title) => h("th", { scope: "col" }, title)))), h("tbody", {}, rows));
}

// The hardest cases, and the others behind a click.
function hardCases(found) {
  const table = (some) => h("table", {}, h("thead", {}, h("tr", {}, ["Case", "Trials", "Against average", "Spread"].map((title) => h("th", { scope: "col" }, title)))),
    h("tbody", {}, some.map((one) => h("tr", {}, h("th", { scope: "row" }, one.case), h("td", { class: "num" }, count(one.trials)), h("td", { class: "num" }, number(one.beside)), h("td", { class: "num" }, one.spread === null ? "–" : number(one.spread))))));
  return [h("p", { class: "muted" }, "How far the totals on a case lie from what the plans played there score on average."), table(found.slice(0, 8)),
    found.length > 8 ? h("details", {}, h("summary", {}, `${plural(found.length - 8, "more case")}`), table(found.slice(8, 200))) : null];
}

// A challenger as a bar, with a mark where what was asked for lies, and what it changes in one line; opened, step by step.
function challenger(rival, most, epsilon) {
  const least = (one) => Math.min(one.visits, one.current_visits);
  const steps = rival.differs.slice().sort((a, b) => least(a) - least(b));
  const bar = h("span", { class: "bar", "aria-hidden": "true" }, h("span", { class: "fill" }), epsilon > 0 ? h("span", { class: "mark" }) : null);
  bar.style.setProperty("--long", `${(100 * Math.max(0, rival.bound)) / most}%`);
  bar.style.setProperty("--mark", `${(100 * epsilon) / most}%`);
  const changes = steps.map((one) => (one.same_option ? `${one.step}: ${one.option} after another option` : `${one.step}: ${one.option} for ${one.instead_of}`));
  const estimated = Math.abs(rival.estimate) <= 1e-6 * rival.bound ? "Estimated just as good so far" : `Estimated ${number(Math.abs(rival.estimate))} worse so far`;
  return h("li", {}, h("strong", {}, atMost(rival.bound)), h("details", {},
    h("summary", { "aria-label": `May still be better by up to ${atMost(rival.bound)}: ${changes.join("; ")}` }, bar, h("span", { class: "changes" }, changes.join("; "))),
    h("p", { class: "muted" }, `${estimated}; may still be better by up to ${atMost(rival.bound)}. It takes`),
    h("ul", {}, steps.map((one) => h("li", {}, `${one.step}: `, h("b", {}, one.option), one.same_option ? " after another option" : ` in place of ${one.instead_of}`, `, tried ${count(one.visits)} and ${count(one.current_visits)} times`)))));
}

/* How worth is counted where costs enter it, and what the trials have cost. */
function costs(status) {
  if (status.spent === null) return "";
  return `${status.worth ? ` Counted: ${status.worth}.` : ""} Spent on trials: ${number(status.spent)}.`;
}
