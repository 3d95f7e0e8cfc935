# SPDX-License-Identifier: ISC
"""What the configuration does with a listed key, and what is logged."""

import datetime

import pytest

import keys
import logbook
import openssh
import server

pytestmark = pytest.mark.throwaway

PAST, FUTURE = "2020-01-01", "2999-12-31"


class Exposed:
    """An account with a listed key in its authorized_keys, and a login with that key."""

    def __init__(self, bench, deploy, *config):
        self.account, self.key = bench.account(), bench.key()
        self.account.authorize(self.key.key)
        lines = (line.replace("FINGERPRINT", self.key.key.fingerprint) for line in config)
        self.config = bench.config(*lines, listed=[self.key])
        self.server = bench.server(deploy(self.config))
        self.outcome = bench.login(self.server, self.account, self.key)


def on_hit_warn(bench, deploy):
    exposed = Exposed(bench, deploy, "OnHit warn")
    bench.must_enter(exposed.outcome, "OnHit warn lets in")
    decision = bench.decision(exposed.account, verdict="listed", action="warn")
    assert decision.line.severity == logbook.WARNING, f"not logged as a warning: {decision}"


def allowed_key(bench, deploy):
    exposed = Exposed(bench, deploy, "AllowKey FINGERPRINT a false positive")
    bench.must_enter(exposed.outcome, "AllowKey lets in")
    bench.decision(exposed.account, verdict="allowed", action="allow", key_fp=exposed.key.key.fingerprint)


def allowed_until(bench, deploy):
    tomorrow = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)
    for date in (FUTURE, tomorrow.strftime("%Y-%m-%d")):
        exposed = Exposed(bench, deploy, f"AllowKey FINGERPRINT until={date} to be replaced")
        bench.must_enter(exposed.outcome, f"AllowKey lets in until {date}")
        bench.decision(exposed.account, verdict="allowed", action="allow")


def allowed_no_more(bench, deploy):
    yesterday = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1)
    for date in (PAST, yesterday.strftime("%Y-%m-%d")):
        exposed = Exposed(bench, deploy, f"AllowKey FINGERPRINT until={date} to be replaced")
        bench.must_not_enter(exposed.outcome, f"AllowKey ended on {date}")
        bench.decision(exposed.account, verdict="listed", action="deny")


def other_key_allowed(bench, deploy):
    exposed = Exposed(bench, deploy, f"AllowKey {bench.key().key.fingerprint}")
    bench.must_not_enter(exposed.outcome, "AllowKey is about another key")


def allowed_ca(bench, deploy):
    """AllowKey for a listed CA's key does not allow a listed key that the CA signed."""
    account, ca, listed = bench.account(), bench.key(), bench.key()
    account.authorize(f"cert-authority {ca.key}")
    config = bench.config(f"AllowKey {ca.key.fingerprint}", listed=[ca, listed])
    sshd = bench.server(deploy(config))
    bench.must_enter(bench.login(sshd, account, keys.certify(ca, bench.key(), account.name)))
    bench.decision(account, verdict="allowed", action="allow", part="ca")
    bench.must_not_enter(bench.login(sshd, account, keys.certify(ca, listed, account.name)))
    bench.decision(account, verdict="listed", action="deny", part="key", key_fp=listed.key.fingerprint)


def facility(bench, deploy):
    exposed = Exposed(bench, deploy, "SyslogFacility LOCAL3")
    decision = bench.decision(exposed.account, verdict="listed")
    assert decision.line.facility == logbook.LOCAL3, f"wrong facility: {decision}"


def several_filters(bench, deploy):
    """A hit in any filter counts, and the log names that filter."""
    for order in (0, 1):
        account, key = bench.someone()
        filters = [bench.filter(bench.key()), bench.filter(key)]
        config = bench.config(*(f"Filter {path}" for path in (filters, filters[::-1])[order]))
        bench.must_not_enter(bench.login(bench.server(deploy(config)), account, key))
        bench.decision(account, verdict="listed", filter=str(filters[1]))


