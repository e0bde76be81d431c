// The layered graph: the current plan bold, options ruled out greyed, width by visits.

import { h, s, set } from "./dom.js";
import { curve, heightAt, place, shortfall, SIDE } from "./layout.js";
import { count, number, plural } from "./words.js";

const KINDS = ["open", "out", "excluded", "known"];
const MANY = 600; // arcs beyond which each is drawn fainter and thinner
const NEAR = 14; // pixels within which the pointer means an arc

export class Graph {
  constructor(box, tip, hint) {
    this.box = box;
    this.tip = tip;
    this.hint = hint; // says which steps are in view where not all are
    box.addEventListener("scroll", () => this.sideways(), { passive: true });
    this.lit = null;
    box.addEventListener("pointermove", (event) => this.point(event));
    box.addEventListener("pointerleave", () => this.light(null));
    box.addEventListener("keydown", (event) => this.key(event));
    box.addEventListener("focusin", (event) => {
      const arc = event.target.dataset?.arc;
      if (arc !== undefined) this.light(this.byArc.get(Number(arc)), true);
    });
    box.addEventListener("focusout", () => this.light(null));
    this.resized = new ResizeObserver(() => { if (this.graph && Math.abs(this.drawn - box.clientWidth) > 8) this.draw(); });
    this.resized.observe(box);
  }

  load(graph) {
    this.graph = graph;
    this.values = graph.arcs;
    this.plan = new Set(graph.best_path);
    this.draw();
  }

  draw() {
    const { graph } = this;
    this.drawn = this.box.clientWidth;
    const layout = place(graph, this.drawn || 800);
    this.layout = layout;
    this.svg = null;
    if (!this.drawn) return; // hidden; drawn when it is shown
    this.layers = { out: s("g", {}), open: s("g", {}), plan: s("g", {}) };
    this.marks = s("g", {});
    this.byArc = new Map();
    for (const one of layout.arcs) {
      one.path = s("path", { d: curve(one), "data-arc": one.arc, role: "img", tabindex: -1 });
      this.byArc.set(one.arc, one);
    }
    const names = graph.steps.slice(graph.first, graph.last + 1).map((step, i) => s("text", {
      class: "step", x: layout.nodes[0].x + (i + (layout.lone ? 0.5 : 1)) * layout.column, y: 18, "text-anchor": "middle" }, step));
    this.nodeMarks = new Map();
    const nodes = s("g", { class: "nodes", "aria-hidden": "true" });
    for (const node of layout.nodes) {
      const end = node.stage === graph.last - graph.first + 1, start = node.stage === 0;
      const mark = s("g", {}, s("circle", { cx: node.x, cy: node.y, r: layout.dense ? 2.2 : 4 }));
      const named = end ? node.label !== "end" : !start;
      if (named && !layout.lone && layout.arcs.length <= MANY) mark.append(s("text", { x: node.x, y: node.y - 9, "text-anchor": "middle" }, node.label));
      this.nodeMarks.set(node.node, mark);
      nodes.append(mark);
    }
    this.svg = s("svg", { class: layout.arcs.length > MANY ? "many" : null, width: layout.width, height: layout.height, role: "group", "aria-label": "Options by step; arrow keys move from option to option" },
      names, this.layers.out, this.layers.open, this.layers.plan, nodes, this.marks);
    set(this.box, this.svg);
    this.stages = Array.from({ length: graph.last - graph.first + 1 }, () => []);
    for (const one of layout.arcs) this.stages[one.stage].push(one);
    fit(this.svg, Math.min(layout.column - 8, 0.7 * layout.column + 2 * SIDE - 4)); // so the last column, too, is within the picture
    this.style(layout.arcs);
    const first = layout.arcs.find((one) => this.plan.has(one.arc)) ?? layout.arcs[0];
    first.path.setAttribute("tabindex", 0);
    this.focusable = first;
    this.sideways();
  }

  // Say which steps are in view, where the graph is wider than its box.
  sideways() {
    const { box, graph, layout } = this, wider = box.scrollWidth > box.clientWidth + 4;
    box.classList.toggle("more", wider && box.scrollLeft + box.clientWidth < box.scrollWidth - 4);
    this.hint.hidden = !wider;
    if (!wider) return;
    const steps = graph.last - graph.first + 1, at = (x) => Math.max(0, Math.min(steps - 1, Math.floor((x - SIDE) / layout.column)));
    const from = at(box.scrollLeft + layout.column / 2) + graph.first + 1, to = at(box.scrollLeft + box.clientWidth - layout.column / 2) + graph.first + 1;
    const all = to - from + 1 === graph.steps.length; // the last one is cut
    this.hint.textContent = all ? "Scroll sideways for the rest." : `Steps ${from} to ${to} of ${graph.steps.length} are in view; scroll sideways for the others.`;
  }

