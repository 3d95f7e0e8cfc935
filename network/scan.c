/* SPDX-License-Identifier: ISC */
#include "scan.h"

#include <sys/socket.h>

#include <errno.h>
#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kv_base64.h"
#include "kv_keytype.h"
#include "kv_line.h"
#include "wire/network.h"

#define WHY_BYTES 2048	 /* libssh's messages have at most 1023 */
#define UNKNOWN_MAX 32	 /* unknown offers that are reported */
#define RSA_MIN_BITS 768 /* the lowest that libssh accepts */

/* Proposed besides the host key algorithms. Old servers need the last. */
#define KEX \
	"curve25519-sha256,curve25519-sha256@libssh.org," \
	"ecdh-sha2-nistp256,ecdh-sha2-nistp384,ecdh-sha2-nistp521," \
	"diffie-hellman-group18-sha512,diffie-hellman-group16-sha512," \
	"diffie-hellman-group-exchange-sha256,diffie-hellman-group14-sha256," \
	"diffie-hellman-group14-sha1,diffie-hellman-group-exchange-sha1," \
	"diffie-hellman-group1-sha1"
#define CIPHERS \
	"chacha20-poly1305@openssh.com," \
	"aes256-gcm@openssh.com,aes128-gcm@openssh.com,aes256-ctr," \
	"aes192-ctr,aes128-ctr,aes256-cbc,aes192-cbc,aes128-cbc,3des-cbc"
#define MACS \
	"hmac-sha2-256-etm@openssh.com," \
	"hmac-sha2-512-etm@openssh.com,hmac-sha1-etm@openssh.com," \
	"hmac-sha2-256,hmac-sha2-512,hmac-sha1"

/*
 * Each key type is asked for in a connection of its own. The first type is one
 * that the server is unlikely to have: then libssh's error lists what the
 * server has, and no other type is asked for in vain. libssh tells a server's
 * offers in no other way. If a later libssh words this error differently, all
 * types are asked for, and each scan reports that.
 */
static const char *const questions[] = {
	"sk-ecdsa-sha2-nistp256@openssh.com",
	"sk-ssh-ed25519@openssh.com",
	"ssh-dss",
	"ecdsa-sha2-nistp521",
	"ecdsa-sha2-nistp384",
	"ecdsa-sha2-nistp256",
	"rsa-sha2-512,rsa-sha2-256,ssh-rsa",
	"ssh-ed25519",
};

#define QUESTIONS (sizeof(questions) / sizeof(questions[0]))

struct host {
	struct record_out *out;
	char name[NETWORK_HOST_BYTES], port[6];
	unsigned int timeout; /* seconds for each connection */
	struct sockaddr_storage address;
	socklen_t address_len;
	int fd; /* connected, for the first question; or -1 */
	bool beyond_libssh[QUESTIONS];
	bool offers_known, offered[QUESTIONS];
	bool unlisted;		/* not_offers is set; all questions are asked */
	char offers[WHY_BYTES]; /* the server's, comma-separated */
	char refusal[WHY_BYTES];    /* libssh's error in this connection */
	char not_offers[WHY_BYTES]; /* the error that should list offers */
};

static void
send_text(const struct host *h, enum network_answer tag, const char *text)
{
	record_send(h->out, (uint8_t)tag, R_STRING(text));
}

static void
send_problem(const struct host *h, const char *what, const char *why)
{
	char text[WHY_BYTES + 256];

	snprintf(text, sizeof(text), "%s: %s", what, why);
	send_text(h, NETWORK_PROBLEM, text);
}

/* Sends the phase, and starts its timeout, which alarm(0) ends. */
static void
start_phase(const struct host *h, const char *what)
{
	send_text(h, NETWORK_PHASE, what);
	record_flush(h->out);
	alarm(h->timeout);
}

