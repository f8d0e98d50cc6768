// The dashboard: polls the admin API every two seconds and shows the results. All text is inserted as text, never as markup.

import { accountCount, familyOf, isBad, readAccounts, showAccounts, watchFilters } from "/accounts.js";
import { drawHistory } from "/charts.js";
import { closeLock, isSettling, lockVerdict, showApprovals, showLock } from "/lock.js";
import { closeLogin } from "/login.js";
import {
  $, KEY, Refusal, agoText, ask, clockText, countDown, countTo, dateText, lengthText, list, lostAnswer, now, numberText, pill, plural, put,
  sentence, setClock, sizeText, slot, spoken, STATES,
} from "/page.js";

const POLL = 2000;          // milliseconds between two polls
const POLL_KILL = 400;      // milliseconds, while a kill is pending or tokens wait to be revoked
const STALE = 8000;         // milliseconds after which the data shown counts as stale
const FATES = 200;          // tokens of a kill shown at once
const FEW = 500;            // tokens to be revoked that are polled for often
const RECORDS = 40;         // audit records to read; each change has two records

// MARK: Known data, each part with the time of its last response and the fault since then

const known = { status: {}, accounts: {}, replicas: {}, kills: {}, audit: {}, history: {}, caches: {} };
let lacksKills = false;     // the store could not be read, so newer kills of other replicas are not known
let polling = 0;            // the timer of the next poll, 0 for none, or -1 while a poll is in progress
let outages = 0;            // polls in a row without a response
let reviving = null;
let told = { at: 0 };       // the status that the page shows
let flaw = null;            // the error that kept the page from showing a response
let title = "";             // the title of the page while its data is live

const board = $("board");

// MARK: Signing in and out

const WHO = "martlet-administrator";  // a name and a role, only for display: the gateway enforces permissions

function showSignIn(why = "") {
  clearTimeout(polling);
  polling = 0;
  localStorage.removeItem(KEY);
  localStorage.removeItem(WHO);
  for (const name in known) known[name] = {};
  if ($("revival").open) $("revival").close();
  closeLogin();
  closeLock();
  document.title = "Martlet: sign in";
  board.hidden = true;
  $("sign-in").hidden = false;
  $("sign-in-fault").textContent = why;
  $("token").focus();
}

const isOperator = () => administrator().role === "operator";
const mayKill = () => isOperator() || administrator().role === "killer";

function administrator() {
  const [name, role] = (localStorage.getItem(WHO) ?? "").split(" ");
  return { name, role };
}

function showBoard() {
  $("sign-in").hidden = true;
  board.hidden = false;
  const { name, role } = administrator();
  put($("administrator"), isOperator() ? name : `${name}, ${role}`);
  $("switch").hidden = $("to-switch").hidden = !mayKill();
  look();
}

