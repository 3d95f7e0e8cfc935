# SPDX-License-Identifier: ISC
"""gitolite3: people who share one account, told apart by the forced command of their key."""

import itertools
from functools import partial
from pathlib import Path

import keys
from bench import check
from host import run
from switch import Arrangement
from visits import Visit, outcome_seen, shell

PACKAGES = ("gitolite3", "git")

ACCOUNT = "git"
HOME = Path("/srv/git")
REPOSITORY = HOME / "repositories/shared.git"
STOCK = "Include /etc/ssh/sshd_config.d/*.conf\nUsePAM yes\nKbdInteractiveAuthentication no\n"
RULES = "\nrepo shared\n    RW = alice mallory\n"

_numbers = itertools.count(1)


class Git:
    """Runs git over ssh, as a person does."""

    def __init__(self, world):
        self.world = world
        self.config = world.scratch / "gitconfig"
        self.config.write_text("[user]\nname = Somebody\nemail = somebody@example.org\n[init]\ndefaultBranch = master\n"
                               "[safe]\ndirectory = *\n", encoding="ascii")

    def run(self, identity, *words):
        ssh = ["ssh", "-F", str(self.world.clients.config), "-o", f"Port={self.world.server.port}", *identity.options]
        return self.world.clients.run(["git", *(str(word) for word in words)], environment={
            "GIT_CONFIG_GLOBAL": str(self.config), "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
            "HOME": str(self.world.scratch), "GIT_SSH_COMMAND": " ".join(ssh)})

    def must(self, identity, *words):
        outcome = self.run(identity, *words)
        check(outcome.status == 0, f"git {words}: {outcome}")
        return outcome

    def clone(self, identity, name):
        folder = self.world.scratch / f"clone{next(_numbers)}"
        return folder, self.run(identity, "clone", "-q", f"{ACCOUNT}@127.0.0.1:{name}", folder)

    def head(self):
        """The commit that the repository on the server has, read from its files."""
        return run("git", "--git-dir", REPOSITORY, "rev-parse", "--verify", "-q", "master",
                   env={"PATH": "/usr/bin:/bin", "GIT_CONFIG_GLOBAL": str(self.config)})


def _set_up(world, git, people):
    """Sets up gitolite by its README: an administrator pushes keys and rules."""
    run("useradd", "--create-home", "--home-dir", HOME, "--user-group", "--shell", "/bin/bash", ACCOUNT)
    admin = keys.generate(world.scratch)
    public = world.scratch / "admin.pub"
    public.write_text(f"{admin.key}\n", encoding="ascii")
    public.chmod(0o644)
    run("runuser", "-l", ACCOUNT, "-c", f"gitolite setup -pk {public}")
    folder, outcome = git.clone(admin, "gitolite-admin")
    check(outcome.status == 0, f"the administrator cannot clone: {outcome}")
    for name, identity in people.items():
        (folder / "keydir" / f"{name}.pub").write_text(f"{identity.key}\n", encoding="ascii")
    with open(folder / "conf/gitolite.conf", "a", encoding="ascii") as rules:
        rules.write(RULES)
    git.must(admin, "-C", folder, "add", ".")
    git.must(admin, "-C", folder, "commit", "-q", "-m", "people and a repository")
    git.must(admin, "-C", folder, "push", "-q", "origin", "master")
    authorized = (HOME / ".ssh/authorized_keys").read_text(encoding="ascii")
    for name, identity in people.items():
        check(f'gitolite-shell {name}",' in authorized and str(identity.key) in authorized,
              f"gitolite has no line for {name}: {authorized}")


def _push(git, identity):
    """Clones, changes and pushes: whether the change arrived."""
    before = git.head() if any((REPOSITORY / "refs/heads").iterdir()) else ""
    folder, outcome = git.clone(identity, "shared")
    if outcome.status == 0:
        git.must(identity, "-C", folder, "commit", "-q", "--allow-empty", "-m", "a change")
        outcome = git.run(identity, "-C", folder, "push", "-q", "origin", "master")
    after = git.head() if any((REPOSITORY / "refs/heads").iterdir()) else ""
    check((after != before) == (outcome.status == 0), f"git says {outcome}, and master went from {before} to {after}")
    return outcome_seen(outcome, outcome.status == 0, "cloned, changed and pushed")


def arrange(world):
    git = Git(world)
    _set_up(world, git, {"alice": world.clean, "mallory": world.listed})

    def pushes(title, identity, **how):
        return Visit(title, ACCOUNT, partial(_push, git, identity), **how)

    def says(title, name, identity, **how):
        return Visit(title, ACCOUNT, partial(shell, world, ACCOUNT, identity,
                                             f"hello {name}, this is {ACCOUNT}@", "info"),
                     **how)
    yield Arrangement("gitolite", STOCK, (
        pushes("a clone and a push with a clean key", world.clean),
        pushes("a clone and a push with a listed key", world.listed, listed=True),
        pushes("a clone with a stranger's key", world.stranger, known=False),
        says("a clean key, which gitolite takes for alice,", "alice", world.clean),
        says("a listed key, which gitolite takes for mallory,", "mallory", world.listed, listed=True),
    ), ACCOUNT)
