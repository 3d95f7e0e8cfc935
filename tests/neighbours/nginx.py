# SPDX-License-Identifier: ISC
"""README's publisher and a server that follows it: two throw-away roots, each with an address, and Debian's nginx.

A veth pair joins the networks of the two roots; the machine's own network has no part in it. What was fetched is read
from nginx's log.
"""

import random
import re
import shlex
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path += [str(ROOT / "tests" / folder) for folder in ("readme", "packaging")]

import host
import product
from bench import check
from box import Box
from reader import read_steps
from steps import Part

ADDRESSES = {"publisher": "192.0.2.1", "follower": "192.0.2.2"}
HOST = "keys.example.com"       # as README calls it
LISTED, LISTED_KEY = ROOT / "testdata/demo/compromised.pub", ROOT / "testdata/demo/compromised"
STATE, CRON = "/var/lib/keyveto", "/etc/cron.d/keyveto-publish"
LOG = "/var/log/nginx/access.log"
# What is large, by the ending. Manifests and signatures are small.
KINDS = {".xz": "list", ".pkbf": "filter", ".zst": "patch"}
LINE = re.compile(r'^\S+ - - \[[^]]*\] "GET /keyveto/(\S+) HTTP/[0-9.]+" (\d+) (\d+) "-" "([^"]*)"$', re.MULTILINE)
# apt takes what scripts/deps has downloaded, and starts no service.
APT = f'Dir::Cache::Archives "{host.DOWNLOADED}";\nAPT::Get::Download "false";\nAPT::Install-Recommends "false";\n' \
      'DPkg::Options { "--force-unsafe-io"; };\n'


class Server(Box):
    """A throw-away root with README's steps, whose apt takes what has been downloaded."""

    def __init__(self, name):
        super().__init__(name, folder=ROOT)
        self.steps = read_steps()
        self.path("/usr/sbin/policy-rc.d").write_text(host.NO_SERVICE, encoding="ascii")
        self.path("/usr/sbin/policy-rc.d").chmod(0o755)
        self.path("/etc/apt/apt.conf.d/99neighbours").write_text(APT, encoding="ascii")
        self.path("/var/lib/man-db/auto-update").unlink(missing_ok=True)

    def follow(self, step, change=lambda text: text):
        return self.run(change(self.steps[step]))


def join(boxes):
    """Gives each root its address, and joins them by a veth pair."""
    one, two = boxes
    one.ip("link", "add", "kv-one", "type", "veth", "peer", "name", "kv-two", "netns", two.pid)
    for box, link in ((one, "kv-one"), (two, "kv-two")):
        box.ip("address", "add", f"{ADDRESSES[box.name]}/24", "dev", link)
        box.ip("link", "set", link, "up")
        with open(box.path("/etc/hosts"), "a", encoding="ascii") as hosts:
            hosts.write(f"{ADDRESSES['publisher']} {HOST}\n")


def made_keys(n, seed):
    """Lines of that many Ed25519 keys, of which nobody has the private half."""
    draw = random.Random(seed)
    head = b"\0\0\0\x0bssh-ed25519\0\0\0\x20"
    return "".join(f"ssh-ed25519 {b64encode(head + draw.randbytes(32)).decode()}\n" for _ in range(n))


