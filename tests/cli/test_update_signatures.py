# SPDX-License-Identifier: ISC
"""keyveto update: signatures, by ssh-keygen."""

import itertools
import signal

import pytest

from program import KEYVETO, TRACED, attempt, contains, equal, lacks
from update_place import Signer, a_filter, large, traced, untouched, with_signers
from website import Page


@pytest.mark.serves(body=large())
def test_a_filter_with_a_good_signature_is_installed(place):
    signer = Signer(place.settings.parent, "publisher")
    with_signers(place, f'keyveto namespaces="keyveto-filter" {signer.public}')
    place.site.pages["/filter.pkbf.sig"] = Page(signer.sign(large()))
    place.update()
    equal(place.target.read_bytes(), large())
    equal(place.update(), "already current, revision 1")
    # The URL of the signature is derived from a URL with a query, and from a path.
    place.site.pages["/filter.pkbf?a=b"] = place.page
    place.site.pages["/filter.pkbf.sig?a=b"] = place.site.pages["/filter.pkbf.sig"]
    place.update("--force", place.site.url("/filter.pkbf?a=b"))
    source = place.state.parent / "file"
    source.write_bytes(large(2))
    source.with_name("file.sig").write_bytes(signer.sign(large(2)))
    contains(place.update(source), "updated, revision 1 -> 2")


def test_signatureurl_and_identity_say_where_the_signature_is(place):
    """Identity names the signer."""
    signer = Signer(place.settings.parent, "publisher")
    with_signers(place, f"filters@example.org {signer.public}")
    place.site.pages["/elsewhere"] = Page(signer.sign(a_filter()))
    place.lines["SignatureURL"] = place.site.url("/elsewhere")
    contains(place.refuse(), "no good signature by keyveto for this filter")
    place.lines["Identity"] = "filters@example.org"
    place.update()


def test_a_missing_or_bad_signature_is_a_failure(place):
    """Also with --force and --dry-run."""
    folder = place.settings.parent
    signer, stranger = Signer(folder, "publisher"), Signer(folder, "stranger")
    with_signers(place, f"keyveto {signer.public}")
    place.put(a_filter(0))
    contains(place.refuse(), f"{place.site.url('/filter.pkbf.sig')}: HTTP status 404; correct URL",
             f"{place.site.url()}: has no signature that could be checked, and AllowedSigners asks for one")
    good = signer.sign(a_filter())
    words = itertools.cycle(("--force", "--dry-run", "--quiet"))
    for bad in (stranger.sign(a_filter()), signer.sign(a_filter(), "file"), signer.sign(a_filter(2)), b"", b"junk",
                good[:-40], good.replace(b"SIGNATURE", b"SIGNATUER"), b"\0" * 1000, b"-----BEGIN SSH SIGNATURE-----\n"):
        place.site.pages["/filter.pkbf.sig"] = Page(bad)
        contains(place.refuse(next(words)), "no good signature by keyveto for this filter (ssh-keygen: ")
    place.site.pages["/filter.pkbf.sig"] = Page(good + b"\n" * 70_000)
    contains(place.refuse(), "too long for a signature; correct SignatureURL")
    place.site.pages["/filter.pkbf.sig"] = Page(good)
    with_signers(place, f'keyveto namespaces="file" {signer.public}')
    contains(place.refuse(), "no good signature")
    with_signers(place, f'keyveto valid-before="20200101" {signer.public}')
    contains(place.refuse(), "no good signature")
    with_signers(place)
    contains(place.refuse(), "no good signature")
    with_signers(place, f"keyveto {signer.public}")
    place.update()


def test_the_file_of_allowed_signers_must_be_there(place):
    """Nobody else may be able to write it."""
    signer = Signer(place.settings.parent, "publisher")
    allowed = with_signers(place, f"keyveto {signer.public}")
    place.site.pages["/filter.pkbf.sig"] = Page(signer.sign(a_filter()))
    allowed.chmod(0o666)
    result = place.run(status=2)
    contains(result.problems[0], "writable by group or others; correct owner and mode")
    allowed.unlink()
    contains(place.run(status=2).problems[0], f"{allowed}: No such file or directory")
    assert not place.target.exists()
    equal(place.site.requests, [])


def test_a_filter_installed_without_a_signature_is_fetched_again(place):
    """AllowedSigners was set after the filter had been installed."""
    place.update()
    signer = Signer(place.settings.parent, "publisher")
    with_signers(place, f"keyveto {signer.public}")
    place.refuse()
    equal((place.site.requests[-1].path, place.site.requests[-1].headers["If-None-Match"]), ("/filter.pkbf.sig", None))
    place.site.pages["/filter.pkbf.sig"] = Page(signer.sign(a_filter()), '"signature"')
    equal(place.update(), "already current, revision 1")
    equal(place.update(), "already current, revision 1")
    equal((place.site.requests[-1].path, place.site.requests[-1].headers["If-None-Match"]),
          ("/filter.pkbf.sig", '"signature"'))


