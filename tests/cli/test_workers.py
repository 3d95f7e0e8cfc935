# SPDX-License-Identifier: ISC
"""Programs in the place of keyveto-worker, which are none of ours: what they ask for and print may be anything.

tests/cli/test_walls.py has the worker itself, taken over.
"""

import re

import pytest

from hostile import put_worker
from program import attempt, copy_programs
from samples import write

REFUSED = {
    "says nothing": "",
    "ends with a status": "hello(); sys.exit(3)",
    "is killed": "hello(); os.kill(os.getpid(), signal.SIGSEGV)",
    "greets with another version": "hello(version=1); answer()",
    "greets with walls that are none": "hello(walls=16); answer()",
    "greets twice": "hello(); hello(); answer()",
    "does not greet": "opened(words[-1])",
    "sends a piece of a record": "hello(); front.send(bytes(3)); answer()",
    "sends a huge record": "hello(); front.send(struct.pack('>I', 1 << 31) + b'x'); answer()",
    "sends two records": "hello(); front.send(2 * (struct.pack('>I', 1) + b'\\7')); answer()",
    "asks what it never asks": "hello(); ask(99)",
    "opens another file": "hello(); opened(secret)",
    "opens a file beside by way of a folder": "hello(); opened(words[-1] + '.x/../secret')",
    "opens a file beside an audit": "hello(); opened(words[-1] + '.key')",
    "opens the names of no list": "hello(); opened(words[-1] + '.sources')",
    "opens one with another ending": "hello(); opened(words[-1][:-5] + '.key')",
    "opens a hidden file": "hello(); opened('.netrc')",
    "opens without a path": "hello(); ask(3)",
    "opens a path with a NUL": "hello(); ask(3, text(words[-1] + chr(0)), number(0))",
    "opens with more than is asked": "hello(); ask(3, text(words[-1]), number(0), b'x')",
    "asks for the size of another file": "hello(); stat(secret)",
    "walks another folder": "hello(); ask(6, text('/etc'))",
    "wants the next of no walk": "hello(); ask(7)",
    "walks within a walk": "hello(); tell(6, text(words[-1])); ask(6, text(words[-1]))",
    "promises after it has read": "hello(); opened(words[-1]); promise(secret)",
    "promises during a walk": "hello(); tell(6, text(words[-1])); promise(secret)",
    "promises a hundred files": "hello(); [promise(secret) for _ in range(100)]",
    "replaces what it did not promise": "hello(); opened(words[-1]); replace(secret)",
    "replaces a file that it may read": "hello(); opened(words[-1]); replace(words[-1])",
    "begins without a replacement": "hello(); begin()",
    "commits without a file": "hello(); promise(new); replace(new); commit()",
    "commits with more than it may say": "hello(); promise(new); replace(new); begin(); commit(0, 0, number(1))",
    "replaces two at once": "hello(); promise(new); replace(new); replace(new)",
    "begins twice": "hello(); promise(new); replace(new); begin(); begin()",
    "makes a thousand files": "hello(); [os.close(fd) for _ in range(1000) for fd in ask(5)[1]]",
}


@pytest.fixture(name="hostile")
def fixture_hostile(scratch):
    copy_programs(scratch)
    write(scratch / "secret", "secret\n")
    audit = write(scratch / "audit.json", '{"host": "a"}\n')

    def run(says, *command):
        lines = f"secret, new = {str(scratch / 'secret')!r}, {str(scratch / 'new')!r}\n{says}\n"
        put_worker(scratch / "keyveto-worker", lines)
        before = {path.name: path.read_bytes() for path in scratch.iterdir() if path.is_file()}
        done = attempt(scratch / "keyveto", *(command or ("filter", "info", audit)), text=False, cwd=scratch)
        after = {path.name: path.read_bytes() for path in scratch.iterdir() if path.is_file()}
        return done, before, after
    return run


@pytest.mark.parametrize("says", REFUSED.values(), ids=REFUSED)
def test_a_worker_that_is_none_of_ours_is_an_error(hostile, says):
    done, before, after = hostile(says)
    assert done.returncode == 2, done
    message = re.search(rb"^keyveto: (?:/.*: is as it was: )?the worker .*\n\Z", done.stderr, re.MULTILINE)
    assert message and (message.start() == 0 or b"Traceback" in done.stderr), done
    assert before == after, "a file was written"


def test_a_worker_that_hangs_up_gets_no_more_answers(hostile):
    done, _, _ = hostile("hello(); front.send(b''); print(answer())")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"(b'', [])\n", b"")


def test_a_worker_writes_what_it_promised(hostile):
    done, before, after = hostile("hello(); promise(new); opened(words[-1]); replace(new); fd = begin()[1][0]; "
                                  "os.write(fd, b'kept'); commit(); close(); print('done'); sys.exit(1)")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"done\n", b"")
    assert after == {**before, "new": b"kept"}


@pytest.mark.parametrize("ends, why", (("os.kill(os.getpid(), signal.SIGKILL)", "was ended by signal 9 (Killed)"),
                                       ("sys.exit(3)", "ended too early"),
                                       ("ask(99)", "asked for what it may not have")), ids=("killed", "ends", "lies"))
def test_a_worker_that_breaks_off_does_not_hide_what_was_written(hostile, scratch, ends, why):
    """The message says what the file is now."""
    begins = "hello(); promise(new); replace(new); fd = begin()[1][0]; os.write(fd, b'kept'); "
    done, before, after = hostile(begins + ends)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"keyveto: {scratch}/new: is as it was: the worker {why}\n"
    assert before == after
    done, before, after = hostile(begins + "commit(); " + ends)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"keyveto: {scratch}/new: the new one is in place, but the worker {why}\n"
    assert after == {**before, "new": b"kept"}