class Pair:
    """The publisher and the follower."""

    def __init__(self, part, publisher, follower):
        self.part, self.publisher, self.follower = part, publisher, follower
        self.read = 0       # characters of nginx's log

    def publish_as_readme(self):
        """The lines of README. Where there is no systemd, its script of Debian reloads nginx."""
        self.publisher.follow("install")
        self.publisher.run("ssh-keygen -A")
        first, rest = self.publisher.steps["publisher"].split("\n", 1)
        self.publisher.run(first)
        # The package does so where services may start. A daemon must not keep the pipe of run() open.
        self.publisher.run("service nginx start >/dev/null 2>&1")
        said = self.publisher.run(rest.replace("systemctl reload nginx", "service nginx reload"))
        host.wait_until(lambda: self.answers(HOST, 443), f"nginx serves {HOST}")
        self.part.ok(f"README's {len(self.publisher.steps['publisher'].splitlines())} lines of a publisher: {said}")

    def answers(self, name, port):
        """Whether the follower can connect."""
        return "yes" in self.follower.run(f"(: </dev/tcp/{name}/{port}) 2>/dev/null && echo yes || echo no")

    def follow_as_readme(self):
        self.follower.follow("install")
        self.follower.run("ssh-keygen -A")
        for name in ("publisher.pub", "web.crt"):
            self.follower.path(f"/etc/keyveto/{name}").write_bytes(
                self.publisher.path(f"/etc/keyveto/{name}").read_bytes())
        said = self.follower.follow("follower")
        self.same("own.dat", "ours.dat")
        lines = len(self.follower.steps["follower"].splitlines())
        self.fetched(f"README's {lines} lines of a follower", ["list"], said)

    def same(self, published, followed):
        one, two = (box.path(f"{STATE}/{name}").read_bytes()
                    for box, name in ((self.publisher, published), (self.follower, followed)))
        check(one == two, f"{followed} is not {published}: {len(two)} bytes for {len(one)}")

    def fetched(self, when, wanted, said=""):
        """Compares what nginx has sent since the last call: the kinds, in their order, of what is not small.

        Returns their bytes.
        """
        found, large = [], []

        def all_are_there():
            text = self.publisher.path(LOG).read_text(encoding="ascii")[self.read:]
            found[:] = LINE.findall(text)
            check(len(found) == text.count("\n"), f"{when}: unexpected lines: {text}")
            large[:] = [(KINDS[Path(path).suffix] + ("" if status == "200" else f" {status}"), int(size))
                        for path, status, size, _ in found if Path(path).suffix in KINDS]
            return found and len(large) >= len(wanted)
        host.wait_until(all_are_there, f"nginx has logged {wanted}: {said}")
        check([kind for kind, _ in large] == wanted, f"{when}: fetched {found}: {said}")
        check({agent for *_, agent in found} <= {"-", "keyveto"}, f"{when}: a request says who asks: {found}")
        self.read = self.publisher.path(LOG).stat().st_size
        self.part.ok(f"{when}: {', '.join(f'{path} {size} bytes' for path, _, size, _ in found)}")
        return [size for _, size in large]

    def publish(self):
        """Does what cron does with README's line."""
        line, = self.publisher.path(CRON).read_text(encoding="ascii").splitlines()
        command = line.split(None, 6)[6]
        said = self.publisher.run(f"exec /bin/sh -c {shlex.quote(command)}",
                                  env=("PATH=/usr/bin:/bin", "HOME=/root", "LOGNAME=root", "SHELL=/bin/sh"))
        check(said == "", f"cron would send mail: {said}")

    def update(self, status=0):
        """Does what keyveto-update.timer does."""
        unit = self.follower.path("/lib/systemd/system/keyveto-update.service").read_text(encoding="ascii")
        return self.follower.run(re.search("^ExecStart=(.*)$", unit, re.MULTILINE)[1], status=status)

    # A login

    def serve_logins(self):
        """The follower has an account with a good key, and asks the list."""
        self.follower.run("useradd --create-home visitor && install -d -o visitor -m 700 ~visitor/.ssh && "
                          f"install -m 600 {LISTED_KEY} /root/leaked && "
                          "for key in good new; do ssh-keygen -q -t ed25519 -N '' -f /root/$key; done && "
                          f"cat /root/good.pub /root/new.pub {LISTED} >~visitor/.ssh/authorized_keys && "
                          "keyveto enable --yes && mkdir -p /run/sshd && /usr/sbin/sshd >/dev/null 2>&1")
        host.wait_until(lambda: self.answers("127.0.0.1", 22), "sshd listens")

    def log_in(self, key):
        return self.follower.run(
            f"ssh -F none -i /root/{key} -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=no "
            "-o UserKnownHostsFile=/dev/null visitor@127.0.0.1 echo let in 2>&1 || true")

    def expect_logins(self, when, good, bad):
        for key in (*good, *bad):
            said = self.log_in(key)
            check(("let in" in said) == (key in good), f"{when}: the key {key}: {said}")
        self.part.ok(f"{when}: sshd lets in {', '.join(good)}, and refuses {', '.join(bad)}")