BEHAVIOURS = {
    "OnHit warn logs and lets in": on_hit_warn,
    "AllowKey lets in and is logged": allowed_key,
    "AllowKey holds until its date": allowed_until,
    "AllowKey past its date counts no more": allowed_no_more,
    "AllowKey is about one key only": other_key_allowed,
    "AllowKey for a CA is not for the keys it signed": allowed_ca,
    "SyslogFacility": facility,
    "a hit in any of several filters counts": several_filters,
}


@pytest.mark.parametrize("behaviour", BEHAVIOURS.values(), ids=BEHAVIOURS)
def test_policy(bench, deploy, behaviour):
    behaviour(bench, deploy)


# The log line

def expected_line(exposed, middle, filter_path):
    """The end of the line, as the contract says."""
    return (f"verdict=listed action=deny user={exposed.account.name} {middle.format(exposed.key.key)}"
            f" filter={filter_path} revision=1")


def the_line(bench, deploy, middle):
    exposed = Exposed(bench, deploy)
    bench.must_not_enter(exposed.outcome)
    filter_path = exposed.config.read_text(encoding="ascii").split()[1]
    decision = bench.decision(exposed.account)
    text = decision.line.text
    assert text.endswith(expected_line(exposed, middle, filter_path)), f"not what the contract says: {text}"
    assert (decision.line.facility, decision.line.severity) == (logbook.AUTHPRIV, logbook.WARNING), \
        f"wrong priority: {decision}"


def test_log_line_the_guards_word_for_word_for_an_account_that_lists_the_key(bench):
    the_line(bench, server.guard, "via=guard key_type={0.type} key_fp={0.fingerprint} part=key authorized=yes")


def test_log_line_the_modules_word_for_word(bench):
    the_line(bench, server.pam_session, "rhost=127.0.0.1 via=pam key_type={0.type} key_fp={0.fingerprint} part=key")


@pytest.mark.skipif(not openssh.has_connection_token(),
                    reason="left out, since there is no %C in AuthorizedKeysCommand here")
def test_log_line_connection_through_sshd_gives_the_clients_address(bench):
    """Client and server have different addresses. The log has the client's."""
    account, clean, listed = bench.account(), bench.key(), bench.key()
    account.authorize(clean.key)
    config = bench.config(listed=[listed])
    sshd = bench.server(server.guard(config, connection=True).adding("ListenAddress 127.0.0.2"))
    options = ["-o", "HostName=127.0.0.2", "-b", "127.0.0.3"]
    bench.must_enter(bench.login(sshd, account, clean, options=options))
    bench.must_not_enter(bench.login(sshd, account, listed, options=options))
    found = bench.log.decisions(account)
    assert found and all((one.rhost, one.via, one.authorized) == ("127.0.0.3", "guard", "no") for one in found), \
        f"not the client's address: {found}"


def test_log_line_a_clean_key_is_logged_only_with_the_modules_debug(bench):
    account, key = bench.someone()
    config = bench.config(listed=[bench.key()])
    for deployment in (server.guard(config), server.pam_session(config), server.pam_auth(config)):
        bench.must_enter(bench.login(bench.server(deployment), account, key))
        bench.must_be_silent(account)
    bench.must_enter(bench.login(bench.server(server.pam_session(config, "debug")), account, key))
    said = [line for line in bench.log.about(account.name) if "verdict=clean" in line.text]
    assert [line.severity for line in said] == [logbook.DEBUG], f"not what debug should say: {said}"


# The default places

def test_default_configuration_etc_keyveto_keyveto_conf_is_read_when_none_is_named(bench):
    account, listed, clean = bench.account(), bench.key(), bench.key()
    account.authorize(listed.key, clean.key)
    bench.machine.write("/etc/keyveto/keyveto.conf", "# all defaults\n")
    keys.write_filter("/var/lib/keyveto/filter.pkbf", [listed.key])
    for deployment in (server.guard(), server.pam_session()):
        sshd = bench.server(deployment)
        bench.must_enter(bench.login(sshd, account, clean))
        bench.must_not_enter(bench.login(sshd, account, listed))
    bench.decision(account, verdict="listed", filter="/var/lib/keyveto/filter.pkbf")
