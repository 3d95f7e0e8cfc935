# SPDX-License-Identifier: ISC
"""keyveto status: its text, JSON and metrics. doctor changes nothing."""

import contextlib
import json
import os
import pty
import re
import socket
import subprocess
import termios
import time
from pathlib import Path

import pytest

from doctor_machine import (CHECKS, CONFIG, DAY, DROP_IN, FILTER, GUARD, GUARDED, RANK, SESSION, SSHD_CONFIG, STACK,
                            STOCK_STACK, doctor, expect_all_well)
from program import KEYVETO, PATIENCE, contains, copy_programs, equal, keyveto, lacks

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]


@pytest.mark.usefixtures("machine")
def test_a_machine_set_up_by_the_readme_is_well():
    found = expect_all_well()
    contains(found["filter"][0]["found"], str(FILTER), "revision 7", "1 entry")
    contains(found["guard"][0]["found"], "AuthorizedKeysFile is none")
    contains(found["pam"][0]["found"], "session")


def test_the_screen_has_a_line_for_each_check(machine):
    """A line with an arrow says what to do."""
    done = keyveto("doctor", "--all", status=0)
    first, *rest = done.stdout.splitlines()
    equal(first, "guarded; 1 filter, 0 days old; all is well")
    # No list and no canaries are in use.
    used = [name for name in CHECKS if name not in ("list", "list-age", "canaries")]
    findings = rest[:rest.index("")]
    equal([line.split()[:2] for line in findings if line[0] != " "],
          # The second walls are the guard's.
          [["ok", name] for name in used for _ in range(2 if name in ("policy", "walls") else 1)])
    lacks(done.stdout, "->")
    equal(keyveto("doctor", status=0).stdout, f"{first}\n")
    machine.config("OnHit warn")
    done = keyveto("doctor", status=1)
    contains(done.stdout, "guarded, and only logged; 1 filter, 0 days old; 1 warning\n"
             "warning  policy       OnHit warn: ", "\n                      -> ")
    equal(done.stderr, "")


def test_the_first_line_says_what_matters(machine, scratch):
    listed = scratch / "listed.dat"
    keyveto("list", "create", listed, machine.listed.path, status=0)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3 * DAY))
    Path(f"{listed}.sources").write_text(f"# date {stamp[:10]}\n# time {stamp}\n", encoding="ascii")
    words = ("--blocklist", listed)
    equal(first_line(*words), "guarded; 1 list, 3 days old; all is well")
    machine.pam(STOCK_STACK)
    machine.sshd_config(*GUARDED, "Match User games", " AuthorizedKeysFile .ssh/mine")
    contains(first_line(), "guarded in part; 1 filter, 0 days old; 1 ")
    machine.sshd_config()
    contains(first_line(), "not guarded; 1 filter, 0 days old; ")


