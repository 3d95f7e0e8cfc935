# SPDX-License-Identifier: ISC
"""What all hosts of one run of Ansible share: texts that are made once, and which hosts are to be enabled.

A task on a host is a process of its own. So they share files, in a folder that Ansible removes at the end of the run.
"""

import fcntl
import os

from ansible import constants as C

NOTES = "to-enable"
INCOMPLETE = "incomplete"


def of_this_run(name):
    """A path that all hosts of this run share, and that Ansible removes at its end."""
    return os.path.join(C.DEFAULT_LOCAL_TMP, "keyveto-" + name)


def once(name, make):
    """The text that make returns, made once in a run, whatever the number of hosts."""
    path = of_this_run(name)
    with open(path + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            with open(path, encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            text = make()
            with open(path + ".new", "w", encoding="utf-8") as file:
                file.write(text)
            os.rename(path + ".new", path)
            return text


def note(host, wanted):
    """Notes whether a host is to be enabled. What is noted last counts."""
    with open(of_this_run(NOTES), "a", encoding="utf-8") as file:
        file.write("%d %s\n" % (bool(wanted), host))


def note_incomplete(host, why):
    """Notes why, in check mode, nothing can be told about sshd on a host yet."""
    with open(of_this_run(INCOMPLETE), "a", encoding="utf-8") as file:
        file.write("%s\t%s\n" % (host, " ".join(why.split())))


def incomplete(host):
    """Why that is so; None if it is not noted."""
    try:
        with open(of_this_run(INCOMPLETE), encoding="utf-8") as file:
            return dict(line.rstrip("\n").split("\t", 1) for line in file).get(host)
    except FileNotFoundError:
        return None


def noted():
    """The hosts that are to be enabled."""
    try:
        with open(of_this_run(NOTES), encoding="utf-8") as file:
            last = {line[2:].rstrip("\n"): line[:1] for line in file}
    except FileNotFoundError:
        return set()
    return {host for host, wanted in last.items() if wanted == "1"}
