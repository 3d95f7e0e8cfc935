# SPDX-License-Identifier: ISC
"""keyveto setup: from nothing to watching, and what enable writes into a keyveto.conf that names no list."""

import shutil
from pathlib import Path

import pytest

import sshkey
from program import KEYVETO, ROOT, contains, copy_programs, equal, keyveto, lacks
from publisher import MANIFEST, Publisher, listing
from runs import as_nobody
from sshd_machine import DROP_IN, FILES_COMMAND, INCLUDE, Image, clean_key, leaked_filter, leaked_key, restored
from update_place import authority

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("installed")]

CONF, SETTINGS, CRON = "/etc/keyveto/keyveto.conf", "/etc/keyveto/update.conf", "/etc/cron.d/keyveto-update"
FILTER, LIST = "/var/lib/keyveto/filter.pkbf", "/var/lib/keyveto/badkeys.dat"
STOCK = (ROOT / "etc/keyveto.conf").read_text(encoding="utf-8")
WARN = "OnHit warn\nOnProbable warn\nOnError allow\nOnUnsupported allow\n"
ENABLED = "keyveto is enabled here, but sshd does not say that it asks about root; type keyveto status"
NO_TIMER = "nobody keeps the list current"


@pytest.fixture(name="site")
def fixture_site():
    made = Publisher(listing(sshkey.parse_line(str(leaked_key()).encode())))
    yield made
    made.site.close()


@pytest.fixture(name="image")
def fixture_image(scratch, site):
    """A machine with neither list nor filter, on which cron can keep them, and the publisher of the free list."""
    sample = Path("/usr/share/keyveto/cron/keyveto-update")
    sample.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "packaging/cron/keyveto-update", sample)
    made = Image(scratch, INCLUDE)
    made.path(FILTER).unlink()
    made.account("alice", clean_key())
    made.path("/etc/cron.d").mkdir()
    shutil.copy(authority().certificate, made.path("/etc/ca.pem"))
    made.path("/etc/ca.pem").chmod(0o644)
    made.write(SETTINGS, f"CAFile /etc/ca.pem\nProxy none\nTimeout 20\nSource badkeys\nURL {site.site.url(MANIFEST)}\n")
    yield made
    sample.unlink()


def call(machine, *words, status, command="setup"):
    program, *rest = machine.inside(KEYVETO, command, *words)
    done = keyveto(*rest, program=program)
    equal(done.returncode, status, f"{words}\n{done.stdout}{done.stderr}")
    return done


def settled(machine, *words, status=0, says=()):
    """setup changes nothing."""
    before = machine.snapshot()
    done = call(machine, *words, status=status)
    contains(done.stdout + done.stderr, *says)
    restored(before, machine.snapshot())


def test_from_nothing_to_watching_and_on(image):
    home = image.account("bob", leaked_key())
    before = image.snapshot()
    done = call(image, status=0)
    contains(done.stdout, "bob", "nobody is refused so far; to refuse listed keys, type keyveto enable --reload\n",
             f"cron keeps the list current, by {CRON}\n")
    contains(done.stderr, f"note: {CONF} names no list: it gets the line Blocklist {LIST}\n")
    said = image.read(CONF)
    assert said.endswith(f"{STOCK}Blocklist {LIST}\n") and WARN in said, said
    contains(image.read(DROP_IN), FILES_COMMAND)
    equal(image.read(CRON), (ROOT / "packaging/cron/keyveto-update").read_text(encoding="utf-8"))
    equal(image.path(CRON).stat().st_mode & 0o777, 0o644)
    equal(image.read(SETTINGS).encode(), before[str(image.path(SETTINGS))][3])
    settled(image, says=("listed keys get in, and are logged; keyveto enable --reload refuses them",))
    settled(image, "--enforce", status=1, says=("bob", "nothing was changed"))
    (home / ".ssh/authorized_keys").unlink()
    call(image, "--enforce", status=0)
    equal(image.read(CONF), f"{STOCK}Blocklist {LIST}\n")
    for words in ((), ("--enforce",)):
        settled(image, *words, says=("sshd asks keyveto already: listed keys are refused",))
    # The line of the list is the administrator's.
    lacks(call(image, command="disable", status=0).stderr, "note")
    equal(image.read(CONF), f"{STOCK}Blocklist {LIST}\n")
    assert not image.path(DROP_IN).exists()


def test_enforcing_from_the_start_waits_for_whoever_would_be_refused(image):
    home = image.account("bob", leaked_key())
    contains(call(image, "--enforce", status=1).stderr, "nothing was changed: have those keys replaced first")
    equal((image.read(CONF), image.path(DROP_IN).exists()), (STOCK, False))
    (home / ".ssh/authorized_keys").unlink()
    call(image, "--enforce", status=0)
    equal(image.read(CONF), f"{STOCK}Blocklist {LIST}\n")
    contains(image.read(DROP_IN), FILES_COMMAND)