def test_a_lock_out_stands_first(machine):
    """Everybody is out, or everybody but listed keys of DenyKey is in. Where sshd does not ask, neither."""
    lines = ["#"] * 6 + ["BlockListe /x"]
    machine.config(*lines)
    equal(keyveto("doctor", status=2).stdout.splitlines()[:2], [
        "every login by key is refused: keyveto.conf line 7; type keyveto config edit",
        "guarded; no list; 1 broken, 8 warnings"])
    contains(keyveto("doctor", "--color=always", status=2).stdout,
             "\033[1;31mevery login by key is refused\033[0m: keyveto.conf line 7;")
    machine.config(*lines, "OnError allow")
    equal(first_line(), "no key but those of DenyKey and the built-in ones is judged; everybody else gets in: "
                        "keyveto.conf line 7; type keyveto config edit")
    # config edit refuses such a file.
    CONFIG.chmod(0o666)
    equal(first_line(), f"every login by key is refused: {CONFIG}: writable by group or others")
    CONFIG.chmod(0o644)
    odd = "/var/lib/odd\x1b"
    for more, said in (((), "every login by key is refused: "),
                       (("OnError allow",), "a list is not consulted, and the keys that only it has get in: "),
                       ((f"AllowKey {machine.clean.fingerprint}",),
                        "every login by key, but those of AllowKey, is refused: "),
                       ((f"AllowKey {machine.clean.fingerprint} until=2020-01-01",),
                        "every login by key is refused: ")):
        machine.config(f"Blocklist {odd}", *more)
        equal(first_line(), f"{said}/var/lib/odd\\x1b: No such file or directory")
    machine.config(*lines)
    # One of both reads this file; an account is in without keyveto.
    machine.sshd_config(GUARDED[0], f"{GUARDED[1]} --config /etc/keyveto/other.conf", *GUARDED[2:], "Match User games",
                        " AuthorizedKeysCommand none", " AuthorizedKeysFile .ssh/mine")
    contains(first_line(), "every login by key")
    # Only the module asks, then nobody.
    machine.sshd_config()
    equal(first_line(), "every login by key is refused: keyveto.conf line 7; type keyveto config edit")
    machine.pam(STOCK_STACK)
    contains(first_line(), "not guarded; no list; ")
    # The guard reads another file, which is not there.
    machine.sshd_config(GUARDED[0], f"{GUARDED[1]} --config /etc/keyveto/other.conf", GUARDED[2])
    equal(first_line(), "every login by key is refused: /etc/keyveto/other.conf: No such file or directory")
    Path("/etc/keyveto/other.conf").write_text(f"Filter {FILTER}\n", encoding="utf-8")
    contains(first_line(), "guarded; no list; ")
    machine.pam(STOCK_STACK)
    machine.sshd_config(*GUARDED)
    machine.config("Blocklist /nowhere")
    contains(first_line("--filter", FILTER), "guarded; 1 filter, ")
    machine.config()
    equal(first_line(), "guarded; 1 filter, 0 days old; all is well")
    # What sshd, or PAM, refuses by itself.
    machine.sshd_config(*GUARDED[:2], "AuthorizedKeysCommandUser nobody")
    FILTER.chmod(0o600)
    contains(first_line(), f"every login by key is refused: nobody cannot read {FILTER}: ")
    machine.config("OnError allow")
    contains(first_line(), "guarded; 1 filter, ")
    # What it cannot read of keyveto.conf is OnError, too.
    CONFIG.chmod(0o600)
    contains(first_line(), f"every login by key is refused: nobody cannot read {CONFIG}: ")
    CONFIG.chmod(0o644)
    machine.sshd_config(*GUARDED[:2], "AuthorizedKeysCommandUser nosuchone")
    contains(first_line(), "every login by key is refused: AuthorizedKeysCommandUser nosuchone: there is no such ac")
    machine.config()
    GUARD.chmod(0o777)
    machine.sshd_config(*GUARDED)
    contains(first_line(), f"every login by key is refused: {GUARD}")
    GUARD.chmod(0o755)
    machine.pam(SESSION + STOCK_STACK)
    # PAM does not ask who may write the module.
    machine.module.chmod(0o664)
    contains(first_line(), "guarded; 1 filter, ")
    machine.module.chmod(0o755)
    machine.module.rename(f"{machine.module}.aside")
    contains(first_line(), "every login by key is refused: ", str(machine.module))
    machine.pam(SESSION.replace("requisite", "optional") + STOCK_STACK)
    contains(first_line(), "guarded; 1 filter, ")
    Path(f"{machine.module}.aside").rename(machine.module)


def first_line(*words):
    return keyveto("doctor", *words).stdout.split("\n")[0]


def test_without_any_list_doctor_says_what_to_type(machine):
    assert machine
    FILTER.unlink()
    contains(keyveto("doctor", status=2).stdout, "-> type keyveto update --source badkeys, which fetches the free list")


def test_states_have_colours_on_a_terminal_only(machine):
    assert machine
    plain = keyveto("doctor", "--all", status=0).stdout
    lacks(plain, "\033")
    coloured = keyveto("doctor", "--all", "--color=always", status=0).stdout
    equal(re.sub("\033\\[[0-9;]*m", "", coloured), plain)
    contains(coloured, "\033[32mok      \033[0m config")
    for more, expected in (({}, coloured), ({"NO_COLOR": "1"}, plain), ({"NO_COLOR": ""}, coloured),
                           ({"TERM": "dumb"}, plain)):
        equal(on_a_terminal({"TERM": "xterm", **more}, "doctor", "--all"), expected)
    equal(on_a_terminal({"TERM": "xterm"}, "doctor", "--all", "--color", "never"), plain)
    equal(on_a_terminal({"TERM": "xterm"}, "doctor", "--json", "--prometheus")[:1], "")
    contains(keyveto("doctor", "--color", "blue", status=2).stderr, "--color takes always, never or auto, not blue")


def on_a_terminal(environment, *words):
    """What the program prints on a terminal."""
    leader, follower = pty.openpty()
    settings = termios.tcgetattr(follower)
    settings[1] &= ~termios.OPOST
    termios.tcsetattr(follower, termios.TCSANOW, settings)
    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with subprocess.Popen([KEYVETO, *words], stdin=subprocess.DEVNULL, stdout=follower, stderr=subprocess.DEVNULL,
                          env={**kept, **environment}) as run:
        os.close(follower)
        printed = b""
        with contextlib.suppress(OSError):      # EIO at the end
            while part := os.read(leader, 65536):
                printed += part
        run.wait(PATIENCE)
    os.close(leader)
    return printed.decode()


