/* SPDX-License-Identifier: ISC */
#include "net/ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

#define HEADERS_MAX_BYTES (64 * 1024)
/* Never a number of bytes: ends a transfer from within a callback. */
#define STOP ((size_t)-1)

static size_t
on_header(char *line, size_t size, size_t n, void *arg)
{
	struct ask *a = arg;
	size_t len = size * n;

	a->header_bytes += len;
	if (a->header_bytes > HEADERS_MAX_BYTES) {
		a->too_long = true;
		return STOP;
	}
	/* Later headers are trailers. */
	if (a->in_body)
		return len;
	/* An interim answer, such as 103, has headers of its own. */
	if (len >= 5 && memcmp(line, "HTTP/", 5) == 0)
		a->type[0] = '\0';
	http_header_keep(line, len, "Content-Type", a->type);
	return len;
}

static size_t
on_body(char *p, size_t size, size_t n, void *arg)
{
	struct ask *a = arg;
	size_t len = size * n;

	a->in_body = true;
	if (len > a->max - a->len) {
		a->too_long = true;
		return STOP;
	}
	memcpy(a->body + a->len, p, len);
	a->len += len;
	a->body[a->len] = '\0';
	return len;
}

bool
ask_open(struct ask *a, const struct https_limits *limits, const char *accept,
    size_t max)
{
	char header[HTTP_VALUE_BYTES];
	int bad = 0;

	*a = (struct ask){ .limits = limits, .max = max };
	snprintf(header, sizeof(header), "Accept: %s", accept);
	a->body = malloc(max + 1);
	a->headers = curl_slist_append(NULL, header);
	a->curl = curl_easy_init();
	if (a->body == NULL || a->headers == NULL || a->curl == NULL) {
		cli_error("out of memory");
		return false;
	}
#define SET(option, value) \
	(bad |= (int)curl_easy_setopt(a->curl, option, value))
	SET(CURLOPT_HTTPHEADER, a->headers);
	SET(CURLOPT_HEADERFUNCTION, on_header);
	SET(CURLOPT_HEADERDATA, a);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, a);
#undef SET
	if (bad == 0 && https_set_up(a->curl, limits, 0, a->error))
		return true;
	cli_error("this libcurl cannot do what is needed (%s)", curl_version());
	return false;
}

bool
ask_get(struct ask *a, const char *url)
{
	curl_off_t wait = 0;
	CURLcode code;

	a->status = 0;
	a->retry_after = a->len = a->header_bytes = 0;
	a->type[0] = a->body[0] = a->error[0] = '\0';
	a->in_body = a->too_long = false;
	code = curl_easy_setopt(a->curl, CURLOPT_URL, url);
	if (code == CURLE_OK)
		code = curl_easy_perform(a->curl);
	if (code == CURLE_OK) {
		curl_easy_getinfo(a->curl, CURLINFO_RESPONSE_CODE, &a->status);
		if (curl_easy_getinfo(a->curl, CURLINFO_RETRY_AFTER, &wait) ==
			CURLE_OK &&
		    wait > 0)
			a->retry_after = (uint64_t)wait;
		return true;
	}
	if (a->too_long)
		snprintf(a->why, sizeof(a->why),
		    "the answer is longer than %zu bytes", a->max);
	else
		/* The hint of this code is about redirects. */
		snprintf(a->why, sizeof(a->why), "%s%s",
		    https_reason(code, a->error),
		    code == CURLE_UNSUPPORTED_PROTOCOL ? "" : https_hint(code));
	return false;
}

void
ask_close(struct ask *a)
{
	curl_easy_cleanup(a->curl);
	curl_slist_free_all(a->headers);
	free(a->body);
	*a = (struct ask){ .curl = NULL };
}
