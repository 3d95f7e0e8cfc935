/* SPDX-License-Identifier: ISC */
#include "net/network.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "command.h"
#include "wall/packet.h"

/* One wait for the program. */
#define WAIT_MS 1000
/* How much longer than a request may take the program may say nothing of it. */
#define GRACE_SECONDS 30

/* The program; there is one at a time. */
static struct {
	struct wall_process wall;
	struct record_in in;
	char *ca_file; /* that it has; NULL: the system's */
	bool runs, greeted;
} network;

/* An answer that is waited for. */
struct wait {
	/* Takes an answer, and sets ended at the last. False: it is none. */
	bool (*answer)(struct wait *w, uint8_t tag, struct kv_bytes b);
	bool (*stopped)(void); /* NULL: nothing stops it */
	int64_t left_ms, last_ms;
	bool ended;
	enum network_cause cause;
	char *why; /* of NETWORK_WHY_BYTES */
	void *arg;
};

/* What libcurl and the resolver of names ask the environment for. */
static const char *const variables[] = { "https_proxy", "HTTPS_PROXY",
	"all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "RES_OPTIONS",
	"LOCALDOMAIN", "OPENSSL_CONF" };

static void
set_why(struct wait *w, enum network_cause cause, const char *reason)
{
	w->cause = cause;
	w->ended = true;
	snprintf(w->why, NETWORK_WHY_BYTES, "%s", reason);
}

static void
forget_program(void)
{
	record_in_free(&network.in);
	free(network.ca_file);
	network.ca_file = NULL;
	network.runs = network.greeted = false;
}

void
network_stop(void)
{
	int status;

	if (network.runs)
		(void)wall_wait(&network.wall, &status);
	forget_program();
}

static void
kill_program(void)
{
	if (network.runs)
		wall_kill(&network.wall);
	forget_program();
}

bool
network_send(const struct wall_process *program, struct record_out *o, int fd)
{
	bool ok;

	record_end(o);
	errno = EMSGSIZE;
	ok = o->len <= READING_PACKET_BYTES &&
	    packet_send(program->orders, o->buf, o->len, &fd, fd != -1,
		MSG_DONTWAIT);
	record_out_free(o);
	return ok;
}

static bool
send_variables(const struct wall_process *program)
{
	struct record_out o;
	const char *value;

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		if ((value = getenv(variables[i])) == NULL)
			continue;
		o = (struct record_out){ .fd = -1 };
		record_begin(&o, NETWORK_VARIABLE);
		record_add(&o, R_STRING(variables[i]), R_STRING(value));
		if (!network_send(program, &o, -1))
			return false;
	}
	return true;
}

bool
network_start(struct wall_process *program, char why[static WALL_WHY_BYTES])
{
	struct record_out o = { .fd = -1 };

	if (!wall_start(program, "keyveto-network", false, WALL_ANY_SIZE, why))
		return false;
	record_begin(&o, NETWORK_START);
	record_add_number(&o, NETWORK_VERSION);
	/* If it ended already, its end tells more. */
	if ((send_variables(program) && network_send(program, &o, -1)) ||
	    errno != EMSGSIZE)
		return true;
	snprintf(why, WALL_WHY_BYTES,
	    "a variable of the environment is too long for keyveto-network");
	wall_kill(program);
	return false;
}

static bool
start(struct wait *w)
{
	char why[WALL_WHY_BYTES];

	if (!network.runs && !network_start(&network.wall, why)) {
		set_why(w, NETWORK_BROKEN, why);
		return false;
	}
	network.runs = true;
	return true;
}

bool
network_receive_hello(struct kv_bytes b, bool quiet)
{
	unsigned int walls;
	uint64_t version;

	if (!record_get_all(&b, R_ANY(version), R_NUMBER(walls, WALL_ALL)) ||
	    version != NETWORK_VERSION)
		return false;
	if (!quiet)
		wall_warn("keyveto-network", WALL_ALL & ~walls);
	return true;
}

static bool
receive_record(struct wait *w, uint8_t tag, struct kv_bytes b)
{
	if (network.greeted == (tag == NETWORK_HELLO))
		return false;
	if (tag != NETWORK_HELLO)
		return w->answer(w, tag, b);
	network.greeted = true;
	return network_receive_hello(b, false);
}

