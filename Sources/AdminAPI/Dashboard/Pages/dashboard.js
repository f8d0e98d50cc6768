// The dashboard: asks the admin API every two seconds and shows what it said. All text goes in as text, never as markup.

const POLL = 2000;          // between two looks
const POLL_KILL = 400;      // while a kill is pending, or tokens wait to be revoked
const PATIENCE = 8000;      // for one answer
const ROWS = 200;           // accounts shown at once

// MARK: What is known, each with when it was last said and what was wrong since

const known = { status: {}, replicas: {}, kills: {} };
let skew = 0;               // the gateway's clock is ahead of ours by so much
let polling = 0;            // the timer, or that a look is under way
let outages = 0;            // looks in a row without an answer
let chosenState = null;     // only accounts in it are shown
let listed = { held: null, at: 0 }; // when all kills were read, and what was killed then
let reviving = null;

const now = () => Date.now() + skew;
const $ = id => document.getElementById(id);
const board = $("board");

// MARK: The API. A cookie says which session, and the key in our storage, which no page of another port can read, that it is us

const KEY = "martlet-session";

class Refusal extends Error {
  constructor(status, problem) {
    super(problem?.detail ?? `the gateway answered ${status}`);
    this.status = status;
  }
}

async function ask(method, path, body, patience = PATIENCE) {
  const headers = { "Martlet-Session": localStorage.getItem(KEY) ?? "" };
  if (body !== undefined && !(body instanceof URLSearchParams)) body = JSON.stringify(body);
  const answer = await fetch(path, { method, headers, body, cache: "no-store", signal: AbortSignal.timeout(patience) });
  const content = await answer.json().catch(() => null);
  if (!answer.ok || !content) throw new Refusal(answer.status, content);
  return content;
}

// MARK: Signing in and out

function showSignIn(why = "") {
  clearTimeout(polling);
  polling = 0;
  localStorage.removeItem(KEY);
  for (const name in known) known[name] = {};
  if ($("revival").open) $("revival").close();
  document.title = "Martlet: sign in";
  board.hidden = true;
  $("sign-in").hidden = false;
  $("sign-in-fault").textContent = why;
  $("token").focus();
}

function showBoard() {
  $("sign-in").hidden = true;
  board.hidden = false;
  look();
}

$("sign-in-form").addEventListener("submit", async event => {
  event.preventDefault();
  const button = event.target.querySelector("button");
  $("sign-in-fault").textContent = "";
  button.disabled = true;
  try {
    const { key } = await ask("POST", "/session", new URLSearchParams({ token: $("token").value }));
    localStorage.setItem(KEY, key);
    $("token").value = "";
    showBoard();
    goToVerdict();
  } catch (error) {
    $("sign-in-fault").textContent =
      error.status === 401 ? "That is not the admin token."
      : error instanceof Refusal ? sentence(error.message)
      : "The gateway can’t be reached.";
    $("token").select();
  } finally {
    button.disabled = false;
  }
});

$("sign-out").addEventListener("click", async () => {
  try { await ask("DELETE", "/session"); } catch { /* Without our key the session opens nothing. */ }
  showSignIn();
});

// MARK: Looking

async function look() {
  clearTimeout(polling);
  polling = -1;
  const begun = Date.now();
  try {
    await Promise.all([
      learn("status", async () => {
        const status = await ask("GET", "/v1/status");
        skew = Date.parse(status.time) - Date.now();
        return status;
      }),
      learn("replicas", async () => (await ask("GET", "/v1/replicas")).replicas),
    ]);
    await learn("kills", readKills);
    outages = known.status.fault && !(known.status.fault instanceof Refusal) ? outages + 1 : 0;
  } catch {
    if (polling === -1) showSignIn("Your session has ended. Sign in again.");
    return;
  }
  if (polling !== -1) return; // Signed out meanwhile.
  show();
  polling = document.hidden ? 0 : setTimeout(look, outages ? Math.min(outages * 1000, 5000) : Math.max(isHot() ? POLL_KILL : POLL, 2 * (Date.now() - begun)));
}

/// Keeps what was known before where nothing new can be had; throws where the session has ended.
async function learn(name, read) {
  try {
    known[name] = { data: await read(), at: Date.now(), fault: null };
  } catch (error) {
    if (error.status === 401) throw error;
    known[name].fault = error;
  }
}

