# SPDX-License-Identifier: ISC
"""What the configuration does with a listed key, what is logged, and what the person sees."""

import datetime

import pytest

import keys
import logbook
import openssh
import server
from guard import run, run_guard

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


def test_log_line_a_listed_key_that_the_account_does_not_list_is_a_notice(bench):
    account, listed = bench.account(), bench.key()
    account.authorize(bench.key().key)
    sshd = bench.server(server.guard(bench.config(listed=[listed])))
    bench.must_not_enter(bench.login(sshd, account, listed))
    decision = bench.decision(account, verdict="listed", action="deny", authorized="no")
    assert decision.line.severity == logbook.NOTICE, f"not logged as a notice: {decision}"


def test_log_line_authorized_tells_what_the_accounts_files_say_of_a_key_or_a_ca(bench):
    account, listed, listed_ca = bench.account(), bench.key(), bench.key()
    certificate = keys.certify(listed_ca, bench.key(), account.name)
    config = bench.config(listed=[listed, listed_ca])
    for offered, line, answer in (
            (listed, f'from="*,!\\"x",command="echo a \\" b" {listed.key} comment', "yes"),
            (listed, f"# {listed.key}", "no"),
            (listed, f"cert-authority {listed.key}", "no"),
            (certificate, f"cert-authority,principals=\"a,b\" {listed_ca.key}", "yes"),
            (certificate, f"{listed_ca.key}", "no")):
        account.authorize("# comment", bench.key().key, line)
        run_guard(account, offered, config)
        last = bench.log.decisions(account)[-1]
        assert (last.verdict, last.authorized) == ("listed", answer), f"{line}: {last}"


def test_log_line_connection_gives_the_clients_address(bench):
    account, listed = bench.account(), bench.key()
    config = bench.config(listed=[listed])
    for value, expected in (
            ("192.0.2.1 22 192.0.2.7 50022", "192.0.2.7"), ("2001:db8::1 22 2001:db8::7 50022", "2001:db8::7"),
            ("192.0.2.1 22 192.0.2.8", "192.0.2.8"),
            # Without a third word there is no client. The server's address must not be banned.
            ("192.0.2.1 22", None), ("192.0.2.1 22 ", None), ("192.0.2.1", None), ("", None), ("  ", None)):
        run_guard(account, listed, config, "--connection", value)
        last = bench.log.decisions(account)[-1]
        assert (last.verdict, last.rhost) == ("listed", expected), f"{value!r}: {last}"


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


def test_log_line_a_user_name_cannot_forge_another_line(bench):
    listed = bench.key()
    name = 'eve\nverdict=allowed action=allow user="root" \x1b[2J\xe9'
    config = bench.config(listed=[listed])
    run(["--config", config, "--user", name, "--type", listed.key.type, "--key", listed.key.blob,
         "--", "/bin/true"])
    escaped = r'user="eve\x0averdict=allowed action=allow user=\x22root\x22 \x1b[2J\xc3\xa9"'
    lines = bench.log.about(f"{escaped} via=guard")
    assert len(lines) == 1, f"not escaped: {bench.log.about('eve')}"
    assert not bench.log.about('user="root"'), "a line was forged"


def test_log_line_a_clean_key_is_logged_only_with_the_modules_debug(bench):
    account, key = bench.someone()
    config = bench.config(listed=[bench.key()])
    for deployment in (server.guard(config), server.pam_session(config), server.pam_auth(config)):
        bench.must_enter(bench.login(bench.server(deployment), account, key))
        bench.must_be_silent(account)
    bench.must_enter(bench.login(bench.server(server.pam_session(config, "debug")), account, key))
    said = [line for line in bench.log.about(account.name) if "verdict=clean" in line.text]
    assert [line.severity for line in said] == [logbook.DEBUG], f"not what debug should say: {said}"


# What the person sees

def test_message_of_a_refused_session_has_the_fingerprint(bench):
    exposed = Exposed(bench, server.pam_session)
    bench.must_not_enter(exposed.outcome)
    shown = exposed.outcome.stdout + exposed.outcome.stderr
    assert exposed.key.key.fingerprint in shown, f"the fingerprint is not shown: {shown}"


def test_message_is_the_one_that_message_sets(bench):
    exposed = Exposed(bench, server.pam_session, 'Message "Call 1234 about %t %f, 100%% sure"')
    shown = exposed.outcome.stdout + exposed.outcome.stderr
    key = exposed.key.key
    assert f"Call 1234 about {key.type} {key.fingerprint}, 100% sure" in shown, f"not shown: {shown}"


def test_message_without_a_verdict_shows_no_details(bench):
    account, key = bench.someone()
    sshd = bench.server(server.pam_session(bench.config("Filter /nonexistent/secret-place")))
    outcome = bench.login(sshd, account, key)
    bench.must_not_enter(outcome)
    shown = outcome.stdout + outcome.stderr
    assert "keyveto" in shown and "secret-place" not in shown, f"shown: {shown}"


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
