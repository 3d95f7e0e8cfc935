/* SPDX-License-Identifier: ISC */
#include "net/ask.h"

#include <sys/mman.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
on_arrived(size_t len, void *arg)
{
	struct ask *a = arg;

	a->len += len;
	return a->len <= a->max;
}

bool
ask_open(struct ask *a, const struct https_limits *limits, const char *accept,
    size_t max)
{
	*a = (struct ask){ .limits = limits, .max = max };
	snprintf(a->accept, sizeof(a->accept), "Accept: %s", accept);
	if ((a->body = memfd_create("answer", MFD_CLOEXEC)) != -1)
		return true;
	cli_error("%s", strerror(errno));
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
		.arrived = on_arrived,
		.into = a->body,
		.arg = a,
	};
	char why[NETWORK_WHY_BYTES];
	enum network_cause cause;

	a->status = 0;
	a->retry_after = a->len = 0;
	a->type[0] = '\0';
	if (ftruncate(a->body, 0) == -1 || lseek(a->body, 0, SEEK_SET) == -1) {
		snprintf(a->why, sizeof(a->why), "%s", strerror(errno));
		return false;
	}
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
	/* One that was never opened is all zeroes. */
	if (a->max > 0 && a->body != -1)
		close(a->body);
	*a = (struct ask){ .body = -1 };
}
