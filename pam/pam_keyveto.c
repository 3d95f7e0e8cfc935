/* SPDX-License-Identifier: ISC */
/*
 * pam_keyveto: refuses a login by a compromised key, in the phases where sshd
 * shows a module the key. The module can only refuse: for a login without a key
 * it answers PAM_IGNORE, or PAM_SUCCESS in the session phase.
 */
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include <security/pam_ext.h>
/* Only the entry points are visible outside of the module. */
#pragma GCC visibility push(default)
#include <security/pam_modules.h>
#pragma GCC visibility pop
#include <security/pam_modutil.h>

#include "auth_info.h"
#include "kv_base64.h"
#include "kv_log.h"

#define AUTH_INFO "SSH_AUTH_INFO_0"
#define MESSAGE_BYTES 1024

#define LISTED_MESSAGE \
	"This SSH key is refused: %t %f is publicly known to be compromised. " \
	"Make a new key with ssh-keygen, or ask your administrator."
#define DENIED_MESSAGE \
	"This SSH key is refused: this server does not accept %t %f. Make a " \
	"new key with ssh-keygen, or ask your administrator."
#define UNSUPPORTED_MESSAGE \
	"This server accepts only SSH keys that can be checked; keys of type " \
	"%t cannot. Use another key, or ask your administrator."
#define NO_VERDICT_MESSAGE \
	"keyveto could not check your SSH key, so this login is refused. " \
	"The administrator finds the reason in the system log."

/* What a phase returns to PAM. */
struct phase {
	const char *name;
	int clean;	/* the key may pass, or there is none */
	int no_verdict; /* if OnError is deny */
};

static const struct phase auth = {
	"auth",
	PAM_IGNORE,
	PAM_AUTHINFO_UNAVAIL,
};
static const struct phase account = {
	"account",
	PAM_IGNORE,
	PAM_AUTHINFO_UNAVAIL,
};
static const struct phase session = {
	"session",
	PAM_SUCCESS,
	PAM_SESSION_ERR,
};

/* disconnect=: for which accounts a refused session ends the connection. */
enum disconnect {
	DISCONNECT_ROOT = 0,
	DISCONNECT_ALWAYS,
	DISCONNECT_NEVER,
};

struct call {
	pam_handle_t *pamh;
	const struct phase *phase;
	bool silent; /* PAM_SILENT */
	bool debug;
	enum disconnect disconnect;
	const char *config;
	const char *bad_option; /* NULL if there is none */
	struct kv_judge judge;
	struct kv_log_context context;
};

static const char *
get_item(pam_handle_t *pamh, int item)
{
	const void *value = NULL;

	if (pam_get_item(pamh, item, &value) != PAM_SUCCESS || value == NULL)
		return NULL;
	return *(const char *)value != '\0' ? value : NULL;
}

/* The first unknown option is kept: judge_all refuses the key for it. */
static void
read_options(struct call *c, int argc, const char **argv)
{
	c->config = KV_CONFIG_PATH;
	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "debug") == 0)
			c->debug = true;
		else if (strncmp(argv[i], "config=/", 8) == 0)
			c->config = argv[i] + 7;
		else if (strcmp(argv[i], "disconnect=root") == 0)
			c->disconnect = DISCONNECT_ROOT;
		else if (strcmp(argv[i], "disconnect=always") == 0)
			c->disconnect = DISCONNECT_ALWAYS;
		else if (strcmp(argv[i], "disconnect=never") == 0)
			c->disconnect = DISCONNECT_NEVER;
		else if (c->bad_option == NULL)
			c->bad_option = argv[i];
	}
}

/*
 * Whether the caller is sshd. sshd calls its terminal "ssh" as long as the
 * client has none (auth-pam.c:sshpam_init). Any other program that uses the
 * stack must survive a refusal.
 */
static bool
is_called_by_sshd(const struct call *c)
{
	const char *tty = get_item(c->pamh, PAM_TTY);

	return tty != NULL && strcmp(tty, "ssh") == 0;
}

/*
 * Whether a refusal in this call ends the connection. An account that cannot be
 * looked up may be root's.
 */
static bool
refusal_disconnects(const struct call *c)
{
	const char *user = c->context.user;
	const struct passwd *pw;

	if (c->phase != &session || !is_called_by_sshd(c))
		return false;
	if (c->disconnect != DISCONNECT_ROOT)
		return c->disconnect == DISCONNECT_ALWAYS;
	if (user == NULL || (pw = pam_modutil_getpwnam(c->pamh, user)) == NULL)
		return true;
	return pw->pw_uid == 0;
}

/*
 * Ends the connection by ending the process. When sshd opens the session, this
 * process is the only one that serves the connection. It has not yet served any
 * request that the client sent after its authentication, and now never does.
 *
 * The status is 0. The listening sshd (9.8 and later) may see the process end
 * before it reads that the login succeeded. It counts any other status against
 * the client's address (PerSourcePenalties), which many people may share.
 * Functions registered with atexit do not run, because they could block or fail
 * here.
 */
