// The server: requests with the token, and its stream of changes.

let token = sessionStorage.getItem("surepath-token");

export function keepToken(given) {
  token = given;
  if (given === null) sessionStorage.removeItem("surepath-token");
  else sessionStorage.setItem("surepath-token", given);
}

export const hasToken = () => token !== null;

export class Refused extends Error {
  constructor(status, kind, message) { super(message); this.status = status; this.kind = kind; }
}

function address(verb, query) {
  const wanted = Object.entries(query ?? {}).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(wanted).toString();
  return `api/${verb}${text ? `?${text}` : ""}`;
}

async function send(verb, query, options) {
  let answer;
  try {
    answer = await fetch(address(verb, query), { ...options, headers: { Authorization: `Bearer ${token}`, ...options?.headers } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "away", "The server does not answer.");
  }
  if (!answer.ok) {
    const reply = await answer.json().catch(() => ({}));
    throw new Refused(answer.status, reply.error ?? "", reply.message ?? `The server answered ${answer.status}.`);
  }
  return answer;
}

export const get = async (verb, query, signal) => (await send(verb, query, { signal })).json();

export async function post(verb, query, body) {
  const headers = { "Content-Type": "application/json" };
  return (await send(verb, query, { method: "POST", headers, body: JSON.stringify(body ?? {}) })).json();
}

export const blob = async (verb, query) => (await send(verb, query)).blob();

// Read server-sent events until the signal aborts; joins again when the stream breaks.
export async function listen(query, signal, { joined, change, away, lost }) {
  let pause = 500;
  while (!signal.aborted) {
    let reason = null;
    try {
      const answer = await send("changes", query, { signal });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        text += value;
        const events = text.split("\n\n");
        text = events.pop();
        for (const event of events) {
          const name = /^event: (.*)$/m.exec(event)?.[1], data = /^data: (.*)$/m.exec(event)?.[1];
          if (name === "hello") { pause = 500; joined(JSON.parse(data)); }
          if (name === "change") change(JSON.parse(data));
          if (name === "away") away(JSON.parse(data).message);
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 401 || error.status === 404) { lost(error); return; }
      if (error.status === 503) reason = error;
    }
    if (signal.aborted) return;
    lost(reason);
    await new Promise((wake) => setTimeout(wake, pause));
    pause = Math.min(2 * pause, 5000);
  }
}
