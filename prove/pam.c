/* SPDX-License-Identifier: ISC */
/*
 * The module: what it returns in each phase, by the table in pam_keyveto(8), for up
 * to KEYS keys. Keys, configuration and PAM may answer anything.
 *
 * shrink lib/kv_config.h: KV_CONFIG_MAX_FILTERS 64 -> KV_CONFIG_MAX_FILTERS 2
 * shrink lib/kv_config.h: KV_CONFIG_MAX_BLOCKLISTS 64 -> KV_CONFIG_MAX_BLOCKLISTS 2
 * shrink lib/kv_config.h: KV_CONFIG_MAX_PATTERNS 256 -> KV_CONFIG_MAX_PATTERNS 2
 * shrink lib/kv_config.h: KV_CONFIG_WHY_BYTES 1024 -> KV_CONFIG_WHY_BYTES 16
 * shrink lib/kv_verdict.h: KV_REASON_BYTES 1024 -> KV_REASON_BYTES 16
 * shrink lib/kv_trusted.h: KV_TRUSTED_WHY_BYTES 512 -> KV_TRUSTED_WHY_BYTES 8
 * shrink lib/kv_log.h: KV_LOG_LINE_BYTES 10240 -> KV_LOG_LINE_BYTES 8
 * shrink pam/pam_keyveto.c: MESSAGE_BYTES 1024 -> MESSAGE_BYTES 8
 * proof phases --no-conversion-check --unwind 20 --unwindset read_options.0:3,judge_all.0:KEYS+1,phases.0:3,strlen.0:TEXT+2: every decision for up to KEYS keys
 * proof others [quick] --unwind 2: every call of the other functions
 */
#define KEYS 3
#define TEXT 4

#include "pam/pam_keyveto.c"

#include "libc.h"
#include "prove.h"

static const char *info;
static int keys_left, n_keys, n_judged;
static bool listed, no_verdict, opened, closed, bad_option, error_denies;
static char tty[] = "ssh";
static bool is_sshd, is_session;
static enum disconnect disconnects_whom;
static bool found_root, no_user;

/* SSH_AUTH_INFO_0 is read by auth_info.c: proof auth_info. */
bool
auth_info_next_key(struct kv_span *text, struct auth_info_key *key)
{
	/* The first call looks ahead on a copy: it takes nothing. */
	if (!opened)
		return keys_left > 0;
	if (keys_left == 0)
		return false;
	keys_left--;
	key->base64.len = any_size_up_to(TEXT);
	key->base64.p = (const uint8_t *)"AAAA";
	key->type = key->base64;
	return true;
}

const char *
pam_getenv(pam_handle_t *pamh, const char *name)
{
	return info;
}

int
pam_get_item(const pam_handle_t *pamh, int item, const void **value)
{
	*value = nondet_bool() ? any_text(TEXT) : NULL;
	if (item == PAM_TTY) {
		*value = tty;
		return PAM_SUCCESS;
	}
	if (item == PAM_USER)
		no_user = *value == NULL || *(const char *)*value == '\0';
	return PAM_SUCCESS;
}

struct passwd *
pam_modutil_getpwnam(pam_handle_t *pamh, const char *user)
{
	static struct passwd pw;

	pw.pw_uid = found_root ? 0 : 1 + any_size_up_to(1000);
	return found_root && nondet_bool() ? NULL : &pw;
}

int
pam_prompt(pam_handle_t *pamh, int style, char **response, const char *format,
    ...)
{
	PROVE(format[0] == '%' && format[1] == 's', "no text as a format");
	return nondet_int();
}

void
kv_judge_open(struct kv_judge *j, const char *config_path, uid_t owner)
{
	PROVE(owner == 0, "root's files");
	PROVE(n_keys > 0, "a login without a key depends on no file");
	error_denies = nondet_bool();
	j->config.on_error = error_denies ? KV_ACTION_DENY : KV_ACTION_ALLOW;
	j->broken[0] = '\0';
	opened = true;
}

void
kv_judge_close(struct kv_judge *j)
{
	PROVE(opened && !closed, "once");
	closed = true;
}