@pytest.mark.parametrize("ends, why", (
    ("os.kill(os.getpid(), signal.SIGKILL)", "was ended by signal 9 (Killed)"), ("sys.exit(0)", "ended too early"),
    ("front.shutdown(socket.SHUT_RD); tell(7); sys.exit(0)", "ended too early")), ids=("killed", "ends", "no answer"))
def test_a_worker_that_ends_during_a_walk_is_an_error_and_no_liar(hostile, ends, why):
    done, _, _ = hostile(f"hello(); tell(6, text(words[-1])); {ends}")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"keyveto: the worker {why}\n"


def test_a_worker_that_leaves_its_pipes_to_another_is_not_waited_for(hostile):
    done, _, _ = hostile("hello(); os.fork() or (front.recv(1), os._exit(0))")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_file_beside_is_opened_for_the_command_that_has_such_files(hostile, scratch):
    """NAME.sources for lists: opened, or not there. Any other is refused."""
    write(scratch / "l.sources", "names\n")
    write(scratch / "audit.pem", "key\n")
    opens = "hello(); print([os.read(fd, 9) for fd in opened({!r})[1]])"
    names, key = str(scratch / "l.sources"), str(scratch / "audit.pem")
    for command, path, expected in ((("list", "info", scratch / "l"), names, b"[b'names\\n']\n"),
                                    (("list", "info", scratch / "no"), str(scratch / "no.sources"), b"[]\n"),
                                    (("list", "info", scratch / "audit.json"), key, None),
                                    (("list", "info", scratch / "l"), names + ".more", None),
                                    (("list", "info", scratch / "l"), str(scratch / "l.source"), None),
                                    (("filter", "info", scratch / "l"), names, None),
                                    (("filter", "info", scratch / "audit.json"), key, None),
                                    (("proof", "verify", scratch / "audit.json"), key, None),
                                    (("proof", "verify", scratch / "l"), names, None)):
        done, _, _ = hostile(opens.format(path), *command)
        if expected is None:
            assert (done.returncode, done.stdout) == (2, b""), command
            assert done.stderr.startswith(b"keyveto: the worker asked for what it may not have\n"), (command, done)
        else:
            assert (done.returncode, done.stdout, done.stderr) == (0, expected, b""), command


def test_a_file_is_not_written_once_it_is_in_place(hostile):
    """Who may see the file before it takes effect saw all of it."""
    done, before, after = hostile("hello(); promise(new); replace(new); fd = begin()[1][0]; os.write(fd, b'kept'); "
                                  "commit(); os.pwrite(fd, b'evil', 0); close()")
    assert (done.returncode, done.stderr) == (0, b"")
    assert after == {**before, "new": b"kept"}


def test_what_a_worker_replaces_begins_as_what_it_writes(hostile, scratch):
    write(scratch / "new", "another file\n")
    done, before, after = hostile("hello(); promise(new); replace(new); os.write(begin()[1][0], b'kept'); commit()",
                                  "proof", "verify", scratch / "audit.json", scratch / "new")
    assert before == after and b"new: is there, and no such file as is written here; " in done.stderr, done


def test_what_a_worker_prints_has_no_controls(hostile):
    said = b"a\tb\r\nc\x1b[2Jd\x00\x7f\xc2\x9b\xff\xe2\x82\xac\xe2\x82x\rover\xf0\x9f\x98\x80\xed\xa0\x80\xc3"
    shown = rb"\x1b[2Jd\x00\x7f\xc2\x9b\xff" + "€".encode() + rb"\xe2\x82x\x0dover"
    shown += "😀".encode() + rb"\xed\xa0\x80\xc3"
    for stream in ("1", "2"):
        done, _, _ = hostile(f"hello()\nfor i in range(len({said!r})): os.write({stream}, {said!r}[i:i+1])")
        assert done.returncode == 0
        assert (done.stdout + done.stderr) == b"a\tb\r\nc" + shown, stream


def test_what_is_below_a_folder_is_opened_without_links(scratch):
    """A walked folder may be an attacker's: a link in it leads nowhere."""
    copy_programs(scratch)
    folder = scratch / "folder"
    write(folder / "below/plain", "plain\n")
    write(scratch / "secret", "secret\n")
    (folder / "link").symlink_to("../secret")
    (folder / "up").symlink_to("..")
    says = """
hello()
for name in ("below/plain", "link", "up/secret", "../secret", "below/../../secret", "/etc/passwd"):
    data, fds = opened(words[-1] + "/" + name)
    print(name, [os.read(fd, 100) for fd in fds])
"""
    put_worker(scratch / "keyveto-worker", says)
    done = attempt(scratch / "keyveto", "filter", "info", folder)
    assert done.stdout.splitlines() == ["below/plain [b'plain\\n']", "link []", "up/secret []", "../secret []",
                                        "below/../../secret []", "/etc/passwd []"], done


def test_the_output_comes_in_its_order(hostile):
    """What the front says of a replacement comes after what was printed before it."""
    done, _, _ = hostile("hello(); promise(secret + '/no/such'); print('first', file=sys.stderr, flush=True); "
                         "replace(secret + '/no/such'); print('last', file=sys.stderr)")
    lines = done.stderr.decode().splitlines()
    assert lines[0] == "first" and lines[-1] == "last" and len(lines) == 3, lines
