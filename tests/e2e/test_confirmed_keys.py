# SPDX-License-Identifier: ISC
"""From a login that is only warned of to one that is refused with a proof: keyveto confirm --log with a real sshd."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import keys
from patience import PATIENCE

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
import pwned_api  # noqa: E402
from update_place import authority  # noqa: E402

pytestmark = pytest.mark.throwaway

LOG, LIST, SETTINGS = Path("/var/log/auth.log"), Path("/var/lib/keyveto/confirmed.dat"), "/etc/keyveto/update.conf"


@pytest.fixture(name="api")
def fixture_api():
    api = pwned_api.Api()
    yield api
    api.close()


def write_log(bench, *accounts):
    """/var/log/auth.log, with what was logged about the accounts, as rsyslog writes it."""
    LOG.parent.mkdir(exist_ok=True)
    lines = [line.text for account in accounts for line in bench.log.about(account.name)]
    LOG.write_text("".join(f"Nov 22 10:00:00 host {line}\n" for line in lines), encoding="utf-8")


def confirm(build, config, *words, **options):
    """(status, standard output, standard error)"""
    done = subprocess.run([build / "keyveto", "confirm", "--config", config, *words], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False, **options)
    return done.returncode, done.stdout, done.stderr


def listed_by(bench, filter_):
    """The line of keyveto.conf that names this filter."""
    path = bench.path("filter")
    filter_.write(path)
    path.chmod(0o644)
    return f"Filter {path}"


def listed_key(bench, api):
    """(a key that a filter lists and the API has, the line that names the filter, the words that ask the API)"""
    key = pwned_api.Key()
    api.have(key)
    settings = bench.write("update.conf", f"CAFile {authority().certificate}\nProxy none\n")
    return (key, listed_by(bench, pwned_api.small_filter(key, k=10, p=16)),
            ("--settings", settings, "--url", api.url))


def test_a_warning_becomes_a_refusal_with_proof_and_a_false_positive_an_allow_line(bench, build, api, deploy):
    true = pwned_api.Key()
    filter_ = pwned_api.small_filter(true)
    false = pwned_api.false_positive(filter_)
    api.have(true)
    bench.machine.write(SETTINGS, f"Confirm {api.url}\nCAFile {authority().certificate}\nProxy none\n")
    for old in (LIST, *Path(LIST.parent, "proofs").glob("*")):
        old.unlink(missing_ok=True)

    # Two accounts log in with keys that a filter lists, and are warned of.
    lines = [listed_by(bench, filter_), "OnProbable warn"]
    sshd = bench.server(deploy(bench.config(*lines)))
    logins = []
    for key in (true, false):
        account, identity = bench.account(), keys.from_pem(bench.folder, key.pem())
        account.authorize(identity.key)
        bench.must_enter(bench.login(sshd, account, identity), "OnProbable warn lets in")
        decision = bench.decision(account, verdict="listed", action="warn", key_fp=key.fingerprint)
        assert decision.source is None, decision
        logins.append((account, identity))
    (guilty, guilty_identity), (innocent, innocent_identity) = logins
    write_log(bench, guilty, innocent)

    # The log leads to the keys, and the API to a proof of one of them.
    config = bench.config(*lines)
    status, out, err = confirm(build, config, "--log")
    assert status == 1, (out, err)
    proof = LIST.parent / "proofs" / f"{true.id}.json"
    assert f"{guilty.authorized_keys}:1: confirmed: ecdsa-sha2-nistp256 256 {true.fingerprint} (proof: {proof})" in out
    assert f"{innocent.authorized_keys}:1: not confirmed: ecdsa-sha2-nistp256 256 {false.fingerprint}\n" in out
    assert sorted(api.asked()) == sorted([true.id, false.id])
    assert proof.read_bytes() == api.site.pages[f"/{true.id}"].body
    assert f"add the line \"Blocklist {LIST}\" to {config}" in err, err
    allow, = (line for line in out.splitlines() if line.startswith(f"AllowKey {false.fingerprint} until="))

    # Nothing is allowed by itself, and the confirmed key is refused.
    lines.append(f"Blocklist {LIST}")
    sshd = bench.server(deploy(bench.config(*lines)))
    bench.must_not_enter(bench.login(sshd, guilty, guilty_identity), "the key is confirmed")
    decision = bench.decision(guilty, verdict="listed", action="deny", key_fp=true.fingerprint)
    assert (decision.source, decision.list) == ("confirmed", str(LIST)), decision
    bench.must_enter(bench.login(sshd, innocent, innocent_identity), "the key is not confirmed")
    assert not any(one.verdict == "allowed" for one in bench.log.decisions(innocent))

    # With the line that was printed, the false positive is let in also where filters refuse.
    lines[1:2] = ["OnProbable deny"]
    sshd = bench.server(deploy(bench.config(*lines)))
    bench.must_not_enter(bench.login(sshd, innocent, innocent_identity), "OnProbable deny")
    sshd = bench.server(deploy(bench.config(*lines, allow)))
    bench.must_enter(bench.login(sshd, innocent, innocent_identity), "AllowKey")
    bench.decision(innocent, verdict="allowed", action="allow", key_fp=false.fingerprint)

    # What is known is not asked again, and another log line of an exact list leads to no question.
    write_log(bench, guilty, innocent)
    status, out, err = confirm(build, bench.config(*lines), "--log")
    assert status == 1 and api.asked() == [] and " 1 in an exact list already" in err, (status, out, err)


def test_root_and_administrators_are_not_locked_out_without_yes(bench, build, api):
    (key, line, asking), exact = listed_key(bench, api), bench.path("state")
    exact.mkdir()
    seed = bench.blocklist(bench.key())
    seed.rename(exact / "confirmed.dat")
    before = (exact / "confirmed.dat").read_bytes()
    config = bench.config(line, f"Blocklist {exact}/confirmed.dat", "OnProbable warn")
    words = (*asking, "--state", exact, "--accounts")
    admin, root = bench.account(), bench.account(as_root=True)
    subprocess.run(["groupadd", "-f", "sudo"], check=True)
    subprocess.run(["gpasswd", "-a", admin.name, "sudo"], check=True, capture_output=True)
    link = bench.path("link")
    link.symlink_to(exact)

    def must_stay(text, *more):
        status, out, err = confirm(build, config, *words, *more)
        assert status == 1 and ": confirmed: " in out, (out, err)
        assert text in err and "stays as it is" in err and "--yes" in err, err
        assert (exact / "confirmed.dat").read_bytes() == before
        assert (exact / "proofs" / f"{key.id}.json").exists()
    for account, text in ((root, f"would refuse a key of {root.name}"),
                          (admin, f"would refuse a key of {admin.name}")):
        account.authorize(key.line)
        must_stay(text)
        # The list by other names is the same list.
        must_stay(text, "--state", f"{exact}/")
        must_stay(text, "--state", link)
        must_stay(text, "--filter", line.split()[1])
        account.authorized_keys.unlink()
    # What cannot be read may be what lets root in.
    bench.account().authorize(key.line)
    root.authorized_keys.mkdir()
    must_stay(f"not all keys of {root.name} could be compared with the list with the confirmed keys")
    root.authorized_keys.rmdir()
    # Another key beside it changes nothing.
    admin.authorize(key.line, bench.key().key)
    must_stay(f"would refuse a key of {admin.name}")
    admin.authorized_keys.unlink()
    root.authorize(key.line)
    status, out, err = confirm(build, config, *words, "--yes")
    assert (status, len((exact / "confirmed.dat").read_bytes())) == (1, len(before) + 16), (out, err)


def test_a_list_that_no_login_consults_yet_holds_no_key_of_root_either(bench, build, api):
    """Who adds the Blocklist line that confirm prints must not lock root out."""
    key, line, asking = listed_key(bench, api)
    LIST.unlink(missing_ok=True)
    root = bench.account(as_root=True)
    root.authorize(key.line)
    words = (bench.config(line, "OnProbable warn"), *asking, "--accounts")
    status, out, err = confirm(build, *words)
    assert status == 1 and f"would refuse a key of {root.name}" in err and "stays as it is" in err, (out, err)
    assert not LIST.exists() and "no login consults" not in err, err
    status, out, err = confirm(build, *words, "--yes")
    assert status == 1 and "no login consults" in err and LIST.exists(), (out, err)
    LIST.unlink()


JOURNALCTL = """#!/bin/sh
[ "$*" = "--quiet --no-pager --output=cat --grep=verdict=listed" ] || exit 3
cat /run/fake-journal
exit %d
"""


def test_the_journal_is_read_too_and_a_journal_that_fails_is_told(bench, build, api):
    listed, line, asking = listed_key(bench, api)
    account = bench.account()
    account.authorize(listed.line)
    config = bench.config(line)
    LOG.unlink(missing_ok=True)
    bench.machine.make_folder("/run/log/journal")
    bench.machine.write("/run/fake-journal", "verdict=listed action=warn user=x via=pam key_type=y "
                        f"key_fp={listed.fingerprint} part=key filter=/f revision=1\n")
    words = (*asking, "--dry-run", "--log")
    for code, status in ((0, 1), (1, 1), (3, 1)):
        Path("/usr/bin/journalctl").unlink(missing_ok=True)
        bench.machine.write("/usr/bin/journalctl", JOURNALCTL % code, 0o755)
        done = confirm(build, config, *words)
        assert (done[0], api.asked()) == (status, [listed.id]), (code, done)
        assert ("/usr/bin/journalctl fails" in done[2]) == (code == 3), done
    bench.machine.write("/run/fake-journal", "")
    done = confirm(build, config, *words)
    assert (done[0], api.asked()) == (2, []), done


def test_all_accounts_are_asked_about_and_forged_log_lines_lead_nowhere(bench, build, api):
    listed, named, asking = listed_key(bench, api)
    clean, other = pwned_api.Key(), pwned_api.Key()
    api.have(clean, other)
    words = (*asking, "--dry-run")
    account = bench.account()
    account.authorize(clean.line, listed.line)
    config = bench.config(named)
    status, out, err = confirm(build, config, *words, "--accounts")
    assert (status, api.asked()) == (1, [listed.id]), (out, err)
    assert out.startswith(f"{account.authorized_keys}:2: confirmed: "), out

    def log(*lines):
        return bench.write("log", "".join(f"{line}\n" for line in lines))

    def line(key, **pairs):
        pairs = {"verdict": "listed", "action": "warn", "user": "x", "via": "guard", "key_type": "y",
                 "key_fp": key.fingerprint, "part": "key", "authorized": "yes", "filter": "/f", "revision": "1",
                 **pairs}
        return "sshd[1]: " + " ".join(f"{name}={value}" for name, value in pairs.items() if value is not None)
    quoted = line(other, user=f'"x key_fp={listed.fingerprint}"')
    for what, lines in {
            "a clean key that the log calls listed": [line(clean)],
            "a key of another verdict": [line(listed, verdict="allowed"), line(listed, verdict="error")],
            "a key of an exact list": [line(listed, list="/l", source="s")],
            "no line of keyveto": ["", "verdict=listed", f"xverdict=listed key_fp={listed.fingerprint} filter=/f",
                                   f"verdict=listed filter=/f key_fp={listed.fingerprint}x", "verdict=listed key_fp="],
            "a long line": ["x" * 20000 + " " + line(listed)],
            "no key of here, offered only": [line(other, authorized="no")]}.items():
        status, out, err = confirm(build, config, *words, "--log", log(*lines))
        assert (status, out, api.asked()) == (0, "", []), (what, status, out, err)
        assert "is in the log" not in err, (what, err)
    status, out, err = confirm(build, config, *words, "--log", log(quoted))
    assert (status, api.asked()) == (0, []), (out, err)
    assert f"note: {other.fingerprint} is in the log, but no account of this machine has that key now" in err, err
    status, out, err = confirm(build, config, *words, "--log", log(quoted), log(line(listed, authorized="no")))
    assert (status, api.asked()) == (1, [listed.id]), (out, err)


@pytest.fixture(name="logged")
def fixture_logged(bench, build, api):
    """A function that writes a log, runs confirm --log with it, and says whether that led to a key of an account."""
    listed, line, asking = listed_key(bench, api)
    bench.account().authorize(listed.line)
    config = bench.config(line)

    def leads_to_the_key(data, status=1, **options):
        log = bench.path("log")
        log.write_bytes(data)
        done = confirm(build, config, *asking, "--dry-run", "--log", log, **options)
        assert done[0] == status, done
        leads_to_the_key.errors = done[2].replace(str(log), "LOG")
        return api.asked() == [listed.id]
    leads_to_the_key.line = ('verdict=listed action=warn user="a b" via=guard key_type=ssh-rsa '
                             f'key_fp={listed.fingerprint} part=key authorized=yes filter="/a filter" revision=1')
    return leads_to_the_key


def test_a_log_is_read_in_each_form_that_journalctl_and_syslog_give_it(logged):
    line = logged.line
    for form in (f"Nov 22 10:00:00 host sshd[1]: {line}\n",
                 f"2026-11-22T10:00:00.123456+01:00 host sshd[1]: {line}\n",
                 f"<84>1 2026-11-22T10:00:00Z host sshd 1 - - {line}\n",
                 f"    MESSAGE={line}\n    _PID=1\n",
                 json.dumps({"_CMDLINE": "grep verdict=listed /var/log/auth.log", "MESSAGE": line, "_PID": "1"}) + "\n",
                 f"sshd[1]: {line}\r\n", f"x: {line}", f"first\n\n{line}\n"):
        assert logged(form.encode()), form
    assert not logged(b"a line of somebody else\n", status=0)
    assert "note: the log has no line with verdict=listed of a key that only filters list" in logged.errors


def test_a_line_without_end_takes_no_memory(logged, build):
    """Such as the hole that a log has that was cut while its writer had it open."""
    def limit():
        # AddressSanitizer's shadow memory is more than any limit.
        if b"__asan_init" not in (build / "keyveto").read_bytes():
            resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))
    assert logged(b"\0" * (400 << 20) + f"\n{logged.line}\n".encode(), preexec_fn=limit)
