// Results and money spent over time, each as a small chart under one axis of time.

import { h, s, set } from "./dom.js";
import { clock, count, number, plural, span } from "./words.js";

const HEIGHT = 84, LEFT = 46, RIGHT = 14, TOP = 20;

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
      h("p", { class: "ends when" }, h("span", {}, clock(first)), h("span", {}, clock(last))),
      h("p", { class: "muted" }, words(points, spent)));
  }

  close() { this.resized.disconnect(); }
}

// The pace over all of the time and over its last tenth.
function words(points, spent) {
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
  const y = (value) => TOP + (1 - (value - low) / (high - low)) * (HEIGHT - TOP - 6);
  const line = `M${places.map(([x, value]) => `${x.toFixed(1)} ${y(value).toFixed(1)}`).join("L")}`;
  return s("svg", { width, height: HEIGHT, role: "img", "aria-label": `${title} over time, up to ${words(high)}` },
    [low, high].map((value) => [s("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }), s("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, words(value))]),
    s("text", { x: LEFT, y: 11 }, title), s("path", { class: "line", d: line }));
}
