// Requests to the server, and its events. All need the token of the printed address, which the page
// removes from the address bar at once, and keeps as long as the tab is open.

import { learn, learnFrom } from "/page/dom.js";

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
const token = remember();
const withToken = (more) => ({ "x-minicrawl-token": token, ...more });

export class Refused extends Error {
  constructor(message, fields, status) { super(message); this.fields = fields || {}; this.status = status; }
}

export const get = async (path, values = {}, signal = undefined) => {
  const answer = await fetch(`/api/${path}?${new URLSearchParams(values)}`, { headers: withToken(), signal });
  learnFrom(answer);
  const found = await answer.json();
  if (found && found.error) throw new Refused(found.error, {}, answer.status);
  return found;
};

export const post = async (path, body) => {
  let answer;
  try {
    answer = await fetch(`/api/${path}`, { method: "POST", headers: withToken({ "content-type": "application/json" }), body: JSON.stringify(body || {}) });
  } catch {
    throw new Refused("the dashboard does not answer; nothing was changed");
  }
  const found = await answer.json().catch(() => ({ error: `the dashboard answered ${answer.status}` }));
  if (!answer.ok) throw new Refused(found.error, found.fields, answer.status);
  return found;
};

// Makes requests for one place of the page: a later one cancels the one before.
export const latest = () => {
  let waiting = null;
  return async (path = "", values = {}) => {
    waiting?.abort();
    waiting = null;
    if (!path) return null;
    const mine = waiting = new AbortController();
    try {
      const found = await get(path, values, mine.signal);
      return mine === waiting ? found : null;
    } catch (error) {
      if (mine !== waiting) return null;
      throw error;
    }
  };
};

export const hasToken = async () => {
  try { await post("token"); } catch (error) { return error.status !== 403; }
  return true;
};

// One stream of events for the visible views, closed while the page is hidden. Not an EventSource,
// which cannot send the token.
export class Stream {
  #reading = null; #key = ""; #heard = Date.now(); #wanted = []; #log = null;
  constructor(hear, tellAge) {
    this.hear = hear;
    document.addEventListener("visibilitychange", () => { this.#heard = Date.now(); this.#connect(); });
    setInterval(() => {
      const silent = Date.now() - this.#heard;
      if (document.hidden || !this.#wanted.length) return;
      tellAge(silent > STALE_AFTER_MS ? this.#heard : null);
      this.#connect();
    }, 1000);
  }
  watch(topics, log = null) { this.#wanted = topics; this.#log = log; this.#connect(); }
  #connect() {
    const key = document.hidden ? "" : `${this.#wanted}|${this.#log !== null}`;
    if (key === this.#key && this.#reading) return;
    this.#key = key;
    this.#reading?.abort();
    this.#reading = null;
    if (!key) return;
    const query = new URLSearchParams({ topics: this.#wanted.join(",") });
    if (this.#log !== null) query.set("log", this.#log());
    const reading = this.#reading = new AbortController();
    this.#read(query, reading).catch(() => { /* the timer tries again in a second */ }).finally(() => { if (this.#reading === reading) this.#reading = null; });
  }
  async #read(query, reading) {
    const answer = await fetch(`/events?${query}`, { headers: withToken(), signal: reading.signal });
    if (!answer.ok) return;
    const pieces = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await pieces.read();
      if (done || reading !== this.#reading) return;
      text += value;
      const events = text.split("\n\n");
      text = events.pop();
      for (const event of events) this.#take(event);
    }
  }
  #take(event) {
    const [name, data] = event.split("\n").map((line) => line.slice(line.indexOf(" ") + 1));
    this.#heard = Date.now();
    if (name === "names") learn(JSON.parse(data));
    else if (name !== "alive") this.hear(name, JSON.parse(data));
  }
}
