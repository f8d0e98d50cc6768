"""Turns the pages of the accounts, filters them, and looks at a family, with more accounts than one page shows."""

from viewing.house import ACCOUNTS, CUSTOMERS, FAMILY, MOST_CUSTOMERS

ROWS = 100
ALL = len(ACCOUNTS) + 1 + CUSTOMERS
names = "[...document.querySelectorAll('#account-rows .name')].map(one => one.textContent)"
rows = "document.querySelectorAll('#account-rows tr').length"


def family(visit):
    visit.has("a family is shown in numbers",
              f"document.querySelector('#family-list [data-key=\"{FAMILY}\"] [data-slot=detail]')?.textContent.startsWith('{CUSTOMERS} of {MOST_CUSTOMERS:,}')")
    visit.has("its accounts are counted by the verdict", f"document.querySelector('#verdict-note').textContent.startsWith('{ALL} accounts')")
    visit.check("the status does not list them", len(visit.house.get("/v1/status")["accounts"]), len(ACCOUNTS) + 1)


def turn(visit):
    """Turns to the last page and back, by keyboard."""
    visit.has("the first page is full", f"{rows} === {ROWS} && document.querySelector('#account-previous').disabled")
    visit.picture("many")
    first = visit.page.evaluate(names)
    press(visit, "#account-next")
    visit.has("the second page follows", f"{rows} === {ROWS} && document.querySelector('#account-rest').textContent === 'Page 2'")
    second = visit.page.evaluate(names)
    visit.check("with other accounts", set(first) & set(second), set())
    press(visit, "#account-next")
    visit.has("the last page has the rest", f"{rows} === {ALL - 2 * ROWS} && document.querySelector('#account-next').disabled")
    press(visit, "#account-previous")
    visit.has("the page before is the same as it was", f"JSON.stringify({names}) === JSON.stringify({second})")


def narrow(visit):
    """Filters by name, by state and by family."""
    visit.page.focus("#account-filter")
    visit.page.type("customer-1")
    visit.has("a filter begins with its first page",
              f"{names}.every(name => name.startsWith('customer-1')) && document.querySelector('#account-previous').disabled && {rows} === {ROWS}")
    visit.page.type("00")
    visit.has("the whole name is one account", f"{rows} === 1 && document.querySelector('#account-next').hidden")
    visit.page.type("-nobody")
    visit.has("a name that nobody has is said to be", f"{rows} === 0 && document.querySelector('#account-rest').textContent === 'No account is like that.'")
    press(visit, f"#family-list [data-key=\"{FAMILY}\"] button")
    visit.has("a family shows its accounts", f"{rows} === {ROWS} && {names}.every(name => name.startsWith('customer-'))")
    visit.page.evaluate("document.querySelector('#account-filter').value = ''; document.querySelector('#account-filter').dispatchEvent(new Event('input'))")
    press(visit, "#state-filters [data-key=empty] button")
    visit.has("a state shows its accounts alone", f"{rows} > 0 && [...document.querySelectorAll('#account-rows .pill')].every(one => one.textContent === 'empty')")
    press(visit, "#state-filters [data-key=empty] button")
    visit.has("and all are back", f"{rows} === {ROWS}")
    visit.check("never more than a page is asked for", visit.page.evaluate(
        "performance.getEntriesByType('resource').map(one => one.name).filter(name => name.includes('/v1/accounts'))"
        f".every(name => name.includes('limit={ROWS}'))"))


def aim(visit):
    """Types the name of an account that is on no page, into the switch."""
    visit.page.focus("#scope-name")
    visit.page.type("customer-77")
    visit.has("the switch knows an account by its family", f"document.querySelector('#scope-hint').textContent.includes('of the family {FAMILY}')")
    visit.page.evaluate("document.querySelector('#kill-form').reset()")


def press(visit, button):
    visit.page.focus(button)
    visit.page.enter()
