"""Locks and unlocks a gateway on its page, kills while it is locked, and approves an account."""

REASON = "the host moves"


def approve(visit, account):
    """Approves an account that is used only after an approval."""
    button = f"#approval-list [data-key={account}] button"
    visit.has("an account that needs an approval is listed", f"document.querySelector('{button}')?.checkVisibility()")
    visit.has("as not approved", f"/waiting|not approved/.test(document.querySelector('#approval-list .pill').textContent)")
    visit.picture("not-approved", ["light"])
    visit.page.focus(button)
    visit.page.enter()
    visit.has("the yes counts", "document.querySelector('#approval-list .pill').textContent === 'approved'")
    visit.has("and has an end", "/^ends in /.test(document.querySelector('#approval-list time').textContent)")


def lock(visit):
    """Locks the gateway by keyboard."""
    visit.page.focus("#lock-open")
    visit.page.enter()
    visit.has("locking asks why", "document.querySelector('#lock-dialog').open && document.activeElement.id === 'lock-reason'")
    visit.page.enter()
    visit.has("and takes no silence for an answer", "document.querySelector('#lock-fault').textContent")
    visit.picture("locking", ["light"], whole=False)
    visit.page.focus("#lock-reason")
    visit.page.type(REASON)
    # A poll that began before the lock asks for what is away by now.
    visit.page.expect("503", "/v1/")
    visit.page.enter()
    visit.has("the gateway is locked", "document.querySelector('#verdict-text').textContent === 'This gateway is locked'")
    visit.has("the verdict says why", f"document.querySelector('#verdict-note').textContent.includes('{REASON}')")
    visit.has("the banner says since when", "document.querySelector('#lock-facts').textContent.includes('Since')")
    visit.has("nothing is shown of what it no longer knows",
              "['accounts', 'providers', 'replicas', 'past', 'changes-title'].every(id => !document.getElementById(id).checkVisibility())")
    visit.has("it can't be locked twice", "!document.querySelector('#lock-open').checkVisibility()")
    visit.picture("locked")


def kill(visit, account):
    """Kills an account of a locked gateway, which keeps the order."""
    visit.page.focus("#scope-name")
    visit.page.type(account)
    visit.page.focus("#kill-reason")
    visit.page.type("laptop stolen")
    visit.has("the switch says that a locked gateway keeps a kill", "document.querySelector('#scope-hint').textContent.includes('locked')")
    visit.page.enter()
    visit.has("the kill is pending", "document.querySelector('.card.pending .promise')?.textContent.includes('locked')")
    visit.picture("killed-while-locked", ["light"])


def unlock(visit, passphrase=None):
    """Unlocks the gateway; with a passphrase, first with a wrong one."""
    if passphrase:
        visit.has("the passphrase is asked for", "document.querySelector('#unlock-passphrase').checkVisibility()")
        visit.page.expect("422", "/v1/unlock")
        visit.page.focus("#unlock-passphrase")
        visit.page.type("not " + passphrase)
        visit.page.enter()
        visit.has("a wrong one is told of, and not kept",
                  "document.querySelector('#unlock-fault').textContent.startsWith('Still locked') && !document.querySelector('#unlock-passphrase').value")
        visit.picture("not-unlocked", ["light"])
        visit.page.focus("#unlock-passphrase")
        visit.page.type(passphrase)
    else:
        visit.has("no passphrase is asked for", "!document.querySelector('#unlock-passphrase').checkVisibility()")
        visit.page.focus("#unlock-button")
    visit.page.enter()
    visit.has("the gateway is open", "document.querySelector('#locked').hidden && document.querySelector('#accounts').checkVisibility()")
    visit.has("it can be locked again", "document.querySelector('#lock-open').checkVisibility()")
