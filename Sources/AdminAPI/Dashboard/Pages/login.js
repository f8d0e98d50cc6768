// The dialog in which an operator signs an account in: by this browser, by an address that is pasted, or by a code on another device.
// What comes back from a provider is neither kept nor shown; it goes to the gateway and out of the page.

import { $, Refusal, ask, countTo, lostAnswer, put, sentence, spoken } from "/page.js";

const POLL = 2000;          // milliseconds between two questions whether the sign-in has ended
const PATIENCE = 45_000;    // milliseconds to wait: the gateway asks the provider meanwhile

let account = null;         // the account that the dialog is for
let login = null;           // the sign-in that goes on; null while the way is chosen
let address = null;         // the address to open, which only the first answer has
let timer = 0;              // the next question
let mayReplace = false;     // somebody else has signed in, so replacing the subject is offered
let hasListener = true;     // the gateway has not said that its listener for sign-ins is missing
let changed = () => {};     // called when the account may have changed

const form = $("login-form");
const isPending = () => login?.state === "pending";
const isOver = () => login !== null && login.state !== "pending" && login.state !== "redeeming";

/// - Parameter then: called when the account may have changed.
export function openLogin(one, then) {
  [account, login, address, mayReplace, changed] = [one, null, null, false, then];
  form.reset();
  put($("login-title"), `Sign in to ${account.provider} for ${account.name}`);
  put($("login-fault"), "");
  show();
  $("login").showModal();
  chosenWay().focus();
}

/// Closes the dialog without asking the gateway, because the session has ended.
export function closeLogin() {
  login = null;
  if ($("login").open) $("login").close();
}

// MARK: Showing

const chosenWay = () => form.querySelector("[name=way]:checked");

const ENDS = {
  done: "Signed in. New tokens are in use from now on.", failed: "It has failed.",
  cancelled: "Cancelled. Nothing has changed.", expired: "It took too long: a sign-in lasts 10 minutes. Nothing has changed.",
};

const WAYS = {
  gateway: ["Go to the provider", "The provider’s page opens in a new tab. This dialog notices when you are done there."],
  paste: ["Open the provider’s page", "Open the page and sign in there. In the end the browser goes to an address that may not load: copy it, all of it, and paste it here."],
  device: [null, "On a device with a browser, open the address and type this code there. This dialog notices when you are done."],
};

function show() {
  const way = login?.way;
  $("login-choose").hidden = login !== null;
  $("login-replace-line").hidden = !mayReplace;
  showListener();
  $("login-wait").hidden = !isPending();
  $("login-answer-line").hidden = way !== "paste";
  $("login-code").hidden = way !== "device";
  put($("login-code"), isPending() ? login.user_code ?? "" : "");
  if (isPending()) {
    const [label, hint] = WAYS[way];
    put($("login-how"), hint);
    showLink(way === "device" ? login.verification_uri_complete ?? login.verification_uri : address, label ?? login.verification_uri);
  } else {
    showLink(null);
  }
  countTo($("login-left"), isPending() ? login.expires_at : null, "Ends in ", "About to end");
  const missing = login?.missing_scopes ?? [];
  put($("login-state"), login === null ? "" : login.state === "redeeming" ? "The provider has answered. Getting the tokens…" : isOver()
    ? [ENDS[login.state] ?? sentence(spoken(login.state)), missing.length ? `Not granted: ${missing.join(", ")}.` : ""].filter(Boolean).join(" ")
    : "");
  $("login-state").classList.toggle("good", login?.state === "done");
  if (isOver() && login.error) put($("login-fault"), sentence(login.error.message));
  put($("login-cancel"), login === null || isPending() ? "Cancel" : "Close");
  const next = login === null ? "Continue" : isPending() && way === "paste" ? "Send" : isOver() && login.state !== "done" ? "Try again" : "";
  put($("login-button"), next);
  $("login-button").hidden = !next;
}

function showListener() {
  const option = form.elements.way[0];
  option.disabled = !hasListener;
  put($("login-gateway-hint"), hasListener ? "The provider sends you back to the gateway." : "Not set up here: the configuration has no login listener.");
  if (!hasListener && option.checked) form.elements.way[1].checked = true;
}

/// Shows an address as a link only if it is https, or http on this machine: everything else may be read on its way, or run.
function showLink(text, label) {
  const href = linkable(text ?? "");
  const link = $("login-link");
  link.hidden = !href;
  if (href) link.href = href; else link.removeAttribute("href");
  put(link, label ?? "");
  put($("login-no-link"), href || !text ? "" : `This address is not opened from here, because it is neither https nor on this machine: ${text}`);
}

