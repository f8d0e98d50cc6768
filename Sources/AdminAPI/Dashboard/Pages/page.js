// What the parts of the page share: the API, the gateway's time, words, and updating elements. All text is inserted as text, never as markup.

const PATIENCE = 8000;      // milliseconds to wait for one response

let skew = 0;               // milliseconds by which the gateway's clock is ahead of the browser's

export const now = () => Date.now() + skew;

/// Notes what the gateway's clock says.
export function setClock(time) {
  skew = Date.parse(time) - Date.now();
}

export const $ = id => document.getElementById(id);

// MARK: The API. A cookie names the session. The key in local storage, which a page on another port can't read, proves the origin

export const KEY = "martlet-session";

export class Refusal extends Error {
  constructor(status, problem) {
    super(problem?.detail ?? `the gateway answered ${status}`);
    this.status = status;
  }
}

/// The response was cut off: the gateway got the request and may have acted on it.
export class CutAnswer extends Error {}

/// The message for a request without a complete response, which the gateway may have carried out.
export const lostAnswer = error => `${error instanceof CutAnswer ? "The answer was cut." : "No answer came."} It may have been done`;

export async function ask(method, path, body, patience = PATIENCE) {
  const headers = { "Martlet-Session": localStorage.getItem(KEY) ?? "" };
  if (body !== undefined && !(body instanceof URLSearchParams)) body = JSON.stringify(body);
  const answer = await fetch(path, { method, headers, body, cache: "no-store", signal: AbortSignal.timeout(patience) });
  const content = await answer.json().catch(() => null);
  if (answer.status >= 400) throw new Refusal(answer.status, content);
  if (!content) throw new CutAnswer("the answer was cut");
  return content;
}

// MARK: Words

export const sentence = text => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
export const numberText = count => count.toLocaleString("en-US");
export const plural = (count, one, many = one + "s") => `${numberText(count)} ${count === 1 ? one : many}`;
export const spoken = word => word.replaceAll("_", " ");

/// How each state looks.
export const STATES = {
  killed: "dead", unreadable: "bad", reauthorization_required: "warn", backing_off: "warn",
  valid: "good", refreshing: "busy", expired: "none", empty: "none",
  answering: "good", failing: "warn", refuses_client: "bad", not_provider: "bad",
  complete: "good", pending: "warn",
  waiting: "warn", in_flight: "warn", revoked: "good", refused: "bad", client_refused: "bad", unsupported: "none", unreachable: "bad",
};

/// A duration, such as "9.3 s" or "2 h 5 min".
export function lengthText(milliseconds) {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60), days = Math.floor(hours / 24);
  if (minutes < 120) return `${minutes} min`;
  if (hours < 48) return `${hours} h` + (minutes % 60 ? ` ${minutes % 60} min` : "");
  return `${days} d`;
}

/// A number of bytes, such as "1.5 MiB" or "512 B".
export function sizeText(bytes) {
  const unit = bytes < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(bytes) / 10));
  return `${Math.floor(bytes / 1024 ** unit * 10) / 10} ${["B", "KiB", "MiB", "GiB", "TiB"][unit]}`;
}

/// A time, such as 2026-01-31 14:05:09, in the local time zone. The locale sv-SE has this format.
export const dateText = time => new Date(time).toLocaleString("sv-SE");
export const clockText = time => new Date(time).toLocaleTimeString("sv-SE");

export function agoText(time) {
  const past = now() - Date.parse(time);
  return past < 1500 ? "just now" : past < 10_000 ? `${Math.floor(past / 1000)} s ago` : `${lengthText(past)} ago`;
}

// MARK: Updating the page

export const slot = (element, name) => element.querySelector(`[data-slot="${name}"]`);

export function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function pill(element, state, word = spoken(state ?? "")) {
  put(element, word);
  element.className = `pill ${STATES[state] ?? ""}`;
}

/// Shows one child per item. A child is kept as long as its item exists, so that focus and open details stay.
export function list(parent, items, template, key, fill) {
  const old = new Map([...parent.children].map(child => [child.dataset.key, child]));
  items.forEach((item, index) => {
    const name = key(item, index);
    let child = old.get(name);
    old.delete(name);
    if (!child) {
      child = $(template).content.firstElementChild.cloneNode(true);
      child.dataset.key = name;
    }
    if (parent.children[index] !== child) parent.insertBefore(child, parent.children[index] ?? null);
    fill(child, item);
  });
  for (const child of old.values()) child.remove();
}

/// Shows a time that `tick` counts down to: `before` with the time left, such as 9.3 s, or `after` when the time has passed.
export function countTo(element, until, before = "", after = "") {
  if (!until) {
    delete element.dataset.until;
    return put(element, "");
  }
  Object.assign(element.dataset, { until: Date.parse(until), before, after });
  element.dateTime = until;
  countDown(element);
}

export function countDown(element) {
  const left = Number(element.dataset.until) - now();
  put(element, left > 0 ? `${element.dataset.before}${lengthText(left)}` : element.dataset.after);
}
