# SPDX-License-Identifier: ISC
"""keyveto check: standard input, and progress on a terminal."""

import fcntl
import functools
import itertools
import os
import pty
import random
import re
import select
import subprocess
import termios
import threading
import time


from check_runs import check, mixed_text, sixty_megabytes, started
from keys import generate
from program import KEYVETO, PATIENCE, ROOT, attempt, contains, equal, keyveto, lacks, wait_until_read
from runs import nothing_raw
from samples import MIB, empty_filter, folder, listing, made, write
from terminal import read_to_end


def test_standard_input_is_read_named_or_not(scratch):
    """Also between files, and without a newline at its end."""
    ed, rsa = made()["ed25519"], made()["rsa"]
    path = write(scratch / "file", rsa.line)
    data = ed.line.encode()
    for words, stdin, names in ((["-"], data, ["-"]), ([], data, ["-"]), ([], data + b"\n", ["-"]),
                                ([path, "-"], data, [path, "-"]), (["-", path], data, ["-", path]),
                                (["-", "-"], data, ["-"])):
        result = check("--all", *words, stdin=stdin, status=0)
        equal([line.split(":")[0] for line in result.lines], [str(name) for name in names], f"{words}")
    # A file called "-" can be given as ./-.
    write(scratch / "-", rsa.line)
    result = check("--all", "./-", stdin=data, status=0, cwd=scratch)
    contains(result.out.decode(), f"./-:1: clean: ssh-rsa 2048 {rsa.fingerprint}")


def wait_for(stream, needle):
    """Reads a pipe until needle is in the text: that text."""
    text, end = b"", time.monotonic() + PATIENCE
    while needle not in text:
        ready, _, _ = select.select([stream], [], [], max(0, end - time.monotonic()))
        assert ready, f"in vain: {text!r}, no {needle!r}"
        more = os.read(stream.fileno(), 65536)
        assert more, f"ended with {text!r}, no {needle!r}"
        text += more
    return text