$("sign-in-form").addEventListener("submit", async event => {
  event.preventDefault();
  const button = event.target.querySelector("button");
  $("sign-in-fault").textContent = "";
  button.disabled = true;
  try {
    const { key, name, role } = await ask("POST", "/session", new URLSearchParams({ token: $("token").value }));
    localStorage.setItem(KEY, key);
    localStorage.setItem(WHO, `${name} ${role}`);
    $("token").value = "";
    showBoard();
    goToVerdict();
  } catch (error) {
    $("sign-in-fault").textContent =
      error.status === 401 ? "That is no admin token of this gateway."
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

// MARK: Polling

async function look() {
  clearTimeout(polling);
  polling = -1;
  const begun = Date.now();
  try {
    await learn("status", async () => {
      const status = await ask("GET", "/v1/status");
      setClock(status.time);
      return status;
    });
    // Read after the status, so that no kill report is older than the status. Skipped in an outage, which would show late otherwise.
    if (isClosed()) {
      forget();
      await learn("history", readHistory);
    } else if (!known.status.fault) {
      await Promise.all([
        learn("accounts", readAccounts),
        learn("replicas", async () => (await ask("GET", "/v1/replicas")).replicas),
        learn("kills", async () => {
          const { kills, store } = await ask("GET", "/v1/kills");
          lacksKills = store !== "reachable";
          return kills;
        }),
        learn("audit", readAudit),
        learn("history", readHistory),
        learn("caches", async () => (await ask("GET", "/v1/cache")).caches),
      ]);
    }
    outages = known.status.fault && !(known.status.fault instanceof Refusal) ? outages + 1 : 0;
  } catch {
    if (polling === -1) showSignIn("Your session has ended. Sign in again.");
    return;
  }
  if (polling !== -1) return; // The user has signed out in the meantime.
  let pause = POLL;
  try {
    flaw = null;
    show();
    if (isHot()) pause = POLL_KILL;
  } catch (error) {
    flaw = error;
    console.error(error);
    vouch();
  }
  polling = document.hidden ? 0 : setTimeout(look, outages ? Math.min(outages * 1000, 5000) : Math.max(pause, 2 * (Date.now() - begun)));
}

/// Whether the gateway has no store open, so that it knows nothing of what is in there.
const isClosed = () => !known.status.fault && ["locked", "unlocking"].includes(known.status.data?.lock?.state);

/// Forgets what was read while the gateway was open, except the kills that were given to it since.
function forget() {
  const kept = (known.kills.data ?? []).filter(kill => kill.store === "locked");
  const data = { accounts: { accounts: [], next: null, number: 1 }, replicas: [], kills: kept, audit: { last: 0, records: [] }, caches: [] };
  for (const name in data) known[name] = { data: data[name], at: Date.now(), fault: null };
  lacksKills = false;
}

/// Reads one part of the known data. Keeps the old data if the read fails; throws if the session has ended.
async function learn(name, read) {
  try {
    known[name] = { data: await read(), at: Date.now(), fault: null };
  } catch (error) {
    if (error.status === 401) throw error;
    known[name].fault = error;
  }
}

/// Reads the last audit records if there are new ones.
async function readAudit() {
  const { last } = await ask("GET", `/v1/audit?after=${Number.MAX_SAFE_INTEGER}&limit=1`);
  if (last === known.audit.data?.last) return known.audit.data;
  const { audit } = await ask("GET", `/v1/audit?after=${Math.max(0, last - RECORDS)}&limit=${RECORDS}`);
  return { last, records: audit };
}

/// Reads the last hour again when a new sample is due.
async function readHistory() {
  const { data } = known.history;
  if (data && Date.now() < data.due) return data;
  const history = await ask("GET", "/v1/history");
  const interval = history.interval_seconds * 1000, age = history.samples.length ? now() - Date.parse(history.samples.at(-1).at) : 0;
  return { ...history, due: Date.now() + (age < 0 || age > interval ? interval : interval - age + 300) };
}

/// Whether a kill soon looks different. Many tokens take a provider minutes or hours.
function isOpen({ state, tokens: { waiting, in_flight: inFlight } }) {
  return state === "pending" || (waiting + inFlight > 0 && waiting + inFlight < FEW);
}

const isHot = () => !known.status.fault && (isSettling(known.status.data.lock) || !isClosed() && !known.kills.fault && (known.kills.data ?? []).some(isOpen));

/// Polls at once, or as soon as the poll in progress ends.
function lookSoon() {
  if (polling !== -1) look(); else setTimeout(lookSoon, 50);
}

document.addEventListener("visibilitychange", () => {
  tick();
  if (!document.hidden && !board.hidden && polling !== -1) look();
});

// MARK: Words

const keyOf = scope => JSON.stringify(scope);

function scopeText(scope) {
  return scope.all ? "everything" : scope.provider ? `provider ${scope.provider}` : `account ${scope.account}`;
}

const WITNESS = {
  acknowledged: ["✓", "has stopped"], gone: ["✓", "has ended"], lease_expired: ["✓", "was silent for longer than its lease"],
  pending: ["", "has not said so yet"],
};

const DEEDS = {
  import: "imported tokens", adopt: "adopted tokens", refresh: "refreshed", remove: "removed tokens", kill: "killed", revive: "revived",
  reload: "read the configuration again", takeover: "took over the addresses", rekey: "sealed the store anew",
  login_begin: "began a sign-in", login: "signed in", login_cancel: "cancelled a sign-in",
  forget_replica: "forgot a replica", cache_purge: "purged caches", lock: "locked the gateway", unlock: "unlocked the gateway", approve: "approved", refused_tokens: "wrong admin tokens", accept_older_store: "went by an older store",
};

/// Why a kill is not complete, by the state of the store.
const UNKEPT = {
  locked: "Not complete: this gateway is locked, and carries the kill out when it is unlocked. Another replica may use these tokens until then: give the kill to it as well.",
  reachable: "Not complete: a replica that has not stopped may still send one of these tokens.",
  unreachable: "Not complete, and not known to stand in the store, which can’t be reached. This replica has stopped; another stops when it could not read the store for its lease.",
  unwritable: "Not complete, and not in the store, which takes nothing just now. This replica has stopped; others go on until the store has taken it, or, where hosts share the store, until their lease ends.",
};

const PARTS = ["waiting", "in_flight", "revoked", "refused", "client_refused", "unsupported", "unreachable", "given_up"];

/// Replacements for words of the API that would be ambiguous.
const PART_WORDS = { unreachable: "provider unreachable" };

/// The number of tokens in a part. The API counts tokens that were given up as unreachable, too.
function countOf(tokens, part) {
  const givenUp = tokens.given_up ?? 0;
  return part === "unreachable" ? tokens.unreachable - givenUp : part === "given_up" ? givenUp : tokens[part] ?? 0;
}

// MARK: Updating the page

/// Updates ages and countdowns four times a second. Countdowns in stale sections stop.
function tick() {
  if (board.hidden) return;
  vouch();
  for (const element of board.querySelectorAll("[data-until]")) if (!element.closest(".is-stale")) countDown(element);
  if (told.data) showLease(told);
}
setInterval(tick, 250);

/// Greys stale sections and says why. Nothing else does that in a hidden tab, or while a response is awaited.
function vouch() {
  const age = Date.now() - told.at;
  const isLost = Boolean(known.status.fault ?? flaw), isStale = isLost || Boolean(told.at && age > STALE);
  showOutage();
  for (const section of document.querySelectorAll("[data-source]")) {
    section.classList.toggle("is-stale", isStale || Boolean(known[section.dataset.source].fault));
  }
  $("verdict").classList.toggle("is-stale", isStale);
  board.classList.toggle("is-lost", isStale);
  if (!told.at) return;
  put($("freshness-text"), isStale ? `${lengthText(age)} old` : "Live");
  const live = isStale ? `Not live: ${title}` : title;
  if (document.title !== live) document.title = live;
}

// MARK: Showing the data

function show() {
  // Without a current status the page stays as it was.
  if (!known.status.fault) {
    showVerdict();
    showKills();
    showLock(known.status.data.lock, isOperator(), lookSoon);
    showApprovals(known.status.data.approvals ?? [], isOperator());
    showHistory();
    showCaches();
    showAccounts(known.status.data, known.accounts, { maySignIn: isOperator(), mayKill: mayKill(), aimAt, then: lookSoon });
    showReplicas();
    showProviders();
    showGateway();
    showChanges();
    showSwitch();
    for (const name of ["accounts", "providers", "replicas"]) $(name).hidden = isClosed();
    told = known.status;
  }
  tick();
}

function showOutage() {
  const { fault } = known.status;
  const why = fault instanceof Refusal ? `The gateway refuses to say how it is. ${sentence(fault.message)}`
    : fault ? "The gateway can’t be reached."
    : flaw ? "This page can’t show what the gateway has answered." : "";
  put($("outage"), why && told.at ? `${why} What stands here is of ${clockText(told.at)} and may be wrong by now.` : why);
  $("outage").hidden = !why;
}

/// Scrolls to the verdict and focuses it: a change by the user shows there, also to screen readers.
function goToVerdict() {
  scrollTo({ top: 0 });
  $("verdict-text").focus({ preventScroll: true });
}

let announced = "";

/// Announces a text to screen readers if it has changed.
function announce(text) {
  if (text === announced) return;
  announced = text;
  $("announcement").textContent = text;
}

function showVerdict() {
  const { status, kills } = { status: known.status.data, kills: known.kills.data ?? [] };
  const pending = kills.filter(kill => kill.state === "pending");
  const held = status.killed.map(scopeText);
  // Only the report of the last kill of each scope counts, and only if this poll has read it.
  const last = scope => kills.find(kill => keyOf(kill.scope) === keyOf(scope));
  const isComplete = !known.kills.fault && status.killed.every(scope => last(scope)?.state === "complete");
  // Kills that are not in the store yet are pending, even if there is no report of them.
  const going = new Set([...pending.map(kill => kill.scope), ...status.waiting_kills ?? []].map(scopeText));
  const ofFamilies = (status.families ?? []).flatMap(family => Object.entries(family.states)).filter(([state]) => isBad(state));
  const troubled = status.accounts.filter(account => account.trouble || isBad(account.state)).length + ofFamilies.reduce((sum, [, count]) => sum + count, 0);
  let [kind, text, note] = ["good", "Tokens are in use", `${plural(accountCount(status), "account")}, nothing is killed` + (troubled ? `; ${numberText(troubled)} in trouble` : "")];
  if (status.lock) {
    kind = "bad";
    ({ text, note } = lockVerdict(status.lock));
  } else if (going.size) {
    const missing = pending.flatMap(kill => kill.replicas.filter(one => one.state === "pending").map(one => one.name));
    kind = "pending";
    text = `The kill of ${[...going].join(", ")} is pending`;
    note = known.kills.fault ? "The report can’t be read just now: a replica that has not stopped may still send these tokens." : missing.length ? `Not every replica has stopped: ${missing.join(", ")} may still send these tokens.` : "Not every replica has stopped yet.";
  } else if (held.length) {
    kind = isComplete ? "killed" : "pending";
    text = held.length > 3 ? `${held.length} scopes are killed` : `${sentence(held.join(", ")).slice(0, -1)} ${held.length > 1 ? "are" : "is"} killed`;
    note = isComplete ? "Complete: no replica sends these tokens."
      : held.length > 1 ? "Not all their reports can be read yet: a replica may still send these tokens."
      : "Its report can’t be read yet: a replica may still send these tokens.";
  } else if (!status.ready) {
    kind = "bad";
    text = "This gateway serves nobody";
    note = !status.store.open ? "Its store can’t be read." : status.replica.lease_until ? "A listener is not bound." : "Its lease has lapsed: it could not read the kill log.";
  }
  if (lacksKills) note += `${note.endsWith(".") ? "" : "."} The store can’t be read just now: newer kills and revivals are not seen here.`;
  $("verdict").className = `verdict ${kind}`;
  put($("verdict-text"), text);
  put($("verdict-note"), note);
  announce(`${text}. ${note}`);
  title = `${going.size ? "Pending: " : held.length ? "Killed: " : ""}${held.length ? held.join(", ") + " · " : ""}Martlet ${status.replica.name}`;
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
  // Scopes that are killed and have no report.
  for (const scope of known.status.data.killed) if (!seen.has(keyOf(scope))) shown.push({ kill: { scope }, holds: true });
  $("held").hidden = !shown.length;
  list($("held-list"), shown, "kill-card", ({ kill }) => kill.id ?? keyOf(kill.scope), fillKill);
  $("past").hidden = !past.length;
  list($("past-list"), past.slice(0, 50), "past-kill", ({ kill }) => kill.id, fillPastKill);
}

function fillKill(card, { kill, holds }) {
  const isPending = kill.state === "pending", isComplete = kill.state === "complete" && !known.kills.fault;
  card.classList.toggle("pending", isPending);
  put(slot(card, "scope"), sentence(scopeText(kill.scope)).slice(0, -1));
  pill(slot(card, "state"), isPending || isComplete ? kill.state : undefined);
  const revive = slot(card, "revive");
  revive.hidden = !holds || !isOperator();
  revive.onclick = () => openRevival(kill.scope);
  revive.setAttribute("aria-label", `Revive ${scopeText(kill.scope)}`);
  card.querySelector(".card-body").hidden = !kill.id;
  put(slot(card, "promise"), isPending
    ? UNKEPT[kill.store] ?? UNKEPT.reachable
    : isComplete ? "No replica sends any of these tokens, and none ever will." : "Its report can’t be read just now.");
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
    const count = countOf(kill.tokens, part);
    bar.className = `part-${part}`;
    bar.style.flexGrow = count;
    bar.hidden = !count;
  });
  fillTally(card, kill);
}

function fillTally(parent, kill) {
  const { total, waiting, in_flight: inFlight, estimated_end: end } = kill.tokens;
  const left = waiting + inFlight && end ? `, asked about within ${lengthText(Math.max(1000, Date.parse(end) - now()))}` : "";
  put(slot(parent, "total"), `Tokens at their providers: ${numberText(total)} in all${left}`);
  list(slot(parent, "tally"), PARTS, "tally", part => part, (cell, part) => {
    const count = countOf(kill.tokens, part);
    cell.className = `part-${part} ${count ? "" : "zero"}`;
    put(slot(cell, "word"), PART_WORDS[part] ?? spoken(part));
    put(slot(cell, "count"), numberText(count));
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
    list(slot(item, "fates"), tokens.slice(0, FATES), "fate", (_, index) => String(index), (line, token) => {
      put(slot(line, "name"), token.account);
      put(slot(line, "kind"), `${token.kind} token`);
      pill(slot(line, "outcome"), token.outcome);
      put(slot(line, "ends"), token.ends_at && token.outcome !== "revoked" ? `ends ${dateText(token.ends_at)}` : "");
    });
  };
}

function showHistory() {
  const { data, fault } = known.history;
  const section = $("history");
  section.hidden = !data && !fault;
  put(section.querySelector(".source-fault"), fault ? sentence(fault.message) : "");
  if (data) drawHistory(data);
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
    const isUnreadable = replica.readable === false;
    pill(slot(row, "state"), replica.expelled || isUnreadable ? "unreadable" : isBehind ? "pending" : "answering",
      isUnreadable ? "unreadable" : replica.expelled ? "expelled" : isBehind ? "behind" : "up to date");
    if (isUnreadable) {
      put(slot(row, "detail"), "Its record does not open: a kill waits for it until it does, or is forgotten");
    } else if (!replica.this) {
      put(slot(row, "detail"), `Lease of ${replica.lease_ms / 1000} s, ${isBehind ? `stopped up to kill log entry ${replica.acknowledged} of ${last}` : "counted by its own clock"}`);
    }
    row.classList.toggle("has-gauge", replica.this);
    row.classList.toggle("is-this", replica.this);
    row.dataset.lease = replica.lease_ms;
  });
}

