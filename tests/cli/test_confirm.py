# SPDX-License-Identifier: ISC
"""keyveto confirm, with keys in files: what it asks, keeps and prints, and what it never takes for an answer."""

import datetime
import hashlib
import hmac
import json
import math
import os
import random
import re
import signal
import stat
import subprocess
import threading
import time

import pytest

import blocklist
import sshkey
from program import KEYVETO, PATIENCE, ROOT, TRACED, attempt, contains, equal, lacks, wait_until
from pwned_api import (HTML, JSON, Api, Key, answer, clean_key, encode, false_positive, p_key, page, rsa_key,
                       small_filter)
from runs import run
from samples import write
from update_place import authority, redirect_to
from website import Page


class Place:
    """A small filter that lists .true, as the API does, and .false, which is a false positive."""

    def __init__(self, scratch):
        self.scratch, self.api = scratch, Api()
        self.true = Key()
        made = small_filter(self.true)
        self.false = false_positive(made)
        self.filter = scratch / "filter.pkbf"
        made.write(self.filter)
        self.filter.chmod(0o644)
        self.api.have(self.true)
        self.state = scratch / "state"
        self.state.mkdir()
        self.list, self.proofs = self.state / "confirmed.dat", self.state / "proofs"
        self.config = self.write("keyveto.conf", f"Filter {self.filter}\n")
        self.settings = self.write("update.conf", f"Confirm {self.api.url}\nProxy none\n"
                                                  f"CAFile {authority().certificate}\n")
        self.keys = self.write("keys", f"{self.true.line} alice@a\n{self.false.line} bob\n"
                                       f"{clean_key(made).line} carol\n")

    def write(self, name, text):
        path = self.scratch / name
        write(path, text).chmod(0o644)
        return path

    def arguments(self, *words):
        return ["confirm", "--settings", self.settings, "--config", self.config, "--state", self.state, *words]

    def run(self, *words, status, **options):
        return run(*self.arguments(*words), status=status, **options)

    def verdicts(self, *words, status):
        """The JSON objects, by fingerprint."""
        done = self.run("--json", *words, status=status)
        return {one["fingerprint"]: one for one in map(json.loads, done.lines)}

    def no_answer(self, key=None, status=2):
        """Asks about a key of the filter that must get no answer: the reason."""
        key = key or self.true
        one = self.verdicts(self.write("one", f"{key.line}\n"), status=status)[key.fingerprint]
        equal((one["verdict"], one["proof"], one["allow_line"]), ("no answer", None, None))
        equal(self.kept(), [])
        return one["reason"]

    def kept(self):
        """The files that say something about a key."""
        absent = self.state / ".keyveto-not-confirmed"
        names = sorted(os.listdir(self.proofs)) if self.proofs.exists() else []
        return (names + [self.list.name] * self.list.exists() +
                ["absent"] * (absent.exists() and absent.stat().st_size > 0))


@pytest.fixture(name="place")
def fixture_place(scratch):
    made = Place(scratch)
    yield made
    made.api.close()


def list_of(*keys, source=1):
    """The bytes of an exact list that has these keys."""
    made = blocklist.Blocklist()
    for key in keys:
        made.add(key.oracle, source)
    return made.encode()


def today(days=0):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days)).strftime("%Y-%m-%d")


# --- verdicts ------------------------------------------------------------------

def test_only_keys_that_filters_list_are_asked_about_and_each_gets_its_verdict(place):
    done = place.run(place.keys, status=1)
    equal(done.lines, [
        f"{place.keys}:1: confirmed: ecdsa-sha2-nistp256 256 {place.true.fingerprint} alice@a "
        f"(proof: {place.proofs}/{place.true.id}.json)",
        f"{place.keys}:2: not confirmed: ecdsa-sha2-nistp256 256 {place.false.fingerprint} bob",
        f"AllowKey {place.false.fingerprint} until={today(90)} not confirmed by {place.api.url} on {today()}"])
    equal(place.api.asked(), [place.true.id, place.false.id])
    contains(done.said, "2 keys listed by filters only: 1 confirmed, 1 not confirmed, 0 no answer; 1 in no filter and "
             "no list")


def test_the_publisher_is_named_before_it_is_told_anything(place):
    done = place.run(place.keys, status=1)
    messages = done.messages
    equal(messages[0], f"keyveto: note: asking {place.api.url} about 2 keys: it learns the SHA-256 of each public key, "
                       "and the address of this machine")
    clean = place.write("clean", f"{clean_key(small_filter(place.true)).line}\n")
    place.api.asked()
    done = place.run(clean, status=0)
    lacks(done.said, "asking")
    equal(place.api.asked(), [])


