// The options by step as a table of heat: the darker a cell, the better the best plan through that option is estimated.

import { h, set } from "./dom.js";
import { shortfall } from "./layout.js";
import { count, number, plural } from "./words.js";

const MANY = 40; // options of a step beyond which those ruled out are only counted
const OPEN = 0, OUT = 1, EXCLUDED = 2, KNOWN = 3; // states of an option, as the server numbers them

export class Heat {
  constructor(box, choose) {
    this.box = box;
    this.choose = choose;
    this.at = null; // the cell that the keys are at, "step option"
    box.addEventListener("keydown", (event) => this.key(event));
  }

  // One cell for each option of a step; what holds in several states is put together.
  cells(drawing) {
    const { graph, values, plan, layout } = drawing, sign = graph.direction === "minimize" ? -1 : 1;
    const short = graph.n_arcs === values.arc.length ? shortfall(layout.arcs, values, sign) : null;
    const steps = graph.steps.slice(graph.first, graph.last + 1).map((step) => ({ step, cells: new Map() }));
    for (const one of layout.arcs) {
      const { cells } = steps[one.stage], i = one.index;
      if (!cells.has(one.label)) cells.set(one.label, { label: one.label, stage: graph.first + one.stage, visits: 0, sum: 0, short: null, width: null, planned: false, states: [] });
      const cell = cells.get(one.label);
      cell.states.push(values.state[i]);
      cell.visits += values.visits[i];
      if (values.mean[i] !== null) { cell.sum += values.mean[i] * Math.max(1, values.visits[i]); cell.seen = (cell.seen ?? 0) + Math.max(1, values.visits[i]); }
      if (values.visits[i] && values.state[i] !== OUT && (cell.width === null || values.width[i] < cell.width)) cell.width = values.width[i];
      if (short) cell.short = Math.min(cell.short ?? Infinity, short[i]);
      if (plan.has(one.arc)) cell.planned = true;
    }
    for (const { cells } of steps) {
      for (const cell of cells.values()) {
        cell.mean = cell.seen ? cell.sum / cell.seen : null;
        cell.state = cell.states.every((state) => state === EXCLUDED) ? "excluded" : cell.states.every((state) => state === OUT || state === EXCLUDED) ? "out" : cell.states.every((state) => state === KNOWN) ? "known" : "open";
      }
    }
    return steps.map(({ step, cells }) => ({ step, cells: [...cells.values()] }));
  }

  draw(drawing) {
    const steps = this.cells(drawing), held = this.box.contains(document.activeElement);
    const worst = Math.max(1e-12, ...steps.flatMap(({ cells }) => cells.map((cell) => cell.short ?? 0)).filter(Number.isFinite));
    this.rows = [];
    const list = h("ol", { class: "heat" }, steps.map(({ step, cells }) => {
      const shown = cells.length > MANY ? cells.filter((cell) => cell.planned || cell.state !== "out") : cells;
      const row = shown.map((cell) => this.cell(step, cell, worst, drawing.graph.unit ?? "score"));
      this.rows.push(row);
      return h("li", {}, h("h3", {}, step), h("div", { class: "cells", role: "group", "aria-label": `Options of ${step}` }, row,
        shown.length < cells.length ? h("span", { class: "muted" }, `and ${count(cells.length - shown.length)} ruled out`) : null));
    }));
    const most = Math.max(...this.rows.map((row) => row.length));
    list.style.setProperty("--most", most);
    list.classList.toggle("long", most > 24);
    set(this.box, list, h("p", { class: "muted" }, "The darker a cell, the better the best plan through that option is estimated; framed: the current plan; dashed: ruled out. 3×: tried three times. Click a cell for its scores."));
    const all = this.rows.flat(), now = all.find((one) => one.dataset.cell === this.at) ?? all.find((one) => one.classList.contains("plan")) ?? all[0];
    now?.setAttribute("tabindex", 0);
    if (held) now?.focus();
  }

  cell(step, cell, worst, unit) {
    const warm = cell.short === null || !Number.isFinite(cell.short) || cell.state === "out" || cell.state === "excluded" ? 0 : Math.round(42 * (1 - Math.sqrt(cell.short / worst)));
    const tried = cell.state === "known" ? "known" : cell.visits ? `${count(cell.visits)}×` : "untried";
    const score = cell.mean === null ? "–" : number(cell.mean), width = cell.visits && cell.width !== null && cell.state !== "known" ? ` ± ${number(cell.width, 2)}` : "";
    const told = { open: "still possible", out: "ruled out", excluded: "excluded as infeasible", known: "known" }[cell.state];
    const words = [`${cell.label} at ${step}`, `${unit} ${score}${width}`, cell.state === "known" ? null : `tried ${plural(cell.visits, "time")}`, cell.planned ? "in the current plan" : told,
      cell.short > 1e-6 * worst ? `the best plan through it is estimated ${number(cell.short)} worse than the best` : null].filter(Boolean).join(", ");
    const element = h("button", { type: "button", class: `cell ${cell.state}${cell.planned ? " plan" : ""}`, tabindex: -1, title: words, "aria-label": words, "data-cell": `${step} ${cell.label}`,
      onclick: () => { this.at = element.dataset.cell; this.choose?.({ step, label: cell.label, stage: cell.stage, words }); } },
    h("span", { class: "name" }, cell.label), h("span", { class: "value" }, score, " ", h("small", {}, width)), h("span", { class: "tried" }, tried));
    element.style.setProperty("--warm", `${warm}%`);
    return element;
  }

  key(event) {
    const row = this.rows?.findIndex((cells) => cells.includes(event.target)) ?? -1;
    if (row < 0) return;
    const column = this.rows[row].indexOf(event.target), clamp = (value, top) => Math.max(0, Math.min(value, top));
    const to = { ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1], Home: [0, column], End: [Infinity, column] }[event.key];
    if (!to) return;
    event.preventDefault();
    const cells = this.rows[clamp(to[0], this.rows.length - 1)], target = cells[clamp(to[1], cells.length - 1)];
    event.target.setAttribute("tabindex", -1);
    target.setAttribute("tabindex", 0);
    this.at = target.dataset.cell;
    target.focus();
  }
}

// The scores of one option as a histogram, with their mean.
export function histogram(scores, unit) {
  if (!scores.length) return h("p", { class: "muted" }, "No score yet.");
  const low = Math.min(...scores), high = Math.max(...scores), bins = Math.max(1, Math.min(24, Math.ceil(Math.sqrt(scores.length))));
  const size = (high - low) / bins || 1, heights = new Array(bins).fill(0);
  for (const score of scores) heights[Math.min(bins - 1, Math.floor((score - low) / size))] += 1;
  const most = Math.max(...heights), mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const spread = Math.sqrt(scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / Math.max(1, scores.length - 1));
  return h("figure", { class: "histogram" },
    h("div", { class: "bars", role: "img", "aria-label": `Histogram of ${plural(scores.length, unit)} from ${number(low)} to ${number(high)}` },
      heights.map((height, i) => { const bar = h("span", { title: `${number(low + i * size)} to ${number(low + (i + 1) * size)}: ${count(height)}` }); bar.style.setProperty("--tall", `${(100 * height) / most}%`); return bar; })),
    h("div", { class: "ends" }, h("span", {}, number(low)), h("span", {}, number(high))),
    h("figcaption", {}, `${plural(scores.length, unit)}: mean ${number(mean)}, standard deviation ${number(spread, 2)}`));
}