static void
note_end(struct wait *w)
{
	char reason[128];
	int status;

	if (wall_wait(&network.wall, &status) && WIFSIGNALED(status))
		snprintf(reason, sizeof(reason),
		    "keyveto-network was ended by signal %d (%s)",
		    WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(reason, sizeof(reason),
		    "keyveto-network ended too early");
	network.runs = false;
	set_why(w, NETWORK_BROKEN, reason);
}

static void
receive(struct wait *w)
{
	const ssize_t n = record_fill(&network.in, network.wall.answers);
	struct kv_bytes b;
	uint8_t tag;
	bool bad = false, ok = n != -1;

	if (n == 0) {
		note_end(w);
		return;
	}
	while (ok && !w->ended && record_next(&network.in, &tag, &b, &bad))
		ok = receive_record(w, tag, b);
	/* Nothing follows the last answer to an order. */
	if (bad || !ok ||
	    (w->ended && w->cause != NETWORK_STOPPED &&
		network.in.start != network.in.end))
		set_why(w, NETWORK_BROKEN,
		    "keyveto-network sent what it never sends");
}

/* Counts the time since the last call, or a wait that was in vain. */
static void
count_time(struct wait *w, bool in_vain)
{
	const int64_t now = io_deadline(0);
	const int64_t since = w->last_ms != 0 ? now - w->last_ms : 0;

	/* Time in which this process was stopped counts as one wait. */
	w->left_ms -= in_vain || since > WAIT_MS ? WAIT_MS : since;
	w->last_ms = now;
}

/* Waits once for input. False if there is none yet, or at the end. */
static bool
wait_for_input(struct wait *w, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n;

	count_time(w, false);
	if (w->stopped != NULL && w->stopped()) {
		set_why(w, NETWORK_STOPPED, "interrupted");
		return false;
	}
	if (w->left_ms < 0) {
		set_why(w, NETWORK_BROKEN,
		    "keyveto-network did not end in time");
		return false;
	}
	if ((n = poll(&p, 1, WAIT_MS)) == 0)
		count_time(w, true);
	return n > 0;
}

/* Waits until the answer has ended. After any failure the program is, too. */
static void
wait_for_answer(struct wait *w)
{
	while (!w->ended)
		if (wait_for_input(w, network.wall.answers))
			receive(w);
	if (w->cause == NETWORK_STOPPED || w->cause == NETWORK_BROKEN)
		kill_program();
}

/* If the program has ended, that end tells more. */
static void
note_unsent(struct wait *w)
{
	if (errno == EMSGSIZE)
		set_why(w, NETWORK_BROKEN, "the URL is too long");
}

/* --- requests ----------------------------------------------------------- */

/*
 * Hands over the CAs that a request wants. False with w->why: without them, the
 * program would trust the system's.
 */
static bool
send_ca(struct wait *w, const char *path)
{
	struct record_out o = { .fd = -1 };
	char reason[NETWORK_WHY_BYTES];
	int fd = -1, error;

	if (path == NULL ?
		network.ca_file == NULL :
		network.ca_file != NULL && strcmp(path, network.ca_file) == 0)
		return true;
	if (path != NULL &&
	    (fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)) == -1) {
		snprintf(reason, sizeof(reason), "%.400s: %s", path,
		    strerror(errno));
		set_why(w, NETWORK_UNPROVEN, reason);
		return false;
	}
	record_begin(&o, NETWORK_CA);
	error = network_send(&network.wall, &o, fd) ? 0 : errno;
	io_close(fd);
	/* If the program has ended, that end tells more. */
	if (error != 0 && error != EPIPE && error != ECONNRESET) {
		snprintf(reason, sizeof(reason),
		    "%.400s: cannot be handed to keyveto-network: %s",
		    path != NULL ? path : "the system's CAs", strerror(error));
		set_why(w, NETWORK_BROKEN, reason);
		return false;
	}
	free(network.ca_file);
	network.ca_file = path != NULL ? strdup(path) : NULL;
	return true;
}

struct get {
	const struct network_request *r;
	bool has_head;
	int body[2]; /* the pipe; -1: its end is closed */
	bool has_begun, is_short;
};

