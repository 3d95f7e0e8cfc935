# SPDX-License-Identifier: ISC
"""The audits and the page, against what this test knows of each host by itself."""

import base64
import hashlib
import json
import re

from bench import check
from shapes import BROKEN, CLEAN, GUARDED, SILENT

AUDITS, PAGE = "keyveto-audit", "keyveto-audit/report.html"
DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def fingerprint(blob):
    return "SHA256:" + base64.b64encode(hashlib.sha256(base64.b64decode(blob)).digest()).decode().rstrip("=")


def keys_in_files(host):
    """Each key in the files of accounts: {account: [(file, line, fingerprint)]}. Read here, without keyveto."""
    found = {}
    names = {"root": "/root"}
    for line in host.path("/etc/passwd").read_text(encoding="ascii").splitlines():
        fields = line.split(":")
        if fields[5].startswith("/home/"):
            names[fields[0]] = fields[5]
    for name, home in names.items():
        operators = f"/etc/ssh/operators/{name}"
        file = operators if host.path(operators).exists() else f"{home}/.ssh/authorized_keys"
        if not host.path(file).exists():
            continue
        for number, line in enumerate(host.path(file).read_bytes().split(b"\n"), 1):
            blob = re.search(rb"ssh-ed25519 (AAAA[A-Za-z0-9+/=]+)", line)
            if blob:
                found.setdefault(name, []).append((file, number, fingerprint(blob[1])))
    return found


class Truth:
    """What must be known of a host."""

    def __init__(self, world, name):
        listed = {one.key.fingerprint for one in (world.fleet.listed, world.fleet.leaked_admin)}
        if name == "oldlist":       # has a list of its own
            listed = {world.fleet.listed.key.fingerprint}
        self.keys = keys_in_files(world.fleet.hosts[name])
        self.places = {(account, file, line, key) for account, keys in self.keys.items()
                       for file, line, key in keys if key in listed}
        self.locked = {account for account, keys in self.keys.items() if all(key in listed for *_, key in keys)}


def audit(part, world):
    """README's audit has a file of each host, with each listed key at its place."""
    with world.silence():
        said = world.ansible(world.readme.command("keyveto.keyveto.audit"))
    silent = set(world.of_fate(SILENT))
    check(silent <= said.hosts("unreachable", "failed", "ignored"), f"the audit does not tell of {silent}: {said.text}")
    folder = world.fleet.controller.path(f"{world.folder}/{AUDITS}")
    files = {path.stem: path for path in folder.glob("*.json")}
    check(set(files) == set(world.fleet.hosts), f"audits of {sorted(files)}: {said.text}")
    check(world.fleet.controller.path(f"{world.folder}/{PAGE}").exists(), f"there is no {PAGE}: {said.text}")
    places = 0
    for name, path in files.items():
        lines = [json.loads(line) for line in path.read_bytes().splitlines()]
        header, end = lines[0], lines[-1]
        check(header.get("header") is True and header["host"] == name, f"{name}: the header is {header}")
        if name in silent:
            check(header["answered"] is False and header["reason"] and len(lines) == 1, f"{name}: {lines}")
            continue
        check(end.get("end") is True, f"{name}: the last line is {end}")
        truth = Truth(world, name)
        found = {(one.get("account"), one["file"], one["line"], one["fingerprint"]) for one in lines
                 if one.get("verdict") == "listed" and one.get("file") in {file for _, file, _, _ in truth.places}}
        check(found == truth.places, f"{name}: listed {found ^ truth.places} differ")
        places += len(found)
    part.ok(f"audits of {len(files)} hosts, {len(silent)} of which did not answer; {places} listed keys, each with "
            "its account, file and line")


def page(part, world):
    """The page's data tells of all hosts what is true. What a browser makes of such data, tests/page says."""
    text = world.fleet.controller.path(f"{world.folder}/{PAGE}").read_text(encoding="utf-8")
    embedded = DATA.search(text)
    check(embedded is not None, "the page has no data")
    data = json.loads(embedded[1])
    hosts = {one["name"]: one for one in data["hosts"]}
    check(set(hosts) == set(world.fleet.hosts), f"the page's hosts: {sorted(hosts)}")
    check(len(data["hosts"]) == len(hosts), f"the page has a host twice: {len(data['hosts'])}")
    places = {(data["hosts"][place[0]]["name"], *place[1:4], key["fp"]) for key in data["keys"]
              if key["verdict"] == "listed" for place in key["places"]}
    for name, shape in world.fleet.shapes.items():
        shown = hosts[name]
        if shape.fate == SILENT:
            check(shown["answered"] is False and shown["reason"], f"{name}: {shown}")
            continue
        truth = Truth(world, name)
        check(shown["answered"] and shown["complete"], f"{name} answered: {shown}")
        # sshd -T does not answer on the broken host.
        guarded = None if shape.fate == BROKEN else shape.fate in (GUARDED, CLEAN)
        check(shown["guarded"] is guarded, f"{name} ({shape.fate}): guarded is {shown['guarded']}")
        check(shown["old"] is (name == "oldlist"), f"{name}: old is {shown['old']}, its lists {shown['lists']}")
        check(set(shown["locked"]) >= truth.locked, f"{name}: locked {shown['locked']}, not {truth.locked}")
        mine = {one[1:] for one in places if one[0] == name}
        check(truth.places <= mine, f"{name}: listed keys that the page does not have: {truth.places - mine}")
    part.ok(f"the page's data: {len(hosts)} hosts, {len(data['keys'])} keys, {len(places)} places of listed keys")
