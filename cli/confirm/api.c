/* SPDX-License-Identifier: ISC */
#include "confirm/api.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/io.h"
#include "command.h"
#include "host/memory.h"
#include "net/fetch.h"
#include "working/working.h"

#define NANO 1000000000
/* So many failures in a row, and the server is left alone. */
#define FAILURES_MAX 5
/* How often one question is asked again. */
#define TRIES_MAX 5
/* Of a 429 without Retry-After. */
#define WAIT_DEFAULT 10
/* Nobody waits for longer at a terminal. */
#define WAIT_MAX 600

const char *
api_verdict_name(enum api_verdict verdict)
{
	switch (verdict) {
	case API_CONFIRMED:
		return "confirmed";
	case API_NOT_CONFIRMED:
		return "not confirmed";
	case API_NO_ANSWER:
		break;
	}
	return "no answer";
}

/* Whether the URL is one that an id can be added to. False after a message. */
static bool
check_url(const char *url)
{
	if (strncasecmp(url, "https://", 8) != 0)
		cli_error("keys are asked about over https only: give "
			  "https://HOST, such as https://v1.pwnedkeys.com");
	else if (strpbrk(url, "?#") != NULL)
		cli_error("the URL to ask has a query or a fragment; the name "
			  "of each key is added to its path");
	else if (!fetch_url_is_one(url))
		/* It may hold a password. */
		cli_error("what is given as URL to ask is not one: give "
			  "https://HOST, such as https://v1.pwnedkeys.com");
	else
		return true;
	return false;
}

bool
api_open(struct api *a, const char *url, const struct https_limits *limits,
    uint64_t rate)
{
	struct fetch_place place = { 0 };
	size_t len;

	*a = (struct api){
		.limits = *limits,
		.body = -1,
		.interval = (int64_t)(NANO / rate),
	};
	if (!check_url(url) || !fetch_place_parse(url, "", &place)) {
		fetch_place_free(&place);
		return false;
	}
	a->url = place.where;
	a->shown = place.shown;
	for (len = strlen(a->url); len > 0 && a->url[len - 1] == '/'; len--)
		a->url[len - 1] = '\0';
	for (len = strlen(a->shown); len > 0 && a->shown[len - 1] == '/'; len--)
		a->shown[len - 1] = '\0';
	a->body = memory_file("answer");
	if (a->body == -1)
		cli_error("%s", strerror(errno));
	return a->body != -1;
}

void
api_close(struct api *a)
{
	io_close(a->body);
	free(a->url);
	free(a->shown);
	*a = (struct api){ .body = -1 };
}

/* --- time --------------------------------------------------------------- */

static struct timespec
later(const struct timespec *t, int64_t nanoseconds)
{
	struct timespec sum = {
		.tv_sec = t->tv_sec + (time_t)(nanoseconds / NANO),
		.tv_nsec = t->tv_nsec + (long)(nanoseconds % NANO),
	};

	sum.tv_sec += sum.tv_nsec / NANO;
	sum.tv_nsec %= NANO;
	return sum;
}

/* Sleeps until then. A signal ends it. False if the run is to stop. */
static bool
sleep_until(const struct api *a, const struct timespec *then)
{
	while (!a->limits.stopped() &&
	    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, then, NULL) != 0)
		;
	return !a->limits.stopped();
}

/* Keeps the rate. */
static bool
wait_for_turn(struct api *a)
{
	const struct timespec then = later(&a->last, a->interval);
	const bool go = a->last.tv_sec == 0 || sleep_until(a, &then);

	clock_gettime(CLOCK_MONOTONIC, &a->last);
	return go;
}

/* --- one key ------------------------------------------------------------ */

/* Sets a->why. Always API_NO_ANSWER. */
__attribute__((format(printf, 2, 3))) static enum api_verdict
no_answer(struct api *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(a->why, sizeof(a->why), fmt, ap);
	va_end(ap);
	return API_NO_ANSWER;
}

static void
on_head(const struct network_head *head, void *arg)
{
	struct api *a = arg;

	a->status = head->status;
	a->retry_after = head->retry_after;
	memcpy(a->type, head->type, sizeof(a->type));
}

static bool
on_arrived(size_t len, void *arg)
{
	struct api *a = arg;

	a->len += len;
	return a->len <= JWS_MAX_BYTES;
}

/*
 * Asks for url. A redirect is an answer, and is not followed: no other server is
 * told what was asked. False with a->why if there is no whole answer of that
 * length, whatever its status.
 */
static bool
get(struct api *a, const char *url)
{
	static const char *const header[] = { "Accept: application/json" };
	const struct network_request r = {
		.url = url,
		.limits = &a->limits,
		.header = header,
		.n_headers = 1,
		.keep = true,
		.head = on_head,
		.arrived = on_arrived,
		.into = a->body,
		.arg = a,
	};
	char why[NETWORK_WHY_BYTES];
	enum network_cause cause;

	a->status = 0;
	a->retry_after = a->len = 0;
	a->type[0] = '\0';
	if (ftruncate(a->body, 0) == -1 || lseek(a->body, 0, SEEK_SET) == -1)
		no_answer(a, "%s", strerror(errno));
	else if ((cause = network_get(&r, why)) == NETWORK_DONE)
		return true;
	else if (cause == NETWORK_TOO_LONG ||
	    (cause == NETWORK_STOPPED && why[0] == '\0'))
		no_answer(a, "the answer is longer than %d bytes",
		    JWS_MAX_BYTES);
	else
		/* The hint of that cause is about redirects. */
		no_answer(a, "%s%s", why,
		    cause == NETWORK_NOT_HTTPS ? "" : network_hint(cause));
	return false;
}