void
kv_judge_offered(const struct kv_judge *j, struct kv_span type,
    struct kv_span text, uint8_t *blob, size_t cap, int64_t now,
    struct kv_sshkey *key, struct kv_decision *d)
{
	PROVE(opened && !closed, "by the configuration");
	PROVE(cap >= KV_BASE64_DECODED_MAX(text.len), "room for the key");
	PROVE(!bad_option || j->broken[0] != '\0', "an unknown option counts");
	*d = (struct kv_decision){ 0 };
	d->verdict = (enum kv_verdict)any_size_up_to(KV_VERDICT_CLEAN);
	d->action = (enum kv_action)any_size_up_to(KV_ACTION_ALLOW);
	n_judged++;
	if (d->action == KV_ACTION_DENY && d->verdict == KV_VERDICT_ERROR)
		no_verdict = true;
	else if (d->action == KV_ACTION_DENY)
		listed = true;
}

void
kv_log_format(const struct kv_log_context *ctx, const struct kv_decision *d,
    char line[static KV_LOG_LINE_BYTES])
{
	line[0] = '\0';
}

int
kv_log_priority(const struct kv_log_context *ctx, const struct kv_decision *d)
{
	return nondet_int();
}

void
kv_config_message(const char *message, const char *fingerprint,
    const char *type, char *out, size_t cap)
{
	out[0] = '\0';
}

void
syslog(int priority, const char *format, ...)
{
}

time_t
time(time_t *t)
{
	return nondet_i64();
}

int
snprintf(char *to, size_t cap, const char *format, ...)
{
	to[0] = '?';
	to[1] = '\0';
	return nondet_int();
}

/* The connection ends here. */
void
_exit(int status)
{
	PROVE(is_session && is_sshd, "only a session of sshd is ended");
	PROVE(listed || no_verdict || error_denies, "only after a refusal");
	PROVE(closed, "after everything is closed");
	PROVE(status == 0, "no penalty for the client's address");
	PROVE(disconnects_whom != DISCONNECT_NEVER, "never means never");
	PROVE(disconnects_whom == DISCONNECT_ALWAYS || found_root || no_user,
	    "root means root, and an account that cannot be looked up");
	GIVEN(false);
}

static const char *
any_option(void)
{
	if (nondet_bool())
		return "debug";
	if (nondet_bool())
		return "config=/x";
	if (nondet_bool()) {
		disconnects_whom = DISCONNECT_ALWAYS;
		return "disconnect=always";
	}
	if (nondet_bool()) {
		disconnects_whom = DISCONNECT_NEVER;
		return "disconnect=never";
	}
	bad_option = true;
	return "config=x";
}

void
phases(void)
{
	const char *argv[2];
	int argc = (int)any_size_up_to(2), which = (int)any_size_up_to(2);
	int flags = nondet_int();
	int result, clean, refused = PAM_PERM_DENIED, unknown;

	n_keys = keys_left = (int)any_size_up_to(KEYS);
	info = nondet_bool() ? any_text(TEXT) : NULL;
	is_session = which == 2;
	is_sshd = nondet_bool();
	tty[2] = is_sshd ? 'h' : 'x';
	found_root = nondet_bool();
	for (int i = 0; i < argc; i++)
		argv[i] = any_option();
	if (which == 0)
		result = pam_sm_authenticate(NULL, flags, argc, argv);
	else if (which == 1)
		result = pam_sm_acct_mgmt(NULL, flags, argc, argv);
	else
		result = pam_sm_open_session(NULL, flags, argc, argv);
	/* The table of pam_keyveto(8). */
	clean = is_session ? PAM_SUCCESS : PAM_IGNORE;
	unknown = is_session ? PAM_SESSION_ERR : PAM_AUTHINFO_UNAVAIL;
	PROVE(opened == closed, "what was opened is closed");
	if (info == NULL || n_keys == 0) {
		PROVE(result == clean && !opened, "no key");
		return;
	}
	/* For a key without memory to decode it OnError decides. */
	if (n_judged < n_keys && error_denies)
		no_verdict = true;
	PROVE(keys_left == 0, "every key is judged");
	PROVE(result ==
		(listed		   ? refused :
			no_verdict ? unknown :
				     clean),
	    "the return values of the table");
	if ((listed || no_verdict) && is_session && is_sshd)
		PROVE(disconnects_whom == DISCONNECT_NEVER ||
			(disconnects_whom == DISCONNECT_ROOT && !found_root),
		    "a refusal ends the connection of whom the option names");
}

void
others(void)
{
	int flags = nondet_int(), argc = nondet_int();

	PROVE(pam_sm_setcred(NULL, flags, argc, NULL) == PAM_IGNORE, "setcred");
	PROVE(pam_sm_chauthtok(NULL, flags, argc, NULL) == PAM_IGNORE,
	    "chauthtok");
	PROVE(pam_sm_close_session(NULL, flags, argc, NULL) == PAM_SUCCESS,
	    "close_session");
}
