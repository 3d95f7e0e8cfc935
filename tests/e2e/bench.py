# SPDX-License-Identifier: ISC
"""World and Bench: the objects that end-to-end tests work with."""

import contextlib

import keys
from machine import write_as_root
from server import Server

LOG_CHARACTERS = 4_000


class World:
    """What all tests of a file share: the machine, its log, the clients."""

    def __init__(self, machine, log, clients, scratch):
        self.machine, self.log, self.clients, self.scratch = machine, log, clients, scratch
        self.host_key = keys.generate(scratch).path


class Bench:
    """What one test works with. close() ends everything that the test started."""

    def __init__(self, world, number, exact=False):
        self.machine, self.log, self.clients = world.machine, world.log, world.clients
        self.host_key = world.host_key
        self.folder = world.scratch / f"case{number}"
        self.folder.mkdir()
        self.accounts = []
        self.servers = []
        self.exact = exact      # config() makes an exact list of listed, not a filter
        self._names = 0
        self._ends = contextlib.ExitStack()

    def close(self):
        self._ends.close()

    def at_end(self, function):
        """Calls a function at the end of the test, even if it fails."""
        self._ends.callback(function)

    # What a case needs

    def account(self, password=None, as_root=False):
        account = self.machine.add_account(password=password, as_root=as_root)
        self.accounts.append(account)
        return account

    def key(self, kind="ed25519", bits=None):
        return keys.generate(self.folder, kind, bits)

    def someone(self):
        """An account, and the key that it lists."""
        account, key = self.account(), self.key()
        account.authorize(key.key)
        return account, key

    def path(self, stem):
        """A fresh path in the test's folder. The folders above belong to root."""
        self._names += 1
        return self.folder / f"{stem}{self._names}"

    def write(self, stem, content, mode=0o644):
        return write_as_root(self.path(stem), content, mode)

    def filter(self, *listed):
        """A filter that lists these identities and public keys."""
        public = [getattr(entry, "key", entry) for entry in listed]
        return keys.write_filter(self.path("filter"), public)

    def blocklist(self, *listed, source=1):
        """An exact list that has these identities and public keys, from the source "badkeys"."""
        public = [getattr(entry, "key", entry) for entry in listed]
        path = self.path("blocklist")
        write_as_root(f"{path}.sources", f"{source} badkeys\n")
        return keys.write_blocklist(path, public, source)

    def config(self, *lines, listed=None):
        """A keyveto.conf. With listed, its first line is a filter, or an exact list, of these keys."""
        if listed is not None:
            first = f"Blocklist {self.blocklist(*listed)}" if self.exact else f"Filter {self.filter(*listed)}"
            lines = (first, *lines)
        return self.write("keyveto.conf", "".join(f"{line}\n" for line in lines))

    def script(self, body):
        """A shell script that sshd accepts as a command."""
        return self.write("script", f"#!/bin/sh\n{body}\n", 0o755)

    def server(self, deployment):
        server = Server(self.machine, self.folder, self.host_key, deployment)
        self.servers.append(server)
        self.at_end(server.stop)
        return server.start()

    # What it does and expects

    def login(self, server, account, *identities, **options):
        return self.clients.login(server, account, identities, **options)

    def must_enter(self, outcome, why="the login must succeed"):
        check(outcome.entered, f"{why}: {outcome}")

    def must_not_enter(self, outcome, why="the login must fail"):
        check(outcome.refused and not outcome.entered, f"{why}: {outcome}")

    def expect(self, outcome, entered, why):
        """must_enter or must_not_enter."""
        (self.must_enter if entered else self.must_not_enter)(outcome, why)

    def decision(self, account, **pairs):
        """The first logged decision about the account that has these pairs."""
        found = self.log.decisions(account)
        for decision in found:
            if all(getattr(decision, name) == value for name, value in pairs.items()):
                return decision
        raise AssertionError(f"no decision with {pairs} about {account.name}, only {found}")

    def must_be_silent(self, account):
        found = self.log.decisions(account)
        check(not found, f"nothing should be logged about {account.name}: {found}")

    def evidence(self):
        """What explains a failure: configurations and logs of the servers, and syslog."""
        parts = []
        for server in self.servers:
            parts.append(f"--- {server.config}\n{server.config.read_text(encoding='utf-8')}")
            parts.append(f"--- {server.log}\n{server.read_log()[-LOG_CHARACTERS:]}")
        for account in self.accounts:
            lines = "\n".join(line.text for line in self.log.about(account.name))
            parts.append(f"--- syslog, {account.name}\n{lines}")
        return "\n".join(parts)


def check(condition, sentence):
    """Fails the test with a sentence unless the condition holds."""
    if not condition:
        raise AssertionError(sentence)