/* Connects to the address within the timeout. -1 with errno. */
static int
connect_to(const struct host *h)
{
	const struct sockaddr *address = (const struct sockaddr *)&h->address;
	struct pollfd p = { .events = POLLOUT };
	socklen_t size = sizeof(int);
	int error = 0;
	bool done;

	p.fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (p.fd == -1)
		return -1;
	done = connect(p.fd, address, h->address_len) == 0;
	if (!done && errno == EINPROGRESS) {
		if (poll(&p, 1, (int)h->timeout * 1000) == 1)
			done = getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &error,
				   &size) == 0;
		else
			errno = ETIMEDOUT;
	}
	if (!done)
		error = errno;
	if (error == 0)
		return p.fd;
	close(p.fd);
	errno = error;
	return -1;
}

/*
 * Looks up the name, and connects to the first address that answers: h->fd.
 * False after NETWORK_PROBLEM.
 */
static bool
find_address(struct host *h)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICSERV,
	};
	struct addrinfo *found;
	int error;

	start_phase(h, "looking up the name");
	error = getaddrinfo(h->name, h->port, &hints, &found);
	alarm(0);
	if (error != 0) {
		send_problem(h, "cannot look up the name",
		    error == EAI_SYSTEM ? strerror(errno) :
					  gai_strerror(error));
		return false;
	}
	errno = EADDRNOTAVAIL;
	for (struct addrinfo *a = found; a != NULL && h->fd == -1;
	     a = a->ai_next) {
		if (a->ai_addrlen > sizeof(h->address))
			continue;
		memcpy(&h->address, a->ai_addr, a->ai_addrlen);
		h->address_len = a->ai_addrlen;
		send_text(h, NETWORK_PHASE, "connecting");
		record_flush(h->out);
		h->fd = connect_to(h);
	}
	if (h->fd == -1)
		send_problem(h, "cannot connect", strerror(errno));
	freeaddrinfo(found);
	return h->fd != -1;
}

/* Makes a session that reads no file of the user. NULL on failure. */
static ssh_session
new_session(const struct host *h)
{
	const long timeout = (long)h->timeout + 60;
	const int no = 0, rsa_min = RSA_MIN_BITS;
	/* Without those that are not needed, fewer servers can be asked. */
	const struct {
		enum ssh_options_e option;
		bool needed;
		const void *value;
	} options[] = {
		{ SSH_OPTIONS_PROCESS_CONFIG, true, &no },
		{ SSH_OPTIONS_SSH_DIR, true, "/nonexistent" },
		{ SSH_OPTIONS_KNOWNHOSTS, true, "/dev/null" },
		{ SSH_OPTIONS_GLOBAL_KNOWNHOSTS, true, "/dev/null" },
		{ SSH_OPTIONS_USER, true, "keyveto" },
		{ SSH_OPTIONS_HOST, true, h->name },
		{ SSH_OPTIONS_TIMEOUT, true, &timeout },
		{ SSH_OPTIONS_KEY_EXCHANGE, false, KEX },
		{ SSH_OPTIONS_CIPHERS_C_S, false, CIPHERS },
		{ SSH_OPTIONS_CIPHERS_S_C, false, CIPHERS },
		{ SSH_OPTIONS_HMAC_C_S, false, MACS },
		{ SSH_OPTIONS_HMAC_S_C, false, MACS },
		{ SSH_OPTIONS_RSA_MIN_SIZE, false, &rsa_min },
	};
	ssh_session s = ssh_new();

	for (size_t i = 0;
	     s != NULL && i < sizeof(options) / sizeof(options[0]); i++) {
		if (ssh_options_set(s, options[i].option, options[i].value) !=
			SSH_OK &&
		    options[i].needed) {
			ssh_free(s);
			s = NULL;
		}
	}
	return s;
}

