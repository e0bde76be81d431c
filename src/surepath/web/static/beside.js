// Two studies beside each other: what is proven of each, their gaps over trials, their plans step by step.

import { get } from "./api.js";
import { badge, factsOf, planTable } from "./study.js";
import { card, h, set } from "./dom.js";
import { Gap } from "./gap.js";

const PAUSE = 3000; // milliseconds between two looks

export async function openBeside({ names, main, where, live }) {
  document.title = `${names.join(" beside ")} · surepath`;
  set(live);
  set(where, h("a", { href: "#all" }, "Studies"), h("span", { "aria-hidden": "true" }, " / "), h("h1", {}, names.join(" beside ")));
  const sides = names.map((name) => {
    const box = h("div", { class: "gap" }), tip = h("div", { class: "tip", hidden: true });
    return { name, gap: new Gap(box, tip), box, tip, head: h("section", { class: "hero", "aria-label": name }), plan: h("div", {}), text: "" };
  });
  let over = false;
  async function look() {
    const found = await Promise.all(sides.map(({ name }) => Promise.all([get("status", { study: name }), get("gap", { study: name })])));
    const [one, other] = found.map(([status]) => new Map(status.plan.map((row) => [row.step, row.option])));
    sides.forEach((side, i) => {
      const [status, gap] = found[i], text = JSON.stringify([status.change, status.states]);
      if (text !== side.text) {
        side.text = text;
        set(side.head, h("h2", {}, h("a", { href: `#${new URLSearchParams({ study: side.name })}` }, side.name)), badge(status), h("p", { class: "sentence" }, status.sentence), factsOf(status));
        set(side.plan, status.evidence ? planTable(status, (row) => (i ? one : other).get(row.step) !== row.option) : h("p", { class: "muted" }, "No plan yet."));
        side.gap.load(gap.points);
      }
    });
  }
  await look();
  set(main, h("div", { class: "columns" }, sides.map((side) => h("div", { class: "stack" }, side.head,
    card(`Proven gap of ${side.name}`, {}, h("div", { class: "over" }, side.box, side.tip, side.gap.said)), card(`Plan of ${side.name}`, {}, side.plan, h("p", { class: "muted" }, "Marked: steps in which the two plans differ."))))));
  sides.forEach((side) => side.gap.draw());
  const timer = setInterval(() => { if (!over) look().catch(() => {}); }, PAUSE);
  return () => { over = true; clearInterval(timer); sides.forEach((side) => side.gap.close()); };
}
