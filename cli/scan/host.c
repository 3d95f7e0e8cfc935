/* SPDX-License-Identifier: ISC */
#include "scan/host.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <errno.h>
#include <fcntl.h>
#include <libssh/libssh.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kv_keytype.h"
#include "scan/kex.h"

#define WHY_BYTES 2048
#define TOLD_MAX 32		/* offers of one server that are reported */
#define RSA_MIN_BITS 768	/* the least that libssh can be told */

/* What is asked for, each in a connection of its own. */
static const char *const questions[] = {
	"ssh-ed25519",
	"ecdsa-sha2-nistp256",
	"ecdsa-sha2-nistp384",
	"ecdsa-sha2-nistp521",
	"rsa-sha2-512,rsa-sha2-256,ssh-rsa",
	"ssh-dss",
	"sk-ssh-ed25519@openssh.com",
	"sk-ecdsa-sha2-nistp256@openssh.com",
};

#define QUESTIONS (sizeof(questions) / sizeof(questions[0]))

struct host {
	struct record_out *out;
	const struct scan_job *job;
	struct sockaddr_storage address;
	socklen_t address_len;
	bool beyond_libssh[QUESTIONS];
	char offered[SCAN_KEX_PACKET_BYTES];	/* names between commas */
};

static void
tell(const struct host *h, enum scan_tag tag, const char *text)
{
	record_begin(h->out, (uint8_t)tag);
	record_add_text(h->out, text);
	record_end(h->out);
}

static void
tell_problem(const struct host *h, const char *what, const char *why)
{
	char text[WHY_BYTES + 256];

	snprintf(text, sizeof(text), "%s: %s", what, why);
	tell(h, SCAN_PROBLEM, text);
}

/* From now on, the child has until the timeout. */
static void
start_phase(const struct host *h, const char *what)
{
	const struct itimerval limit = {
		.it_value = { .tv_sec = h->job->timeout }
	};

	tell(h, SCAN_PHASE, what);
	record_flush(h->out);
	setitimer(ITIMER_REAL, &limit, NULL);
}

static void
end_phase(void)
{
	const struct itimerval none = { 0 };

	setitimer(ITIMER_REAL, &none, NULL);
}

/* Connects to the address within the timeout; -1 with errno. */
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
		if (poll(&p, 1, (int)h->job->timeout * 1000) == 1)
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
 * Looks the name up and connects to the first address that will have us. -1
 * when that was told to be a problem.
 */
static int
find_address(struct host *h)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV
	};
	const struct scan_target *t = h->job->target;
	struct addrinfo *found;
	int error, fd = -1;

	start_phase(h, "looking up the name");
	error = getaddrinfo(t->host, t->port, &hints, &found);
	end_phase();
	if (error != 0) {
		tell_problem(h, "cannot look up the name",
		    error == EAI_SYSTEM ? strerror(errno) :
		    gai_strerror(error));
		return -1;
	}
	errno = EADDRNOTAVAIL;
	for (struct addrinfo *a = found; a != NULL && fd == -1;
	    a = a->ai_next) {
		if (a->ai_addrlen > sizeof(h->address))
			continue;
		memcpy(&h->address, a->ai_addr, a->ai_addrlen);
		h->address_len = a->ai_addrlen;
		fd = connect_to(h);
	}
	if (fd == -1)
		tell_problem(h, "cannot connect", strerror(errno));
	freeaddrinfo(found);
	return fd;
}

/* Asks what it offers, in a connection of its own. */
static bool
find_offers(struct host *h, int fd)
{
	static const char what[] = "asking which keys it has";
	char why[WHY_BYTES];
	int flags;
	bool ok;

	start_phase(h, what);
	flags = fcntl(fd, F_GETFL);
	if (flags == -1 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == -1) {
		snprintf(why, sizeof(why), "%s", strerror(errno));
		ok = false;
	} else
		ok = scan_kex_read(fd, h->offered, why, sizeof(why));
	end_phase();
	close(fd);
	if (!ok)
		tell_problem(h, what, why);
	return ok;
}

/*
 * A session that asks for some algorithms and cares for no file of the person
 * who scans. NULL if there can be none.
 */
