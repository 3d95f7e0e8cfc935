/* SPDX-License-Identifier: ISC */
#include "net/fetch.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "command.h"

#define REDIRECTS_MAX 5L
#define FILE_BLOCK_BYTES (256 * 1024)
/* Never a number of bytes: ends a transfer from within on_body. */
#define STOP ((size_t)-1)

struct transfer {
	struct fetch *f;
	CURL *curl;
	bool begun;
	bool refused; /* begin or data printed a message */
	bool in_body; /* later headers are trailers */
	char range[HTTP_VALUE_BYTES];
	char encoding[HTTP_VALUE_BYTES];
};

/* --- places ------------------------------------------------------------- */

static bool
report_no_memory(void)
{
	cli_error("out of memory");
	return false;
}

/* Returns a part of a URL, to be freed by free, or NULL. */
static char *
get_part(CURLU *u, CURLUPart part, unsigned int flags)
{
	char *text, *copy;

	if (curl_url_get(u, part, &text, flags) != CURLUE_OK)
		return NULL;
	copy = strdup(text);
	curl_free(text);
	return copy;
}

/* Sets p to the URL. p->shown lacks the parts that may be secret. */
static void
set_url(CURLU *u, struct fetch_place *p)
{
	static const CURLUPart secret[] = { CURLUPART_USER, CURLUPART_PASSWORD,
		CURLUPART_OPTIONS, CURLUPART_QUERY, CURLUPART_FRAGMENT };

	p->where = get_part(u, CURLUPART_URL, 0);
	for (size_t i = 0; i < sizeof(secret) / sizeof(secret[0]); i++) {
		if (curl_url_set(u, secret[i], NULL, 0) != CURLUE_OK)
			return;
	}
	p->shown = get_part(u, CURLUPART_URL, 0);
}