def follows_a_list(part, pair):
    pair.publish_as_readme()
    pair.follow_as_readme()
    said = pair.follower.run(f"keyveto check {LISTED}", status=1)
    check(f"{STATE}/ours.dat" in said, f"keyveto check does not ask the list: {said}")
    pair.serve_logins()
    pair.expect_logins("README's list", ("good", "new"), ("leaked",))
    said = pair.update()
    pair.fetched("the timer, with nothing new", [], said)

    pair.publisher.path("/root/new.pub").write_bytes(pair.follower.path("/root/new.pub").read_bytes())
    pair.publisher.path("/root/more").write_text(made_keys(5000, "list"), encoding="ascii")
    pair.publisher.run(f"keyveto list add {STATE}/own.dat --id 1 /root/more")
    pair.publish()
    said = pair.update()
    pair.same("own.dat", "ours.dat")
    # From a list of one key there is no patch that has half of the bytes.
    full = pair.fetched("5000 keys more", ["patch 404", "list"], said)[1]
    pair.publisher.run(f"keyveto list add {STATE}/own.dat --id 1 /root/new.pub")
    pair.publish()
    said = pair.update(status=1)        # a key in use is listed now
    check("visitor" in said, f"the update does not name who is refused now: {said}")
    pair.same("own.dat", "ours.dat")
    patch, = pair.fetched("one key more", ["patch"], said)
    check(patch * 20 < full, f"a patch of one key has {patch} bytes, the list {full}")
    pair.expect_logins("one key more", ("good",), ("new", "leaked"))
    pair.publish()
    said = pair.update()
    pair.fetched("cron, with nothing new, renews the manifest", [], said)


def follows_a_filter(part, pair):
    """The same with a filter beside the list, as README and docs/operations.md say."""
    for name, n in (("many", 50000), ("more", 1000)):
        pair.publisher.path(f"/root/{name}").write_text(made_keys(n, name), encoding="ascii")
    pair.publisher.run(f"keyveto filter create {STATE}/ours.pkbf --entries 200000 --fpr 1e-9 && "
                       f"keyveto filter add {STATE}/ours.pkbf /root/many")
    cron = pair.publisher.path(CRON)
    cron.write_text(cron.read_text(encoding="ascii").rstrip() + f" {STATE}/ours.pkbf\n", encoding="ascii")
    pair.publish()
    change = {"'Source ours' 'Format badkeys'": "'Source filter'", "Source ours": "Source filter",
              "--source ours": "--source filter", "own.json": "ours.pkbf", "ours.dat": "ours.pkbf",
              "Blocklist": "Filter"}

    def for_a_filter(text):
        for old, new in change.items():
            check(old in text, f"README has no {old}")
            text = text.replace(old, new)
        return text
    said = pair.follower.follow("follower", for_a_filter)
    pair.same("ours.pkbf", "ours.pkbf")
    full, = pair.fetched("a filter of 50000 keys", ["filter"], said)
    pair.publisher.run(f"keyveto filter add {STATE}/ours.pkbf /root/more")
    pair.publish()
    said = pair.update()
    pair.same("ours.pkbf", "ours.pkbf")
    patch, = pair.fetched("1000 keys more", ["patch"], said)
    check(patch * 10 < full, f"a patch of 1000 keys has {patch} bytes, the filter {full}")
    said = pair.update()
    pair.fetched("nothing new", [], said)
    pair.follower.path("/root/one").write_text(made_keys(1, "more"), encoding="ascii")
    said = pair.follower.run("keyveto check /root/one", status=1)
    check(f"{STATE}/ours.pkbf" in said, f"keyveto check does not ask the filter: {said}")
    part.ok("keyveto check of the follower finds a key that the patch brought")


def play():
    """Plays both. This process is outside of the two roots that it makes."""
    if not subprocess.run(["ip", "-V"], stdout=subprocess.DEVNULL, check=False).returncode == 0:
        raise product.CannotRun("ip is not installed: type scripts/deps neighbours")
    part, boxes = Part(), []
    try:
        for name in ADDRESSES:
            boxes.append(Server(name))
        join(boxes)
        pair = Pair(part, *boxes)
        for scene in (follows_a_list, follows_a_filter):
            part.run(scene, pair)
    finally:
        for box in boxes:
            box.close()
    return part.status()
