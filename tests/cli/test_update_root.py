# SPDX-License-Identifier: ISC
"""keyveto update: files that it does not touch as root."""

import os
import stat

import pytest

from program import contains, equal
from runs import run
from samples import write
from update_place import a_filter, revision_of

NOBODY = 65534


def state_of(path):
    """Content, inode, mode, owner and times of a file. Links are not followed for the latter."""
    seen = path.lstat()
    return path.read_bytes(), seen.st_ino, seen.st_mode, seen.st_uid, seen.st_mtime_ns, seen.st_ctime_ns


@pytest.mark.throwaway
def test_root_follows_no_link_that_is_not_roots(place):
    secret, theirs = place.state.parent / "shadow", place.state.parent / "theirs"
    write(secret, b"root:*:19000:0:99999:7:::\n").chmod(0o600)
    place.put(a_filter(0))
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    for folder, owner in ((theirs, NOBODY), (theirs, 0), (place.state, NOBODY)):
        for target, below in ((secret, ""), (place.target, ""), (place.state, "filter.pkbf"),
                              (place.state, "new.pkbf")):
            link = folder / "link"
            link.symlink_to(target)
            os.chown(link, owner, owner, follow_symlinks=False)
            place.write_settings()
            before = state_of(secret), state_of(place.target), place.names()
            for words in ((), ("--force",), ("--dry-run",), ("--rollback",)):
                result = run("update", "--settings", place.settings, "--filter", link / below, *words, status=2)
                contains(result.problems[0], "root does not follow the symbolic link 'link' on the way")
                equal((state_of(secret), state_of(place.target), place.names()), before, f"{words}")
            equal(os.listdir(theirs), ["link"] if folder == theirs else [])
            link.unlink()


def test_a_file_that_is_no_filter_is_not_replaced(place):
    """With --force it is renamed and kept."""
    content = b"127.0.0.1 localhost\n"
    for content in (content, b"", b"pkbf"):
        place.target.write_bytes(content)
        before = state_of(place.target)
        for words in ((), ("--dry-run",), ("--rollback",)):
            result = place.run(*words, status=2)
            contains(result.problems[0],
                     f"{place.target}: is not a filter, and stays as it is; name the filter, or give --force")
            equal((state_of(place.target), place.names()), (before, ["filter.pkbf"]))
        place.run("--force", "--dry-run", status=0)
        equal((state_of(place.target)[0], place.names()), (content, ["filter.pkbf"]))
        result = place.run("--force", status=0)
        contains(result.err.decode(), f"{place.target}: what was there is kept beside it as filter.pkbf.kept")
        kept = place.state / "filter.pkbf.kept"
        equal((kept.read_bytes(), kept.stat().st_ino), (content, before[1]))
        equal(place.target.read_bytes(), a_filter())
        equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.kept"])
        place.clear()


@pytest.mark.throwaway
def test_as_root_the_filter_gets_no_other_owner(place):
    """The filter gets no mode that lets others write."""
    place.state.chmod(0o1777)
    for revision, (uid, gid, mode, expected, told) in enumerate((
            (NOBODY, NOBODY, 0o666, (0, 0, 0o644), f"belonged to user {NOBODY}, and belongs to root now"),
            (0, NOBODY, 0o660, (0, NOBODY, 0o640), "had mode 0660, and has 0640 now"))):
        place.put(a_filter(revision))
        os.chown(place.target, uid, gid)
        place.target.chmod(mode)
        place.page.body, place.page.etag = a_filter(revision + 1), f'"{revision}"'
        contains(place.run(status=0).err.decode(), told)
        seen = place.target.stat()
        equal((seen.st_uid, seen.st_gid, stat.S_IMODE(seen.st_mode)), expected)
        equal(revision_of(place.target), revision + 1)