def test_nobody_is_asked_without_a_url(place):
    place.settings.write_text("Proxy none\n", encoding="ascii")
    message = place.run(place.keys, status=2).messages
    contains("\n".join(message), "nobody to ask", "Confirm https://", "--url")
    for url in ("http://localhost:1", "file:///etc/passwd", "/etc", "https://localhost/?a=b", "https://localhost/#a",
                "https://", "https://u:secret@a b", "https://a:99999"):
        done = place.run("--url", url, place.keys, status=2)
        assert not done.out and len(done.messages) == 1, done
        lacks(done.messages[0], "secret", "path of a file")
    equal(place.kept(), [])


def test_the_url_of_the_command_line_counts_first(place):
    other = Api()
    other.have(place.true)
    place.run("--url", f"{other.url}/", place.keys, status=1)
    equal((other.asked(), place.api.asked()), ([place.true.id, place.false.id], []))
    other.close()


@pytest.mark.parametrize("make", (rsa_key, lambda: p_key(384), lambda: p_key(521)), ids=("RSA", "P-384", "P-521"))
def test_keys_of_each_type_with_proofs_are_confirmed(place, make):
    key = make()
    filter_ = small_filter(key)
    filter_.write(place.filter)
    place.api.have(key)
    one = place.verdicts(place.write("one", f"{key.line}\n"), status=1)[key.fingerprint]
    equal((one["verdict"], one["spki_sha256"]), ("confirmed", key.id))
    equal(place.list.read_bytes(), list_of(key))


def test_a_key_a_fingerprint_and_a_line_of_a_file_can_be_asked_about(place):
    equal(place.run(*place.true.line.split(), status=1).lines[0].split(": ")[1], "confirmed")
    equal(len(place.run("--again", f"{place.keys}:2:", status=0).lines), 2)
    done = place.run("--again", f"key_fp={place.true.fingerprint}", place.keys, status=1)
    assert done.lines[0].startswith(f"{place.keys}:1: confirmed: "), done
    contains(place.run(Key().fingerprint, place.keys, status=2).said, "no key with this fingerprint")


def test_json_has_all_that_the_text_has(place):
    one = place.verdicts(place.keys, status=1)
    equal(one[place.true.fingerprint], {
        "file": str(place.keys), "line": 1, "verdict": "confirmed", "type": "ecdsa-sha2-nistp256", "bits": 256,
        "fingerprint": place.true.fingerprint, "spki_sha256": place.true.id, "comment": "alice@a",
        "proof": f"{place.proofs}/{place.true.id}.json", "allow_line": None, "allowed": False, "reason": None})
    false = one[place.false.fingerprint]
    equal((false["verdict"], false["proof"], false["reason"]), ("not confirmed", None, None))
    assert re.fullmatch(rf"AllowKey {re.escape(place.false.fingerprint)} until=\d{{4}}-\d\d-\d\d .*",
                        false["allow_line"]), false


def test_quiet_prints_errors_only(place):
    done = place.run("--quiet", place.keys, status=1)
    equal((done.out, [line for line in done.messages if "no login consults" not in line]), (b"", []))


def test_the_allow_line_is_one_that_keyveto_conf_takes(place):
    line = place.verdicts(place.keys, status=1)[place.false.fingerprint]["allow_line"]
    place.config.write_text(f"{place.config.read_text(encoding='ascii')}{line}\n", encoding="ascii")
    equal(len(run("check", "--config", place.config, place.keys, status=1).lines), 1)
    one = place.verdicts("--again", place.keys, status=1)[place.false.fingerprint]
    equal((one["verdict"], one["allowed"], one["allow_line"]), ("not confirmed", True, None))


def test_a_confirmed_key_that_allowkey_lets_in_is_told(place):
    write(place.list, b"\0" * 16).chmod(0o644)
    place.config.write_text(f"Filter {place.filter}\nBlocklist {place.list}\nAllowKey {place.true.fingerprint}\n",
                            encoding="ascii")
    done = place.run("--yes", f"{place.keys}:1", status=1)
    assert done.lines[0].endswith("(AllowKey in keyveto.conf lets it in)"), done
    contains(done.err.decode(), f"warning: {place.true.fingerprint} is compromised, and AllowKey lets it in all "
             f"the same: have it replaced, then type keyveto allow --remove {place.true.fingerprint}",
             "but for AllowKey")


