/* SPDX-License-Identifier: ISC */
#include "net/ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "net/network.h"

static void
on_head(const struct network_head *head, void *arg)
{
	struct ask *a = arg;

	a->status = head->status;
	a->retry_after = head->retry_after;
	memcpy(a->type, head->type, sizeof(a->type));
}

static bool
on_body(const void *p, size_t len, void *arg)
{
	struct ask *a = arg;

	if (len > a->max - a->len)
		return false;
	memcpy(a->body + a->len, p, len);
	a->len += len;
	a->body[a->len] = '\0';
	return true;
}

bool
ask_open(struct ask *a, const struct https_limits *limits, const char *accept,
    size_t max)
{
	*a = (struct ask){ .limits = limits, .max = max };
	snprintf(a->accept, sizeof(a->accept), "Accept: %s", accept);
	if ((a->body = malloc(max + 1)) != NULL)
		return true;
	cli_error("out of memory");
	return false;
}

bool
ask_get(struct ask *a, const char *url)
{
	const char *const header[] = { a->accept };
	const struct network_request r = {
		.url = url,
		.limits = a->limits,
		.header = header,
		.n_headers = 1,
		.keep = true,
		.head = on_head,
		.data = on_body,
		.arg = a,
	};
	char why[NETWORK_WHY_BYTES];
	enum network_cause cause;

	a->status = 0;
	a->retry_after = a->len = 0;
	a->type[0] = a->body[0] = '\0';
	if ((cause = network_get(&r, why)) == NETWORK_DONE)
		return true;
	if (cause == NETWORK_TOO_LONG ||
	    (cause == NETWORK_STOPPED && why[0] == '\0'))
		snprintf(a->why, sizeof(a->why),
		    "the answer is longer than %zu bytes", a->max);
	else
		/* The hint of that cause is about redirects. */
		snprintf(a->why, sizeof(a->why), "%s%s", why,
		    cause == NETWORK_NOT_HTTPS ? "" : https_hint(cause));
	return false;
}

void
ask_close(struct ask *a)
{
	free(a->body);
	*a = (struct ask){ .body = NULL };
}