bool
fetch_place_parse(const char *text, const char *suffix, struct fetch_place *p)
{
	bool is_path = strstr(text, "://") == NULL &&
	    strncasecmp(text, "file:", 5) != 0;
	char *scheme = NULL, *path = NULL, *with = NULL;
	CURLU *u = curl_url();

	*p = (struct fetch_place){ 0 };
	if (u == NULL)
		return report_no_memory();
	if (is_path) {
		path = strdup(text);
	} else if (curl_url_set(u, CURLUPART_URL, text,
		       CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK ||
	    (scheme = get_part(u, CURLUPART_SCHEME, 0)) == NULL) {
		/* Do not print the text: it may hold a password. */
		cli_error("what is given as URL is not one; write "
			  "https://HOST/PATH, or the path of a file");
		goto out;
	} else if (strcmp(scheme, "https") == 0) {
		p->is_url = true;
		path = get_part(u, CURLUPART_PATH, 0);
	} else if (strcmp(scheme, "file") == 0) {
		/* libcurl rejects a file URL with a host. */
		path = get_part(u, CURLUPART_PATH, CURLU_URLDECODE);
	} else {
		cli_error("files are fetched over https, not over %s; write "
			  "https://HOST/PATH, or the path of a file",
		    scheme);
		goto out;
	}
	if (path == NULL || asprintf(&with, "%s%s", path, suffix) == -1) {
		with = NULL;
	} else if (!p->is_url) {
		p->where = strdup(with);
		p->shown = strdup(with);
	} else if (*suffix == '\0' ||
	    curl_url_set(u, CURLUPART_PATH, with, 0) == CURLUE_OK) {
		set_url(u, p);
	}
	if (p->where == NULL || p->shown == NULL)
		report_no_memory();
out:
	free(with);
	free(path);
	free(scheme);
	curl_url_cleanup(u);
	return p->where != NULL && p->shown != NULL;
}

/* The name after the last slash of a URL or path, without query or fragment. */
static bool
last_name(const char *text, char name[static NAME_MAX + 1])
{
	size_t len = strcspn(text, "?#");
	const char *end = text + len, *start = end;

	while (start > text && start[-1] != '/')
		start--;
	len = (size_t)(end - start);
	if (len == 0 || len > NAME_MAX || *start == '.' ||
	    strspn(start,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789._+-") < len)
		return false;
	memcpy(name, start, len);
	name[len] = '\0';
	return true;
}

static bool
is_https(CURLU *u)
{
	char *scheme = get_part(u, CURLUPART_SCHEME, 0);
	bool https = scheme != NULL && strcmp(scheme, "https") == 0;

	free(scheme);
	return https;
}

/* Gives a URL that names no user the user and password of another one. */
static bool
take_user(CURLU *to, CURLU *from)
{
	static const CURLUPart part[] = { CURLUPART_USER, CURLUPART_PASSWORD };
	char *text = get_part(to, CURLUPART_USER, 0);
	bool ok = true;

	if (text != NULL) {
		free(text);
		return true;
	}
	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		if ((text = get_part(from, part[i], 0)) != NULL)
			ok &= curl_url_set(to, part[i], text, 0) == CURLUE_OK;
		free(text);
	}
	return ok;
}

/* Whether two URLs have the same scheme, host and port. */
static bool
is_same_server(CURLU *a, CURLU *b)
{
	static const CURLUPart part[] = { CURLUPART_SCHEME, CURLUPART_HOST,
		CURLUPART_PORT };
	bool same = true;

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		char *one = get_part(a, part[i], CURLU_DEFAULT_PORT);
		char *other = get_part(b, part[i], CURLU_DEFAULT_PORT);

		same = same && one != NULL && other != NULL &&
		    strcasecmp(one, other) == 0;
		free(one);
		free(other);
	}
	return same;
}

bool
fetch_place_beside(const struct fetch_place *base, const char *name,
    struct fetch_place *p)
{
	CURLU *u = curl_url();
	const char *slash;
	bool ok = false;

	*p = (struct fetch_place){ 0 };
	if (!base->is_url) {
		slash = strrchr(base->where, '/');
		if (asprintf(&p->where, "%.*s%s",
			slash != NULL ? (int)(slash + 1 - base->where) : 0,
			base->where, name) == -1)
			p->where = NULL;
		p->shown = p->where != NULL ? strdup(p->where) : NULL;
	} else {
		p->is_url = true;
		/* Setting a relative URL resolves it. */
		if (u != NULL &&
		    curl_url_set(u, CURLUPART_URL, base->where, 0) ==
			CURLUE_OK &&
		    curl_url_set(u, CURLUPART_URL, name, 0) == CURLUE_OK)
			set_url(u, p);
	}
	ok = p->where != NULL && p->shown != NULL;
	curl_url_cleanup(u);
	return ok || report_no_memory();
}

bool
fetch_place_resolve(const struct fetch_place *base, const char *text,
    bool other_hosts, struct fetch_place *p)
{
	char name[NAME_MAX + 1], *url = NULL;
	CURLU *from = curl_url(), *to = curl_url();
	bool ok = false, follow = false, same;

	*p = (struct fetch_place){ 0 };
	if (base->is_url && from != NULL && to != NULL &&
	    curl_url_set(from, CURLUPART_URL, base->where, 0) == CURLUE_OK &&
	    curl_url_set(to, CURLUPART_URL, base->where, 0) == CURLUE_OK &&
	    curl_url_set(to, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME) ==
		CURLUE_OK) {
		same = is_same_server(from, to);
		follow = is_https(to) && (same || other_hosts);
		if (same && !take_user(to, from))
			follow = false;
		url = get_part(to, CURLUPART_URL, 0);
	}
	if (follow && url != NULL)
		ok = fetch_place_parse(url, "", p);
	else if (last_name(text, name))
		ok = fetch_place_beside(base, name, p);
	else
		cli_error("%s: names a file that cannot be beside it: %s; ask "
			  "its publisher",
		    base->shown, text);
	free(url);
	curl_url_cleanup(from);
	curl_url_cleanup(to);
	return ok;
}

void
fetch_place_free(struct fetch_place *p)
{
	free(p->where);
	free(p->shown);
	*p = (struct fetch_place){ 0 };
}

/* --- headers ------------------------------------------------------------ */

static size_t
on_header(char *line, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;
	size_t len = size * n;

	if (t->in_body)
		return len;
	/* Each answer, such as a redirect, has its own headers. */
	if (len >= 5 && memcmp(line, "HTTP/", 5) == 0)
		t->f->etag[0] = t->f->last_modified[0] = t->range[0] =
		    t->encoding[0] = '\0';
	http_header_keep(line, len, "ETag", t->f->etag);
	http_header_keep(line, len, "Last-Modified", t->f->last_modified);
	http_header_keep(line, len, "Content-Range", t->range);
	http_header_keep(line, len, "Content-Encoding", t->encoding);
	return len;
}

/* --- over HTTPS --------------------------------------------------------- */

static long
http_status(const struct transfer *t)
{
	long status = 0;

	curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

/* Before the first byte. False if the answer is not the file asked for. */
static bool
begin_file(struct transfer *t)
{
	struct fetch *f = t->f;
	long status = http_status(t);
	off_t at = 0;

	t->in_body = true;
	if (status == 206) {
		at = f->from;
		/* Only an equal ETag proves that it is the same file. */
		if (at == 0 || http_range_start(t->range) != at ||
		    strcmp(f->etag, f->if_range) != 0)
			return false;
	} else if (status != 200)
		return false;
	if (t->encoding[0] != '\0' && strcasecmp(t->encoding, "identity") != 0)
		return false;
	t->begun = true;
	t->refused = f->begin != NULL && !f->begin(f, at, f->arg);
	return !t->refused;
}

static size_t
on_body(char *p, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;

	if (!t->begun && !begin_file(t))
		return STOP;
	if (t->f->data(p, size * n, t->f->arg))
		return size * n;
	t->refused = true;
	return STOP;
}

/* Sets *listp to the headers of the request, of those that have a value. */
static bool
make_headers(const struct fetch *f, struct curl_slist **listp)
{
	char range[64] = "", line[HTTP_VALUE_BYTES + 64];
	const char *const header[][2] = {
		{ "If-None-Match", f->if_none_match },
		{ "If-Modified-Since", f->if_modified_since },
		{ "Range", range },
		{ "If-Range", f->from > 0 ? f->if_range : "" },
	};

	if (f->from > 0)
		snprintf(range, sizeof(range), "bytes=%jd-", (intmax_t)f->from);
	for (size_t i = 0; i < sizeof(header) / sizeof(header[0]); i++) {
		struct curl_slist *longer;

		if (header[i][1][0] == '\0')
			continue;
		snprintf(line, sizeof(line), "%s: %s", header[i][0],
		    header[i][1]);
		if ((longer = curl_slist_append(*listp, line)) == NULL)
			return false;
		*listp = longer;
	}
	return true;
}

/* False if libcurl does not know an option: none may be skipped. */
static bool
set_options(struct transfer *t, const struct curl_slist *headers, char *why)
{
	CURL *c = t->curl;
	int bad = 0;

#define SET(option, value) (bad |= (int)curl_easy_setopt(c, option, value))
	SET(CURLOPT_URL, t->f->place->where);
	SET(CURLOPT_HTTPHEADER, headers);
	SET(CURLOPT_HEADERFUNCTION, on_header);
	SET(CURLOPT_HEADERDATA, t);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, t);
#undef SET
	return bad == 0 && https_set_up(c, t->f->limits, REDIRECTS_MAX, why);
}

static enum fetch_end
fail_by_status(const struct transfer *t)
{
	const char *hint = "; look at URL in a browser";
	long status = http_status(t);

	if ((status == 416 || status == 206) && t->f->from > 0)
		return FETCH_NO_RANGE;
	if (t->f->quiet)
		return FETCH_FAILED;
	progress_clear(t->f->progress);
	if (status == 200) {
		cli_error("%s: the server sends it in another encoding (%s); "
			  "have it send the file as it is",
		    t->f->place->shown, t->encoding);
		return FETCH_FAILED;
	}
	if (status == 401 || status == 403 || status == 407)
		hint = "; correct the user and password, or the token, in URL "
		       "or Proxy";
	else if (status == 404 || status == 410)
		hint = t->f->if_missing != NULL ?
		    t->f->if_missing :
		    "; correct URL";
	else if (status == 429 || status >= 500)
		hint = "; try again later";
	cli_error("%s: HTTP status %ld%s", t->f->place->shown, status, hint);
	return FETCH_FAILED;
}

static enum fetch_end
fail_by_error(const struct transfer *t, CURLcode code, const char *why)
{
	if (t->refused)
		return FETCH_FAILED;
	if (code == CURLE_WRITE_ERROR)
		return fail_by_status(t);
	if (t->f->quiet)
		return FETCH_FAILED;
	progress_clear(t->f->progress);
	cli_error("%s: %s%s", t->f->place->shown, https_reason(code, why),
	    https_hint(code));
	return FETCH_FAILED;
}

/* --- from this machine -------------------------------------------------- */

/*
 * Opens a regular file for reading; -1 with the reason in *whyp. Nothing else is
 * ever opened, not even for a moment: a link in a folder of somebody else's may
 * lead to a device.
 */
static int
open_regular(const char *path, const char **whyp)
{
	int found = open(path, O_PATH | O_CLOEXEC), fd = -1;
	char name[64];
	struct stat st;

	*whyp = NULL;
	if (found != -1 && fstat(found, &st) == 0) {
		snprintf(name, sizeof(name), "/proc/self/fd/%d", found);
		if (!S_ISREG(st.st_mode))
			*whyp = "not a regular file";
		else
			fd = open(name, O_RDONLY | O_CLOEXEC);
	}
	if (fd == -1 && *whyp == NULL)
		*whyp = strerror(errno);
	if (found != -1)
		close(found);
	return fd;
}

static enum fetch_end
fetch_file(const struct fetch *f)
{
	static char buf[FILE_BLOCK_BYTES];
	const char *why;
	int fd = open_regular(f->place->where, &why);
	const bool missing = fd == -1 && errno == ENOENT;
	ssize_t n = -1;
	bool ok = false;

	if (fd != -1)
		ok = f->begin == NULL || f->begin(f, 0, f->arg);
	while (ok && n != 0) {
		n = read(fd, buf, sizeof(buf));
		if (n == -1 && errno != EINTR)
			why = strerror(errno);
		else if (f->limits->stopped())
			why = "interrupted";
		ok = why == NULL && (n <= 0 || f->data(buf, (size_t)n, f->arg));
	}
	if (why != NULL && !f->quiet) {
		progress_clear(f->progress);
		cli_error("%s: %s%s", f->place->shown, why,
		    missing && f->if_missing != NULL ? f->if_missing : "");
	}
	if (fd != -1)
		close(fd);
	return ok ? FETCH_DONE : FETCH_FAILED;
}

enum fetch_end
fetch_run(struct fetch *f)
{
	struct transfer t = { .f = f };
	bool asked = f->if_none_match[0] != '\0' ||
	    f->if_modified_since[0] != '\0';
	struct curl_slist *headers = NULL;
	char why[CURL_ERROR_SIZE] = "";
	enum fetch_end end = FETCH_FAILED;
	CURLcode code;

	f->etag[0] = f->last_modified[0] = '\0';
	if (!f->place->is_url)
		return fetch_file(f);
	if ((t.curl = curl_easy_init()) == NULL || !make_headers(f, &headers))
		report_no_memory();
	else if (!set_options(&t, headers, why))
		cli_error("%s: this libcurl cannot do what is needed (%s)",
		    f->place->shown, curl_version());
	else if ((code = curl_easy_perform(t.curl)) != CURLE_OK)
		end = fail_by_error(&t, code, why);
	else if (http_status(&t) == 304 && asked)
		end = FETCH_NOT_MODIFIED;
	/* An answer without a body did not call on_body. */
	else if (t.begun || begin_file(&t))
		end = FETCH_DONE;
	else if (!t.refused)
		end = fail_by_status(&t);
	curl_slist_free_all(headers);
	curl_easy_cleanup(t.curl);
	return end;
}

/* --- into memory -------------------------------------------------------- */

struct filling {
	struct fetch_memory *m;
	size_t max;
	const char *shown, *too_long;
	struct progress *progress;
};

static bool
fill(const void *p, size_t len, void *arg)
{
	struct filling *f = arg;
	struct fetch_memory *m = f->m;
	char *longer;

	if (len > f->max - m->len) {
		progress_clear(f->progress);
		cli_error("%s: %s", f->shown, f->too_long);
		return false;
	}
	if ((longer = realloc(m->bytes, m->len + len + 1)) == NULL)
		return report_no_memory();
	m->bytes = longer;
	memcpy(m->bytes + m->len, p, len);
	m->len += len;
	return true;
}

enum fetch_end
fetch_run_to_memory(struct fetch *f, size_t max, const char *too_long,
    struct fetch_memory *m)
{
	struct filling filling = { m, max, f->place->shown, too_long,
		f->progress };
	enum fetch_end end;

	*m = (struct fetch_memory){ NULL, 0 };
	f->data = fill;
	f->arg = &filling;
	end = fetch_run(f);
	f->arg = NULL;
	return end;
}

bool
fetch_to_memory(const struct fetch_place *place,
    const struct https_limits *limits, struct progress *progress, size_t max,
    const char *too_long, struct fetch_memory *m)
{
	struct fetch f = {
		.place = place,
		.limits = limits,
		.if_none_match = "",
		.if_modified_since = "",
		.if_range = "",
		.progress = progress,
	};

	return fetch_run_to_memory(&f, max, too_long, m) == FETCH_DONE;
}