/// All kills now and then, and when something was killed or revived; else only those that go on.
async function readKills() {
  const held = JSON.stringify(known.status.data?.killed);
  if (!known.kills.data || held !== listed.held || Date.now() - listed.at > 30_000) {
    const { kills } = await ask("GET", "/v1/kills");
    listed = { held, at: Date.now() };
    return kills;
  }
  return Promise.all(known.kills.data.map(kill => isOpen(kill) ? ask("GET", `/v1/kills/${encodeURIComponent(kill.id)}`) : kill));
}

const isOpen = kill => kill.state === "pending" || kill.tokens.waiting + kill.tokens.in_flight > 0;
const isHot = () => !known.kills.fault && (known.kills.data ?? []).some(isOpen);

/// At once, whatever was planned.
function lookSoon() {
  if (polling !== -1) look(); else setTimeout(lookSoon, 50);
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !board.hidden && polling !== -1) look();
});

// MARK: Words

const sentence = text => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
const plural = (count, one, many = one + "s") => `${count} ${count === 1 ? one : many}`;
const spoken = word => word.replaceAll("_", " ");
const keyOf = scope => JSON.stringify(scope);

function scopeText(scope) {
  return scope.all ? "everything" : scope.provider ? `provider ${scope.provider}` : `account ${scope.account}`;
}

/// Such as "9.3 s" or "2 h 5 min".
function lengthText(milliseconds) {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60), days = Math.floor(hours / 24);
  if (minutes < 120) return `${minutes} min`;
  if (hours < 48) return `${hours} h` + (minutes % 60 ? ` ${minutes % 60} min` : "");
  return `${days} d`;
}

/// Such as 2026-01-31 14:05:09, by the clock on the reader's wall; this locale writes it so.
const dateText = time => new Date(time).toLocaleString("sv-SE");
const clockText = time => new Date(time).toLocaleTimeString("sv-SE");

function agoText(time) {
  const past = now() - Date.parse(time);
  return past < 1500 ? "just now" : past < 10_000 ? `${Math.floor(past / 1000)} s ago` : `${lengthText(past)} ago`;
}

const STATES = {
  killed: "dead", unreadable: "bad", reauthorization_required: "warn", backing_off: "warn",
  valid: "good", refreshing: "busy", expired: "none", empty: "none",
  answering: "good", failing: "warn", refuses_client: "bad",
  complete: "good", pending: "warn",
  waiting: "warn", in_flight: "warn", revoked: "good", refused: "bad", unsupported: "none", unreachable: "bad",
};

const WITNESS = {
  acknowledged: ["✓", "has stopped"], gone: ["✓", "has ended"], lease_expired: ["✓", "was silent for longer than its lease"],
  pending: ["", "has not said so yet"],
};

const PARTS = ["waiting", "in_flight", "revoked", "refused", "unsupported", "unreachable"];

// MARK: Putting things on the page

const slot = (element, name) => element.querySelector(`[data-slot="${name}"]`);

function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function pill(element, state, word = spoken(state ?? "")) {
  put(element, word);
  element.className = `pill ${STATES[state] ?? ""}`;
}

