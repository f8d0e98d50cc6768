// The table of accounts, one page at a time, with its filters, and the families in numbers. The page never has all accounts: a gateway may have a hundred thousand.

import { openLogin } from "/login.js";
import { $, STATES, agoText, ask, countTo, list, numberText, pill, put, sentence, slot, spoken } from "/page.js";

const ROWS = 100;           // accounts of one page
const PAUSE = 250;          // milliseconds without a key before a filter counts

let chosenState = null;     // the only account state to show; null for all
let starts = [null];        // for each page up to the one shown, the name that it begins behind
let typing = 0;             // the timer of the filter that is being typed
let changed = () => {};     // called when another page is to be read

// MARK: Numbers

export const isBad = state => ["warn", "bad"].includes(STATES[state]);

/// The number of accounts in each state, of all providers or of one.
function countsOf(status, provider) {
  const counts = new Map(Object.keys(STATES).map(state => [state, 0]));
  for (const one of status.providers) {
    if (provider !== undefined && one.name !== provider) continue;
    for (const [state, count] of Object.entries(one.accounts)) counts.set(state, (counts.get(state) ?? 0) + count);
  }
  return counts;
}

/// How many accounts there are, in families too.
export const accountCount = (status, provider) => [...countsOf(status, provider).values()].reduce((sum, count) => sum + count, 0);

/// The family that a name belongs to: the one with the longest prefix.
export function familyOf(status, name) {
  const prefix = family => family.family.slice(0, -1);
  return (status.families ?? []).filter(family => name.startsWith(prefix(family)) && name.length > prefix(family).length)
    .toSorted((one, other) => other.family.length - one.family.length)[0];
}

// MARK: Pages

/// The query of the page that is to be shown.
function wanted() {
  const query = new URLSearchParams({ limit: ROWS });
  const prefix = $("account-filter").value.trim();
  if (prefix) query.set("prefix", prefix);
  if (chosenState) query.set("state", chosenState);
  if (starts.at(-1) !== null) query.set("after", starts.at(-1));
  return query.toString();
}

/// Reads the page that is to be shown, and again if another one is by then.
export async function readAccounts() {
  for (;;) {
    const query = wanted();
    const { accounts, next } = await ask("GET", `/v1/accounts?${query}`);
    // The accounts of this page have gone since.
    if (!accounts.length && starts.length > 1 && query === wanted()) starts.pop();
    if (query === wanted()) return { accounts, next: next ?? null, number: starts.length };
  }
}

/// Shows the first page of what the filters let through.
function startAnew() {
  starts = [null];
  turn();
}

/// - Parameter then: called when another page is to be read.
export function watchFilters(then) {
  changed = then;
  $("account-filter").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(startAnew, PAUSE);
  });
  $("account-previous").addEventListener("click", () => { starts.pop(); turn(); });
  $("account-next").addEventListener("click", () => {
    const { behind } = $("account-next").dataset;
    // The page may not have come at the click before.
    if (starts.at(-1) !== behind) starts.push(behind);
    turn();
  });
}

/// Turns to another page. Until it is there, no button takes a second click.
function turn() {
  $("account-previous").disabled = $("account-next").disabled = true;
  $("accounts").querySelector(".table").scrollTop = 0;
  changed();
}

// MARK: Showing them

/// - Parameters:
///   - page: what ``readAccounts`` has read, its time and the fault since.
///   - can: whether the administrator `maySignIn` and `mayKill`; `aimAt` prepares the kill of an account, `then` reads again.
export function showAccounts(status, { data: page, fault }, can) {
  put($("accounts").querySelector(".source-fault"), fault ? sentence(fault.message) : "");
  showFamilies(status.families ?? []);
  const counts = countsOf(status), all = accountCount(status);
  const states = [...counts].filter(([state, count]) => count || state === chosenState);
  $("state-filters").hidden = states.length < 2;
  list($("state-filters"), states, "filter", ([state]) => state, (item, [state, count]) => {
    const button = item.firstElementChild;
    put(slot(item, "count"), numberText(count));
    put(slot(item, "state"), spoken(state));
    button.setAttribute("aria-pressed", state === chosenState);
    button.onclick = () => { chosenState = state === chosenState ? null : state; startAnew(); };
  });
  $("account-filter").hidden = all < 8 && !$("account-filter").value;
  if (!page) return;
  list($("account-rows"), page.accounts, "account-row", account => account.name, (row, account) => fillAccount(row, account, can));
  const isOnly = page.number === 1 && page.next === null;
  put($("account-rest"), !all ? "There are no accounts yet." : !page.accounts.length ? "No account is like that." : isOnly ? "" : `Page ${numberText(page.number)}`);
  const [previous, next] = [$("account-previous"), $("account-next")];
  previous.hidden = next.hidden = isOnly;
  previous.disabled = page.number === 1;
  next.disabled = page.next === null;
  next.dataset.behind = page.next ?? "";
}

function showFamilies(families) {
  $("family-list").hidden = !families.length;
  list($("family-list"), families, "family", family => family.family, (row, { family, provider, accounts, max, states }) => {
    put(slot(row, "name"), family);
    put(slot(row, "tag"), provider);
    put(slot(row, "detail"), [`${numberText(accounts)} of ${numberText(max)}`,
      ...Object.entries(states).filter(([, count]) => count).map(([state, count]) => `${numberText(count)} ${spoken(state)}`)].join(" · "));
    slot(row, "gauge").style.transform = `scaleX(${Math.min(1, accounts / max)})`;
    const button = slot(row, "show");
    button.setAttribute("aria-label", `Show the accounts of ${family}`);
    button.onclick = () => {
      $("account-filter").value = family.slice(0, -1);
      chosenState = null;
      startAnew();
    };
  });
}

/// Problems that the state does not show: a valid token may be the last one, or may be refused by the upstream.
function troubleText({ configured, trouble, last_error: lastError }) {
  const wrong = trouble ? `${spoken(trouble.kind)}, known since ${agoText(trouble.known_since)} (${spoken(trouble.reason)})` : lastError ? spoken(lastError) : "";
  return [configured ? "" : "not configured any more", wrong].filter(Boolean).join("; ");
}

function fillAccount(row, account, { maySignIn, mayKill, aimAt, then }) {
  put(slot(row, "name"), account.name);
  put(slot(row, "trouble"), troubleText(account));
  put(slot(row, "provider"), account.provider);
  pill(slot(row, "state"), account.state);
  if (account.expires_at && account.state !== "killed") countTo(slot(row, "ends"), account.expires_at, "ends in ", "has ended");
  else countTo(slot(row, "ends"), null);
  const login = slot(row, "login");
  login.hidden = !account.configured || !maySignIn;
  login.classList.toggle("main", account.state === "reauthorization_required" || account.state === "empty");
  login.setAttribute("aria-label", `Sign in to ${account.provider} for account ${account.name}`);
  login.onclick = () => openLogin(account, then);
  const button = slot(row, "kill");
  button.hidden = account.state === "killed" || !mayKill;
  button.setAttribute("aria-label", `Kill account ${account.name}: go to the switch`);
  button.onclick = () => aimAt(account.name);
}
