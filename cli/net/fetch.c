/* SPDX-License-Identifier: ISC */
#include "net/fetch.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <curl/curl.h>

#include "command.h"

#define REDIRECTS_MAX 5L
#define CONNECT_SECONDS 30L
/* A server that is slower, for stall_timeout, counts as silent. */
#define STALL_BYTES_A_SECOND 1000L
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
		cli_error("a filter is fetched over https, not over %s; write "
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

static int
on_progress(void *arg, curl_off_t total, curl_off_t now, curl_off_t up_total,
    curl_off_t up_now)
{
	const struct transfer *t = arg;

	(void)total;
	(void)now;
	(void)up_total;
	(void)up_now;
	return t->f->limits->stopped();
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
	const struct fetch_limits *l = t->f->limits;
	CURL *c = t->curl;
	int bad = 0;

#define SET(option, value) (bad |= (int)curl_easy_setopt(c, option, value))
	SET(CURLOPT_URL, t->f->place->where);
#if LIBCURL_VERSION_NUM >= 0x075500
	SET(CURLOPT_PROTOCOLS_STR, "https");
	SET(CURLOPT_REDIR_PROTOCOLS_STR, "https");
#else
	SET(CURLOPT_PROTOCOLS, (long)CURLPROTO_HTTPS);
	SET(CURLOPT_REDIR_PROTOCOLS, (long)CURLPROTO_HTTPS);
#endif
	SET(CURLOPT_FOLLOWLOCATION, 1L);
	SET(CURLOPT_MAXREDIRS, REDIRECTS_MAX);
	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(CURLOPT_SSL_VERIFYPEER, 1L);
	SET(CURLOPT_SSL_VERIFYHOST, 2L);
	if (l->ca_file != NULL) {
		SET(CURLOPT_CAINFO, l->ca_file);
		SET(CURLOPT_CAPATH, NULL);
	}
	if (l->proxy != NULL)
		SET(CURLOPT_PROXY, l->proxy);
	SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	SET(CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	SET(CURLOPT_TIMEOUT, (long)l->timeout);
	SET(CURLOPT_LOW_SPEED_LIMIT, STALL_BYTES_A_SECOND);
	SET(CURLOPT_LOW_SPEED_TIME, (long)l->stall_timeout);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_USERAGENT, "keyveto/" KEYVETO_VERSION);
	SET(CURLOPT_HTTPHEADER, headers);
	SET(CURLOPT_HEADERFUNCTION, on_header);
	SET(CURLOPT_HEADERDATA, t);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, t);
	SET(CURLOPT_NOPROGRESS, 0L);
	SET(CURLOPT_XFERINFOFUNCTION, on_progress);
	SET(CURLOPT_XFERINFODATA, t);
	SET(CURLOPT_ERRORBUFFER, why);
#undef SET
	return bad == 0;
}

static enum fetch_end
fail_by_status(const struct transfer *t)
{
	const char *hint = "; look at URL in a browser";
	long status = http_status(t);

	if ((status == 416 || status == 206) && t->f->from > 0)
		return FETCH_NO_RANGE;
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
		hint = "; correct URL";
	else if (status == 429 || status >= 500)
		hint = "; try again later";
	cli_error("%s: HTTP status %ld%s", t->f->place->shown, status, hint);
	return FETCH_FAILED;
}

static enum fetch_end
fail_by_error(const struct transfer *t, CURLcode code, const char *why)
{
	const char *hint = "; try again later";

	if (t->refused)
		return FETCH_FAILED;
	if (code == CURLE_WRITE_ERROR)
		return fail_by_status(t);
	progress_clear(t->f->progress);
	switch (code) {
	case CURLE_ABORTED_BY_CALLBACK:
		cli_error("%s: interrupted", t->f->place->shown);
		return FETCH_FAILED;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_CONNECT:
		hint = "; check the network, URL and Proxy";
		break;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
		hint = "; the server is not who it claims to be, or CAFile "
		       "lacks its CA";
		break;
	case CURLE_UNSUPPORTED_PROTOCOL:
		hint = "; it redirects to another protocol than https: name "
		       "the https URL that it leads to, if there is one";
		break;
	case CURLE_TOO_MANY_REDIRECTS:
		hint = "; correct URL";
		break;
	default:
		break;
	}
	/*
	 * For a proxy that it cannot parse, libcurl's message repeats the whole
	 * URL, which may hold a password.
	 */
	if (why[0] == '\0' || strchr(why, '@') != NULL)
		why = curl_easy_strerror(code);
	cli_error("%s: %s%s", t->f->place->shown, why, hint);
	return FETCH_FAILED;
}

/* --- from this machine -------------------------------------------------- */

static enum fetch_end
fetch_file(const struct fetch *f)
{
	static char buf[FILE_BLOCK_BYTES];
	/* O_NONBLOCK: a FIFO or a device is refused without waiting. */
	int fd = open(f->place->where,
	    O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	const char *why = NULL;
	struct stat st;
	ssize_t n = -1;
	bool ok = false;

	if (fd == -1 || fstat(fd, &st) == -1)
		why = strerror(errno);
	else if (!S_ISREG(st.st_mode))
		why = "not a regular file";
	else
		ok = f->begin == NULL || f->begin(f, 0, f->arg);
	while (ok && n != 0) {
		n = read(fd, buf, sizeof(buf));
		if (n == -1 && errno != EINTR)
			why = strerror(errno);
		else if (f->limits->stopped())
			why = "interrupted";
		ok = why == NULL && (n <= 0 || f->data(buf, (size_t)n, f->arg));
	}
	if (why != NULL) {
		progress_clear(f->progress);
		cli_error("%s: %s", f->place->shown, why);
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