/// Shows the lease of the replica that responds. Only that replica knows how much of its lease is left, or that it has none.
function showLease({ data, at }) {
  const row = $("replica-list").querySelector(".is-this");
  if (!row) return;
  const until = data.replica.lease_until, left = until ? Date.parse(until) - now() : 0;
  const isOld = known.status.fault || flaw || Date.now() - at > STALE || (until && left <= 0);
  put(slot(row, "detail"), isOld ? `Not heard since ${clockText(at)}`
    : until ? `Lease ends in ${lengthText(left)} unless renewed` : "Its lease has lapsed: it sends no token");
  slot(row, "gauge").style.transform = `scaleX(${isOld ? 0 : Math.min(1, Math.max(0, left / Number(row.dataset.lease)))})`;
}

function showProviders() {
  list($("provider-list"), known.status.data.providers, "row", provider => provider.name, (row, provider) => {
    put(slot(row, "name"), provider.name);
    pill(slot(row, "state"), provider.state, provider.state ? spoken(provider.state) : "not configured");
    put(slot(row, "detail"), Object.entries(provider.accounts).map(([state, count]) => `${numberText(count)} ${spoken(state)}`).join(", "));
    countTo(slot(row, "time"), provider.retry_at, "· asked again in ", "· asked again any moment");
  });
}