/// One child per item, each kept as long as its item is there, so that focus and what is unfolded stay.
function list(parent, items, template, key, fill) {
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

/// A time that `tick` counts down to: `before` 9.3 s, or `after` when it has passed.
function countTo(element, until, before = "", after = "") {
  if (!until) {
    delete element.dataset.until;
    return put(element, "");
  }
  Object.assign(element.dataset, { until: Date.parse(until), before, after });
  element.dateTime = until;
  countDown(element);
}

function countDown(element) {
  const left = Number(element.dataset.until) - now();
  put(element, left > 0 ? `${element.dataset.before}${lengthText(left)}` : element.dataset.after);
}

/// Four times a second: ages and countdowns. What is not known any more does not go on.
function tick() {
  if (board.hidden) return;
  for (const element of board.querySelectorAll("[data-until]")) if (!element.closest(".is-stale")) countDown(element);
  const { data, at, fault } = known.status;
  const isLost = Boolean(fault);
  board.classList.toggle("is-lost", isLost);
  if (isLost && data) {
    put($("freshness-text"), `${lengthText(Date.now() - at)} old`);
  } else if (at) {
    put($("freshness-text"), Date.now() - at > 4 * POLL ? `Read ${lengthText(Date.now() - at)} ago` : "Live");
  }
  if (!isLost && data) showLease(data);
}
setInterval(tick, 250);

// MARK: Showing all of it

function show() {
  showOutage();
  for (const section of document.querySelectorAll("[data-source]")) {
    section.classList.toggle("is-stale", Boolean(known[section.dataset.source].fault ?? known.status.fault));
  }
  // What can't be vouched for stays as it was.
  if (known.status.fault) return;
  showVerdict();
  showKills();
  showAccounts();
  showReplicas();
  showProviders();
  showGateway();
  showSwitch();
  tick();
}

function showOutage() {
  const { fault, data, at } = known.status;
  const outage = $("outage");
  const text = !fault ? ""
    : fault instanceof Refusal ? `The gateway refuses to say how it is. ${sentence(fault.message)}`
    : data ? `The gateway can’t be reached. What stands here is of ${clockText(at)} and may be wrong by now.`
    : "The gateway can’t be reached.";
  put(outage, text);
  outage.hidden = !fault;
  $("verdict").classList.toggle("is-stale", Boolean(fault));
}

/// Where somebody's change shows, for eyes and screen readers.
function goToVerdict() {
  scrollTo({ top: 0 });
  $("verdict-text").focus({ preventScroll: true });
}

let announced = "";

/// Told to screen readers when it changes.
function announce(text) {
  if (text === announced) return;
  announced = text;
  $("announcement").textContent = text;
}

function showVerdict() {
  const { status, kills } = { status: known.status.data, kills: known.kills.data ?? [] };
  const pending = kills.filter(kill => kill.state === "pending");
  const held = status.killed.map(scopeText);
  const troubled = status.accounts.filter(account => ["warn", "bad"].includes(STATES[account.state])).length;
  let [kind, text, note] = ["good", "Tokens are in use", `${plural(status.accounts.length, "account")}, nothing is killed` + (troubled ? `; ${troubled} in trouble` : "")];
  if (pending.length) {
    const missing = pending.flatMap(kill => kill.replicas.filter(one => one.state === "pending").map(one => one.name));
    kind = "pending";
    text = `The kill of ${pending.map(kill => scopeText(kill.scope)).join(", ")} is pending`;
    note = missing.length ? `Not every replica has stopped: ${missing.join(", ")} may still send these tokens.` : "Not every replica has stopped yet.";
  } else if (held.length) {
    kind = "killed";
    text = held.length > 3 ? `${held.length} scopes are killed` : `${sentence(held.join(", ")).slice(0, -1)} ${held.length > 1 ? "are" : "is"} killed`;
    note = known.kills.fault ? "The report can’t be read just now." : "Complete: no replica sends these tokens.";
  } else if (!status.ready) {
    kind = "bad";
    text = "This gateway serves nobody";
    note = !status.store.open ? "Its store can’t be read." : status.replica.lease_until ? "A listener is not bound." : "Its lease has lapsed: it could not read the kill log.";
  }
  $("verdict").className = `verdict ${kind}`;
  put($("verdict-text"), text);
  put($("verdict-note"), note);
  announce(`${text}. ${note}`);
  document.title = `${pending.length ? "Pending: " : held.length ? "Killed: " : ""}${held.length ? held.join(", ") + " · " : ""}Martlet ${status.replica.name}`;
}

function showKills() {
  const kills = known.kills.data ?? [];
  const killed = new Set(known.status.data.killed.map(keyOf));
  const shown = [], past = [], seen = new Set();
  for (const kill of kills) {
    const key = keyOf(kill.scope);
    const holds = killed.has(key) && !seen.has(key);
    seen.add(key);
    (holds || kill.state === "pending" ? shown : past).push({ kill, holds });
  }
  // Killed, while the report can't be had.
  for (const scope of known.status.data.killed) if (!seen.has(keyOf(scope))) shown.push({ kill: { scope }, holds: true });
  $("held").hidden = !shown.length;
  list($("held-list"), shown, "kill-card", ({ kill }) => kill.id ?? keyOf(kill.scope), fillKill);
  $("past").hidden = !past.length;
  list($("past-list"), past.slice(0, 50), "past-kill", ({ kill }) => kill.id, fillPastKill);
}

function fillKill(card, { kill, holds }) {
  const isPending = kill.state === "pending";
  card.classList.toggle("pending", isPending);
  put(slot(card, "scope"), sentence(scopeText(kill.scope)).slice(0, -1));
  pill(slot(card, "state"), kill.state);
  const revive = slot(card, "revive");
  revive.hidden = !holds;
  revive.onclick = () => openRevival(kill.scope);
  revive.setAttribute("aria-label", `Revive ${scopeText(kill.scope)}`);
  card.querySelector(".card-body").hidden = !kill.id;
  put(slot(card, "promise"), isPending
    ? "Not complete: a replica that has not stopped may still send one of these tokens."
    : kill.id ? "No replica sends any of these tokens, and none ever will." : "Its report can’t be read just now.");
  if (!kill.id) return put(slot(card, "facts"), "");
  put(slot(card, "facts"), factsOf(kill));
  list(slot(card, "replicas"), kill.replicas, "witness", (one, index) => `${one.name} ${index}`, (line, one) => {
    const [mark, word] = WITNESS[one.state] ?? ["", spoken(one.state)];
    line.classList.toggle("pending-one", one.state === "pending");
    put(slot(line, "mark"), mark);
    put(slot(line, "name"), one.name);
    put(slot(line, "word"), word);
    countTo(slot(line, "until"), one.until, "its lease ends in ", "its lease is over any moment");
  });
  list(slot(card, "strip"), PARTS, "part", part => part, (bar, part) => {
    bar.className = `part-${part}`;
    bar.style.flexGrow = kill.tokens[part];
    bar.hidden = !kill.tokens[part];
  });
  fillTally(card, kill);
}

function fillTally(parent, kill) {
  put(slot(parent, "total"), `Tokens at their providers: ${kill.tokens.total} in all`);
  list(slot(parent, "tally"), PARTS, "tally", part => part, (cell, part) => {
    cell.className = `part-${part} ${kill.tokens[part] ? "" : "zero"}`;
    put(slot(cell, "word"), spoken(part));
    put(slot(cell, "count"), String(kill.tokens[part]));
  });
}

function factsOf(kill) {
  const took = kill.completed_at ? `complete after ${lengthText(Date.parse(kill.completed_at) - Date.parse(kill.started_at))}` : "going on";
  const streams = kill.streams === "drain" ? "requests under way may end" : "requests under way were cut";
  const draining = kill.draining ? `; ${plural(kill.draining, "request")} left to end` : "";
  return `“${kill.reason}” · ${dateText(kill.started_at)}, ${took} · ${streams}${draining}`;
}

function fillPastKill(item, { kill }) {
  const details = item.firstElementChild;
  put(slot(item, "scope"), sentence(scopeText(kill.scope)).slice(0, -1));
  pill(slot(item, "state"), kill.state);
  put(slot(item, "reason"), kill.reason);
  put(slot(item, "time"), agoText(kill.started_at));
  put(slot(item, "facts"), factsOf(kill));
  fillTally(item, kill);
  details.ontoggle ??= async () => {
    if (!details.open) return;
    const path = `/v1/kills/${encodeURIComponent(kill.id)}/tokens`;
    const tokens = await ask("GET", path).then(answer => answer.tokens, () => []);
    list(slot(item, "fates"), tokens.slice(0, ROWS), "fate", (_, index) => String(index), (line, token) => {
      put(slot(line, "name"), token.account);
      put(slot(line, "kind"), `${token.kind} token`);
      pill(slot(line, "outcome"), token.outcome);
      put(slot(line, "ends"), token.ends_at && token.outcome !== "revoked" ? `ends ${dateText(token.ends_at)}` : "");
    });
  };
}

function showAccounts() {
  const all = known.status.data.accounts;
  const counts = new Map(Object.keys(STATES).map(state => [state, 0]));
  for (const { state } of all) counts.set(state, (counts.get(state) ?? 0) + 1);
  const states = [...counts].filter(([state, count]) => count || state === chosenState);
  $("state-filters").hidden = states.length < 2;
  list($("state-filters"), states, "filter", ([state]) => state, (item, [state, count]) => {
    const button = item.firstElementChild;
    put(slot(item, "count"), String(count));
    put(slot(item, "state"), spoken(state));
    button.setAttribute("aria-pressed", state === chosenState);
    button.onclick = () => { chosenState = state === chosenState ? null : state; showAccounts(); };
  });
  $("account-filter").hidden = all.length < 8;
  const wanted = $("account-filter").value.trim().toLowerCase();
  const found = all.filter(account => (!chosenState || account.state === chosenState)
    && (!wanted || account.name.toLowerCase().includes(wanted) || account.provider.toLowerCase().includes(wanted)));
  list($("account-rows"), found.slice(0, ROWS), "account-row", account => account.name, fillAccount);
  put($("account-rest"), !all.length ? "The configuration has no accounts." : !found.length ? "No account is like that."
    : found.length > ROWS ? `${found.length - ROWS} more: find them by name.` : "");
}
$("account-filter").addEventListener("input", showAccounts);

function fillAccount(row, account) {
  put(slot(row, "name"), account.name);
  put(slot(row, "trouble"), [account.configured ? "" : "not configured any more", account.last_error ? spoken(account.last_error) : ""].filter(Boolean).join("; "));
  put(slot(row, "provider"), account.provider);
  pill(slot(row, "state"), account.state);
  if (account.expires_at && account.state !== "killed") countTo(slot(row, "ends"), account.expires_at, "ends in ", "has ended");
  else countTo(slot(row, "ends"), null);
  const button = slot(row, "kill");
  button.hidden = account.state === "killed";
  button.setAttribute("aria-label", `Kill account ${account.name}: go to the switch`);
  button.onclick = () => {
    $("kill-form").elements.kind.value = "account";
    $("scope-name").value = "";
    $("scope-name").placeholder = account.name;
    showSwitch();
    $("scope-name").focus();
  };
}

function showReplicas() {
  const { data, fault } = known.replicas;
  const section = $("replica-list").closest("section");
  put(section.querySelector(".source-fault"), fault && !known.status.fault ? sentence(fault.message) : "");
  const last = Math.max(0, ...(data ?? []).map(replica => replica.acknowledged), ...(known.kills.data ?? []).map(kill => kill.epoch));
  const replicas = (data ?? []).toSorted((one, other) => other.this - one.this || one.name.localeCompare(other.name));
  list($("replica-list"), replicas, "row", replica => replica.boot, (row, replica) => {
    const isBehind = replica.acknowledged < last;
    put(slot(row, "name"), replica.name);
    put(slot(row, "tag"), replica.this ? "this one" : `boot ${replica.boot.slice(0, 8)}`);
    pill(slot(row, "state"), replica.expelled ? "bad" : isBehind ? "pending" : "answering",
      replica.expelled ? "expelled" : isBehind ? "behind" : "up to date");
    if (!replica.this) {
      put(slot(row, "detail"), `Lease of ${replica.lease_ms / 1000} s, ${isBehind ? `stopped up to kill log entry ${replica.acknowledged} of ${last}` : "counted by its own clock"}`);
    }
    row.classList.toggle("has-gauge", replica.this);
    row.classList.toggle("is-this", replica.this);
    row.dataset.lease = replica.lease_ms;
  });
}

/// Only the replica that answers knows how much of its own lease is left.
function showLease(status) {
  const row = $("replica-list").querySelector(".is-this");
  if (!row) return;
  const left = status.replica.lease_until ? Date.parse(status.replica.lease_until) - now() : 0;
  put(slot(row, "detail"), left > 0 ? `Lease ends in ${lengthText(left)} unless renewed` : "Its lease has lapsed: it sends no token");
  slot(row, "gauge").style.transform = `scaleX(${Math.min(1, Math.max(0, left / Number(row.dataset.lease)))})`;
}

function showProviders() {
  list($("provider-list"), known.status.data.providers, "row", provider => provider.name, (row, provider) => {
    put(slot(row, "name"), provider.name);
    pill(slot(row, "state"), provider.state, provider.state ? spoken(provider.state) : "not configured");
    put(slot(row, "detail"), Object.entries(provider.accounts).map(([state, count]) => `${count} ${spoken(state)}`).join(", "));
    countTo(slot(row, "time"), provider.retry_at, "· asked again in ", "· asked again any moment");
  });
}

function showGateway() {
  const { store, listeners, replica, version } = known.status.data;
  put($("replica-name"), replica.name);
  put($("version"), version);
  const rows = [
    { name: store.driver, tag: "store", isGood: store.open, word: store.open ? "open" : "out of reach", detail: "" },
    ...listeners.map(one => ({ name: one.address, tag: "", isGood: one.bound, word: one.bound ? "bound" : "not bound", detail: "" })),
    { name: replica.name, tag: "this process", detail: `started ${agoText(replica.started_at)}, boot ${replica.boot.slice(0, 8)}` },
  ];
  list($("gateway-list"), rows, "row", (one, index) => String(index), (row, one) => {
    put(slot(row, "name"), one.name);
    put(slot(row, "tag"), one.tag);
    if (one.word) pill(slot(row, "state"), one.isGood ? "answering" : "refuses_client", one.word);
    put(slot(row, "detail"), one.detail);
    row.querySelector(".detail").hidden = !one.detail;
  });
}

// MARK: The switch

const killForm = $("kill-form");

/// What would be killed by what is typed, and why it can't be.
function aim() {
  const kind = killForm.elements.kind.value, name = $("scope-name").value.trim();
  const status = known.status.data;
  if (kind === "all") {
    return name === "all" ? { scope: { all: true }, hint: `This stops ${plural(status?.accounts.length ?? 0, "account")}: all there are.` } : { hint: "The word all, and nothing else." };
  }
  if (!name || !status) return { hint: "" };
  if (kind === "provider") {
    const accounts = status.accounts.filter(account => account.provider === name);
    const isKnown = accounts.length || status.providers.some(provider => provider.name === name);
    return isKnown ? { scope: { provider: name }, hint: `This stops ${plural(accounts.length, "account")} of ${name}.` } : { hint: "No provider has that name." };
  }
  const account = status.accounts.find(account => account.name === name);
  return account ? { scope: { account: name }, hint: `An account of ${account.provider}, ${spoken(account.state)}.` } : { hint: "No account has that name." };
}

function showSwitch() {
  const kind = killForm.elements.kind.value;
  put($("scope-label"), kind === "all" ? "Type “all”" : `Type the ${kind}’s name`);
  const { scope, hint } = aim();
  put($("scope-hint"), hint);
  $("scope-hint").classList.toggle("good", Boolean(scope));
  put($("kill-button"), scope ? `Kill ${scopeText(scope)}` : "Kill");
  $("kill-button").classList.toggle("is-armed", Boolean(scope && $("kill-reason").value.trim()));
}

killForm.addEventListener("input", event => {
  if (event.target.name === "kind") {
    $("scope-name").value = "";
    $("scope-name").placeholder = "";
  }
  put($("kill-fault"), "");
  showSwitch();
});

killForm.addEventListener("submit", async event => {
  event.preventDefault();
  const { scope } = aim(), reason = $("kill-reason").value.trim();
  const missing = !scope ? ["scope-name", `Type ${killForm.elements.kind.value === "all" ? "the word all" : "the name in full"} first.`]
    : !reason ? ["kill-reason", "Say in a few words why."] : null;
  if (missing) {
    put($("kill-fault"), missing[1]);
    return $(missing[0]).focus();
  }
  $("kill-button").disabled = true;
  try {
    const kill = await ask("POST", "/v1/kill", { scope, reason, wait: "0s", streams: killForm.elements.streams.value }, 30_000);
    killForm.reset();
    $("scope-name").placeholder = "";
    known.kills.data = [kill, ...(known.kills.data ?? []).filter(one => one.id !== kill.id)];
    listed.at = 0;
    goToVerdict();
  } catch (error) {
    put($("kill-fault"), error instanceof Refusal
      ? `Not killed. ${sentence(error.message)}`
      : "No answer came. The kill may stand or not: see whether it is listed, and give it again if it is not.");
  } finally {
    $("kill-button").disabled = false;
    showSwitch();
    lookSoon();
  }
});

// MARK: Reviving

function openRevival(scope) {
  reviving = scope;
  put($("revival-title"), `Revive ${scopeText(scope)}`);
  put($("revival-fault"), "");
  $("revival-reason").value = "";
  $("revival").showModal();
  $("revival-reason").focus();
}

$("revival-cancel").addEventListener("click", () => $("revival").close());

$("revival-form").addEventListener("submit", async event => {
  event.preventDefault();
  const reason = $("revival-reason").value.trim();
  if (!reason) {
    put($("revival-fault"), "Say in a few words why.");
    return $("revival-reason").focus();
  }
  $("revival-button").disabled = true;
  try {
    await ask("POST", "/v1/revive", { scope: reviving, reason }, 30_000);
    $("revival").close();
  } catch (error) {
    put($("revival-fault"), error instanceof Refusal ? `Not revived. ${sentence(error.message)}` : "No answer came. See whether it is still killed.");
  } finally {
    $("revival-button").disabled = false;
    lookSoon();
  }
});

if (localStorage.getItem(KEY)) showBoard(); else showSignIn();
