// The banner of a gateway that is not open, the dialogs to lock and unlock it, and accounts that are used only after an approval.
// A passphrase goes to the gateway and out of the page.

import { $, Refusal, ask, countTo, list, lostAnswer, plural, put, sentence, slot } from "/page.js";

const PATIENCE = 60_000;          // milliseconds to wait for a lock or an approval
const UNLOCK_PATIENCE = 120_000;  // milliseconds: the gateway may run a command and open its store meanwhile

let isUnlocking = false;          // an unlock by this page is under way
let changed = () => {};           // called when the gateway may have changed

export const isSettling = lock => lock?.state === "locking" || lock?.state === "unlocking";

// MARK: The banner

const TITLES = {
  locked: "This gateway is locked", locking: "This gateway is being locked", unlocking: "This gateway is being unlocked",
};

/// What the verdict says of a gateway that is not open; null for one that is.
export function lockVerdict(lock) {
  if (!lock) return null;
  const why = lock.reason ? `“${lock.reason}”` : "";
  const note = lock.state === "locking" && lock.open_accounts.length
    ? `No request gets a token any more. Keys stay until the token requests of ${lock.open_accounts.join(", ")} have ended.`
    : lock.state === "unlocking" ? "It gets its keys and opens its store." : "It holds no key and no token, and serves no caller.";
  return { text: TITLES[lock.state] ?? `This gateway is ${lock.state}`, note: [why, note].filter(Boolean).join(" · ") };
}

/// - Parameters:
///   - mayUnlock: whether the administrator's role permits it.
///   - then: called when the gateway may have changed.
export function showLock(lock, mayUnlock, then) {
  changed = then;
  $("locked").hidden = !lock;
  $("lock-open").hidden = Boolean(lock) || !mayUnlock;
  if (!lock) return;
  const facts = [
    ["Since", lock.since, ""],
    ["By", null, lock.by ?? ""],
    ["For", null, lock.all_replicas ? "all replicas of the store" : ""],
    ["Survives a restart", null, lock.kept ? "" : "no: the state directory could not be written"],
    ["Waits for", null, lock.waits_for ?? ""],
    ["Token requests still open", null, lock.open_accounts.join(", ")],
    ["Token requests given up, tokens may be lost", null, lock.lost_accounts.join(", ")],
    ["Replicas that may still use tokens", null, lock.replicas.filter(one => one.state === "pending").map(one => one.name).join(", ")],
  ].filter(([, time, text]) => time || text);
  list($("lock-facts"), facts, "lock-fact", ([name]) => name, (row, [name, time, text]) => {
    put(slot(row, "name"), name);
    put(slot(row, "text"), time ? new Date(time).toLocaleString("sv-SE") : text);
  });
  const asks = ["passphrase", "new_passphrase"].includes(lock.needs);
  $("unlock-form").hidden = !mayUnlock || lock.state !== "locked" || lock.needs === "key";
  $("unlock-line").hidden = !asks;
  $("unlock-again-line").hidden = lock.needs !== "new_passphrase";
  put($("unlock-help"), lock.needs === "key" ? "It needs a key, which a page can’t give: martlet unlock --key-file FILE."
    : lock.needs === "new_passphrase" ? "The store has no passphrase yet. What you type here opens it from now on." : "");
  $("unlock-button").disabled = isUnlocking;
}

$("unlock-form").addEventListener("submit", async event => {
  event.preventDefault();
  const passphrase = $("unlock-passphrase").value, asks = !$("unlock-line").hidden;
  put($("unlock-fault"), "");
  if (asks && !passphrase) {
    put($("unlock-fault"), "Type the passphrase.");
    return $("unlock-passphrase").focus();
  }
  if (!$("unlock-again-line").hidden && $("unlock-again").value !== passphrase) {
    put($("unlock-fault"), "The two are not the same.");
    return $("unlock-again").focus();
  }
  event.target.reset();
  isUnlocking = $("unlock-button").disabled = true;
  try {
    await ask("POST", "/v1/unlock", asks ? { passphrase } : {}, UNLOCK_PATIENCE);
  } catch (error) {
    put($("unlock-fault"), error instanceof Refusal ? `Still locked. ${sentence(error.message)}` : `${lostAnswer(error)}: see whether it is still locked.`);
    if (asks) $("unlock-passphrase").focus();
  } finally {
    isUnlocking = $("unlock-button").disabled = false;
    changed();
  }
});

// MARK: Locking

$("lock-open").addEventListener("click", () => {
  $("lock-form").reset();
  put($("lock-fault"), "");
  $("lock-dialog").showModal();
  $("lock-reason").focus();
});

$("lock-cancel").addEventListener("click", closeLock);

/// Closes the dialog, also because the session has ended.
export function closeLock() {
  if ($("lock-dialog").open) $("lock-dialog").close();
  $("unlock-form").reset();
  put($("unlock-fault"), "");
}

$("lock-form").addEventListener("submit", async event => {
  event.preventDefault();
  const reason = $("lock-reason").value.trim();
  if (!reason) {
    put($("lock-fault"), "Say in a few words why.");
    return $("lock-reason").focus();
  }
  $("lock-button").disabled = true;
  try {
    const lock = await ask("POST", "/v1/lock", { reason, all_replicas: $("lock-all").checked, now: $("lock-now").checked }, PATIENCE);
    if (lock.state === "open") throw new Refusal("an unlock came in between; order it again");
    closeLock();
  } catch (error) {
    put($("lock-fault"), error instanceof Refusal ? sentence(error.message) : `${lostAnswer(error)}: see whether it is locked.`);
  } finally {
    $("lock-button").disabled = false;
    changed();
  }
});

// MARK: Approvals

/// The accounts that are used only after an approval. Without such an account there is no section.
export function showApprovals(approvals, mayApprove) {
  $("approvals").hidden = !approvals.length;
  const missing = approvals.filter(one => !one.until && one.waiting).length;
  put($("approvals-note"), missing ? `Requests for ${plural(missing, "account")} wait for a yes.` : "");
  list($("approval-list"), approvals, "approval", one => one.account, (row, one) => {
    put(slot(row, "name"), one.account);
    const state = slot(row, "state");
    put(state, one.until ? "approved" : one.waiting ? "waiting" : "not approved");
    state.className = `pill ${one.until ? "good" : one.waiting ? "warn" : "none"}`;
    countTo(slot(row, "until"), one.until, "ends in ", "has ended");
    const button = slot(row, "approve");
    button.hidden = !mayApprove;
    button.classList.toggle("main", one.waiting && !one.until);
    button.setAttribute("aria-label", `Approve account ${one.account}`);
    button.onclick = () => approve(one.account, button);
  });
}

async function approve(account, button) {
  button.disabled = true;
  put($("approvals-fault"), "");
  try {
    await ask("POST", "/v1/approvals", { account }, PATIENCE);
  } catch (error) {
    put($("approvals-fault"), error instanceof Refusal ? `Not approved. ${sentence(error.message)}` : `${lostAnswer(error)}: see whether it is approved.`);
  } finally {
    button.disabled = false;
    changed();
  }
}