static bool
send_server_key(const struct host *h, ssh_session s)
{
	static uint8_t blob[KV_BLOB_MAX_BYTES];
	struct kv_span span = { .p = blob };
	ssh_key key = NULL;
	char *text = NULL;
	bool ok;

	ok = ssh_get_server_publickey(s, &key) == SSH_OK &&
	    ssh_pki_export_pubkey_base64(key, &text) == SSH_OK &&
	    kv_base64_decode(text, strlen(text), blob, sizeof(blob),
		&span.len) == KV_OK;
	if (ok)
		record_send(h->out, NETWORK_KEY, R_SPAN(span));
	ssh_string_free_char(text);
	ssh_key_free(key);
	return ok;
}

/*
 * Stores the error for which libssh gives up. libssh logs it, but may replace
 * it by "Socket error" before ssh_connect returns.
 */
static void
keep_refusal(int priority, const char *function, const char *line, void *arg)
{
	static const char *const starts[] = {
		"kex error : ",
		"Protocol mismatch: ",
		"Received SSH_MSG_DISCONNECT: ",
	};
	struct host *h = arg;

	(void)priority;
	(void)function;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		const char *sentence = strstr(line, starts[i]);

		if (sentence != NULL && h->refusal[0] == '\0')
			snprintf(h->refusal, sizeof(h->refusal), "%s",
			    sentence);
	}
}

/* The number of the question with an algorithm; QUESTIONS if none has it. */
static size_t
find_question(const char *name, size_t len)
{
	size_t i = 0, n;

	for (; i < QUESTIONS; i++) {
		for (const char *p = questions[i]; *p != '\0';
		     p += n + (p[n] == ',')) {
			n = strcspn(p, ",");
			if (n == len && strncmp(p, name, len) == 0)
				return i;
		}
	}
	return i;
}

/*
 * Reads h->offers from libssh's error for a server that has none of the
 * algorithms asked for. False for any other error.
 */
static bool
read_offers(struct host *h)
{
	static const char start[] = "kex error : no match for method "
				    "server host key algo: server [";
	const char *list = h->refusal + sizeof(start) - 1, *end;
	size_t len, i;

	if (strncmp(h->refusal, start, sizeof(start) - 1) != 0)
		return false;
	end = strstr(list, "], client [");
	if (end == NULL) {
		/* libssh truncates a long message: drop the last name. */
		end = strrchr(list, ',') != NULL ? strrchr(list, ',') : list;
		send_text(h, NETWORK_PROBLEM,
		    "the server offers more algorithms "
		    "than can be read: use ssh-keyscan and check");
	}
	snprintf(h->offers, sizeof(h->offers), "%.*s", (int)(end - list), list);
	h->offers_known = true;
	for (const char *p = h->offers; *p != '\0';
	     p += len + (p[len] == ',')) {
		len = strcspn(p, ",");
		if ((i = find_question(p, len)) < QUESTIONS)
			h->offered[i] = true;
	}
	return true;
}

/*
 * Whether the error may say, in words unknown here, that the server has none of
 * the algorithms asked for. If the server speaks SSH, it may: except for the
 * errors that keep_refusal knows, which say something else.
 */
static bool
may_be_no_match(const struct host *h, ssh_session s)
{
	static const char other[] = "kex error : no match for method ";

	return ssh_get_serverbanner(s) != NULL &&
	    (h->refusal[0] == '\0' ||
		(strncmp(h->refusal, "kex error", 9) == 0 &&
		    strncmp(h->refusal, other, sizeof(other) - 1) != 0));
}

/*
 * Makes one connection; its key exchange proves that the server owns the key.
 * False if the server cannot be asked at all.
 */