def test_a_key_that_cannot_be_judged_is_not_called_clean(place):
    """The records of a list must be in order."""
    exact = place.scratch / "exact"
    exact.write_bytes(bytes(range(255, 0, -1)) * 16)
    place.config.write_text(f"Filter {place.filter}\nBlocklist {exact}\n", encoding="ascii")
    done = place.run(place.write("one", f"{clean_key(small_filter(place.true)).line}\n"), status=2)
    contains(done.said, "are not in order")
    lacks(done.said, "in no filter and no list")


def test_a_key_in_many_places_is_asked_about_once(place):
    place.keys.write_text(f"{place.true.line} one\nrestrict {place.true.line} two\n", encoding="ascii")
    equal([line.split(":")[1] for line in place.run(place.keys, status=1).lines], ["1", "2"])
    equal(place.api.asked(), [place.true.id])


def test_keys_of_an_exact_list_are_not_asked_about(place):
    exact = write(place.scratch / "exact", list_of(place.true, source=3))
    place.config.write_text(f"Filter {place.filter}\nBlocklist {exact}\n", encoding="ascii")
    done = place.run(place.keys, status=1)
    equal(place.api.asked(), [place.false.id])
    contains(done.messages[-1], "1 in an exact list already")


# --- what is kept --------------------------------------------------------------

def test_a_proof_is_kept_as_it_came_and_the_key_gets_into_the_list(place):
    place.run(place.keys, status=1)
    equal(place.kept(), [f"{place.true.id}.json", "confirmed.dat", "absent"])
    proof = place.proofs / f"{place.true.id}.json"
    equal(proof.read_bytes(), json.loads(json.dumps(place.api.site.pages[f"/{place.true.id}"].body.decode())).encode())
    equal([stat.S_IMODE(path.stat().st_mode) for path in (place.proofs, proof, place.list)], [0o755, 0o644, 0o644])
    equal(place.list.read_bytes(), list_of(place.true))
    equal(place.list.with_name("confirmed.dat.sources").read_text(encoding="ascii"), "1 confirmed\n")
    found = run("check", "--blocklist", place.list, place.keys, status=1)
    equal(len(found.lines), 1)
    contains(found.lines[0], place.true.fingerprint, f"[{place.list} confirmed]")


def test_a_key_whose_proof_cannot_be_kept_stays_out_of_the_list(place):
    place.proofs.write_bytes(b"a file")
    done = place.run(place.keys, status=1)
    assert ": confirmed: " in done.lines[0] and "proof:" not in done.lines[0], done
    contains(done.said, f"{place.proofs}/{place.true.id}.json: ")
    assert not place.list.exists()
    place.proofs.unlink()
    place.run(place.keys, status=1)
    equal(len(place.list.read_bytes()), 16)


def test_the_folder_may_be_named_from_where_one_is(place):
    done = run("confirm", "--settings", place.settings, "--config", place.config, "--state", "state", place.keys,
               status=1, cwd=place.scratch)
    contains(done.lines[0], f"(proof: {place.proofs}/{place.true.id}.json)")
    contains(done.said, f'add the line "Blocklist {place.list}"')


def test_the_list_keeps_what_it_has(place):
    place.run(place.keys, status=1)
    other = Key()
    filter_ = small_filter(other)
    filter_.write(place.filter)
    place.api.have(other)
    done = place.run(place.write("other", f"{other.line}\n"), status=1)
    contains(done.said, f"{place.list}: 1 key added")
    equal(place.list.read_bytes(), list_of(place.true, other))


def test_a_login_must_be_told_of_the_list_and_the_default_filter_is_not_forgotten(place):
    line = f"add the line \"Blocklist {place.list}\" to {place.config}"
    contains(place.run(place.keys, status=1).said, line)
    place.config.write_text(f"Filter {place.filter}\nBlocklist {place.list}\n", encoding="ascii")
    done = place.run("--again", place.keys, status=1)
    lacks(done.said, "no login consults")
    contains(done.messages[-1], "1 in an exact list already")
    empty = place.write("empty.conf", "")
    done = run("confirm", "--config", empty, "--filter", place.filter, "--settings", place.settings, "--state",
               place.state, "--again", place.keys, status=1)
    contains(done.said, f"add the line \"Blocklist {place.list}\", and \"Filter /var/lib/keyveto/filter.pkbf\" if "
             "there is no Filter line, to ")


def test_a_dry_run_keeps_nothing(place):
    equal(place.verdicts("--dry-run", place.keys, status=1)[place.true.fingerprint]["proof"], None)
    equal(os.listdir(place.state), [])