def test_a_slow_pipe_gets_its_findings_before_it_ends(scratch):
    ed, rsa = made()["ed25519"], made()["rsa"]
    bad = listing(scratch / "bad.pkbf", ed, rsa)
    for form in ((), ("--json",)):
        with started([KEYVETO, "check", *form, "--filter", bad, "-"], stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            for number, key in enumerate((ed, rsa, ed), 1):
                process.stdin.write(f"{key.line}\n".encode())
                process.stdin.flush()
                text = wait_for(process.stdout, key.fingerprint.encode())
                contains(text.decode(), f"-:{number}: " if not form else f'"line":{number},')
            process.stdin.write(b"broken\n")
            process.stdin.flush()
            wait_for(process.stderr, b"-:4: no key on this line")
            equal(process.poll(), None, "ended early")
            process.stdin.close()
            equal(process.wait(PATIENCE), 1, "status")


def test_a_filter_cut_short_during_the_run_makes_no_key_clean(scratch):
    """A finding that was printed before stays."""
    ed, rsa = made()["ed25519"], made()["rsa"]
    # After the cut, the mapped last page holds zeros, and access beyond it is a SIGBUS.
    for first, length, form in itertools.product(([ed], []), (12, 24), ((), ("--all",))):
        bad = listing(scratch / f"bad-{len(first)}-{length}.pkbf", ed, p=length)
        with started([KEYVETO, "check", *form, "--filter", bad, "-"], stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            for key in first:
                process.stdin.write(f"{key.line}\n".encode())
                process.stdin.flush()
                wait_for(process.stdout, key.fingerprint.encode())
            # keyveto has opened its filters before it reads.
            process.stdin.write(b"# a comment\n")
            process.stdin.flush()
            wait_until_read(process.stdin)
            os.truncate(bad, 24)
            process.stdin.write(f"{rsa.line}\n".encode())
            process.stdin.close()
            out, text = process.stdout.read(), process.stderr.read().decode()
            assert "was ended by signal 7" in text or f"{bad}: was cut short" in text, text
            assert b"clean" not in out and "clean" not in text, f"{out}, {text}"
            equal(process.wait(PATIENCE), 2, "status")


def test_a_burst_gets_its_findings_before_the_pipe_ends(scratch):
    """Bursts of several lengths."""
    ed = made()["ed25519"]
    bad = listing(scratch / "bad.pkbf", ed)
    line = f"{ed.line}\n".encode()
    for size in (MIB - 1, MIB, MIB + 1, MIB + 50, 2 * MIB, 3 * MIB - 1):
        pad = b"#" * 99 + b"\n"
        data = pad * ((size - len(line) - 100) // 100)
        data += b"#" * (size - len(line) - len(data) - 1) + b"\n" + line
        with started([KEYVETO, "check", "--filter", bad], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                     stderr=subprocess.DEVNULL) as process:
            process.stdin.write(data)
            process.stdin.flush()
            try:
                wait_for(process.stdout, f"-:{data.count(bytes([10]))}: listed: ".encode())
            except AssertionError as error:
                raise AssertionError(f"{size} bytes: {error}") from None
            process.stdin.close()
            process.wait(PATIENCE)


def test_a_stream_in_pieces_of_any_size_is_the_same_as_a_file(scratch):
    rnd = random.Random(2)
    data = mixed_text(rnd, 200_000)
    path = write(scratch / "file", data)
    wanted = check("--all", path)
    with started([KEYVETO, "check", "--all", "--filter", empty_filter()], stdin=subprocess.PIPE,
                 stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        def feed():
            place = 0
            while place < len(data):
                size = rnd.choice((1, 7, 80, 1000, 5000))
                process.stdin.write(data[place:place + size])
                process.stdin.flush()
                place += size
            process.stdin.close()

        feeder = threading.Thread(target=feed, daemon=True)
        feeder.start()
        errors = threading.Thread(target=process.stderr.read, daemon=True)
        errors.start()
        out = process.stdout.read()
        process.wait(PATIENCE)
    equal(out.replace(b"-:", f"{path}:".encode()), wanted.out, "output")


@functools.cache
def twenty_megabytes():
    """The first part of sixty_megabytes(): large enough for a progress bar."""
    with open(sixty_megabytes(), "rb") as file:
        return write(folder() / "twenty", file.read(20_000_000))


class Screen:
    """A terminal of one line. It keeps that line, and the lines that have scrolled off."""

    def __init__(self):
        self.above, self.line, self.column, self.bars = [], "", 0, []

    def feed(self, text):
        for token in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|[\s\S]", text):
            if token == "\r":
                if self.line.startswith("checking"):
                    self.bars.append(self.line)
                self.column = 0
            elif token == "\n":
                self.above.append(self.line)
                self.line, self.column = "", 0
            elif token == "\x1b[K":
                self.line = self.line[:self.column]
            elif not re.fullmatch("\x1b\\[[0-9;]*m", token):      # a colour
                assert token[0] != "\x1b", f"odd control sequence {token!r}"
                self.line = self.line[:self.column] + token + self.line[self.column + 1:]
                self.column += 1


def on_terminal(argv, stdout_too, feed=None):
    """Runs a program whose standard error is a terminal: (Screen, its standard output, status)."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, b"\x18\0\x50\0\0\0\0\0")
    with started(argv, stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
                 stdout=slave if stdout_too else subprocess.PIPE, stderr=slave) as process:
        os.close(slave)
        if feed:
            threading.Thread(target=feed, args=(process.stdin,), daemon=True).start()
        other = []
        if not stdout_too:
            drain = threading.Thread(target=lambda: other.append(process.stdout.read()), daemon=True)
            drain.start()
        data = read_to_end(master)
        process.wait(PATIENCE)
        if not stdout_too:
            drain.join(PATIENCE)
    screen = Screen()
    screen.feed(data.decode("ascii").replace("\r\n", "\n"))
    equal(screen.line, "", "left on the last line")
    return screen, b"".join(other), process.returncode


BAR = re.compile(r"checking \d+\.\d MiB( of \d+\.\d MiB +\d+%)? \d+\.\d MiB/s( \d+:\d\d left)?")


def test_progress_on_a_terminal_has_rate_and_time_left(scratch):
    """Findings stand on lines of their own."""
    path = twenty_megabytes()
    bad = listing(scratch / "bad.pkbf", made()["ed25519"])
    wanted = check(path, filters=[bad], status=1)
    messages = wanted.warnings + wanted.messages
    argv = [KEYVETO, "check", "--filter", bad, path]
    for together in (True, False):
        screen, out, status = on_terminal(argv, together)
        equal(status, 1, "status")
        if together:
            assert sorted(screen.above) == sorted(wanted.lines + messages), "other lines are on the terminal"
        else:
            equal(screen.above, messages, "messages")
            assert out == wanted.out, "other findings"
        assert screen.bars, "no bar"
        for bar in screen.bars:
            assert BAR.fullmatch(bar) and len(bar) < 80, f"odd bar {bar!r}"
        assert any(" of " in bar and bar.endswith(" left") for bar in screen.bars), f"no time left: {screen.bars}"
        shares = [int(re.search(r"(\d+)%", bar)[1]) for bar in screen.bars if "%" in bar]
        assert shares == sorted(shares) and shares[-1] <= 100, f"shares {shares}"


def test_progress_of_a_stream_has_a_rate_and_no_time_left():
    data = sixty_megabytes().read_bytes()[:8_000_000]

    def feed(stdin):
        for place in range(0, len(data), 400_000):
            stdin.write(data[place:place + 400_000])
            stdin.flush()
            time.sleep(0.03)
        stdin.close()

    screen, _, _ = on_terminal([KEYVETO, "check", "--filter", empty_filter()], False, feed)
    assert len(screen.bars) > 2, f"bars {screen.bars}"
    for bar in screen.bars:
        assert BAR.fullmatch(bar) and "left" not in bar and "of" not in bar, f"odd bar {bar!r}"


def test_in_a_pipe_or_with_quiet_there_is_no_progress():
    path = twenty_megabytes()
    result = check(path)
    lacks(result.err.decode(), "MiB", "\r")
    screen, out, _ = on_terminal([KEYVETO, "check", "--quiet", "--filter", empty_filter(), path], False)
    equal((screen.bars, out), ([], b""), "with --quiet")
    # Standard output is a terminal and standard error a pipe: no bar either.
    master, slave = pty.openpty()
    done = attempt(KEYVETO, "check", "--filter", empty_filter(), path, text=False, stdout=slave)
    os.close(slave)
    os.close(master)
    nothing_raw(done.stderr)


def test_the_text_of_a_key_is_read(scratch):
    """In quotes; a file of that name wins."""
    demo = (ROOT / "testdata/demo/compromised.pub").read_text(encoding="ascii").strip()
    options = ("--all", "--filter", ROOT / "testdata/demo/demo.pkbf")
    contains(check(*options, demo, status=1).out.decode(), "-:1: listed: ssh-ed25519 256 SHA256:")
    said = check(*options, demo, f"{generate(scratch).key}", demo, "/dev/null", status=None)
    contains(said.out.decode() + said.err.decode(), "-:1: listed: ", "-:3: listed: ", "3 keys in ")
    contains(check(*options, demo, "-", status=2).err.decode(), "give - or the text of a key, not both")
    name = "ssh-rsa AAAA"
    (scratch / name).write_text("nothing\n", encoding="ascii")
    contains(keyveto("check", *options, name, cwd=scratch, status=2).stderr, f"{name}:1: no key on this line")