  style(arcs) {
    if (!this.svg) return;
    const most = Math.max(1, ...this.values.visits);
    if (most > 1.3 * (this.most ?? 0) || most < (this.most ?? 0)) { this.most = most; arcs = this.layout.arcs; }
    this.below = null;
    for (const one of arcs) {
      const kind = KINDS[this.values.state[one.index]], visits = this.values.visits[one.index];
      const planned = this.plan.has(one.arc);
      one.path.setAttribute("class", `arc ${kind}${planned ? " plan" : ""}${visits ? "" : " untried"}`);
      const wide = 0.8 + (this.layout.arcs.length > MANY ? 2 : 5) * Math.sqrt(visits / this.most);
      one.wide = planned ? Math.max(3, wide) : Math.min(wide, kind === "out" ? 2 : 9);
      one.path.setAttribute("stroke-width", one.wide.toFixed(2));
      one.path.setAttribute("aria-label", this.words(one).join(". "));
      const layer = planned ? this.layers.plan : kind === "out" || kind === "excluded" ? this.layers.out : this.layers.open;
      if (one.path.parentNode !== layer) layer.append(one.path);
    }
    const on = new Set();
    for (const one of this.layout.arcs) if (this.plan.has(one.arc)) { on.add(one.from.node); on.add(one.to.node); }
    for (const [node, mark] of this.nodeMarks) mark.setAttribute("class", on.has(node) ? "on" : "");
    set(this.marks, this.layout.arcs.filter((one) => one.parallel > 1 && one.parallel <= 12 && this.layout.column > 70).map((one) =>
      s("text", { class: `option ${this.plan.has(one.arc) ? "plan" : KINDS[this.values.state[one.index]]}`, "aria-hidden": "true", "text-anchor": "middle",
        x: (one.from.x + one.to.x) / 2, y: heightAt(one, (one.from.x + one.to.x) / 2) + (one.bend > 0 ? 12 + one.wide / 2 : -6 - one.wide / 2) }, one.label)));
    fit(this.marks, 0.9 * this.layout.column);
  }

  update(arcs, bestPath) {
    const { values } = this, changed = [];
    const at = new Map(values.arc.map((arc, i) => [arc, i]));
    arcs.arc.forEach((arc, i) => {
      const place = at.get(arc);
      if (place === undefined) return;
      for (const column of ["visits", "mean", "width", "state", "failures"]) values[column][place] = arcs[column][i];
      changed.push(this.layout.arcs[place]);
    });
    const moved = bestPath.length !== this.plan.size || bestPath.some((arc) => !this.plan.has(arc));
    this.plan = new Set(bestPath);
    if (changed.length || moved) this.style(moved ? this.layout.arcs : changed);
    if (this.lit) this.light(this.lit, this.kept);
    return bestPath.every((arc) => at.has(arc) || arc < values.arc[0] || arc > values.arc.at(-1));
  }

  words(one) {
    const { values, graph } = this, i = one.index, step = graph.steps[graph.first + one.stage];
    const visits = values.visits[i], kind = KINDS[values.state[i]];
    const lines = [one.label, `${step}${one.stage ? `, after ${one.from.label}` : ""}`];
    if (kind === "known") lines.push(`${graph.unit} ${number(values.mean[i])}, known in advance`);
    else if (!visits) lines.push("never tried");
    else lines.push(`${graph.unit} ${number(values.mean[i])} ± ${number(values.width[i], 2)} over ${plural(visits, "trial")}`);
    if (values.failures[i]) lines.push(`${plural(values.failures[i], "failure")}`);
    if (this.plan.has(one.arc)) lines.push("in the current plan");
    else if (kind === "excluded") lines.push("excluded: somebody marked it as infeasible");
    else if (kind === "out") lines.push(`ruled out: no plan through it can be the best${this.short(one)}`);
    else lines.push(`still possible${this.short(one)}`);
    return lines;
  }

  short(one) {
    if (this.layout.arcs.length !== this.graph.n_arcs) return "";
    if (!this.below) this.below = [shortfall(this.layout.arcs, this.values, this.graph.direction === "minimize" ? -1 : 1)];
    const value = this.below[0]?.[one.index];
    const rounding = 1e-12 * Math.max(...this.values.mean.map(Math.abs)) * this.layout.arcs.length; // known options have no width
    return !Number.isFinite(value) ? "" : value <= 1e-6 * this.values.width[one.index] + rounding ? "; the best plan through it is estimated as good as any" : `; the best plan through it is estimated ${number(value, 2)} worse than the best`;
  }

  point(event) {
    if (!this.svg) return;
    const frame = this.svg.getBoundingClientRect(), x = event.clientX - frame.left, y = event.clientY - frame.top;
    const start = this.layout.nodes[0].x;
    const stage = Math.floor((x - start) / this.layout.column);
    let best = null, least = NEAR;
    for (const one of this.stages[stage] ?? []) {
      const far = Math.abs(heightAt(one, x) - y) - (this.plan.has(one.arc) ? 2 : 0);
      if (far < least) { best = one; least = far; }
    }
    this.light(best, false, event);
  }

