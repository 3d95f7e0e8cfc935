# SPDX-License-Identifier: ISC
"""What the end-to-end tests work with."""

import contextlib

import keys
from machine import write_as_root
from server import Server

LOG_CHARACTERS = 4_000


class World:
    """What all tests of a file share: the machine, its log, and the clients."""

    def __init__(self, machine, log, clients, scratch):
        self.machine, self.log, self.clients, self.scratch = machine, log, clients, scratch
        self.host_key = keys.generate(scratch).path


class Bench:
    """What one test works with; what it starts ends with it."""

    def __init__(self, world, number):
        self.machine, self.log, self.clients = world.machine, world.log, world.clients
        self.host_key = world.host_key
        self.folder = world.scratch / f"case{number}"
        self.folder.mkdir()
        self.accounts = []
        self.servers = []
        self._names = 0
        self._ends = contextlib.ExitStack()

    def close(self):
        self._ends.close()

    def at_end(self, function):
        """Call a function when the case is over, however it went."""
        self._ends.callback(function)

    # What a case needs

    def account(self, password=None, as_root=False):
        account = self.machine.add_account(password=password, as_root=as_root)
        self.accounts.append(account)
        return account

    def key(self, kind="ed25519", bits=None):
        return keys.generate(self.folder, kind, bits)

    def path(self, stem):
        """A fresh name in the case's folder, which root owns all the way up."""
        self._names += 1
        return self.folder / f"{stem}{self._names}"

    def write(self, stem, content, mode=0o644):
        return write_as_root(self.path(stem), content, mode)

    def filter(self, *listed):
        """A filter that lists the keys of these identities and public keys."""
        public = [getattr(entry, "key", entry) for entry in listed]
        return keys.write_filter(self.path("filter"), public)

    def config(self, *lines, listed=None):
        """A keyveto.conf, which may begin with a filter of listed keys."""
        if listed is not None:
            lines = (f"Filter {self.filter(*listed)}", *lines)
        return self.write("keyveto.conf", "".join(f"{line}\n" for line in lines))

    def script(self, body):
        """A program that sshd is willing to run."""
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
        """Whichever of the two is expected."""
        (self.must_enter if entered else self.must_not_enter)(outcome, why)

    def decision(self, account, **pairs):
        """The first logged decision about the account with these pairs."""
        found = self.log.decisions(account)
        for decision in found:
            if all(getattr(decision, name) == value for name, value in pairs.items()):
                return decision
        raise AssertionError(f"no decision with {pairs} about {account.name}, only {found}")

    def must_be_silent(self, account):
        found = self.log.decisions(account)
        check(not found, f"nothing should be logged about {account.name}: {found}")

    def evidence(self):
        """What somebody needs who wants to know why the case failed."""
        parts = []
        for server in self.servers:
            parts.append(f"--- {server.config}\n{server.config.read_text(encoding='utf-8')}")
            parts.append(f"--- {server.log}\n{server.read_log()[-LOG_CHARACTERS:]}")
        for account in self.accounts:
            lines = "\n".join(line.text for line in self.log.about(account.name))
            parts.append(f"--- syslog, {account.name}\n{lines}")
        return "\n".join(parts)


def check(condition, sentence):
    """Fail the case with a sentence unless the condition holds."""
    if not condition:
        raise AssertionError(sentence)
