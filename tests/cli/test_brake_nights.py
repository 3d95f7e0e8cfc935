# SPDX-License-Identifier: ISC
"""HoldIfRefused counts the accounts that were refused since somebody last gave --yes, not those of one night."""

import contextlib
import datetime

import pytest

import keys
import sshkey
from audit_machine import NOTES
from brake_machine import CONFIG, LIST, STATE, machine
from program import contains, equal, keyveto, lacks
from publisher import ListPlace, listing

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]

DAY = datetime.date(2026, 11, 1)


class Nights:
    """A list that gets new keys each night, and accounts with a key each."""

    def __init__(self, here, place):
        self.here, self.place, self.listed, self.night = here, place, [], 0
        place.config = CONFIG
        here.configure(f"Blocklist {place.target}", f"Blocklist {LIST}")
        place.update()

    def account(self, name):
        """An account with a key of its own, and another that no list has."""
        account = self.here.world.account(name)
        account.key = keys.generate(self.here.scratch).key
        account.authorize(account.key, self.here.world.clean)
        return account

    def publish(self, *accounts):
        """The next list also has the keys of these."""
        self.listed += [sshkey.parse_line(str(one.key).encode()) for one in accounts]
        self.night += 1
        date = DAY + datetime.timedelta(days=self.night)
        self.place.publisher.serve(listing(*self.listed, n=1000, seed=self.night), f"{date}T00:00:00Z")

    def update(self, *words, status=1):
        return "\n".join(self.place.run(*words, status=status).problems)


@pytest.fixture(name="nights")
def fixture_nights(scratch):
    with contextlib.closing(ListPlace(scratch)) as place:
        with machine(scratch) as here:
            yield Nights(here, place)


def names():
    return NOTES.read_text(encoding="ascii").split() if NOTES.exists() else []


def test_a_few_accounts_each_night_are_not_many_accounts_unnoticed(nights):
    """Seen: four a night refused twelve in three nights, with the default of five."""
    people = [nights.account(f"user{i:02}") for i in range(9)]
    nights.publish(*people[:4])
    nights.update()
    equal(names(), [f"user{i:02}" for i in range(4)])
    equal(NOTES.stat().st_mode & 0o7777, 0o600)
    nights.publish(*people[4:8])
    before = nights.place.snapshot()
    said = nights.update(status=2)
    contains(said, "the new one would refuse keys of 4 accounts; with those that were refused since somebody last gave "
             "--yes, that makes 8, more than HoldIfRefused allows (5)", "give --yes")
    equal((nights.place.snapshot(), len(names())), (before, 4))
    # Nobody forgets it the next night.
    nights.update(status=2)
    nights.update("--dry-run", status=2)
    equal(len(names()), 4)
    # Somebody says yes: the count begins anew.
    nights.update("--yes")
    equal(names(), [])
    nights.publish(people[8])
    nights.update()
    equal(names(), ["user08"])
    equal(sorted(path.name for path in STATE.iterdir()), [NOTES.name])


def test_an_account_that_is_no_longer_refused_does_not_count(nights):
    """Its key was replaced, or got an exception, or the account is gone."""
    people = [nights.account(f"user{i:02}") for i in range(9)]
    nights.publish(*people[:4])
    nights.update()
    people[0].authorize(nights.here.world.clean)
    nights.here.configure(f"Blocklist {nights.place.target}", f"AllowKey {people[1].key.fingerprint} a week")
    nights.publish(*people[4:7])
    nights.update()
    equal(names(), [f"user{i:02}" for i in (2, 3, 4, 5, 6)])
    nights.publish(people[7])
    nights.update(status=2)
    # An account whose keys cannot be read may be refused still.
    people[2].keys_path.unlink()
    people[2].keys_path.mkdir()
    nights.update(status=2)
    people[2].keys_path.rmdir()
    nights.update()
    equal(names(), [f"user{i:02}" for i in (3, 4, 5, 6, 7)])


def test_an_account_is_counted_once(nights):
    """Two of its keys, in two lists, on two nights, are one account."""
    people = [nights.account(f"user{i:02}") for i in range(5)]
    nights.publish(*people)
    nights.update()
    second = keys.generate(nights.here.scratch).key
    people[0].authorize(people[0].key, second, nights.here.world.clean)
    key = nights.here.write("second.pub", second)
    keyveto("list", "add", LIST, key, status=0)
    equal(len(names()), 5)


def test_other_commands_count_and_reset(nights):
    people = [nights.account(f"user{i:02}") for i in range(7)]
    first = nights.here.write("first.pub", *(one.key for one in people[:4]))
    keyveto("list", "add", LIST, first, status=0)
    equal(len(names()), 4)
    nights.publish(*people[4:6])
    contains(nights.update(status=2), "that makes 6, more than HoldIfRefused allows (5)")
    keyveto("list", "add", LIST, nights.here.unused, nights.here.write("last.pub", people[6].key), "--yes", status=0)
    equal(names(), [])
    nights.update()
    equal(len(names()), 2)


def test_never_counts_nothing(nights):
    people = [nights.account(f"user{i:02}") for i in range(8)]
    nights.place.top["HoldIfRefused"] = "never"
    nights.publish(*people)
    nights.update()
    equal(names(), [])


def test_notes_of_somebody_else_are_not_believed(nights):
    """Nobody but root can raise or lower the count."""
    people = [nights.account(f"user{i:02}") for i in range(8)]
    nights.publish(*people[:4])
    nights.update()
    text = NOTES.read_bytes()
    NOTES.unlink()
    NOTES.symlink_to("/etc/passwd")
    nights.publish(people[4])
    nights.update()
    equal((NOTES.is_symlink(), names()), (False, ["user04"]))
    NOTES.write_bytes(text)
    NOTES.chmod(0o666)
    nights.publish(people[5])
    nights.update()
    equal(names(), ["user05"])
    lacks(nights.update(status=0), "user")


def test_what_takes_no_account_more_is_not_held(nights):
    """Even if HoldIfRefused became stricter since."""
    people = [nights.account(f"user{i:02}") for i in range(4)]
    nights.publish(*people)
    nights.update()
    nights.place.top["HoldIfRefused"] = 2
    nights.publish()
    nights.update(status=0)