static bool
receive_head(struct get *g, struct kv_bytes b)
{
	struct network_head h;
	unsigned int status;

	if (g->has_head ||
	    !record_get_all(&b, R_NUMBER(status, 999), R_ANY(h.retry_after),
		R_TEXT(h.etag), R_TEXT(h.last_modified), R_TEXT(h.encoding),
		R_TEXT(h.type)) ||
	    !http_value_is_safe(h.etag) ||
	    !http_value_is_safe(h.last_modified) ||
	    !http_value_is_safe(h.encoding) || !http_value_is_safe(h.type))
		return false;
	g->has_head = true;
	h.status = (long)status;
	g->r->head(&h, g->r->arg);
	return true;
}

/*
 * Moves up to len bytes from the pipe to the file. Where the file system or the
 * kernel has no splice(2), they pass through a buffer. Returns as read(2) does.
 */
static ssize_t
move(int from, int to, size_t len)
{
	uint8_t buf[16 * 1024];
	ssize_t n = splice(from, NULL, to, NULL, len,
	    SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n != -1 || (errno != EINVAL && errno != ENOSYS && errno != EPERM))
		return n;
	n = read(from, buf, len < sizeof(buf) ? len : sizeof(buf));
	return n <= 0 || io_write(to, buf, (size_t)n) ? n : -1;
}

static void
note_unwritten(struct wait *w)
{
	char reason[NETWORK_WHY_BYTES];

	snprintf(reason, sizeof(reason), "what it sends cannot be kept: %s",
	    strerror(errno));
	set_why(w, NETWORK_STOPPED, reason);
}

/* Moves what the pipe has of len bytes. Returns how many. */
static size_t
move_some(struct wait *w, size_t len)
{
	struct get *g = w->arg;
	const ssize_t n = move(g->body[0], g->r->into, len);

	g->is_short = n == 0;
	if (n == -1 && errno != EINTR && errno != EAGAIN) {
		note_unwritten(w);
		(void)g->r->arrived(0, g->r->arg);
	} else if (n > 0 && !g->r->arrived((size_t)n, g->r->arg)) {
		set_why(w, NETWORK_STOPPED, "");
	}
	return n > 0 ? (size_t)n : 0;
}

/* The program may announce what it never sends. */
static bool
receive_arrived(struct wait *w, struct kv_bytes b)
{
	struct get *g = w->arg;
	size_t len;

	if (!g->has_head || g->is_short || g->r->head_only ||
	    !record_get_all(&b, R_RANGE(len, 1, NETWORK_DATA_BYTES)))
		return false;
	if (!g->has_begun && g->r->begin != NULL && !g->r->begin(g->r->arg))
		set_why(w, NETWORK_STOPPED, "");
	g->has_begun = true;
	while (len > 0 && !w->ended && !g->is_short)
		if (wait_for_input(w, g->body[0]))
			len -= move_some(w, len);
	return true;
}

static bool
receive_end(struct wait *w, struct kv_bytes b)
{
	const struct get *g = w->arg;
	char reason[NETWORK_WHY_BYTES];
	enum network_cause cause;

	if (!record_get_all(&b, R_NUMBER(cause, NETWORK_TRANSFER),
		R_TEXT(reason)) ||
	    (cause == NETWORK_DONE && (!g->has_head || g->is_short)))
		return false;
	set_why(w, cause, reason);
	return true;
}

static bool
receive_of_get(struct wait *w, uint8_t tag, struct kv_bytes b)
{
	switch (tag) {
	case NETWORK_HEAD:
		return receive_head(w->arg, b);
	case NETWORK_ARRIVED:
		return receive_arrived(w, b);
	case NETWORK_END:
		return receive_end(w, b);
	default:
		return false;
	}
}

static bool
send_get(const struct network_request *r, int body)
{
	const struct https_limits *l = r->limits;
	struct record_out o = { .fd = -1 };

	record_begin(&o, NETWORK_GET);
	record_add(&o, R_STRING(r->url), R_VALUE(l->timeout),
	    R_VALUE(l->stall_timeout), R_VALUE(r->redirects), R_VALUE(r->keep),
	    R_VALUE(r->head_only), R_VALUE(l->proxy != NULL),
	    R_STRING(l->proxy != NULL ? l->proxy : ""));
	for (size_t i = 0; i < r->n_headers; i++)
		record_add_text(&o, r->header[i]);
	return network_send(&network.wall, &o, body);
}