def test_if_the_signers_change_the_installed_filter_is_verified_again(place):
    """AllowedSigners or Identity changes. The filter stays in any case."""
    def asks_for_all():
        """The signature is asked for, whatever is known of it."""
        return [request.headers["If-None-Match"] for request in place.site.requests
                if request.path == "/filter.pkbf.sig"][-1] is None

    signer, next_signer = (Signer(place.settings.parent, name) for name in ("publisher", "next"))
    with_signers(place, f"keyveto {signer.public}")
    signature = place.site.pages["/filter.pkbf.sig"] = Page(signer.sign(a_filter()), '"signature"')
    place.update()
    before = untouched(place.target)
    # The new signers have signed the installed filter.
    for lines, identity in (([f"keyveto {next_signer.public}", f"keyveto {signer.public}"], None),
                            ([f"keyveto,other {signer.public}"], None), ([f"keyveto,other {signer.public}"], "other")):
        with_signers(place, *lines)
        place.lines["Identity"] = identity
        equal(place.update(), "already current, revision 1")
        equal((place.site.requests[-1].path, asks_for_all()), ("/filter.pkbf.sig", True))
        equal(place.update(), "already current, revision 1")
        equal(asks_for_all(), False)
    # The new signer has not: every run fails, until the publisher signs the filter again.
    with_signers(place, f"other {next_signer.public}")
    for _ in range(2):
        contains(place.refuse(), "no good signature by other for this filter",
                 f"{place.target}: the installed filter is this same file: no good signature of it is known either; "
                 "ask its publisher")
        equal(asks_for_all(), True)
    del place.site.pages["/filter.pkbf.sig"]
    contains(place.refuse(), "has no signature that could be checked")
    place.site.pages["/filter.pkbf.sig"] = signature
    # The server has another filter, so the message differs.
    place.page.body, place.page.etag = a_filter(2), '"two"'
    lacks(place.refuse(), "the installed filter")
    place.page.body, place.page.etag = a_filter(), '"one"'
    signature.body = next_signer.sign(a_filter())
    equal(place.update(), "already current, revision 1")
    place.update()
    equal(asks_for_all(), False)
    # The current signers have verified the installed filter, so no message speaks against it.
    signature.etag = None
    place.update()
    del place.site.pages["/filter.pkbf.sig"]
    lacks(place.refuse(), "what is installed")
    place.site.pages["/filter.pkbf.sig"] = signature
    place.update()
    equal(untouched(place.target), before)
    # Without AllowedSigners, no signature is asked for.
    place.lines["AllowedSigners"] = place.lines["Identity"] = None
    place.update()
    equal((place.site.requests[-1].path, place.site.requests[-1].headers["If-None-Match"]), ("/filter.pkbf", None))
    place.update()
    equal(place.site.requests[-1].headers["If-None-Match"], '"one"')


def test_a_signature_is_checked_although_sigchld_is_ignored(place):
    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    signer = Signer(place.settings.parent, "publisher")
    with_signers(place, f"keyveto {signer.public}")
    place.site.pages["/filter.pkbf.sig"] = Page(signer.sign(a_filter(2)))
    contains(place.refuse(preexec_fn=ignore), "no good signature by keyveto")
    place.site.pages["/filter.pkbf.sig"] = Page(signer.sign(a_filter()))
    place.update(preexec_fn=ignore)


def test_an_identity_that_looks_like_an_option_is_a_name(place):
    signer = Signer(place.settings.parent, "publisher")
    place.site.pages["/filter.pkbf.sig"] = Page(signer.sign(a_filter()))
    for name in ("-h", "--", "-Y", "-Overify-time=20200101", "*", "key*", "!keyveto", "a,keyveto"):
        place.lines["Identity"] = name
        with_signers(place, f"keyveto {signer.public}")
        contains(place.refuse(), f"no good signature by {name} for this filter (ssh-keygen: ")
    for name in ("-h", "--", "-Overify-time=20200101"):
        place.lines["Identity"] = name
        with_signers(place, f"{name} {signer.public}")
        place.update("--force")


def test_a_killed_ssh_keygen_is_not_called_a_bad_signature(place):
    signer = Signer(place.settings.parent, "publisher")
    with_signers(place, f"keyveto {signer.public}")
    source = place.settings.parent / "source.pkbf"
    source.write_bytes(a_filter())
    source.with_name("source.pkbf.sig").write_bytes(signer.sign(a_filter()))
    place.lines["URL"] = source
    status, messages = traced(place, ["-f", "-e", "inject=execveat:signal=KILL"])
    equal(status, 2, messages)
    contains(messages, "/usr/bin/ssh-keygen was ended by signal 9; run this again", "there is still no filter")
    lacks(messages, "no good signature")


@pytest.mark.serves(body=large())
def test_ssh_keygen_gets_the_files_it_needs(place):
    """ssh-keygen inherits no other descriptor."""
    signer = Signer(place.settings.parent, "publisher")
    with_signers(place, f"keyveto {signer.public}")
    place.site.pages["/filter.pkbf.sig"] = Page(signer.sign(large()))
    log = place.settings.with_name("trace")
    done = attempt("strace", "-f", "-e", "trace=/^(execveat|fcntl.*|close_range)$", "-o", log, KEYVETO,
                   *place.arguments(), text=False, env=TRACED)
    equal(done.returncode, 0, done.stderr)
    text = log.read_text(encoding="utf-8", errors="replace")
    contains(text,
             'execveat(6, "", ["/usr/bin/ssh-keygen", "-Y", "verify", "-f", "/proc/self/fd/4", '
             '"-I", "keyveto", "-n", "keyveto-filter", "-s", "/proc/self/fd/3"]')
    # Descriptor 5 reports that ssh-keygen could not be started, and 6 is its program. Its start closes both.
    contains(text.replace("fcntl64(", "fcntl("), "fcntl(5, F_SETFD, FD_CLOEXEC)",
             "fcntl(6, F_SETFD, FD_CLOEXEC)", "close_range(7, 4294967295, 0)")