__attribute__((noreturn)) static void
disconnect(void)
{
	_exit(0);
}

/* This calls syslog because pam_syslog logs to AUTHPRIV only. */
static void
log_decision(const struct call *c, const struct kv_decision *d)
{
	const char *service = get_item(c->pamh, PAM_SERVICE);
	char line[KV_LOG_LINE_BYTES];

	kv_log_format(&c->context, d, line);
	syslog(c->judge.config.syslog_facility |
		kv_log_priority(&c->context, d),
	    "pam_keyveto(%s:%s): %s", service != NULL ? service : "?",
	    c->phase->name, line);
}

static void
show_message(const struct call *c, const struct kv_decision *d)
{
	const char *message = c->judge.config.message;
	char text[MESSAGE_BYTES];

	if (c->silent)
		return;
	if (d->verdict == KV_VERDICT_ERROR)
		message = NO_VERDICT_MESSAGE;
	else if (d->verdict == KV_VERDICT_UNSUPPORTED)
		message = UNSUPPORTED_MESSAGE;
	else if (message == NULL)
		message = d->list == &kv_denied ?
		    DENIED_MESSAGE :
		    LISTED_MESSAGE;
	kv_config_message(message, d->fingerprint, d->key_type, text,
	    sizeof(text));
	/* The verdict stands, whether the person saw the message or not. */
	(void)pam_error(c->pamh, "%s", text);
}

static void
judge_key(const struct call *c, const struct auth_info_key *key,
    struct kv_decision *d)
{
	size_t cap = KV_BASE64_DECODED_MAX(key->base64.len);
	uint8_t *blob = malloc(cap);
	struct kv_sshkey offered;

	if (blob == NULL) {
		*d = (struct kv_decision){ .reason = "out of memory" };
		d->action = c->judge.config.on_error;
		return;
	}
	kv_judge_offered(&c->judge, key->type, key->base64, blob, cap,
	    time(NULL), &offered, d);
	free(blob);
}

/* What the phase returns to PAM for one decision. */
static int
pam_result(const struct call *c, const struct kv_decision *d)
{
	if (d->action != KV_ACTION_DENY)
		return c->phase->clean;
	return d->verdict == KV_VERDICT_ERROR ?
	    c->phase->no_verdict :
	    PAM_PERM_DENIED;
}

/* Judges each key in text. One refusal is enough to refuse the login. */
static int
judge_all(struct call *c, struct kv_span text)
{
	struct auth_info_key key;
	int result = c->phase->clean;
	bool disconnects = false;

	kv_judge_open(&c->judge, c->config, 0);
	if (c->bad_option != NULL)
		snprintf(c->judge.broken, sizeof(c->judge.broken),
		    "unknown module option \"%.64s\"", c->bad_option);
	while (auth_info_next_key(&text, &key)) {
		struct kv_decision d;
		int r;

		judge_key(c, &key, &d);
		r = pam_result(c, &d);
		c->context.disconnected = r != c->phase->clean &&
		    refusal_disconnects(c);
		disconnects = disconnects || c->context.disconnected;
		if (d.verdict != KV_VERDICT_CLEAN || c->debug)
			log_decision(c, &d);
		if (r == c->phase->clean)
			continue;
		show_message(c, &d);
		if (result != PAM_PERM_DENIED)
			result = r;
	}
	kv_judge_close(&c->judge);
	if (disconnects)
		disconnect();
	return result;
}

static int
run_phase(pam_handle_t *pamh, const struct phase *phase, int flags, int argc,
    const char **argv)
{
	struct call c = {
		.pamh = pamh,
		.phase = phase,
		.silent = ((unsigned int)flags & PAM_SILENT) != 0,
	};
	const char *info = pam_getenv(pamh, AUTH_INFO);
	struct kv_span text;
	struct auth_info_key key;

	if (info == NULL)
		return phase->clean;
	text = (struct kv_span){ (const uint8_t *)info, strlen(info) };
	/* A login without a key must not depend on filters. */
	if (!auth_info_next_key(&(struct kv_span){ text.p, text.len }, &key))
		return phase->clean;
	read_options(&c, argc, argv);
	c.context.via = "pam";
	c.context.user = get_item(pamh, PAM_USER);
	c.context.rhost = get_item(pamh, PAM_RHOST);
	return judge_all(&c, text);
}

int
pam_sm_authenticate(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
	return run_phase(pamh, &auth, flags, argc, argv);
}

int
pam_sm_setcred(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
	(void)pamh, (void)flags, (void)argc, (void)argv;
	return PAM_IGNORE;
}

int
pam_sm_acct_mgmt(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
	return run_phase(pamh, &account, flags, argc, argv);
}

int
pam_sm_open_session(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
	return run_phase(pamh, &session, flags, argc, argv);
}

int
pam_sm_close_session(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
	(void)pamh, (void)flags, (void)argc, (void)argv;
	return PAM_SUCCESS;
}

int
pam_sm_chauthtok(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
	(void)pamh, (void)flags, (void)argc, (void)argv;
	return PAM_IGNORE;
}
