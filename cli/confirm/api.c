/* SPDX-License-Identifier: ISC */
#include "confirm/api.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "command.h"
#include "confirm/verify.h"
#include "net/fetch.h"
#include "proof/jws.h"

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
	return ask_open(&a->ask, &a->limits, "application/json", JWS_MAX_BYTES);
}

void
api_close(struct api *a)
{
	ask_close(&a->ask);
	free(a->url);
	free(a->shown);
	a->url = a->shown = NULL;
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
	return is_json(a->ask.type) ||
	    (a->ask.status == 404 && a->ask.len == 0 && a->ask.type[0] == '\0');
}

static enum api_verdict
refuse_page(struct api *a)
{
	const bool json = is_json(a->ask.type);

	return no_answer(a,
	    "HTTP status %ld, but the answer is %s%s and not application/json: "
	    "this is not the API, or something stands in front of it",
	    a->ask.status,
	    json		       ? "a page of HTML or XML" :
		a->ask.type[0] != '\0' ? "of type " :
					 "of no type",
	    json ? "" : a->ask.type);
}

/* Reads the body of the API's answer. spki is empty if it is no proof. */
static enum api_verdict
read_body(struct api *a, struct kv_span spki)
{
	struct answer answer;

	verify_answer(a->ask.body, spki, &answer);
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
	const long status = a->ask.status;

	if ((status == 200 || status == 404) && !is_from_api(a))
		return refuse_page(a);
	if (status == 404)
		return a->ask.len == 0 ? API_NOT_CONFIRMED :
					 read_body(a, nothing);
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
	const struct ask *q = &a->ask;

	*secondsp = q->retry_after > 0 ? q->retry_after : WAIT_DEFAULT;
	return q->status == 429 || (q->status == 503 && q->retry_after > 0);
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
		    a->ask.status, seconds);
		return false;
	}
	cli_error("%s: HTTP status %ld: waiting for %" PRIu64 " %s, as it asks",
	    a->shown, a->ask.status, seconds,
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
		if (!ask_get(&a->ask, url))
			return no_answer(a, "%s", a->ask.why);
		if (!must_wait(a, &seconds))
			return read_answer(a, spki);
		if (tries + 1 < TRIES_MAX && !wait_as_asked(a, seconds))
			return API_NO_ANSWER;
	}
	a->given_up = true;
	return no_answer(a,
	    "HTTP status %ld, %d times in a row; try again later, or with a "
	    "lower --rate",
	    a->ask.status, TRIES_MAX);
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
