// Which page to show: the login, the list of studies, or one study.

import { get, hasToken, keepToken } from "./api.js";
import { openBeside } from "./beside.js";
import { h, set } from "./dom.js";
import { badge, openStudy } from "./study.js";
import { atMost, number, plural } from "./words.js";

const main = document.getElementById("main");
const where = document.getElementById("where");
const live = document.getElementById("live");
let leave = null;
let shown = 0; // counts what was asked to be shown: an answer that comes too late is for nobody

function fragment() {
  return new URLSearchParams(location.hash.slice(1));
}

function takeToken() {
  const found = fragment();
  if (!found.has("token")) return;
  keepToken(found.get("token"));
  found.delete("token");
  history.replaceState(null, "", found.size ? `#${found}` : location.pathname);
}

function login(message) {
  set(where);
  set(live);
  document.title = "surepath";
  const field = h("input", { id: "token", type: "password", autocomplete: "current-password", required: true, "aria-describedby": "token-help token-wrong" });
  const wrong = h("p", { id: "token-wrong", role: "alert", class: "wrong" }, message ?? "");
  const form = h("form", { class: "card login", onsubmit: async (event) => {
    event.preventDefault();
    keepToken(field.value.trim());
    try {
      await get("session");
      await show();
    } catch (error) {
      keepToken(null);
      wrong.textContent = error.status === 401 ? "That token was refused." : error.message;
      field.select();
    }
  } },
  h("h1", {}, "This page asks for a token"),
  h("p", { id: "token-help" }, "It was printed where the server was started: surepath serve prints a link that carries it."),
  h("input", { type: "text", autocomplete: "username", value: "surepath", hidden: true }), h("label", { for: "token" }, "Token"), field, wrong, h("button", { class: "main" }, "Open"));
  set(main, form);
  field.focus();
}

async function list(mine) {
  const { studies, total } = await get("studies");
  if (mine !== shown) return;
  if (total === 1 && !fragment().has("all")) {
    location.replace(`#${new URLSearchParams({ study: studies[0] })}`);
    return;
  }
  document.title = "surepath";
  set(where, h("span", {}, "Studies"));
  set(live);
  if (!total) {
    set(main, h("section", { class: "card empty" }, h("h1", {}, "No study here yet"),
      h("p", {}, "Create one and come back; this page finds it by itself:"),
      h("pre", {}, "surepath study create problem.json"),
      h("button", { onclick: show }, "Reload")));
    return;
  }
  const rows = studies.map((name) => {
    const facts = h("p", { class: "facts" }, "…");
    get("status", { study: name }).then((status) => {
      const gap = status.certified_gap === null ? "nothing proven yet" : `proven within ${atMost(status.certified_gap)}`;
      set(facts, badge(status), ` ${plural(status.settled, "trial")}, ${gap}, asked for ${number(status.epsilon)}`);
    }).catch((error) => { facts.textContent = error.message; });
    return h("li", { class: "card" }, h("a", { href: `#${new URLSearchParams({ study: name })}` }, name), facts);
  });
  set(main, h("h1", { class: "list" }, plural(total, "study", "studies")), h("ul", { class: "studies" }, rows));
}

async function show() {
  const mine = ++shown;
  leave?.();
  leave = null;
  takeToken();
  if (!hasToken()) { login(); return; }
  try {
    const study = fragment().get("study");
    if (study === null) { await list(mine); return; }
    const beside = fragment().get("beside");
    const opened = beside ? await openBeside({ names: [study, beside], main, where, live }) : await openStudy({ name: study, main, where, live });
    if (mine === shown) { leave = opened; return; }
    opened?.(); // somebody went elsewhere meanwhile, and this has drawn over it
    await show();
  } catch (error) {
    if (mine !== shown) return;
    if (error.status === 401) { keepToken(null); login("That token was refused."); return; }
    set(live);
    set(main, h("section", { class: "card empty", role: "alert" }, h("h1", {}, "This cannot be shown"), h("p", {}, error.message),
      h("button", { onclick: show }, "Try again"), " ", h("a", { href: "#all" }, "All studies")));
    if (error.status === 503 || error.status === 0) setTimeout(() => { if (mine === shown) show(); }, 3000); // it comes back
  }
}

document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
addEventListener("hashchange", show);
show();