def test_answers_are_kept_so_that_nothing_is_asked_twice(place):
    first = place.run(place.keys, status=1).lines
    place.api.asked()
    equal(place.run(place.keys, status=1).lines, first)
    equal(place.api.asked(), [])
    place.run("--again", place.keys, status=1)
    equal(place.api.asked(), [place.false.id])


def test_a_proof_stays_one_when_the_publisher_has_dropped_the_key(place):
    place.run(place.keys, status=1)
    place.api.site.pages.clear()
    place.list.unlink()
    done = place.run("--again", f"{place.keys}:1", status=1)
    equal(done.lines[0].split(": ")[1], "confirmed")
    assert place.list.exists()


def test_what_another_publisher_did_not_have_and_what_is_a_day_old_is_asked_again(place):
    other = Api()
    place.run("--url", other.url, f"{place.keys}:2", status=0)
    place.run(f"{place.keys}:2", status=0)
    equal(place.api.asked(), [place.false.id])
    absent = place.state / ".keyveto-not-confirmed"
    lines = absent.read_text(encoding="ascii").splitlines()
    equal(len(lines), 2)
    then = int(time.time()) - 86400
    absent.write_text("".join(f"{line.split()[0]} {then} {line.split()[2]}\n" for line in lines), encoding="ascii")
    place.run(f"{place.keys}:2", status=0)
    equal(place.api.asked(), [place.false.id])
    equal(len(absent.read_text(encoding="ascii").splitlines()), 1)
    other.close()


def test_a_kept_proof_counts_only_if_it_is_one(place):
    for damage in (b"", b"{}", place.false.proof(kid=place.true.id), place.true.proof()[:-9], b"\0" * 20000):
        place.proofs.mkdir(exist_ok=True)
        path = place.proofs / f"{place.true.id}.json"
        path.write_bytes(damage)
        place.run(f"{place.keys}:1", status=1)
        equal((place.api.asked(), path.read_bytes() == damage), ([place.true.id], False))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_answers_that_somebody_else_could_have_written_are_not_believed(place):
    absent = place.state / ".keyveto-not-confirmed"
    line = f"{place.true.id} {int(time.time())} {place.api.url}\n"
    for owner, mode in ((65534, 0o644), (0, 0o666), (0, 0o664)):
        write(absent, line).chmod(mode)
        os.chown(absent, owner, 0)
        done = place.run(place.keys, status=2)
        contains(done.said, f"{absent}: others can write it; remove it")
        equal((done.out, place.api.asked()), (b"", []))


def test_half_a_line_of_a_killed_run_does_no_harm(place):
    absent = place.state / ".keyveto-not-confirmed"
    for half in (place.true.id, f"{place.true.id} {int(time.time())} {place.api.url}", place.true.id[:9], "\n\n"):
        absent.write_text(half, encoding="ascii")
        equal(place.run(place.keys, status=1).lines[0].split(": ")[1], "confirmed")
        absent.unlink()
        (place.proofs / f"{place.true.id}.json").unlink()


def test_a_file_in_the_place_of_the_list_is_left_alone(place):
    place.list.write_bytes(b"not a list")
    done = place.run(place.keys, status=1)
    equal(place.list.read_bytes(), b"not a list")
    contains(done.said, str(place.list))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_keys_that_somebody_else_could_have_put_into_the_list_stay_out_of_one_that_logins_trust(place):
    """Else confirm would make them root's, and logins would refuse keys that nobody proved compromised."""
    for owner, mode in ((65534, 0o644), (0, 0o666), (0, 0o664)):
        write(place.list, list_of(place.false)).chmod(mode)
        os.chown(place.list, owner, 0)
        done = place.run(f"{place.keys}:1", status=1)
        contains(done.said, f"{place.list}: others can write it")
        equal((place.list.read_bytes(), place.list.stat().st_uid), (list_of(place.false), owner))
    place.list.chmod(0o644)
    place.run(f"{place.keys}:1", status=1)
    equal(len(place.list.read_bytes()), 32)


# Those that change files, and those between them.
CALLS = ("mkdir", "mkdirat", "flock", "write", "fsync", "fchmod", "fchown", "link", "linkat", "rename", "renameat",
         "renameat2", "unlink", "unlinkat")