def test_only_one_form_at_a_time_and_no_arguments(scratch):
    """A number out of its bounds is refused."""
    for words in (("--json", "--prometheus"), ("x",), ("--max-age", "-1"), ("--max-age", "x"), ("--sshd", "sshd"),
                  ("--canary",)):
        done = keyveto("doctor", *words, status=2)
        equal(done.stdout, "")
        contains(done.stderr, "keyveto: ")
    assert scratch.exists()


def test_nothing_raw_comes_out_of_hostile_names(scratch, machine):
    path = scratch / "odd\x1b[2J\n\"q\\ \xe4.pkbf"
    machine.make_filter(path=path)
    done = keyveto("doctor", "--all", "--filter", path, status=0)
    contains(done.stdout, "odd\\x1b[2J\\x0a\"q\\ \\xc3\\xa4.pkbf")
    equal([line for line in done.stdout.splitlines() if "\x1b" in line], [])
    _, report = doctor("--filter", path)
    equal(report["filters"][0]["file"], str(path))
    samples = prometheus("--filter", path)
    equal([dict(labels) for name, labels in samples if name == "keyveto_filter_revision"],
          [{"filter": str(scratch) + "/odd\\x1b[2J\\x0a\"q\\ \\xc3\\xa4.pkbf"}])


@pytest.mark.usefixtures("machine")
def test_somebody_who_is_not_root_is_told_so_and_sees_the_rest(scratch):
    # Other accounts can reach the program there.
    mine = copy_programs(scratch)
    found, report = doctor(executable=mine, preexec_fn=lambda: os.setuid(65534))
    equal(report["status"], "warning", str(found))
    contains(found["sshd"][0]["found"], "only root")
    contains(found["service"][0]["found"], "only root")
    equal(found["filter"][0]["status"], "ok")


NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf'({NAME})(?:\{{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*)\}})? (\S+)')


def parse_prometheus(text):
    """{(name, labels): value}. Fails unless each sample comes once, after its HELP and TYPE, beside its like."""
    assert text.endswith("\n") and text.isascii(), text
    samples, helped, typed, current = {}, set(), set(), None
    for line in text.splitlines():
        comment = re.fullmatch(rf"# (HELP|TYPE) ({NAME}) (.+)", line)
        if comment:
            kind, name, rest = comment.groups()
            done = helped if kind == "HELP" else typed
            assert name not in done, f"{name} twice"
            assert kind == "HELP" or (rest == "gauge" and name == current), line
            done.add(name)
            current = name
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample, f"odd line {line!r}"
        name, labels, value = sample.groups()
        assert name == current and name in helped and name in typed, f"{line!r} is out of place"
        pairs = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or "")
        read = tuple((key, re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), text)) for key, text in pairs)
        assert (name, read) not in samples, f"{line!r} twice"
        samples[name, read] = float(value)
    equal(helped, typed)
    return samples


def prometheus(*arguments, status=None):
    return parse_prometheus(keyveto("doctor", "--prometheus", *arguments, status=status).stdout)


def test_prometheus_says_what_json_says(machine):
    machine.config("OnHit warn", f"Filter {FILTER}", f"Filter {FILTER}")
    made = int(time.time()) - 3 * DAY
    machine.make_filter("--time", made)
    found, report = doctor()
    samples = prometheus(status=1)
    equal({dict(labels)["check"]: value for (name, labels), value in samples.items()
           if name == "keyveto_check_status"},
          {name: max(RANK[one["status"]] for one in ones) for name, ones in found.items()})
    equal(samples["keyveto_status", ()], RANK[report["status"]])
    facts = json.loads(keyveto("filter", "info", "--json", FILTER, status=0).stdout)
    of = (("filter", str(FILTER)),)
    equal(samples["keyveto_filter_revision", of], facts["revision"])
    equal(samples["keyveto_filter_timestamp_seconds", of], made)
    equal(samples["keyveto_filter_entries", of], 1)
    equal(samples["keyveto_filter_fill_ratio", of], facts["fill"])
    equal(samples["keyveto_filter_false_positive_rate", of], facts["fpr_by_bits"])
    assert 0 <= samples["keyveto_filter_age_seconds", of] - 3 * DAY < 100, samples
    assert abs(samples["keyveto_checked_timestamp_seconds", ()] - time.time()) < 100
    equal(len(report["filters"]), 1)
    equal(report["filters"][0]["revision"], 7)


@pytest.mark.usefixtures("machine")
def test_nothing_is_changed_and_nothing_is_sent_to_the_log():
    Path("/dev/log").unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind("/dev/log")
        log.setblocking(False)
        before = {path: os.stat(path).st_mtime_ns for path in (CONFIG, FILTER, STACK, SSHD_CONFIG, DROP_IN)}
        expect_all_well()
        equal(before, {path: os.stat(path).st_mtime_ns for path in before})
        try:
            raise AssertionError(f"logged: {log.recv(4096)!r}")
        except BlockingIOError:
            pass