function linkable(text) {
  if (!URL.canParse(text)) return null;
  const { protocol, hostname, href } = new URL(text);
  const isHere = hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
  return protocol === "https:" || (protocol === "http:" && isHere) ? href : null;
}

// MARK: Doing

/// Sends a request of the dialog; `use` gets the answer unless the dialog has gone on to something else meanwhile.
async function send(method, path, body, use, refuse = () => {}) {
  const mine = [account, login?.id];
  const isMine = () => $("login").open && account === mine[0] && login?.id === mine[1];
  $("login-button").disabled = true;
  put($("login-fault"), "");
  try {
    // The button takes focus again before the outcome moves it there.
    const answer = await ask(method, path, body, PATIENCE).finally(() => $("login-button").disabled = false);
    if (isMine()) use(answer);
    return answer;
  } catch (error) {
    if (!isMine()) return null;
    if (error.status === 404 && login) return lost();
    put($("login-fault"), error instanceof Refusal ? sentence(error.message) : `${lostAnswer(error)}: wait a moment, or cancel and begin anew.`);
    refuse(error);
    return null;
  }
}

const path = () => `/v1/logins/${encodeURIComponent(login.id)}`;

async function begin() {
  const way = chosenWay().value;
  const order = { account: account.name, way };
  if (mayReplace && $("login-replace").checked) order.replace_subject = true;
  const begun = await send("POST", "/v1/logins", order, answer => {
    address = answer.url;
    take(answer);
    const target = way === "paste" && address === null || way === "device" && $("login-link").hidden ? $("login-cancel") : $("login-link");
    target.focus();
  }, error => {
    if (way !== "gateway" || error.status !== 409 || !/listener/i.test(error.message)) return;
    hasListener = false;
    show();
    chosenWay().focus();
  });
  // The dialog was closed before the gateway answered.
  if (begun && login?.id !== begun.id) ask("DELETE", `/v1/logins/${encodeURIComponent(begun.id)}`).catch(() => {});
}

function answer() {
  const text = $("login-answer").value.trim();
  if (!text) {
    put($("login-fault"), "Paste the address first.");
    return $("login-answer").focus();
  }
  // It holds a code that is as good as the tokens until it was used.
  $("login-answer").value = "";
  return send("POST", path(), { answer: text }, take, () => $("login-answer").focus());
}

/// Takes what the gateway says of the sign-in, and asks again unless that is the end.
function take(said) {
  const wasOver = isOver();
  login = said;
  clearTimeout(timer);
  if (isOver()) {
    address = null;
    $("login-answer").value = "";
    if (login.error?.code === "subject_differs") mayReplace = true;
    changed();
  } else {
    timer = setTimeout(look, POLL);
  }
  show();
  if (isOver() && !wasOver) (login.state === "done" ? $("login-cancel") : $("login-button")).focus();
}

async function look() {
  const mine = login;
  try {
    const said = await ask("GET", path());
    if (login === mine && $("login").open) take(said);
  } catch (error) {
    if (login !== mine || !$("login").open || error.status === 401) return;
    if (error.status === 404) return lost();
    // The page's own polls tell of an outage.
    timer = setTimeout(look, POLL);
  }
}

/// The gateway knows the sign-in no more.
function lost() {
  take({ ...login, state: "cancelled", error: { message: "Another sign-in of this account has taken its place" } });
}

function retry() {
  [login, address] = [null, null];
  put($("login-fault"), "");
  show();
  chosenWay().focus();
}

async function cancel() {
  if (!isPending()) return $("login").close();
  if (await send("DELETE", path(), undefined, said => { login = said; $("login").close(); })) return;
  // What can't be cancelled can still be left: it ends by itself.
  if ($("login").open) put($("login-cancel"), "Close");
}

form.addEventListener("submit", event => {
  event.preventDefault();
  if ($("login-button").disabled) return;
  if (login === null) begin(); else if (isOver()) retry(); else if (login.way === "paste") answer();
});

$("login-cancel").addEventListener("click", () => $("login-cancel").textContent === "Close" ? $("login").close() : cancel());

$("login").addEventListener("cancel", event => {
  event.preventDefault();
  $("login-cancel").click();
});

$("login").addEventListener("close", () => {
  clearTimeout(timer);
  // A browser closes it at the second Escape without asking. A sign-in that can't be cancelled ends by itself.
  if (isPending()) ask("DELETE", path()).catch(() => {});
  [login, address] = [null, null];
  form.reset();
  showLink(null);
  changed();
});