@pytest.mark.long
def test_killed_at_any_system_call_the_list_has_only_keys_with_a_proof_and_the_next_run_ends_the_work(place):
    other = Key()
    before, after = blocklist.Blocklist(), blocklist.Blocklist()
    for made in (before, after):
        made.add(other.oracle, 2)
    after.add(place.true.oracle, 1)
    place.config.write_text(f"Filter {place.filter}\nBlocklist {place.list}\n", encoding="ascii")
    names, trace = place.list.with_name("confirmed.dat.sources"), place.scratch / "trace"

    def confirm(*strace):
        command = ["strace", "-o", trace, "-e", "signal=none", *strace, KEYVETO, *place.arguments("--yes", place.keys)]
        return attempt(*command, env=TRACED)

    def begin_again():
        for path in (*place.proofs.glob("*"), *place.state.glob(".*")):
            path.unlink()
        if place.proofs.exists():
            place.proofs.rmdir()
        names.write_text("2 other\n", encoding="ascii")
        place.list.write_bytes(before.encode())
    begin_again()
    equal(confirm("-e", f"trace={','.join(CALLS)}").returncode, 1)
    calls = re.findall(r"^(\w+)\(", trace.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    assert "linkat" in calls, calls
    for name in dict.fromkeys(calls):
        for n in range(1, calls.count(name) + 1):
            begin_again()
            equal(confirm("-e", f"inject={name}:signal=KILL:when={n}").returncode, -signal.SIGKILL, (name, n))
            assert place.list.read_bytes() in (before.encode(), after.encode()), (name, n)
            proof = place.proofs / f"{place.true.id}.json"
            if place.list.read_bytes() == after.encode() or proof.exists():
                equal(proof.read_bytes(), place.api.site.pages[f"/{place.true.id}"].body, (name, n))
            place.run(place.keys, "--yes", status=1)
            equal((place.list.read_bytes(), names.read_text(encoding="ascii")),
                  (after.encode(), "2 other\n1 confirmed\n"), (name, n))
            # host/replace says why the file of a lock may stay.
            equal(sorted(path.name for path in place.state.iterdir() if path.suffix != ".lock"),
                  [".keyveto-not-confirmed", "confirmed.dat", "confirmed.dat.sources", "proofs"], (name, n))


# --- what is no answer ---------------------------------------------------------

def serve(place, key=None, behave=None, **page_of):
    """What the server answers about the key."""
    made = place.api.site.pages[f"/{(key or place.true).id}"] = Page() if behave else page(**page_of)
    made.answer = behave or made.answer


@pytest.mark.parametrize("status", (200, 404))
@pytest.mark.parametrize("kind", ("text/html; charset=utf-8", "text/plain", "application/jsonp", None))
def test_an_answer_that_is_not_json_is_none(place, status, kind):
    """A portal, a proxy and a wrong URL also say 404."""
    headers = {"Content-Type": kind} if kind else {}
    for key in (place.true, place.false):
        serve(place, key, body=place.true.proof(), status=status, headers=headers)
        contains(place.no_answer(key), f"HTTP status {status}", kind or "of no type", "not application/json")


@pytest.mark.parametrize("kind", ("application/json;charset=UTF-8", "Application/JSON", "application/jose+json"))
def test_json_by_any_of_its_names_is_an_answer(place, kind):
    serve(place, body=place.true.proof(), headers={"Content-Type": kind})
    place.api.site.missing = page(b"{}", 404, {"Content-Type": kind})
    equal([one["verdict"] for one in place.verdicts(place.keys, status=1).values()], ["confirmed", "not confirmed"])


def test_a_page_of_html_that_calls_itself_json_proves_nothing(place):
    serve(place, body=b"<html><body>Please log in</body></html>")
    contains(place.no_answer(), "its proof is none")


@pytest.mark.parametrize("body", (b"<html>", b"\xef\xbb\xbf\r\n <!DOCTYPE html>"))
def test_a_404_of_html_that_calls_itself_json_is_no_answer(place, body):
    serve(place, place.false, body=body, status=404)
    contains(place.no_answer(place.false), "HTTP status 404", "a page of HTML or XML and not application/json")


@pytest.mark.parametrize("body, headers", (
    (b"", JSON), (b"null", JSON), (b'{"error": "no"}', JSON), (b"no such key", JSON), (b"", {})))
def test_a_404_of_the_api_may_say_anything(place, body, headers):
    """An empty one needs no type."""
    serve(place, place.false, body=body, status=404, headers=headers)
    place.run("--again", f"{place.keys}:2", status=0)


def test_an_answer_without_a_header_is_none(place):
    serve(place, behave=lambda handler: handler.wfile.write(place.true.proof() + b"\n\n"))
    reason = place.no_answer()
    contains(reason, "HTTP/0.9")
    lacks(reason, "redirects")


@pytest.mark.parametrize("status", (301, 302, 303, 307, 308))
def test_no_other_server_is_asked_after_a_redirect(place, status):
    other = Api()
    other.have(place.true, place.false)
    for key in (place.true, place.false):
        serve(place, key, redirect_to(f"{other.url}/{key.id}", status))
        contains(place.no_answer(key), f"HTTP status {status}", "redirects")
    equal(other.asked(), [])
    other.close()


@pytest.mark.parametrize("status", (204, 206, 400, 401, 403, 410, 418, 500, 502, 504))
def test_another_status_is_no_answer(place, status):
    for key in (place.true, place.false):
        serve(place, key, body=b"" if status == 204 else place.true.proof(), status=status)
        contains(place.no_answer(key), f"HTTP status {status}")


def endless(handler):
    answer(handler, 200, {**JSON, "Content-Length": str(1 << 60)}, b"")
    while True:
        handler.wfile.write(b"x" * 65536)


def endless_headers(handler):
    handler.wfile.write(b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n")
    while True:
        handler.wfile.write(b"X: " + b"x" * 1000 + b"\r\n")


def endless_interim(handler):
    while True:
        handler.wfile.write(b"HTTP/1.1 103 Early Hints\r\n\r\n")


@pytest.mark.parametrize("behave", (endless, endless_headers, endless_interim))
def test_an_endless_answer_is_none(place, behave):
    serve(place, behave=behave)
    place.no_answer()


@pytest.mark.parametrize("key", ("true", "false"))
def test_a_connection_that_is_cut_is_no_answer(place, key):
    key = getattr(place, key)
    body, status = (key.proof(), 200) if key is place.true else (b'{"error": "no such key"}', 404)

    def cut(handler):
        answer(handler, status, {**JSON, "Content-Length": str(len(body))}, body[:len(body) - 1])
        handler.close_connection = True
    serve(place, key, cut)
    place.no_answer(key)


def test_a_server_that_says_nothing_is_given_up(place):
    never = threading.Event()
    serve(place, behave=lambda handler: never.wait(PATIENCE))
    one = place.verdicts("--timeout", "1", place.write("one", f"{place.true.line}\n"), status=2)
    equal(one[place.true.fingerprint]["verdict"], "no answer")
    never.set()


@pytest.mark.parametrize("wrong", ("of another key", "for another kid", "alg none", "HS256", "other words"))
def test_a_wrong_proof_is_no_answer(place, wrong):
    true, body = place.true, None
    if wrong == "of another key":
        body = place.false.proof(kid=true.id)
    elif wrong == "for another kid":
        body = true.proof(kid=place.false.id)
    elif wrong == "other words":
        body = true.proof(payload=b"all is well")
    else:
        head = encode(json.dumps({"alg": wrong.removeprefix("alg "), "kid": true.id}).encode())
        payload = encode(b"key is pwned")
        mac = hmac.digest(true.spki, f"{head}.{payload}".encode(), hashlib.sha256) if wrong == "HS256" else b""
        body = json.dumps({"payload": payload, "protected": head, "signature": encode(mac)}).encode()
    serve(place, body=body)
    contains(place.no_answer(), "its proof is none: ")


def test_a_server_with_the_wrong_certificate_is_told_nothing(place):
    for line in (f"Confirm {place.api.url}\nProxy none\n",
                 f"Confirm {place.api.site.url('', host='127.0.0.1')}\nProxy none\n"
                 f"CAFile {authority().certificate}\n"):
        place.settings.write_text(line, encoding="ascii")
        contains(place.no_answer(), "certificate", "not who it claims to be")
    equal(place.api.asked(), [])


def test_one_answer_says_nothing_about_the_next_key(place):
    """Both over one connection."""
    serve(place, place.true, body=b"<html>", status=500, headers=HTML)
    found = place.verdicts(place.keys, status=2)
    equal([one["verdict"] for one in found.values()], ["no answer", "not confirmed"])
    equal(len({request.client_address for request in place.api.site.requests}), 1)


def test_the_page_has_what_is_printed_to_the_letter(place):
    """Of its section about confirm, with another key, and other folders."""
    text = (ROOT / "docs/operations.md").read_text(encoding="utf-8").split('## From "probably listed" to a proof')[1]
    lines = [line.strip() for line in text.split("\n## ")[0].splitlines() if line.startswith("    ")]
    asks, confirmed, not_confirmed, allow, verifies, proved = lines
    key, false = rsa_key(), place.false
    filter_ = small_filter(key)
    filter_.write(place.filter)
    while not filter_.contains(false.spki):
        false = Key()
    place.api.have(key)
    mallory, bob = place.write("mallory", f"{key.line}\n"), place.write("bob", f"{false.line} bob@home\n")
    names = dict(zip(re.findall(r"SHA256:\S+|[0-9a-f]{64}|/home/\w+/.ssh/authorized_keys", confirmed + not_confirmed),
                     (str(mallory), key.fingerprint, key.id, str(bob), false.fingerprint)))
    names |= {"https://v1.pwnedkeys.com": place.api.url, "/var/lib/keyveto": str(place.state),
              re.search(r"until=(\S+)", allow)[1]: today(90), allow.split()[-1]: today()}

    def here(line):
        for name, other in names.items():
            line = line.replace(name, other)
        return line
    equal(asks, "# keyveto confirm --log --url https://v1.pwnedkeys.com")
    equal(place.run(mallory, bob, status=1).lines, list(map(here, (confirmed, not_confirmed, allow))))
    prefix = "# keyveto "
    assert verifies.startswith(f"{prefix}proof verify "), verifies
    equal(run(*here(verifies.removeprefix(prefix)).split(), status=0).lines, [here(proved)])


# --- many keys -----------------------------------------------------------------

def many_keys(place, n):
    """Lists every key, and writes n of them to place.keys."""
    made = small_filter()
    made.bits[:] = b"\xff" * len(made.bits)
    made.entries = 100
    made.write(place.filter)
    rnd = random.Random(n)
    lines = [sshkey.key_line(sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(rnd.randbytes(32)))) for _ in range(n)]
    place.keys.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")


def test_a_server_that_gives_no_answers_is_left_alone(place):
    many_keys(place, 50)
    place.api.site.missing = page(b"<html>", 200, HTML)
    done = place.run("--rate", "1000", place.keys, status=2)
    equal(len(place.api.asked()), 5)
    contains(done.said, "45 keys were not asked about", "the server gives no answer",
             "0 confirmed, 0 not confirmed, 50 no answer")


def test_json_has_an_object_for_each_key_that_was_not_asked_about_too(place):
    many_keys(place, 50)
    place.api.site.missing = page(b"<html>", 200, HTML)
    found = place.verdicts("--rate", "1000", place.keys, status=2)
    equal((len(found), len(place.api.asked())), (50, 5))
    equal({one["verdict"] for one in found.values()}, {"no answer"})
    equal([one["reason"] for one in found.values()][5:], ["not asked about: the server gives no answer"] * 45)


@pytest.mark.parametrize("more", ((), ("--json",)), ids=("text", "JSON"))
def test_when_nobody_reads_the_answers_what_is_known_is_kept_and_no_more_is_asked(place, more):
    """As in keyveto confirm FILE | head -1."""
    many_keys(place, 50)
    place.keys.write_text(f"{place.true.line}\n{place.keys.read_text(encoding='ascii')}", encoding="ascii")
    read, write = os.pipe()
    os.close(read)
    done = attempt(KEYVETO, *place.arguments("--rate", "1000", *more, place.keys), stdout=write)
    os.close(write)
    equal((done.returncode, place.api.asked()), (2, [place.true.id]), done.stderr)
    contains(done.stderr, "50 keys were not asked about: the answers cannot be printed", "standard output: Broken pipe")
    equal(done.stderr.count("standard output"), 1, done.stderr)
    equal(place.kept(), [f"{place.true.id}.json", "confirmed.dat"])


def too_many(place, key, headers, times=1, status=429):
    """The first times that the key is asked about, the server says 429."""
    seen = []
    good = place.api.site.pages.get(f"/{key.id}", place.api.site.missing)

    def behave(handler):
        seen.append(time.monotonic())
        if len(seen) <= times:
            answer(handler, status, {**JSON, **headers}, b"{}")
        else:
            good.send(handler)
    serve(place, key, behave)
    return seen


@pytest.mark.parametrize("status", (429, 503))
def test_retry_after_is_honoured(place, status):
    seen = too_many(place, place.true, {"Retry-After": "2"}, status=status)
    done = place.run(place.keys, status=1)
    equal([line.split(": ")[1] for line in done.lines if "AllowKey" not in line], ["confirmed", "not confirmed"])
    assert seen[1] - seen[0] >= 2, seen
    contains(done.said, f"HTTP status {status}: waiting for 2 seconds, as it asks")


def test_a_date_in_retry_after_is_honoured(place):
    then = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=4)
    seen = too_many(place, place.true, {"Retry-After": then.strftime("%a, %d %b %Y %H:%M:%S GMT")})
    place.run(place.keys, status=1)
    assert seen[1] - seen[0] >= 2, seen