static bool
ask_for_key(struct host *h, ssh_session s, const char *algorithms)
{
	const bool knew = h->offers_known;
	char what[128] = "asking which keys it has";
	const char *why;
	bool ok;

	if (knew || h->unlisted)
		snprintf(what, sizeof(what), "asking for %s", algorithms);
	start_phase(h, what);
	if (h->fd == -1)
		h->fd = connect_to(h);
	if (h->fd == -1) {
		send_problem(h, "cannot connect", strerror(errno));
		alarm(0);
		return knew;
	}
	h->refusal[0] = '\0';
	errno = 0; /* libssh may report an old errno */
	ok = ssh_options_set(s, SSH_OPTIONS_FD, &h->fd) == SSH_OK &&
	    ssh_connect(s) == SSH_OK && send_server_key(h, s);
	alarm(0);
	if (!ok && !knew)
		ok = read_offers(h);
	why = h->refusal[0] != '\0' ? h->refusal : ssh_get_error(s);
	if (!ok && !knew && may_be_no_match(h, s)) {
		ok = true;
		if (!h->unlisted)
			snprintf(h->not_offers, sizeof(h->not_offers), "%s",
			    why);
		h->unlisted = true;
	}
	if (!ok)
		send_problem(h, what, why);
	ssh_disconnect(s);
	/* libssh does not always close it. */
	close(h->fd);
	h->fd = -1;
	return ok || knew;
}

/* Asks all questions. False if the server cannot be asked at all. */
static bool
ask_all(struct host *h)
{
	bool ok = true;

	for (size_t i = 0; i < QUESTIONS && ok; i++) {
		ssh_session s;

		if (h->offers_known && !h->offered[i])
			continue;
		if ((s = new_session(h)) == NULL) {
			send_text(h, NETWORK_PROBLEM,
			    "libssh cannot make a session");
			return false;
		}
		h->beyond_libssh[i] = ssh_options_set(s, SSH_OPTIONS_HOSTKEYS,
					  questions[i]) != SSH_OK;
		ok = h->beyond_libssh[i] || ask_for_key(h, s, questions[i]);
		ssh_free(s);
	}
	return ok;
}

/* Reports an offered algorithm, unless it was asked for: then false. */
static bool
send_unasked(const struct host *h, const char *name, size_t len)
{
	const struct kv_span span = { (const uint8_t *)name, len };
	const struct kv_keyname *known = kv_keyname_find(span);
	size_t i = find_question(name, len);
	char text[WHY_BYTES];

	if (i < QUESTIONS && !h->beyond_libssh[i])
		return false;
	/* The key in a host certificate is also offered without it. */
	if (len == 0 || (known != NULL && known->is_cert) ||
	    memmem(name, len, "-cert-v0", 8) != NULL)
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)len, name);
	if (known != NULL)
		send_problem(h, text,
		    "the server offers such a key, but this "
		    "libssh cannot ask for it: use ssh-keyscan and check");
	else
		send_text(h, NETWORK_UNKNOWN, text);
	return true;
}

/* Asks the server, and reports what it offers. */
static void
scan(struct host *h)
{
	size_t len;
	int n = 0;

	if (!find_address(h) || !ask_all(h))
		return;
	for (const char *p = h->offers; *p != '\0' && n < UNKNOWN_MAX;
	     p += len + (p[len] == ',')) {
		len = strcspn(p, ",");
		n += send_unasked(h, p, len);
	}
	if (h->offers_known && h->offers[0] == '\0')
		send_text(h, NETWORK_PROBLEM, "the server offers no host key");
	if (h->unlisted)
		send_problem(h, "asking which keys it has", h->not_offers);
}

bool
scan_obey(struct kv_bytes b, struct record_out *out)
{
	static struct host h = { .fd = -1 };
	sigset_t alarm_only;

	if (!record_get(&b, R_TEXT(h.name), R_TEXT(h.port),
		R_NUMBER(h.timeout, UINT32_MAX)))
		return false;
	h.out = out;
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm_only, NULL);
	signal(SIGALRM, SIG_DFL);
	/*
	 * libssh 0.12 does not connect without a home, although it reads none
	 * here. /etc/passwd, which has one, is behind the wall.
	 */
	(void)setenv("HOME", "/nonexistent", 1);
	ssh_set_log_callback(keep_refusal);
	ssh_set_log_userdata(&h);
	/* Later versions of libssh log errors only on this level. */
	ssh_set_log_level(SSH_LOG_TRACE);
	scan(&h);
	record_send_last(out, NETWORK_SCANNED);
	return true;
}
