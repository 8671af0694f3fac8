// What is asked of the server, and its events. The token comes with the printed address, is taken
// out of the bar at once, and is kept as long as the tab is.

import { learn, learnFrom } from "/page/dom.js";

const HEADER = "x-minicrawl-token";
const KEY = `minicrawl-token-${location.port}`;
const STALE_AFTER_MS = 12000;

const remember = () => {
  const given = location.hash.slice(1);
  if (/^[\w-]{20,}$/.test(given)) {
    try { sessionStorage.setItem(KEY, given); } catch { /* no storage: this page alone knows it */ }
    history.replaceState(null, "", location.pathname + location.search);
    return given;
  }
  try { return sessionStorage.getItem(KEY) || ""; } catch { return ""; }
};
let token = remember();
export const hasToken = () => token !== "";

export const get = async (path, values = {}) => {
  const answer = await fetch(`/api/${path}?${new URLSearchParams(values)}`);
  learnFrom(answer);
  const found = await answer.json();
  if (found && found.error) throw new Error(found.error);
  return found;
};

export class Refused extends Error {
  constructor(message, fields) { super(message); this.fields = fields || {}; }
}

export const post = async (path, body) => {
  let answer;
  try {
    answer = await fetch(`/api/${path}`, { method: "POST", headers: { "content-type": "application/json", [HEADER]: token }, body: JSON.stringify(body || {}) });
  } catch {
    throw new Refused("the dashboard does not answer; nothing was changed");
  }
  const found = await answer.json().catch(() => ({ error: `the dashboard answered ${answer.status}` }));
  if (!answer.ok) throw new Refused(found.error, found.fields);
  return found;
};

export const checkToken = async () => {
  if (!token) return false;
  try { await post("token"); } catch { token = ""; }
  return token !== "";
};

// One stream of events for the views that are shown. It is closed while the page is hidden.
export class Stream {
  #source = null; #key = ""; #heard = Date.now(); #wanted = []; #log = null;
  constructor(hear, tellAge) {
    this.hear = hear;
    document.addEventListener("visibilitychange", () => { this.#heard = Date.now(); this.#connect(); });
    setInterval(() => {
      const silent = Date.now() - this.#heard;
      if (document.hidden) return;
      tellAge(silent > STALE_AFTER_MS ? this.#heard : null);
      if (silent > STALE_AFTER_MS && (!this.#source || this.#source.readyState === 2)) { this.#key = ""; this.#connect(); }
    }, 1000);
  }
  watch(topics, log = null) { this.#wanted = topics; this.#log = log; this.#connect(); }
  #connect() {
    const key = document.hidden ? "" : `${this.#wanted}|${this.#log !== null}`;
    if (key === this.#key && this.#source && this.#source.readyState !== 2) return;
    this.#key = key;
    if (this.#source) this.#source.close();
    this.#source = null;
    if (!key) return;
    const query = new URLSearchParams({ topics: this.#wanted.join(",") });
    if (this.#log !== null) query.set("log", this.#log());
    const source = this.#source = new EventSource(`/events?${query}`);
    for (const name of ["names", ...this.#wanted, "log", "alive"]) {
      source.addEventListener(name, (event) => {
        this.#heard = Date.now();
        if (name === "names") learn(JSON.parse(event.data));
        else if (name !== "alive") this.hear(name, JSON.parse(event.data));
      });
    }
    source.addEventListener("error", () => { if (source.readyState === 2) this.#key = ""; });
  }
}