def test_nobody_waits_for_a_day_and_the_rest_is_not_asked(place):
    many_keys(place, 20)
    place.api.site.missing = page(b"{}", 429, {**JSON, "Retry-After": "86400"})
    done = place.run("--rate", "1000", place.keys, status=2)
    equal(len(place.api.asked()), 1)
    contains(done.out.decode(), "wants no question for 86400 seconds")
    contains(done.said, "19 keys were not asked about")


def test_the_rate_is_kept(place):
    many_keys(place, 12)
    start = time.monotonic()
    place.run("--rate", "5", place.keys, status=0)
    assert time.monotonic() - start >= 11 / 5


def start(place):
    """(process, the path of its output), of a run about place.keys."""
    out = place.scratch / "out"
    with open(out, "wb") as file:
        return subprocess.Popen([KEYVETO, *map(str, place.arguments("--rate", "1000", place.keys))], stdout=file,
                                stderr=subprocess.PIPE, text=True), out


def follow(place, process, enough=math.inf):
    """Waits until so many keys were asked about, or the end. Only a question that does not come is a hang."""
    paths = place.api.site.paths
    while process.poll() is None and len(paths) < enough:
        n = len(paths)
        wait_until(lambda: len(paths) != n or process.poll() is not None, "another key is asked about")