/// What a failover of the store's server may lose; nothing for a store without a server.
function storeText(store) {
  if (store.replicated === undefined) return "";
  const clock = Math.abs(store.clock_offset_ms) > 1000 ? `; this host’s clock is off by ${store.clock_offset_ms} ms` : "";
  return (store.replicated ? "each write waits for a standby or replica" : "no standby or replica confirms writes") + clock;
}

function showGateway() {
  const { store, listeners, replica, version } = known.status.data;
  put($("replica-name"), replica.name);
  put($("version"), version);
  const rows = [
    { name: store.driver, tag: "store", isGood: store.open, word: store.open ? "open" : isClosed() ? "closed" : "out of reach", detail: storeText(store) },
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

/// What the cache of each route holds and has done. Without such a route there is no section.
function showCaches() {
  const { data, fault } = known.caches;
  const section = $("caches");
  section.hidden = !data?.length && !fault;
  put(section.querySelector(".source-fault"), fault ? sentence(fault.message) : "");
  list($("cache-list"), data ?? [], "row", cache => cache.route, (row, cache) => {
    const all = cache.hits + cache.misses + cache.revalidations;
    put(slot(row, "name"), cache.route);
    put(slot(row, "tag"), all ? `${Math.floor(100 * cache.hits / all)} % from memory` : "not asked yet");
    put(slot(row, "detail"), [
      `${plural(cache.entries, "response")}, ${sizeText(cache.bytes)} of ${sizeText(cache.max_bytes)}`,
      ...all ? [plural(cache.hits, "hit"), plural(cache.misses, "miss", "misses"), plural(cache.revalidations, "revalidation")] : [],
      ...cache.evictions ? [plural(cache.evictions, "eviction")] : [],
    ].join(" · "));
    row.classList.add("has-gauge");
    slot(row, "gauge").style.transform = `scaleX(${Math.min(1, cache.bytes / cache.max_bytes)})`;
  });
}

const ONCE_PENDING = "was pending";

/// The present outcome of a change. An audit record never changes, so the state of a formerly pending kill comes from its report.
function outcomeOf({ outcome, detail }) {
  if (outcome !== "pending") return outcome;
  const id = /^kill ([^\s,]+)/.exec(detail ?? "")?.[1];
  const kill = known.kills.fault ? null : known.kills.data?.find(kill => kill.id === id);
  return kill?.state ?? ONCE_PENDING;
}

function showChanges() {
  const { data, fault } = known.audit;
  put($("changes-list").parentElement.querySelector(".source-fault"), fault && !known.status.fault ? sentence(fault.message) : "");
  const records = data?.records ?? [];
  const ends = new Map(records.filter(record => record.of).map(record => [record.of, record]));
  const begun = records.filter(record => !record.of).toReversed().slice(0, RECORDS / 2);
  $("changes-list").closest("section").hidden = !begun.length && !fault;
  list($("changes-list"), begun, "change", record => String(record.number), (row, record) => {
    const end = ends.get(record.number) ?? record;
    const word = end.unreadable ? "unreadable" : outcomeOf(end) ?? "no outcome yet";
    put(slot(row, "deed"), record.unreadable ? `Record ${record.number} does not open` : sentence(DEEDS[record.action] ?? spoken(record.action)).slice(0, -1));
    put(slot(row, "scope"), record.scope ? scopeText(record.scope) : "");
    pill(slot(row, "outcome"), word === "done" ? "complete" : word === ONCE_PENDING ? undefined : STATES[word] ? word : "refused", spoken(word));
    put(slot(row, "reason"), [record.reason ? `“${record.reason}”` : "", end.detail ?? ""].filter(Boolean).join(" · "));
    put(slot(row, "from"), record.unreadable ? "" : `${agoText(record.time)} · ${[record.name, record.from].filter(Boolean).join(" ") || record.actor} · ${record.replica}`);
  });
}

// MARK: The switch

const killForm = $("kill-form");

/// The scope that the typed text would kill, and a hint: what would be killed, or why nothing would be.
function aim() {
  const kind = killForm.elements.kind.value, name = $("scope-name").value.trim();
  const status = known.status.data;
  if (kind === "all") {
    return name === "all" ? { scope: { all: true }, hint: `This stops ${plural(status ? accountCount(status) : 0, "account")}: all there are.` } : { hint: "The word all, and nothing else." };
  }
  if (!name || !status) return { hint: "" };
  // A locked gateway knows no names, and refuses those that the configuration does not have.
  if (isClosed()) return { scope: { [kind]: name }, hint: "This gateway is locked: it carries the kill out when it is unlocked." };
  if (kind === "provider") {
    const count = accountCount(status, name);
    const isKnown = count || status.providers.some(provider => provider.name === name);
    return isKnown ? { scope: { provider: name }, hint: `This stops ${plural(count, "account")} of ${name}.` } : { hint: "No provider has that name." };
  }
  const account = status.accounts.find(account => account.name === name);
  if (account) return { scope: { account: name }, hint: `An account of ${account.provider}, ${spoken(account.state)}.` };
  const family = familyOf(status, name);
  // The gateway says whether it exists: the page never has all accounts of a family.
  return family ? { scope: { account: name }, hint: `An account of ${family.provider}, of the family ${family.family}.` } : { hint: "No account has that name." };
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

/// Prepares the kill of an account, whose name is still to be typed.
function aimAt(account) {
  killForm.elements.kind.value = "account";
  $("scope-name").value = "";
  $("scope-name").placeholder = account;
  showSwitch();
  $("scope-name").focus();
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
  put($("kill-fault"), "");
  $("kill-button").disabled = true;
  try {
    const kill = await ask("POST", "/v1/kill", { scope, reason, wait: "0s", streams: killForm.elements.streams.value }, 30_000);
    killForm.reset();
    $("scope-name").placeholder = "";
    known.kills.data = [kill, ...(known.kills.data ?? []).filter(one => one.id !== kill.id)];
    // A locked gateway keeps the order for the audit log.
    if (kill.audited === false && kill.store !== "locked") tellUnrecorded(kill);
    goToVerdict();
  } catch (error) {
    put($("kill-fault"), error instanceof Refusal
      ? `Not killed. ${sentence(error.message)}`
      : `${lostAnswer(error)}: see the kills above, and give it again if it is not there.`);
  } finally {
    $("kill-button").disabled = false;
    lookSoon();
    showSwitch();
  }
});

/// Shows a notice until the page is reloaded: there is no other record of who killed.
function tellUnrecorded(kill) {
  const text = `The kill of ${scopeText(kill.scope)} at ${dateText(kill.started_at)} is not in the audit log, which could not be written: keep a note of it.`;
  put($("unrecorded"), [$("unrecorded").textContent, text].filter(Boolean).join(" "));
  $("unrecorded").hidden = false;
}

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
    put($("revival-fault"), error instanceof Refusal ? `Not revived. ${sentence(error.message)}` : `${lostAnswer(error)}: see whether it is still killed.`);
  } finally {
    $("revival-button").disabled = false;
    lookSoon();
  }
});

watchFilters(lookSoon);
if (localStorage.getItem(KEY) && localStorage.getItem(WHO)) showBoard(); else showSignIn();