static ssh_session
new_session(const struct host *h, int fd, const char *algorithms,
    bool *beyond_libsshp)
{
	ssh_session s = ssh_new();
	const long timeout = (long)h->job->timeout + 60;
	const int no = 0, rsa_min = RSA_MIN_BITS;

	*beyond_libsshp = false;
	if (s == NULL)
		return NULL;
	if (ssh_options_set(s, SSH_OPTIONS_PROCESS_CONFIG, &no) != SSH_OK ||
	    ssh_options_set(s, SSH_OPTIONS_SSH_DIR, "/nonexistent") != SSH_OK ||
	    ssh_options_set(s, SSH_OPTIONS_KNOWNHOSTS, "/dev/null") != SSH_OK ||
	    ssh_options_set(s, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null") !=
	    SSH_OK ||
	    ssh_options_set(s, SSH_OPTIONS_USER, "keyveto") != SSH_OK ||
	    ssh_options_set(s, SSH_OPTIONS_HOST, h->job->target->host) !=
	    SSH_OK ||
	    ssh_options_set(s, SSH_OPTIONS_FD, &fd) != SSH_OK ||
	    ssh_options_set(s, SSH_OPTIONS_TIMEOUT, &timeout) != SSH_OK)
		goto fail;
	/* Without these, fewer servers are understood. */
	(void)ssh_options_set(s, SSH_OPTIONS_KEY_EXCHANGE, SCAN_KEX);
	(void)ssh_options_set(s, SSH_OPTIONS_CIPHERS_C_S, SCAN_CIPHERS);
	(void)ssh_options_set(s, SSH_OPTIONS_CIPHERS_S_C, SCAN_CIPHERS);
	(void)ssh_options_set(s, SSH_OPTIONS_HMAC_C_S, SCAN_MACS);
	(void)ssh_options_set(s, SSH_OPTIONS_HMAC_S_C, SCAN_MACS);
	(void)ssh_options_set(s, SSH_OPTIONS_RSA_MIN_SIZE, &rsa_min);
	if (ssh_options_set(s, SSH_OPTIONS_HOSTKEYS, algorithms) == SSH_OK)
		return s;
	*beyond_libsshp = true;
fail:
	ssh_free(s);
	return NULL;
}

static bool
take_key(const struct host *h, ssh_session s)
{
	ssh_key key = NULL;
	char *text = NULL;
	bool ok;

	ok = ssh_get_server_publickey(s, &key) == SSH_OK &&
	    ssh_pki_export_pubkey_base64(key, &text) == SSH_OK;
	if (ok)
		tell(h, SCAN_KEY, text);
	ssh_string_free_char(text);
	ssh_key_free(key);
	return ok;
}

/*
 * One connection: the key exchange proves that the server owns the key. False
 * with a reason in why.
 */
static bool
ask(const struct host *h, const char *algorithms, bool *beyond_libsshp,
    char *why, size_t cap)
{
	int fd = connect_to(h);
	ssh_session s;
	bool ok;

	*beyond_libsshp = false;
	if (fd == -1) {
		snprintf(why, cap, "cannot connect: %s", strerror(errno));
		return false;
	}
	snprintf(why, cap, "libssh has no session for it");
	s = new_session(h, fd, algorithms, beyond_libsshp);
	errno = 0;	/* libssh takes what is left there for a reason */
	ok = s != NULL && ssh_connect(s) == SSH_OK && take_key(h, s);
	if (s != NULL) {
		snprintf(why, cap, "%s", ssh_get_error(s));
		ssh_disconnect(s);
		ssh_free(s);
	}
	/* Some endings of a session close it, and some do not. */
	close(fd);
	return ok;
}

static bool
is_in_list(const char *list, const char *name, size_t len)
{
	for (; *list != '\0'; list += strcspn(list, ","), list += *list == ',')
		if (strcspn(list, ",") == len && strncmp(list, name, len) == 0)
			return true;
	return false;
}

static bool
offers_any(const struct host *h, const char *algorithms)
{
	for (const char *p = algorithms; *p != '\0';
	    p += strcspn(p, ","), p += *p == ',')
		if (is_in_list(h->offered, p, strcspn(p, ",")))
			return true;
	return false;
}

static void
ask_question(struct host *h, size_t i)
{
	char what[128], why[WHY_BYTES];
	bool ok;

	snprintf(what, sizeof(what), "asking for %s", questions[i]);
	start_phase(h, what);
	ok = ask(h, questions[i], &h->beyond_libssh[i], why, sizeof(why));
	end_phase();
	if (!ok && !h->beyond_libssh[i])
		tell_problem(h, what, why);
}

/* -1 if nothing here asks for it. */
static int
find_question(const char *name, size_t len)
{
	for (size_t i = 0; i < QUESTIONS; i++)
		if (is_in_list(questions[i], name, len))
			return (int)i;
	return -1;
}

/* Tells of an offered algorithm, if no key was asked for by it. */
static bool
tell_offered(const struct host *h, const char *name, size_t len)
{
	const struct kv_span span = { (const uint8_t *)name, len };
	const struct kv_keyname *known = kv_keyname_find(span);
	int question = find_question(name, len);
	char text[WHY_BYTES];

	if (question != -1 && !h->beyond_libssh[question])
		return false;
	/* The key in a host certificate is one of the plain ones. */
	if ((known != NULL && known->is_cert) ||
	    memmem(name, len, "-cert-v0", 8) != NULL)
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)len, name);
	if (known != NULL)
		tell_problem(h, text, "the server offers such a key, but this "
		    "libssh cannot ask for it: use ssh-keyscan and check");
	else
		tell(h, SCAN_UNKNOWN, text);
	return true;
}

static void
tell_rest(const struct host *h)
{
	const char *p = h->offered;
	size_t len;

	for (int told = 0; *p != '\0' && told < TOLD_MAX; p += *p == ',') {
		len = strcspn(p, ",");
		told += len > 0 && tell_offered(h, p, len);
		p += len;
	}
}

void
scan_host(struct record_out *out, void *job)
{
	static struct host h;
	sigset_t alarm_only;
	int fd;

	h.out = out;
	h.job = job;
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm_only, NULL);
	signal(SIGALRM, SIG_DFL);
	ssh_set_log_level(SSH_LOG_NONE);
	if ((fd = find_address(&h)) == -1 || !find_offers(&h, fd))
		return;
	for (size_t i = 0; i < QUESTIONS; i++)
		if (offers_any(&h, questions[i]))
			ask_question(&h, i);
	tell_rest(&h);
	if (h.offered[0] == '\0')
		tell(&h, SCAN_PROBLEM, "the server offers no host key");
}