@pytest.mark.long
@pytest.mark.parametrize("how", (signal.SIGINT, signal.SIGTERM, signal.SIGKILL))
def test_many_keys_go_on_after_a_cut_where_they_ended(place, request, how):
    """With --campaign ten thousand."""
    n, half = (10000, 4000) if how == signal.SIGINT and request.config.getoption("--campaign") else (600, 200)
    many_keys(place, n)
    with open(place.keys, "a", encoding="ascii") as keys:
        keys.write(f"{place.true.line}\n")
    lines = place.keys.read_text(encoding="ascii").splitlines(keepends=True)
    place.keys.write_text("".join([lines[-1], *lines[:-1]]), encoding="ascii")
    process, out = start(place)
    follow(place, process, half)
    process.send_signal(how)
    _, err = process.communicate(timeout=PATIENCE)
    equal(process.returncode, -how)
    out = out.read_text(encoding="ascii")
    before = place.api.asked()
    assert half <= len(before) < n, len(before)
    if how != signal.SIGKILL:
        contains(err, "not asked about: interrupted; the same command goes on where this one ended")
        assert place.list.exists()
    process, _ = start(place)
    follow(place, process)
    _, err = process.communicate(timeout=PATIENCE)
    equal(process.returncode, 1)
    after = place.api.asked()
    # The key that was asked about when the run ended may be asked about again.
    assert len(set(before) | set(after)) == n + 1 and len(before) + len(after) <= n + 2, (len(before), len(after))
    contains(err, f"{n + 1} keys listed by filters only: 1 confirmed, {n} not confirmed, 0 no answer")
    equal(place.list.read_bytes(), list_of(place.true))
    assert out.count("not confirmed") >= half - 1


