// The proven gap over trials on a logarithmic scale, with epsilon as a line. A pointer or the arrow keys move a cursor
// along the trials; the values there are read out.

import { h, s, set, setText } from "./dom.js";
import { atMost, clock, count, number, plural, span } from "./words.js";

const HEIGHT = 260, LEFT = 46, RIGHT = 14, TOP = 14, BOTTOM = 34;
const LOW = 84, HEAD = 20; // of the charts of pace

export class Gap {
  constructor(box, tip) {
    this.box = box;
    this.tip = tip;
    this.points = [];
    this.at = null; // the trial that the cursor is at
    this.held = false; // whether keys have put it there
    this.said = h("p", { class: "spoken", role: "status", "aria-live": "polite" });
    this.hint = h("p", { class: "spoken", id: "gap-keys" }, "Arrow keys move along the trials; Page Up and Page Down take longer steps.");
    this.inner = s("g", { "aria-hidden": "true" });
    // An application gets the arrow keys also where a screen reader would keep them to itself.
    this.svg = s("svg", { role: "application", "aria-roledescription": "chart", tabindex: 0, "aria-describedby": "gap-keys" }, this.inner);
    box.addEventListener("pointermove", (event) => this.point(event));
    box.addEventListener("pointerleave", () => { if (!this.held) this.leave(); });
    box.addEventListener("keydown", (event) => this.key(event));
    box.addEventListener("focusin", () => { if (this.at === null && this.scale && this.svg.matches(":focus-visible")) this.step(0); });
    box.addEventListener("focusout", () => this.leave());
    this.resized = new ResizeObserver(() => { if (Math.abs((this.drawn ?? 0) - box.clientWidth) > 4) this.draw(); });
    this.resized.observe(box);
  }

  load(points) { this.points = points; this.draw(); }

  // New points replace those from the first of them on; a long page thins its own.
  add(points) {
    if (!points.length) return;
    while (this.points.length && this.points.at(-1)[0] >= points[0][0]) this.points.pop();
    this.points.push(...points);
    if (this.points.length > 1200) this.points = this.points.filter((point, i, all) => i % 2 === 0 || i > all.length - 50);
    this.draw();
  }