  light(one, kept = false, event = null) {
    this.lit?.path.classList.remove("lit");
    this.lit = one ?? null;
    this.kept = kept;
    this.tip.hidden = !one;
    if (!one) return;
    one.path.classList.add("lit");
    const [name, ...rest] = this.words(one);
    set(this.tip, h("strong", {}, name), rest.map((line) => h("span", {}, line)),
      this.values.visits[one.index] ? h("small", {}, `± holds at all times with probability ${number(1 - this.graph.delta)}, for this option alone`) : null);
    const frame = this.svg.getBoundingClientRect(), outer = this.tip.parentElement.getBoundingClientRect();
    const x = event ? event.clientX : frame.left + (one.from.x + one.to.x) / 2;
    const y = event ? event.clientY : frame.top + heightAt(one, (one.from.x + one.to.x) / 2);
    const left = Math.max(4, Math.min(x - outer.left + 14, outer.width - this.tip.offsetWidth - 4));
    const below = y - outer.top + 16, fits = below + this.tip.offsetHeight < outer.height + 180;
    this.tip.style.left = `${left}px`;
    this.tip.style.top = `${fits ? below : Math.max(4, y - outer.top - this.tip.offsetHeight - 12)}px`;
  }

  key(event) {
    const one = this.byArc?.get(Number(event.target.dataset?.arc));
    if (!one) return;
    const stage = this.stages[one.stage].slice().sort((a, b) => heightAt(a, (a.from.x + a.to.x) / 2) - heightAt(b, (b.from.x + b.to.x) / 2));
    const next = (list) => list.find((other) => this.plan.has(other.arc)) ?? list[0];
    const moves = {
      ArrowDown: () => stage[Math.min(stage.indexOf(one) + 1, stage.length - 1)],
      ArrowUp: () => stage[Math.max(stage.indexOf(one) - 1, 0)],
      ArrowRight: () => next((this.stages[one.stage + 1] ?? []).filter((other) => other.from === one.to)) ?? one,
      ArrowLeft: () => next((this.stages[one.stage - 1] ?? []).filter((other) => other.to === one.from)) ?? one,
      Home: () => next(this.stages[0]),
      End: () => next(this.stages.at(-1)),
      Escape: () => { this.light(null); return null; },
    };
    const target = moves[event.key]?.();
    if (moves[event.key]) event.preventDefault();
    if (!target) return;
    this.focusable.path.setAttribute("tabindex", -1);
    target.path.setAttribute("tabindex", 0);
    this.focusable = target;
    target.path.focus();
  }

  close() { this.resized.disconnect(); }
}

// Shorten the texts of a picture to a width, as they are drawn: steps, which often differ at their end alone, in the
// middle. An option of the current plan becomes bold, and a tenth wider.
function fit(box, most) {
  const texts = [...box.querySelectorAll("text")], step = (one) => one.classList.contains("step");
  const widths = texts.map((one) => (step(one) ? one.getComputedTextLength() - 5 : 1.1 * one.getComputedTextLength()));
  texts.forEach((one, i) => {
    const letters = [...one.textContent], kept = Math.max(3, Math.floor((0.97 * letters.length * most) / widths[i]) - 1);
    const tail = step(one) ? Math.floor(kept / 3) : 0, from = letters.length - tail;
    if (widths[i] > most && letters.length > kept) one.textContent = `${letters.slice(0, kept - tail).join("").trimEnd()}…${letters.slice(from).join("")}`;
  });
}

export function legend() {
  const sample = (kind, text) => h("li", {}, s("svg", { width: 30, height: 10, "aria-hidden": "true" }, s("path", { class: `arc ${kind}`, d: "M1 5H29", "stroke-width": kind === "plan" ? 4 : 2 })), text);
  return h("ul", { class: "legend" }, sample("open plan", "current plan"), sample("open", "still possible"), sample("out", "ruled out"), sample("open untried", "never tried"), sample("excluded", "excluded"), h("li", { class: "muted" }, "wider: tried more often"));
}

export function zoom(graph, load) {
  if (graph.arcs.arc.length === graph.n_arcs) return null;
  const pick = (label, value) => h("label", {}, label, h("input", { type: "number", min: 1, max: graph.steps.length, value: value + 1, name: label }));
  return h("form", { class: "zoom", onsubmit: (event) => {
    event.preventDefault();
    const data = new FormData(event.target);
    load(Number(data.get("from step")) - 1, Number(data.get("to step")) - 1);
  } }, h("span", {}, `Showing ${count(graph.arcs.arc.length)} of ${count(graph.n_arcs)} options: the current plan, its challengers and what was tried most.`),
  pick("from step", graph.first), pick("to step", graph.last), h("button", {}, "Zoom"));
}

