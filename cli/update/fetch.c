/* SPDX-License-Identifier: ISC */
#include "update/fetch.h"

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
#define SUFFIX ".sig"
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

/* Returns a part of a URL, to be freed by curl_free, or NULL. */
static char *
get_part(CURLU *u, CURLUPart part, unsigned int flags)
{
	char *text;

	return curl_url_get(u, part, &text, flags) == CURLUE_OK ? text : NULL;
}

/* Returns the URL without user, password and query, which may be secret. */
static char *
make_shown(CURLU *u)
{
	char *host = get_part(u, CURLUPART_HOST, 0);
	char *port = get_part(u, CURLUPART_PORT, 0);
	char *path = get_part(u, CURLUPART_PATH, 0);
	char *shown = NULL;

	if (asprintf(&shown, "https://%s%s%s%s", host != NULL ? host : "",
		port != NULL ? ":" : "", port != NULL ? port : "",
		path != NULL ? path : "") == -1)
		shown = NULL;
	curl_free(host);
	curl_free(port);
	curl_free(path);
	return shown;
}

/* As get_part, but to be freed by free. */
static char *
get_copy(CURLU *u, CURLUPart part, unsigned int flags)
{
	char *text = get_part(u, part, flags);
	char *copy = text != NULL ? strdup(text) : NULL;

	curl_free(text);
	return copy;
}

static bool
set_path(struct fetch_place *p, const char *path)
{
	p->path = strdup(path);
	p->shown = strdup(path);
	return (p->path != NULL && p->shown != NULL) || report_no_memory();
}

static bool
parse_file_url(CURLU *u, struct fetch_place *p)
{
	/* libcurl rejects a file URL with a host. */
	char *path = get_part(u, CURLUPART_PATH, CURLU_URLDECODE);
	bool ok = path != NULL ? set_path(p, path) : report_no_memory();

	curl_free(path);
	return ok;
}

static bool
parse_url(CURLU *u, const char *text, struct fetch_place *p)
{
	char *scheme;
	bool ok = false;

	if (curl_url_set(u, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME) !=
		CURLUE_OK ||
	    (scheme = get_part(u, CURLUPART_SCHEME, 0)) == NULL) {
		/* Do not print the text: it may hold a password. */
		cli_error("what is given as URL is not one; write "
			  "https://HOST/PATH, or the path of a file");
		return false;
	}
	if (strcmp(scheme, "https") == 0) {
		p->url = get_copy(u, CURLUPART_URL, 0);
		p->shown = make_shown(u);
		ok = (p->url != NULL && p->shown != NULL) || report_no_memory();
	} else if (strcmp(scheme, "file") == 0)
		ok = parse_file_url(u, p);
	else
		cli_error("a filter is fetched over https, not over %s; write "
			  "https://HOST/PATH, or the path of a file",
		    scheme);
	curl_free(scheme);
	return ok;
}

bool
fetch_place_parse(const char *text, struct fetch_place *p)
{
	CURLU *u;
	bool ok;

	*p = (struct fetch_place){ 0 };
	if (strstr(text, "://") == NULL && strncasecmp(text, "file:", 5) != 0)
		return set_path(p, text);
	if ((u = curl_url()) == NULL)
		return report_no_memory();
	ok = parse_url(u, text, p);
	curl_url_cleanup(u);
	return ok;
}

/* Sets p to the URL with SUFFIX after its path. */
static bool
add_suffix(CURLU *u, const char *url, struct fetch_place *p)
{
	char *path, *with = NULL;
	bool ok;

	if (curl_url_set(u, CURLUPART_URL, url, 0) != CURLUE_OK ||
	    (path = get_part(u, CURLUPART_PATH, 0)) == NULL)
		return report_no_memory();
	ok = asprintf(&with, "%s" SUFFIX, path) != -1 &&
	    curl_url_set(u, CURLUPART_PATH, with, 0) == CURLUE_OK;
	curl_free(path);
	if (ok) {
		free(with);
		p->url = get_copy(u, CURLUPART_URL, 0);
		p->shown = make_shown(u);
	}
	return (p->url != NULL && p->shown != NULL) || report_no_memory();
}

bool
fetch_place_signature(const struct fetch_place *of, struct fetch_place *p)
{
	char *with = NULL;
	CURLU *u;
	bool ok;

	*p = (struct fetch_place){ 0 };
	if (of->url == NULL) {
		if (asprintf(&with, "%s" SUFFIX, of->path) == -1)
			return report_no_memory();
		ok = set_path(p, with);
		free(with);
		return ok;
	}
	if ((u = curl_url()) == NULL)
		return report_no_memory();
	ok = add_suffix(u, of->url, p);
	curl_url_cleanup(u);
	return ok;
}

