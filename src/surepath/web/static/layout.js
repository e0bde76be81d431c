// Where nodes and arcs of the layered graph go. Stages from left to right, the states of a stage one above the other.

export const TOP = 44, SIDE = 26;
const ROW = 34, FAN = 30, EXCLUDED = 2; // the last: a state of an option, as the server numbers them

// Arcs of the last stage all lead to one end; drawn so they would lie on top of each other. Each option gets an end of
// its own, unless there are too many.
function ends(graph) {
  const sink = Math.max(...graph.nodes.node), last = graph.last === graph.steps.length - 1;
  const into = graph.target.map((target, i) => (last && target === sink ? graph.label[i] : null));
  const names = [...new Set(into.filter((label) => label !== null))];
  const widest = Math.max(...[...new Set(graph.nodes.stage)].map((stage) => graph.nodes.stage.filter((one) => one === stage).length));
  if (!last || names.length > Math.max(16, widest) || widest === 1) return { targets: graph.target, nodes: graph.nodes };
  const keep = graph.nodes.node.map((node, i) => i).filter((i) => graph.nodes.node[i] !== sink);
  return {
    targets: graph.target.map((target, i) => (into[i] === null ? target : `end ${into[i]}`)),
    nodes: {
      node: [...keep.map((i) => graph.nodes.node[i]), ...names.map((name) => `end ${name}`)],
      stage: [...keep.map((i) => graph.nodes.stage[i]), ...names.map(() => graph.steps.length)],
      label: [...keep.map((i) => graph.nodes.label[i]), ...names],
    },
  };
}

export function place(whole, width) {
  const graph = { ...whole, ...ends(whole) };
  const stages = graph.last - graph.first + 2;
  const least = graph.arcs.arc.length > 600 ? 54 : stages <= 5 ? 60 : 96; // a few steps fit a phone
  const column = Math.max(least, (width - 2 * SIDE) / (stages - 1 + 0.35));
  const byStage = Array.from({ length: stages }, () => []);
  graph.nodes.node.forEach((node, i) => {
    const stage = Math.min(graph.nodes.stage[i] - graph.first, stages - 1);
    if (stage >= 0) byStage[stage].push({ node, label: graph.nodes.label[i] });
  });
  const fans = new Map();
  graph.arcs.arc.forEach((arc, i) => {
    const key = `${graph.source[i]} ${graph.targets[i]}`;
    if (!fans.has(key)) fans.set(key, []);
    fans.get(key).push(i);
  });
  const widest = Math.max(1, ...[...fans.values()].map((group) => group.length));
  const tallest = Math.max(...byStage.map((nodes) => nodes.length));
  const dense = tallest > 14;
  const row = dense ? Math.max(11, Math.min(ROW, 620 / tallest)) : Math.max(ROW, Math.min(58, 300 / tallest));
  const inner = Math.max((tallest - 1) * row, Math.min((widest - 1) * FAN, 620), 48);
  const nodes = new Map();
  byStage.forEach((list, stage) => list.forEach((one, i) => {
    const y = TOP + inner / 2 + (i - (list.length - 1) / 2) * row;
    nodes.set(one.node, { ...one, stage, x: SIDE + stage * column, y });
  }));
  const arcs = graph.arcs.arc.map((arc, i) => {
    const from = nodes.get(graph.source[i]), to = nodes.get(graph.targets[i]);
    const group = fans.get(`${graph.source[i]} ${graph.targets[i]}`);
    const bend = (group.indexOf(i) - (group.length - 1) / 2) * Math.min(FAN, inner / Math.max(1, group.length - 1));
    return { arc, index: i, label: graph.label[i], from, to, stage: from.stage, bend, parallel: group.length };
  });
  return { nodes: [...nodes.values()], arcs, column, dense, lone: tallest === 1, width: SIDE * 2 + (stages - 1 + 0.35) * column, height: TOP + inner + 34 };
}

// A cubic curve that leaves and arrives level, so that arcs of one stage can be distinguished.
export function curve({ from, to, bend }) {
  const third = (to.x - from.x) * 0.4, lift = bend * 4 / 3;
  return `M${from.x} ${from.y.toFixed(1)}C${(from.x + third).toFixed(1)} ${(from.y + lift).toFixed(1)} ${(to.x - third).toFixed(1)} ${(to.y + lift).toFixed(1)} ${to.x} ${to.y.toFixed(1)}`;
}

// Height of the curve at a horizontal position: the curve runs strictly to the right, so bisection finds it.
export function heightAt({ from, to, bend }, x) {
  const third = (to.x - from.x) * 0.4, lift = bend * 4 / 3;
  let low = 0, high = 1;
  for (let i = 0; i < 12; i += 1) {
    const t = (low + high) / 2, u = 1 - t;
    const at = u ** 3 * from.x + 3 * u * u * t * (from.x + third) + 3 * u * t * t * (to.x - third) + t ** 3 * to.x;
    if (at < x) low = t; else high = t;
  }
  const t = low, u = 1 - t;
  return u ** 3 * from.y + 3 * u * u * t * (from.y + lift) + 3 * u * t * t * (to.y + lift) + t ** 3 * to.y;
}

// By how much the best plan through each arc is estimated worse than the best of all, by the scores seen; null where unknown.
export function shortfall(arcs, values, sign) {
  const ahead = new Map(), behind = new Map();
  // An excluded option is in no plan, so it is worth nothing and needs no score.
  const weight = arcs.map((one) => (values.state[one.index] === EXCLUDED ? -Infinity : values.mean[one.index] === null ? null : sign * values.mean[one.index]));
  if (weight.some((value) => value === null)) return null;
  const take = (best, node, value) => best.set(node, Math.max(best.get(node) ?? -Infinity, value));
  const last = Math.max(...arcs.map((one) => one.stage));
  for (const one of arcs) if (one.stage === last) ahead.set(one.to.node, 0);
  for (const one of arcs) if (one.stage === 0) behind.set(one.from.node, 0);
  for (let i = arcs.length - 1; i >= 0; i -= 1) take(ahead, arcs[i].from.node, weight[i] + (ahead.get(arcs[i].to.node) ?? -Infinity));
  for (let i = 0; i < arcs.length; i += 1) take(behind, arcs[i].to.node, weight[i] + (behind.get(arcs[i].from.node) ?? -Infinity));
  const through = arcs.map((one, i) => behind.get(one.from.node) + weight[i] + ahead.get(one.to.node));
  const best = Math.max(...through);
  return through.map((value) => best - value);
}