static void
close_end(int *end)
{
	io_close(*end);
	*end = -1;
}

enum network_cause
network_get(const struct network_request *r, char why[static NETWORK_WHY_BYTES])
{
	struct get get = { .r = r, .body = { -1, -1 } };
	struct wait w = {
		.answer = receive_of_get,
		.stopped = r->limits->stopped,
		.left_ms = ((int64_t)r->limits->timeout + GRACE_SECONDS) * 1000,
		.why = why,
		.arg = &get,
	};

	why[0] = '\0';
	/* If an order cannot be sent, the end of the program tells why. */
	if (pipe2(get.body, O_CLOEXEC) == -1) {
		note_unwritten(&w);
	} else if (start(&w) && send_ca(&w, r->limits->ca_file)) {
		if (!send_get(r, get.body[1]))
			note_unsent(&w);
		close_end(&get.body[1]);
		wait_for_answer(&w);
	}
	close_end(&get.body[0]);
	close_end(&get.body[1]);
	return w.cause;
}

const char *
network_hint(enum network_cause cause)
{
	switch (cause) {
	case NETWORK_STOPPED:
	case NETWORK_BROKEN:
	case NETWORK_UNABLE:
		return "";
	case NETWORK_UNREACHABLE:
		return "; check the network, URL and Proxy";
	case NETWORK_UNPROVEN:
		return "; the server is not who it claims to be, or CAFile "
		       "lacks its CA";
	case NETWORK_NOT_HTTPS:
		return "; it redirects to another protocol than https: name "
		       "the https URL that it leads to, if there is one";
	case NETWORK_REDIRECTS:
		return "; correct URL";
	case NETWORK_DONE:
	case NETWORK_TOO_LONG:
	case NETWORK_TRANSFER:
		break;
	}
	return "; try again later";
}

/* --- places ------------------------------------------------------------- */

/* Copies a string without controls, to be freed. NULL for any other. */
static char *
get_text(struct kv_bytes *b)
{
	struct kv_span s;

	if (kv_bytes_get_string(b, &s) != KV_OK)
		return NULL;
	for (size_t i = 0; i < s.len; i++)
		if (s.p[i] < 0x20 || s.p[i] == 0x7f)
			return NULL;
	return s.len > 0 ? strndup((const char *)s.p, s.len) : strdup("");
}

static bool
receive_place(struct wait *w, uint8_t tag, struct kv_bytes b)
{
	struct network_place *place = w->arg;

	if (tag != NETWORK_PLACE_FOUND ||
	    !record_get(&b, R_NUMBER(place->kind, NETWORK_OTHER_SCHEME)) ||
	    (place->where = get_text(&b)) == NULL ||
	    (place->shown = get_text(&b)) == NULL ||
	    (place->scheme = get_text(&b)) == NULL || b.left != 0 ||
	    (place->kind == NETWORK_HTTPS &&
		strncmp(place->where, "https://", 8) != 0))
		return false;
	set_why(w, NETWORK_DONE, "");
	return true;
}

bool
network_find_place(const char *base, const char *text, const char *suffix,
    bool other_hosts, struct network_place *place)
{
	struct record_out o = { .fd = -1 };
	char why[NETWORK_WHY_BYTES];
	struct wait w = {
		.answer = receive_place,
		.left_ms = GRACE_SECONDS * 1000,
		.why = why,
		.arg = place,
	};

	*place = (struct network_place){ .kind = NETWORK_NO_PLACE };
	if (start(&w)) {
		record_begin(&o, NETWORK_PLACE);
		record_add(&o, R_STRING(base), R_STRING(text), R_STRING(suffix),
		    R_FLAG(other_hosts));
		if (!network_send(&network.wall, &o, -1))
			note_unsent(&w);
		wait_for_answer(&w);
	}
	if (w.cause == NETWORK_DONE)
		return true;
	return cli_error("%s", why);
}