def test_without_a_network(image, site):
    site.site.close()
    before = image.snapshot()
    contains(call(image, status=2).stderr, "there is no list: sshd, PAM and keyveto.conf were not changed")
    restored({name: kept for name, kept in before.items() if not name.startswith(str(image.path("/var")))},
             {name: kept for name, kept in image.snapshot().items() if not name.startswith(str(image.path("/var")))})
    image.write(FILTER, leaked_filter())
    contains(call(image, status=1).stderr, "note: no newer list could be fetched: setup goes on with what is there")
    # The filter is the default.
    assert image.read(CONF).endswith(f"# END keyveto\n{STOCK}"), image.read(CONF)
    contains(image.read(DROP_IN), FILES_COMMAND)


@pytest.mark.parametrize("how", ("typo", "a Match block"))
def test_where_enable_fails_all_is_as_before(image, how):
    if how == "typo":
        image.write(CONF, f"{STOCK}OnHits deny\n")
    else:
        image.write("/etc/ssh/sshd_config", f"{INCLUDE}Bogus yes\n")
    before = image.snapshot()
    call(image, status=2)
    after = {name: kept for name, kept in image.snapshot().items() if name in before or "/etc/" in name}
    restored({**before, **{name: kept for name, kept in after.items() if name.endswith("/var/lib/keyveto")}}, after)


def test_an_enforcing_host_stays_so_though_sshd_cannot_be_asked(image):
    config = image.read("/etc/ssh/sshd_config")
    call(image, "--enforce", status=0)
    image.write("/etc/ssh/sshd_config", f"{config}Bogus yes\n")
    settled(image, status=2, says=(ENABLED,))


def test_a_host_that_enforces_for_others_than_root_goes_on(image):
    call(image, "--enforce", status=0)
    call(image, status=0, command="disable")
    call(image, "--guard", status=0, command="enable")
    image.write("/etc/ssh/sshd_config", f"{image.read('/etc/ssh/sshd_config')}Match User root\n"
                                        "AuthorizedKeysCommand none\nAuthorizedKeysFile .ssh/mine\n")
    settled(image, status=1, says=(ENABLED,))


def test_where_logins_get_no_verdict_it_says_so(image):
    call(image, status=0)
    image.write(CONF, f"{image.read(CONF)}OnHits deny\n")
    settled(image, status=2, says=(f"sshd asks keyveto already, and logins get no verdict: {CONF}:",
                                   "type keyveto status"))


def test_who_cannot_keep_it_current_is_told(image):
    image.path("/etc/cron.d").rmdir()
    contains(call(image, status=1).stderr, f"{CRON}", f"note: {NO_TIMER}")
    contains(image.read(DROP_IN), FILES_COMMAND)


def test_enable_names_the_lists_that_are_there_before_sshd_asks(image):
    image.write(FILTER, leaked_filter())
    call(image, status=0, command="update")
    text = STOCK.rstrip("\n")
    image.write(CONF, text)
    before = image.snapshot()
    contains(call(image, "--dry-run", status=0, command="enable").stderr,
             f"note: {CONF} names no list: it gets the line Blocklist {LIST}, and Filter {FILTER}\n")
    restored(before, image.snapshot())
    call(image, status=0, command="enable")
    equal(image.read(CONF), f"{text}\nFilter {FILTER}\nBlocklist {LIST}\n")
    # Where a line names one, and where sshd asks, a list that got lost is missed.
    for wanted, lines in ((f"{text}\nFilter {FILTER}\n", ()), (text, ("--warn",))):
        image.write(CONF, wanted)
        call(image, *lines, status=0, command="enable")
        assert image.read(CONF).endswith(wanted)
    call(image, status=0, command="disable")
    image.write("/etc/ssh/sshd_config", f"{INCLUDE}AuthorizedKeysFile none\nAuthorizedKeysCommand {FILES_COMMAND}\n"
                                        "AuthorizedKeysCommandUser root\n")
    call(image, "--guard", status=0, command="enable")
    equal(image.read(CONF), text)


@pytest.mark.parametrize("place", ("{}", "Match User alice\n{}"), ids=("all", "one account"))
def test_a_list_that_a_guard_by_hand_lost_is_missed(image, place):
    """Another one in its place would let in whom sshd refuses now."""
    call(image, status=0, command="update")
    image.write("/etc/ssh/sshd_config", INCLUDE + place.format(
        f"AuthorizedKeysFile none\nAuthorizedKeysCommand {FILES_COMMAND}\nAuthorizedKeysCommandUser root\n"))
    before = image.snapshot()
    for words in ((), ("--pam",), ("--pam", "--yes"), ("--guard",)):
        contains(call(image, *words, status=2, command="enable").stderr, f"{FILTER}: ")
        restored(before, image.snapshot())


def test_without_a_keyveto_conf_too(image):
    """Before, status says what to type."""
    image.path(CONF).unlink()
    contains(call(image, status=1, command="status").stdout, f"there is no {CONF}, and no login goes by it\n",
             "-> type keyveto setup\n")
    call(image, "--enforce", status=0)
    equal(image.read(CONF), f"Blocklist {LIST}\n")


def test_an_ordinary_user_cannot(scratch):
    done = keyveto(*as_nobody(str(copy_programs(scratch)), "setup")[1:],
                   program=as_nobody(str(copy_programs(scratch)), "setup")[0], status=2)
    contains(done.stderr, "only root can set it up: run this as root")
    contains(keyveto("setup", "now", status=2).stderr, "setup takes no argument")