void
fetch_place_free(struct fetch_place *p)
{
	free(p->url);
	free(p->path);
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

static void
before_message(const struct fetch *f)
{
	if (f->before_message != NULL)
		f->before_message(f->arg);
}

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
	if (f->begin(f, at, f->arg))
		return true;
	t->refused = true;
	return false;
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

static bool
add_header(struct curl_slist **list, const char *name, const char *value)
{
	struct curl_slist *longer;
	char line[HTTP_VALUE_BYTES + 64];

	if (value[0] == '\0')
		return true;
	snprintf(line, sizeof(line), "%s: %s", name, value);
	if ((longer = curl_slist_append(*list, line)) == NULL)
		return false;
	*list = longer;
	return true;
}

static bool
make_headers(const struct fetch *f, struct curl_slist **list)
{
	char range[64] = "";

	if (f->from > 0)
		snprintf(range, sizeof(range), "bytes=%jd-", (intmax_t)f->from);
	return add_header(list, "If-None-Match", f->if_none_match) &&
	    add_header(list, "If-Modified-Since", f->if_modified_since) &&
	    add_header(list, "Range", range) &&
	    add_header(list, "If-Range", f->from > 0 ? f->if_range : "");
}

/* False if libcurl does not know an option: none may be skipped. */
static bool
set_options(struct transfer *t, const struct curl_slist *headers, char *why)
{
	const struct fetch_limits *l = t->f->limits;
	CURL *c = t->curl;
	int bad = 0;

#define SET(option, value) (bad |= (int)curl_easy_setopt(c, option, value))
	SET(CURLOPT_URL, t->f->place->url);
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

static const char *
hint_for_status(long status)
{
	switch (status) {
	case 401:
	case 403:
	case 407:
		return "; correct the user and password, or the token, in URL "
		       "or Proxy";
	case 404:
	case 410:
		return "; correct URL";
	default:
		return status == 429 || status >= 500 ?
		    "; try again later" :
		    "; look at URL in a browser";
	}
}

static enum fetch_end
fail_by_status(const struct transfer *t)
{
	const char *shown = t->f->place->shown;
	long status = http_status(t);

	if ((status == 416 || status == 206) && t->f->from > 0)
		return FETCH_NO_RANGE;
	before_message(t->f);
	if (status == 200)
		cli_error("%s: the server sends it in another encoding (%s); "
			  "have it send the file as it is",
		    shown, t->encoding);
	else
		cli_error("%s: HTTP status %ld%s", shown, status,
		    hint_for_status(status));
	return FETCH_FAILED;
}

static const char *
hint_for_error(CURLcode code)
{
	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_CONNECT:
		return "; check the network, URL and Proxy";
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
		return "; the server is not who it claims to be, or CAFile "
		       "lacks its CA";
	case CURLE_UNSUPPORTED_PROTOCOL:
		return "; it redirects to another protocol than https: name "
		       "the https URL that it leads to, if there is one";
	case CURLE_TOO_MANY_REDIRECTS:
		return "; correct URL";
	default:
		return "; try again later";
	}
}

/*
 * libcurl's message, unless it may hold a password: for a proxy that it cannot
 * parse, libcurl repeats the whole URL.
 */
static const char *
error_text(CURLcode code, const char *why)
{
	return why[0] != '\0' && strchr(why, '@') == NULL ?
	    why :
	    curl_easy_strerror(code);
}

static enum fetch_end
fail_by_error(const struct transfer *t, CURLcode code, const char *why)
{
	if (t->refused)
		return FETCH_FAILED;
	if (code == CURLE_WRITE_ERROR)
		return fail_by_status(t);
	before_message(t->f);
	if (code == CURLE_ABORTED_BY_CALLBACK)
		cli_error("%s: interrupted", t->f->place->shown);
	else
		cli_error("%s: %s%s", t->f->place->shown, error_text(code, why),
		    hint_for_error(code));
	return FETCH_FAILED;
}

static enum fetch_end
end_by_answer(struct transfer *t)
{
	bool asked = t->f->if_none_match[0] != '\0' ||
	    t->f->if_modified_since[0] != '\0';

	if (http_status(t) == 304 && asked)
		return FETCH_NOT_MODIFIED;
	/* An answer without a body did not call on_body. */
	if (t->begun || begin_file(t))
		return FETCH_DONE;
	return t->refused ? FETCH_FAILED : fail_by_status(t);
}

static enum fetch_end
fetch_https(struct fetch *f)
{
	struct transfer t = { .f = f, .curl = curl_easy_init() };
	struct curl_slist *headers = NULL;
	char why[CURL_ERROR_SIZE] = "";
	enum fetch_end end = FETCH_FAILED;
	CURLcode code;

	if (t.curl == NULL || !make_headers(f, &headers))
		report_no_memory();
	else if (!set_options(&t, headers, why))
		cli_error("%s: this libcurl cannot do what is needed (%s)",
		    f->place->shown, curl_version());
	else if ((code = curl_easy_perform(t.curl)) == CURLE_OK)
		end = end_by_answer(&t);
	else
		end = fail_by_error(&t, code, why);
	curl_slist_free_all(headers);
	curl_easy_cleanup(t.curl);
	return end;
}

/* --- from this machine -------------------------------------------------- */

static bool
copy_file(const struct fetch *f, int fd)
{
	const char *shown = f->place->shown;
	char *buf = malloc(FILE_BLOCK_BYTES);
	ssize_t n = -1;
	bool ok = buf != NULL ? f->begin(f, 0, f->arg) : report_no_memory();

	while (ok && n != 0) {
		n = read(fd, buf, FILE_BLOCK_BYTES);
		if (n == -1 && errno == EINTR && !f->limits->stopped())
			continue;
		ok = n != -1 && !f->limits->stopped();
		if (ok && n > 0) {
			ok = f->data(buf, (size_t)n, f->arg);
		} else if (!ok) {
			int saved = errno;

			before_message(f);
			cli_error("%s: %s", shown,
			    n == -1 ? strerror(saved) : "interrupted");
		}
	}
	free(buf);
	return ok;
}

static enum fetch_end
fetch_file(const struct fetch *f)
{
	/* O_NONBLOCK: a FIFO or a device is refused without waiting. */
	int fd = open(f->place->path,
	    O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	bool ok = false;

	if (fd == -1 || fstat(fd, &st) == -1)
		cli_error("%s: %s", f->place->shown, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		cli_error("%s: not a regular file", f->place->shown);
	else
		ok = copy_file(f, fd);
	if (fd != -1)
		close(fd);
	return ok ? FETCH_DONE : FETCH_FAILED;
}

enum fetch_end
fetch_run(struct fetch *f)
{
	f->etag[0] = f->last_modified[0] = '\0';
	return f->place->url != NULL ? fetch_https(f) : fetch_file(f);
}