  draw() {
    const { points } = this, width = this.box.clientWidth || 600;
    this.drawn = this.box.clientWidth;
    const proven = points.filter(([, gap]) => gap !== null);
    if (!proven.length) { this.scale = null; set(this.box, this.empty()); return; }
    const positive = proven.map(([, gap]) => gap).filter((gap) => gap > 0).concat(points.map(([, , epsilon]) => epsilon).filter((epsilon) => epsilon > 0));
    let low = Math.min(...positive) / 1.4, high = Math.max(...positive) * 1.25;
    if (!positive.length) { low = 0.1; high = 1; }
    const last = Math.max(2, points.at(-1)[0]);
    const x = (n) => LEFT + (n / last) * (width - LEFT - RIGHT);
    const y = (gap) => TOP + (Math.log(high / Math.max(gap, low)) / Math.log(high / low)) * (HEIGHT - TOP - BOTTOM);
    this.scale = { x, y, last, width };
    // Broken where nothing was proven of the plan of that moment.
    const runs = [];
    points.forEach(([n, gap], i) => { if (gap !== null) (i && points[i - 1][1] !== null ? runs.at(-1) : runs[runs.push([]) - 1]).push([x(n).toFixed(1), y(gap).toFixed(1)]); });
    const lines = runs.map((run) => `M${run.map((point) => point.join(" ")).join("L")}`), line = lines.join("");
    const area = runs.map((run, i) => `${lines[i]}L${run.at(-1)[0]} ${HEIGHT - BOTTOM}L${run[0][0]} ${HEIGHT - BOTTOM}Z`).join("");
    const asked = points.filter(([, , epsilon]) => epsilon > 0).map(([n, , epsilon], i, all) => {
      const step = i && all[i - 1][2] !== epsilon ? `L${x(n).toFixed(1)} ${y(all[i - 1][2]).toFixed(1)}` : "";
      return `${i ? `${step}L` : `M${LEFT} ${y(epsilon).toFixed(1)}L`}${x(n).toFixed(1)} ${y(epsilon).toFixed(1)}`;
    }).join("");
    const epsilon = points.at(-1)[2], [end, now] = proven.at(-1);
    const rises = points.filter((point, i) => this.rose(i) && x(point[0]) > LEFT + 6).slice(-40);
    const ticksY = ticks(low, high), ticksX = even(last);
    this.cursor = s("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
    this.spot = s("circle", { class: "spot", r: 4.5, visibility: "hidden" });
    const facts = { width, height: HEIGHT, "aria-label": this.summary(proven, epsilon) };
    for (const [name, value] of Object.entries(facts)) this.svg.setAttribute(name, value);
    set(this.inner,
      ticksY.map((value) => [s("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }), s("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, value < 1e5 ? number(value) : value.toExponential().replace("+", ""))]).flat(),
      ticksX.map((value) => s("text", { x: Math.min(x(value), width - 4 * count(value).length - 1), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, count(value))),
      s("text", { x: width - RIGHT, y: HEIGHT - 2, "text-anchor": "end" }, "trials"),
      proven[0][0] > 1 && x(proven[0][0]) > LEFT + 8 ? s("rect", { class: "nothing", x: LEFT, y: TOP, width: x(proven[0][0]) - LEFT, height: HEIGHT - TOP - BOTTOM }) : "",
      x(proven[0][0]) > LEFT + 96 ? s("text", { x: (LEFT + x(proven[0][0])) / 2, y: HEIGHT / 2, "text-anchor": "middle" }, "nothing proven") : "",
      s("path", { class: "area", d: area }), asked ? s("path", { class: "asked", d: asked }) : "", s("path", { class: "line", d: line }),
      rises.map(([n, gap]) => s("path", { class: "rise", d: `M${x(n).toFixed(1)} ${(y(gap) - 6).toFixed(1)}l-5 -8h10z` }, s("title", {}, `after ${plural(n, "trial")}: the plan changed here`))),
      rises.length ? s("text", { class: "rise-label", x: width - RIGHT, y: TOP + 8, "text-anchor": "end" }, "▾ the plan changed here") : "",
      s("circle", { class: "end", cx: x(end), cy: y(now), r: 4.5 }),
      epsilon > 0 ? s("text", { class: "asked-label", x: LEFT + 6, y: y(epsilon) - 6 }, `asked for: ${number(epsilon)}`) : "",
      this.cursor, this.spot);
    if (this.svg.parentNode !== this.box) set(this.box, this.svg);
    if (this.at !== null) this.show(this.near(this.at));
  }

  empty() {
    const [n] = this.points.at(-1) ?? [0];
    const text = document.createElement("p");
    text.className = "hint";
    text.textContent = n ? "Nothing is proven yet: every option needs a score first." : "The line begins with the first trials.";
    return text;
  }

  summary(proven, epsilon) {
    const [[first, was]] = proven, [last, now] = proven.at(-1);
    return `Proven gap over trials: ${atMost(was)} after ${count(first)}, ${atMost(now)} after ${count(last)}; asked for ${number(epsilon)}.`;
  }

  // Whether the gap rose at a point because the plan is another than before.
  rose(i) {
    const [, gap, , plan] = this.points[i], [, before, , other] = this.points[i - 1] ?? [];
    return i > 0 && gap !== null && before !== null && gap > 1.02 * before && plan !== other;
  }

  near(n) {
    return this.points.reduce((best, point) => (Math.abs(point[0] - n) < Math.abs(best[0] - n) ? point : best));
  }

  point(event) {
    if (!this.scale) return;
    const frame = this.svg.getBoundingClientRect();
    this.held = false;
    this.show(this.near(((event.clientX - frame.left - LEFT) / (this.scale.width - LEFT - RIGHT)) * this.scale.last));
  }

  // Move by so many points; without a cursor it begins at the newest.
  step(by) {
    const now = this.at === null ? this.points.length - 1 : this.points.indexOf(this.near(this.at)) + by;
    this.held = true;
    this.show(this.points[Math.max(0, Math.min(now, this.points.length - 1))], true);
  }

  key(event) {
    const page = Math.max(1, Math.round(this.points.length / 10));
    const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: -page, PageDown: page, Home: -Infinity, End: Infinity };
    if (!this.scale || !(event.key in moves || event.key === "Escape")) return;
    event.preventDefault();
    if (event.key === "Escape") this.leave(); else this.step(moves[event.key]);
  }

  show([n, gap, epsilon], aloud = false) {
    const { x, y, width } = this.scale;
    this.at = n;
    for (const end of ["x1", "x2"]) this.cursor.setAttribute(end, x(n));
    this.cursor.setAttribute("visibility", "visible");
    this.spot.setAttribute("visibility", gap === null ? "hidden" : "visible");
    if (gap !== null) { this.spot.setAttribute("cx", x(n)); this.spot.setAttribute("cy", y(gap)); }
    const words = `after ${plural(n, "trial")}: ${gap === null ? "nothing proven" : `within ${atMost(gap)}`}${this.rose(this.points.findIndex(([other]) => other === n)) ? "; the plan changed here" : ""}`;
    this.tip.hidden = false;
    setText(this.tip, words);
    if (aloud) setText(this.said, `${words}, asked for ${number(epsilon)}`);
    this.tip.style.left = `${Math.max(LEFT, Math.min(x(n) + 10, width - this.tip.offsetWidth - 4))}px`;
    this.tip.style.top = "18px";
  }

  leave() {
    this.at = null;
    this.held = false;
    this.tip.hidden = true;
    for (const mark of [this.cursor, this.spot]) mark?.setAttribute("visibility", "hidden");
    setText(this.said, "");
  }

  close() { this.resized.disconnect(); }
}

function ticks(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const digit of [1, 2, 5]) found.push(digit * 10 ** power);
  }
  const inside = found.filter((value) => value >= low && value <= high);
  return inside.length > 7 ? inside.filter((value) => /^1/.test(value.toExponential())) : inside;
}

