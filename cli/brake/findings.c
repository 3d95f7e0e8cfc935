/* SPDX-License-Identifier: ISC */
/*
 * brake/findings: prints and logs the keys in use that a change lists newly,
 * each once, although several configurations may refuse it.
 */
#include "brake/parts.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "kv_log.h"

/* A report's functions get no argument of ours. */
static struct {
	const char *via;
	void *printed; /* a tree of tsearch(3) of texts */
	void *counted; /* the same of keys */
	size_t keys;
} findings;

static int
compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Adds a copy of text to a tree. Whether it is new, or out of memory. */
static bool
is_new(void **tree, const char *text)
{
	char *copy = strdup(text);
	char **node = copy != NULL ? tsearch(copy, tree, compare) : NULL;
	const bool added = node == NULL || *node == copy;

	if (node == NULL || !added)
		free(copy);
	return added;
}

void
brake_findings_start(const char *via)
{
	findings.via = via;
	findings.printed = findings.counted = NULL;
	findings.keys = 0;
}

size_t
brake_findings_keys(void)
{
	return findings.keys;
}

void
brake_findings_free(void)
{
	tdestroy(findings.printed, free);
	tdestroy(findings.counted, free);
	findings.printed = findings.counted = NULL;
}

/* Prints text unless it was printed already. Whether it was not. */
static bool
print_once(const char *text)
{
	if (!is_new(&findings.printed, text))
		return false;
	cli_error("%s", text);
	return true;
}

/* Returns the sentence about a key, to be freed; NULL without memory. */
static char *
describe(const struct report *r, const struct input_key *key,
    const struct kv_decision *d)
{
	const char *account = r->account != NULL ? r->account : "";
	char *text;

	if (asprintf(&text,
		"%s%s%s (%s:%" PRIu64 ") will be %s: %s %s%s%s%s%.*s", account,
		*account != '\0' ? "'s " : "",
		key->part == KV_PART_CA ? "CA" : "key", key->path, key->line,
		d->action == KV_ACTION_DENY ? "refused" : "logged", key->type,
		d->fingerprint, d->source[0] != '\0' ? ", listed by " : "",
		d->source, key->comment.len > 0 ? ", " : "",
		(int)(key->comment.len < 256 ? key->comment.len : 256),
		(const char *)key->comment.p) == -1)
		return NULL;
	return text;
}

void
brake_findings_key(const struct report *r, const struct input_key *key,
    const struct kv_decision *d)
{
	const struct kv_log_context context = {
		.via = findings.via,
		.user = r->account,
		.authorized = KV_AUTHORIZED_YES,
	};
	static char line[KV_LOG_LINE_BYTES];
	char place[512], *text;

	snprintf(place, sizeof(place), "%.400s:%" PRIu64 ":%d", key->path,
	    key->line, (int)key->part);
	findings.keys += is_new(&findings.counted, place);
	if (findings.via == NULL)
		return;
	text = describe(r, key, d);
	if (text == NULL || print_once(text)) {
		kv_log_format(&context, d, line);
		syslog(kv_log_priority(&context, d), "%s", line);
	}
	free(text);
}

void
brake_findings_problem(const struct input_problem *p)
{
	char *text;
	int n = p->line > 0 ?
	    asprintf(&text, "%s:%" PRIu64 ": %s", p->path, p->line, p->reason) :
	    asprintf(&text, "%s: %s", p->path, p->reason);

	if (n == -1)
		return;
	(void)print_once(text);
	free(text);
}