def test_a_terminal_sees_how_far_it_is(place):
    many_keys(place, 30)
    words = [KEYVETO, *place.arguments("--rate", "50", place.keys)]
    done = attempt("script", "-qec", " ".join(map(str, words)), "/dev/null")
    assert re.search(r"asking \d+ of 30 +\d+% [\d.]+/s", done.stdout), done.stdout[-2000:]


# --- the log -------------------------------------------------------------------

def test_bad_usage_says_what_to_give(place):
    for words, text in (((), "give a key, its fingerprint, a file, --log or --accounts"),
                        (("--log", "--accounts"), "not both"), (("--accounts", "x"), "takes no key"),
                        (("--rate", "0", "x"), "--rate"), (("--timeout", "x", "y"), "--timeout")):
        contains(place.run(*words, status=2).said, text)
    equal(place.api.asked(), [])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("option", ("--log", "--accounts"))
def test_only_root_can_ask_about_the_keys_of_the_machine(place, option):
    done = place.run(option, status=2, user=65534, group=65534, extra_groups=())
    equal(done.messages, ["keyveto: only root can read the keys of this machine; name a key or a file"])


@pytest.mark.parametrize("line, why", (("Confirm http://localhost", "Confirm needs a URL, https://..."),
                                       ("Confirm", "Confirm needs a URL"), ("Confirm https://a b", "Confirm needs"),
                                       ("Source badkeys\nConfirm https://a", "before the first Source")))
def test_a_mistake_in_confirm_is_told_with_its_line(place, line, why):
    place.settings.write_text(f"{line}\n", encoding="ascii")
    contains(place.run(place.keys, status=2).said, f"{place.settings}:", why)