function even(last) {
  const raw = last / 5, power = 10 ** Math.floor(Math.log10(raw)), step = Math.max(1, [1, 2, 5, 10].find((digit) => digit * power >= raw) * power);
  const found = [];
  for (let value = 0; value <= last; value += step) found.push(value);
  return found;
}

// Results and money spent over time, each as a small chart under one axis of time.
export class Pace {
  constructor(box) {
    this.box = box;
    this.points = []; // [seconds, results, spent or null] each
    this.resized = new ResizeObserver(() => { if (Math.abs((this.drawn ?? 0) - box.clientWidth) > 4) this.draw(); });
    this.resized.observe(box);
  }

  load(points) { this.points = points; this.draw(); }

  draw() {
    const { box, points } = this, width = this.drawn = box.clientWidth;
    if (points.length < 2 || points[0][0] === points.at(-1)[0] || !width) { set(box, h("p", { class: "muted" }, "Shown from the second result on.")); return; }
    const [[first], [last, , spent]] = [points[0], points.at(-1)], paid = points.filter((point) => point[2] !== null);
    const x = (time) => LEFT + ((time - first) / (last - first)) * (width - LEFT - RIGHT);
    set(box, chart("results", points.map(([time, results]) => [x(time), results]), width, count),
      paid.length > 1 ? chart("spent", paid.map(([time, , sum]) => [x(time), sum]), width, number) : null,
      h("p", { class: "ends when" }, h("span", {}, clock(first)), h("span", {}, clock(last).replace(clock(first).slice(0, 11), ""))),
      h("p", { class: "muted" }, paceInWords(points, spent)));
  }

  close() { this.resized.disconnect(); }
}

// The pace over all of the time and over its last tenth.
function paceInWords(points, spent) {
  const [first] = points[0], [last, results] = points.at(-1), [then, before] = points.findLast(([time]) => time <= last - (last - first) / 10);
  const money = spent === null ? "" : ` Spent ${number(spent)}, ${number(spent / results, 2)} a result.`;
  return `${plural(results, "result")} in ${span(last - first)}: ${rate(results / (last - first))}, lately ${rate((results - before) / (last - then))}.${money}`;
}

// So many a second, in the unit of which there is one or more.
function rate(pace) {
  const [seconds, unit] = [[1, "a second"], [60, "a minute"], [3600, "an hour"]].find(([one]) => pace * one >= 1) ?? [86400, "a day"];
  return `${number(pace * seconds, 2)} ${unit}`;
}

function chart(title, places, width, words) {
  const values = places.map((place) => place[1]), low = Math.min(0, ...values), high = Math.max(...values) || 1;
  const y = (value) => HEAD + (1 - (value - low) / (high - low)) * (LOW - HEAD - 6);
  const line = `M${places.map(([x, value]) => `${x.toFixed(1)} ${y(value).toFixed(1)}`).join("L")}`;
  return s("svg", { width, height: LOW, role: "img", "aria-label": `${title} over time, up to ${words(high)}` },
    [low, high].map((value) => [s("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }), s("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, words(value))]),
    s("text", { x: LEFT, y: 11 }, title), s("path", { class: "line", d: line }));
}