/* application/json, or another type that is JSON. */
static bool
is_json(const char *type)
{
	static const char group[] = "application/", suffix[] = "+json";
	size_t len = strcspn(type, "; \t"), n = sizeof(group) - 1;

	if (len <= n || strncasecmp(type, group, n) != 0)
		return false;
	type += n;
	len -= n;
	n = sizeof(suffix) - 1;
	return (len == 4 && strncasecmp(type, "json", 4) == 0) ||
	    (len > n && strncasecmp(type + len - n, suffix, n) == 0);
}

/*
 * Whether the API itself answers. A server that has nothing to say about a key
 * may send a 404 without a body; portals and proxies send a page.
 */
static bool
is_from_api(const struct api *a)
{
	return is_json(a->type) ||
	    (a->status == 404 && a->len == 0 && a->type[0] == '\0');
}

static enum api_verdict
refuse_page(struct api *a)
{
	const bool json = is_json(a->type);

	return no_answer(a,
	    "HTTP status %ld, but the answer is %s%s and not application/json: "
	    "this is not the API, or something stands in front of it",
	    a->status,
	    json		   ? "a page of HTML or XML" :
		a->type[0] != '\0' ? "of type " :
				     "of no type",
	    json ? "" : a->type);
}

void
api_verify(int fd, struct kv_span spki, struct answer *answer)
{
	const struct working_task t = {
		.name = "proof",
		.args = RECORD_FIELDS(R_SPAN(spki)),
		.fd = { fd },
		.n_fds = 1,
		.answer = RECORD_FIELDS(ANSWER_FIELDS(answer)),
	};
	char why[WALL_WHY_BYTES];

	*answer = (struct answer){ .kind = ANSWER_UNREAD };
	if (working_do(&t, why))
		return;
	answer->kind = ANSWER_UNREAD;
	snprintf(answer->why, sizeof(answer->why), "%.200s", why);
}

/* Reads the body of the API's answer. spki is empty if it is no proof. */
static enum api_verdict
read_body(struct api *a, struct kv_span spki)
{
	struct answer answer;

	api_verify(a->body, spki, &answer);
	switch (answer.kind) {
	case ANSWER_PROOF:
		return API_CONFIRMED;
	case ANSWER_PAGE:
		return refuse_page(a);
	case ANSWER_OTHER:
		break;
	case ANSWER_UNREAD:
		return no_answer(a, "its answer cannot be read: %s",
		    answer.why);
	}
	return spki.len == 0 ?
	    API_NOT_CONFIRMED :
	    no_answer(a, "it says yes, but its proof is none: %s", answer.why);
}

static enum api_verdict
read_answer(struct api *a, struct kv_span spki)
{
	const struct kv_span nothing = { NULL, 0 };
	const long status = a->status;

	if ((status == 200 || status == 404) && !is_from_api(a))
		return refuse_page(a);
	if (status == 404)
		return a->len == 0 ? API_NOT_CONFIRMED : read_body(a, nothing);
	if (status == 200)
		return read_body(a, spki);
	if (status >= 300 && status < 400)
		return no_answer(a,
		    "HTTP status %ld: it redirects, and no other server is "
		    "asked; correct the URL",
		    status);
	return no_answer(a, "HTTP status %ld%s", status,
	    status == 401 || status == 403 || status == 407 ?
		"; correct the user and password in the URL or in Proxy" :
		status >= 500 ? "; try again later" :
				"");
}

/*
 * Whether the server asks to be left alone for *secondsp: 429, or 503 with
 * Retry-After.
 */
static bool
must_wait(const struct api *a, uint64_t *secondsp)
{
	*secondsp = a->retry_after > 0 ? a->retry_after : WAIT_DEFAULT;
	return a->status == 429 || (a->status == 503 && a->retry_after > 0);
}

/* Waits for that time. False with a->why if the questions end here. */
static bool
wait_as_asked(struct api *a, uint64_t seconds)
{
	struct timespec then;

	if (seconds > WAIT_MAX) {
		a->given_up = true;
		no_answer(a,
		    "HTTP status %ld: it wants no question for %" PRIu64
		    " seconds; type the same command again after that",
		    a->status, seconds);
		return false;
	}
	cli_error("%s: HTTP status %ld: waiting for %" PRIu64 " %s, as it asks",
	    a->shown, a->status, seconds,
	    cli_plural(seconds, "second", "seconds"));
	clock_gettime(CLOCK_MONOTONIC, &then);
	then.tv_sec += (time_t)seconds;
	if (sleep_until(a, &then))
		return true;
	no_answer(a, "interrupted");
	return false;
}

static enum api_verdict
ask_until_answered(struct api *a, const char *url, struct kv_span spki)
{
	uint64_t seconds;

	for (int tries = 0; tries < TRIES_MAX; tries++) {
		if (!wait_for_turn(a))
			return no_answer(a, "interrupted");
		if (!get(a, url))
			return API_NO_ANSWER;
		if (!must_wait(a, &seconds))
			return read_answer(a, spki);
		if (tries + 1 < TRIES_MAX && !wait_as_asked(a, seconds))
			return API_NO_ANSWER;
	}
	a->given_up = true;
	return no_answer(a,
	    "HTTP status %ld, %d times in a row; try again later, or with a "
	    "lower --rate",
	    a->status, TRIES_MAX);
}

enum api_verdict
api_ask(struct api *a, const char *id, struct kv_span spki)
{
	enum api_verdict verdict = API_NO_ANSWER;
	char *url;

	if (asprintf(&url, "%s/%s", a->url, id) == -1)
		return no_answer(a, "out of memory");
	verdict = ask_until_answered(a, url, spki);
	free(url);
	a->failures = verdict == API_NO_ANSWER ? a->failures + 1 : 0;
	a->given_up = a->given_up || a->failures >= FAILURES_MAX;
	return verdict;
}
