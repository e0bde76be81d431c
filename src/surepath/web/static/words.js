// Numbers and times as people read them.

export function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (value !== 0 && (Math.abs(value) >= 1e6 || Math.abs(value) < 1e-4)) return value.toExponential(digits - 1).replace(/\.?0+e/, "e");
  return Number(value.toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 8 });
}

// A bound: never shown smaller than it is.
export function atMost(value, digits = 3) {
  if (!value) return number(value, digits);
  const near = Number(value.toPrecision(digits)), unit = 10 ** (Math.floor(Math.log10(Math.abs(value))) - digits + 1);
  return number(near < value ? near + unit : near, digits);
}

export const count = (value) => value.toLocaleString("en");

export function plural(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function span(seconds) {
  const past = Math.abs(seconds);
  if (past < 90) return `${number(past, past < 9.5 ? 1 : 2)} s`;
  if (past < 5400) return `${Math.round(past / 60)} min`;
  if (past < 129600) return `${Math.round(past / 3600)} h`;
  return `${Math.round(past / 86400)} d`;
}

export function clock(seconds) {
  const date = new Date(seconds * 1000);
  return `${date.toLocaleDateString("en-CA")} ${date.toLocaleTimeString("en-GB")}`;
}

// How many plans there are, from the natural logarithm of their number.
export function plans(log) {
  const ten = log / Math.LN10;
  return ten < 12 ? `${count(Math.round(Math.exp(log)))} plans` : `about 10${[...String(Math.round(ten))].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")} plans`;
}
