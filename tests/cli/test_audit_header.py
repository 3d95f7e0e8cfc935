# SPDX-License-Identifier: ISC
"""The first and the last line of keyveto audit --json, and its summaries, in a throw-away root."""

import hashlib
import json
import re
import socket
import subprocess
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest

import keys
from doctor_machine import CONFIG, DROP_IN, FILTER, GUARDED
from list_runs import hashes, write_list
from program import KEYVETO, REPORT, ROOT, attempt, contains, equal, keyveto, lacks, make_filter
from samples import write

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]

VERSION = subprocess.run([KEYVETO, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]


def objects(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def ends(done):
    """The first and the last object. No other has their marks."""
    found = objects(done)
    assert [one for one in found if "header" in one] == found[:1], done.stdout
    assert [one for one in found if "end" in one] == found[-1:], done.stdout
    return found[0], found[-1]


def test_the_first_line_tells_the_host_its_lists_and_versions(scratch, world):
    before = int(time.time())
    exact = write_list(scratch / "exact", [(digest, 1) for digest in hashes(str(world.bad))], "# date 2026-01-31\n")
    undated = write_list(scratch / "undated", [(bytes(15), 7)])
    header, _ = ends(world.audit("--json", "--blocklist", exact, "--blocklist", undated, status=0))
    equal([header["header"], header["format"], header["host"], header["whole"], header["all"]],
          [True, 1, socket.gethostname(), True, False])
    assert before <= header["time_seconds"] <= time.time()
    equal(header["time"], datetime.fromtimestamp(header["time_seconds"], timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"))
    info = json.loads(keyveto("filter", "info", "--json", world.filter, status=0).stdout)
    expected = [{"kind": "filter", "file": str(world.filter), "revision": info["revision"],
                 "time_seconds": info["time_seconds"], "entries": 1},
                {"kind": "list", "file": str(exact), "revision": None, "entries": len(hashes(str(world.bad))),
                 "time_seconds": int(datetime(2026, 1, 31, tzinfo=timezone.utc).timestamp())},
                {"kind": "list", "file": str(undated), "revision": None, "entries": 1, "time_seconds": None}]
    for one in expected:
        one["sha256"] = hashlib.sha256(Path(one["file"]).read_bytes()).hexdigest()
    equal(header["lists"], expected)
    said = subprocess.run(["/usr/sbin/sshd", "-V"], capture_output=True, text=True, check=False).stderr
    release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
                   if "=" in line)
    equal(header["versions"]["keyveto"], VERSION)
    contains(said, f"{header['versions']['sshd']},")
    contains(header["versions"]["sshd"], "OpenSSH_")
    equal(header["versions"]["os"], release["PRETTY_NAME"].strip('"'))


def test_a_long_filter_is_hashed_to_its_end(scratch, world):
    """Its last MiB is not whole, and most of it is a hole."""
    path = scratch / "long.pkbf"
    keyveto("filter", "create", path, "--hashes", "4", "--length", "25", status=0)
    path.chmod(0o644)
    header, _ = ends(keyveto("audit", "--json", "--filter", path, status=0))
    equal([one["sha256"] for one in header["lists"]], [hashlib.sha256(path.read_bytes()).hexdigest()])
    assert path.stat().st_size % 2**20 != 0
    assert world.filter.exists()


def test_the_first_line_names_the_walls_that_do_not_stand(world):
    """As doctor finds them."""
    header, _ = ends(world.audit("--json", status=0))
    found = next(one["found"] for one in header["doctor"]["checks"] if one["check"] == "walls")
    equal(header["walls_missing"], [name for name in ("account", "privileges", "seccomp", "landlock")
                                    if re.search(rf"(without|has no) [^;]*{name}", found)], found)


def test_the_last_line_has_the_totals_and_the_status(world):
    alice = world.account("alice")
    alice.authorize(world.clean, world.bad, "ssh-foo AAAAB3NzaC1mb28AAAABeA==", "what is this")
    done = world.audit("--json", "--all", status=1)
    found = objects(done)
    header, end = ends(done)
    equal(header["all"], True)
    rows = [one for one in found if one.get("summary")]
    verdicts = [one["verdict"] for one in found if "verdict" in one]
    equal({name: end[name] for name in ("status", "listed", "unsupported", "problems", "clean", "keys", "reason")},
          {"status": 1, "listed": verdicts.count("listed"), "unsupported": verdicts.count("unsupported"),
           "problems": verdicts.count("error"), "clean": verdicts.count("clean"),
           "keys": verdicts.count("listed") + verdicts.count("clean"), "reason": None})
    for name in ("files", "keys", "listed", "allowed", "clean", "unsupported", "problems"):
        equal(end[name], sum(row[name] for row in rows), name)
    equal(end["accounts"], 5, "root, alice, daemon, nobody, sshd")


def test_a_script_that_reads_verdicts_needs_no_change(world):
    """An object has a verdict or one of the three marks."""
    world.account("alice").authorize(world.bad, "no key")
    for one in objects(world.audit("--json", status=1)):
        equal(sum(name in one for name in ("verdict", "header", "summary", "end")), 1, one)


def test_some_accounts_are_not_the_whole(world):
    world.account("alice").authorize(world.clean)
    header, end = ends(world.audit("--json", "--user", "alice", status=0))
    equal([header["whole"], end["accounts"], end["keys"]], [False, 1, 1])
    equal(world.audit("--json", "--quiet", status=0).stdout, "")
    equal(world.audit("--json", "--user", "nobody-of-this-name", status=2).stdout, "")


def test_the_summaries_tell_whose_last_key_is_listed(scratch, world):
    """Without --all. A certificate needs both of its keys. A key of an unknown type lets nobody in."""
    ca, made = keys.generate(scratch), keys.generate(scratch)
    certified = keys.certify(ca, made, "one").certificate.path.read_text(encoding="ascii")
    listed = keys.generate(scratch)
    of_clean_ca = keys.certify(ca, listed, "one").certificate.path.read_text(encoding="ascii")
    world.filter = make_filter(scratch / "more.pkbf", world.bad, listed.key)
    unknown = "ssh-foo AAAAB3NzaC1mb28AAAABeA=="
    expected = {"gone": (["# one", world.bad, world.bad], (2, 2, 0)), "stays": ([world.bad, world.clean], (2, 1, 1)),
                "ca": ([world.bad, f"cert-authority {world.clean}"], (2, 1, 1)),
                "strange": ([world.bad, unknown], (1, 1, 0)), "none": ([world.clean], (1, 0, 1)),
                "certified": ([certified.rstrip()], (2, 0, 1)), "half": ([of_clean_ca.rstrip()], (2, 1, 0))}
    for name, (lines, _) in expected.items():
        world.account(name).authorize(*lines)
    rows = {one["account"]: one for one in objects(world.audit("--json", status=1)) if one.get("summary")}
    equal({name: (rows[name]["keys"], rows[name]["listed"], rows[name]["usable"]) for name in expected},
          {name: counts for name, (_, counts) in expected.items()})


def test_a_key_that_is_allowed_lets_in(scratch, world):
    config = write(scratch / "keyveto.conf",
                   f"AllowKey {world.bad.fingerprint} ours\nFilter {world.filter}\n", mode=0o644)
    world.account("alice").authorize(world.bad)
    done = keyveto("audit", "--json", "--config", config, status=0)
    rows = {one["account"]: one for one in objects(done) if one.get("summary")}
    equal((rows["alice"]["listed"], rows["alice"]["allowed"], rows["alice"]["usable"]), (0, 1, 1))


def test_without_a_filter_the_audit_says_so(world):
    """Nobody would learn it from an empty file."""
    missing = world.folder / "missing.pkbf"
    done = keyveto("audit", "--json", "--filter", missing, status=2)
    header, end = ends(done)
    equal(len(objects(done)), 2)
    equal([header["lists"], end["status"], end["keys"]], [[], 2, 0])
    contains(end["reason"], "no key was judged")
    equal(header["doctor"]["status"], "broken")
    contains(done.stderr, str(missing))
    equal(keyveto("audit", "--filter", missing, status=2).stdout, "")


@pytest.mark.usefixtures("machine")
def test_the_doctor_says_why_no_key_was_judged():
    FILTER.unlink()
    header, end = ends(keyveto("audit", "--json", status=2))
    equal([header["lists"], end["status"]], [[], 2])
    contains([one["found"] for one in header["doctor"]["checks"] if one["check"] == "filter"][0], str(FILTER))


@pytest.mark.usefixtures("machine")
def test_doctor_and_sshd_in_the_first_line():
    """Of a machine that is set up by the README. doctor --json prints the same."""
    header, _ = ends(keyveto("audit", "--json", status=0))
    report = json.loads(keyveto("doctor", "--json", status=0).stdout)
    equal(strip_ages(header["doctor"]), strip_ages(report))
    equal(header["lists"][0]["file"], str(FILTER))
    for one in report["ways"]:
        del one["accounts"]
    equal(header["sshd"], {"path": "/usr/sbin/sshd", "answered": True, "guarded": report["guarded"],
                           "ways": report["ways"]})


def strip_ages(report):
    for one in report["filters"] + report["lists"]:
        del one["age_seconds"]
    return report


@pytest.mark.parametrize("change", [
    pytest.param(lambda machine: machine.sshd_config("UsePAM no"), id="no-guard"),
    pytest.param(lambda machine: machine.sshd_config(*GUARDED, "UsePAM no", "Match Address 192.0.2.0/24",
                                                     " AuthorizedKeysFile .ssh/authorized_keys"), id="match"),
    pytest.param(lambda machine: CONFIG.write_text("OnHit warn\n", encoding="ascii"), id="warn")])
def test_a_way_in_that_nothing_guards_is_told(machine, change):
    change(machine)
    if machine.module.exists():
        machine.pam("session required pam_permit.so\n")
    header, _ = ends(keyveto("audit", "--json"))
    equal(header["sshd"]["guarded"], False, header["sshd"])
    equal(json.loads(keyveto("status", "--json", status=1).stdout)["guarded"], False)


def test_an_sshd_that_gives_no_answer_is_not_called_guarded(machine):
    machine.sshd_config("NoSuchKeyword yes")
    header, _ = ends(keyveto("audit", "--json"))
    equal(header["sshd"], {"path": "/usr/sbin/sshd", "answered": False, "guarded": None, "ways": []})
    equal(header["doctor"]["status"], "broken")
    header, _ = ends(keyveto("audit", "--json", "--sshd", "/no/sshd"))
    equal([header["sshd"]["path"], header["sshd"]["answered"], header["versions"]["sshd"]], ["/no/sshd", False, None])
    assert DROP_IN.exists() and (ROOT / "cli").is_dir()


def test_nobody_but_root_learns_of_sshd(world):
    """Their own audit has a header all the same."""
    alice = world.account("alice")
    alice.authorize(world.bad)
    world.folder.chmod(0o755)
    become = ["setpriv", f"--reuid={alice.uid}", f"--regid={alice.gid}", "--clear-groups"]
    done = attempt(*become, KEYVETO, "audit", "--json", "--user", "alice", "--filter", world.filter)
    equal(done.returncode, 1, done.stderr)
    header, end = ends(done)
    equal([header["doctor"], header["sshd"]["guarded"], header["sshd"]["answered"], end["listed"]],
          [None, None, False, 1])


def test_report_reads_what_audit_prints(world):
    """The comment of a key may hold what no terminal should see."""
    gone, stays = world.account("gone"), world.account("stays")
    gone.authorize(f"{world.bad} odd \x1b[2J\x07 comment")
    stays.authorize(world.bad, world.clean)
    audit = world.folder / "audit.json"
    audit.write_text(world.audit("--json", "--all", status=1).stdout, encoding="utf-8")
    done = keyveto(audit, status=1, program=REPORT)
    contains(done.stdout, "1 host audited, 1 with listed keys, ", "1 listed, in 2 places",
             f"  {socket.gethostname()} (not guarded)\n"
             "    gone: 1 of 1 key is listed, and no other lets in: it would be locked out\n",
             f"    gone {gone.keys_path}:1: ssh-ed25519 256 {world.bad.fingerprint} odd \\x1b[2J\\x07 comment\n",
             f"    stays {stays.keys_path}:1: ssh-ed25519 256 {world.bad.fingerprint}\n",
             f"  listed: ssh-ed25519 256 {world.bad.fingerprint}: 2 accounts on 1 host\n")
    lacks(done.stdout, "    stays: 1 of", "    stays: 2 of", "cut off", "without a whole")
    equal(done.stderr.splitlines()[-1],
          "keyveto-report: 1 host: 1 listed key in 2 places of 1 host, 0 without a whole audit")
