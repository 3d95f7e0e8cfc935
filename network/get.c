/* SPDX-License-Identifier: ISC */
#include "get.h"

#include <sys/mman.h>

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "net/network.h"

#define CONNECT_SECONDS 30L
/* A server that is slower, for the stall timeout, counts as silent. */
#define STALL_BYTES_A_SECOND 1000L
#define HEADERS_MAX_BYTES (64 * 1024)
#define CA_MAX_BYTES (4 * 1024 * 1024)
/* Never a number of bytes: ends a transfer from within a callback. */
#define STOP ((size_t)-1)

/* One request. The strings are valid as long as the order. */
struct get {
	struct record_out *out;
	int body;	   /* the pipe that gets it */
	char *url, *proxy; /* proxy is NULL for the environment's */
	struct curl_slist *headers;
	uint64_t timeout, stall_timeout, redirects, keep;
	bool head_only;
	struct network_head head;
	size_t header_bytes;
	bool too_long;
	bool in_body; /* later headers are trailers */
	char error[CURL_ERROR_SIZE];
};

static CURL *curl;
/* The CAs of later requests, in ca_room; NULL: the system's. */
static char *ca, *ca_room;
static size_t ca_len;
/* The file in memory that is mapped at ca_room. */
static int ca_fd;

bool
get_start(void)
{
	bool is_file;

	ca_fd = memfd_create("keyveto", MFD_CLOEXEC);
	/* A limit on the size of files may forbid it. */
	is_file = ca_fd != -1 && ftruncate(ca_fd, CA_MAX_BYTES) == 0;
	ca_room = mmap(NULL, CA_MAX_BYTES, PROT_READ | PROT_WRITE,
	    is_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS,
	    is_file ? ca_fd : -1, 0);
	return ca_room != MAP_FAILED &&
	    curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK &&
	    (curl = curl_easy_init()) != NULL;
}

void
get_set_ca(int fd)
{
	ssize_t len;

	ca = NULL;
	ca_len = 0;
	if (fd == -1)
		return;
	ca = ca_room;
	memset(ca, 0, CA_MAX_BYTES);
	/* An empty one has no CA: no server is trusted then. */
	if ((len = io_read(fd, ca, CA_MAX_BYTES)) > 0)
		ca_len = (size_t)len;
	close(fd);
}

static size_t
on_header(char *line, size_t size, size_t n, void *arg)
{
	struct get *g = arg;
	struct network_head *h = &g->head;
	const size_t len = size * n;

	g->header_bytes += len;
	if (g->header_bytes > HEADERS_MAX_BYTES) {
		g->too_long = true;
		return STOP;
	}
	if (g->in_body)
		return len;
	/* Each answer, such as a redirect or 103, has its own headers. */
	if (len >= 5 && memcmp(line, "HTTP/", 5) == 0)
		*h = (struct network_head){ 0 };
	http_header_keep(line, len, "ETag", h->etag);
	http_header_keep(line, len, "Last-Modified", h->last_modified);
	http_header_keep(line, len, "Content-Encoding", h->encoding);
	http_header_keep(line, len, "Content-Type", h->type);
	return len;
}

static void
send_head(struct get *g)
{
	const struct network_head *h = &g->head;
	curl_off_t wait = 0;
	long status = 0;

	(void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	if (curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &wait) != CURLE_OK ||
	    wait < 0)
		wait = 0;
	record_send(g->out, NETWORK_HEAD, R_VALUE(status), R_VALUE(wait),
	    R_TEXT(h->etag), R_TEXT(h->last_modified), R_TEXT(h->encoding),
	    R_TEXT(h->type));
	g->in_body = true;
}

static size_t
on_body(char *p, size_t size, size_t n, void *arg)
{
	struct get *g = arg;
	const size_t len = size * n;

	if (!g->in_body)
		send_head(g);
	if (len == 0)
		return 0;
	record_send(g->out, NETWORK_ARRIVED, R_VALUE(len));
	record_flush(g->out);
	return io_write(g->body, p, len) ? len : STOP;
}

/* Has libcurl trust the CAs in ca alone. Returns 0, or an error. */
static int
set_ca(void)
{
#if LIBCURL_VERSION_NUM >= 0x074d00
	struct curl_blob blob = {
		.data = ca,
		.len = ca_len,
		.flags = CURL_BLOB_NOCOPY,
	};
	const int bad = (int)curl_easy_setopt(curl, CURLOPT_CAINFO_BLOB, &blob);
#else
	/*
	 * An older one reads a file: one in memory, which was made before the
	 * walls. What follows the last certificate is passed over.
	 */
	char path[64];
	int bad;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", ca_fd);
	bad = (int)curl_easy_setopt(curl, CURLOPT_CAINFO, path);
#endif
	return bad | (int)curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
}

/* False if libcurl does not know an option: none may be skipped. */
static bool
set_options(struct get *g)
{
	int bad = 0;

#define SET(option, value) (bad |= (int)curl_easy_setopt(curl, option, value))
	SET(CURLOPT_URL, g->url);
	SET(CURLOPT_HTTPHEADER, g->headers);
	SET(CURLOPT_HEADERFUNCTION, on_header);
	SET(CURLOPT_HEADERDATA, g);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, g);
	SET(CURLOPT_NOBODY, g->head_only ? 1L : 0L);
	SET(CURLOPT_BUFFERSIZE, (long)NETWORK_DATA_BYTES);
#if LIBCURL_VERSION_NUM >= 0x075500
	SET(CURLOPT_PROTOCOLS_STR, "https");
	SET(CURLOPT_REDIR_PROTOCOLS_STR, "https");
#else
	SET(CURLOPT_PROTOCOLS, (long)CURLPROTO_HTTPS);
	SET(CURLOPT_REDIR_PROTOCOLS, (long)CURLPROTO_HTTPS);
#endif
	SET(CURLOPT_FOLLOWLOCATION, g->redirects > 0 ? 1L : 0L);
	SET(CURLOPT_MAXREDIRS, (long)g->redirects);
	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(CURLOPT_SSL_VERIFYPEER, 1L);
	SET(CURLOPT_SSL_VERIFYHOST, 2L);
	if (ca != NULL)
		bad |= set_ca();
	SET(CURLOPT_FRESH_CONNECT, g->keep ? 0L : 1L);
	SET(CURLOPT_FORBID_REUSE, g->keep ? 0L : 1L);
	if (g->proxy != NULL)
		SET(CURLOPT_PROXY, g->proxy);
	SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	SET(CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	SET(CURLOPT_TIMEOUT, (long)g->timeout);
	SET(CURLOPT_LOW_SPEED_LIMIT, STALL_BYTES_A_SECOND);
	SET(CURLOPT_LOW_SPEED_TIME, (long)g->stall_timeout);
	SET(CURLOPT_NOSIGNAL, 1L);
	/* The same of all: a server learns no version to attack. */
	SET(CURLOPT_USERAGENT, "keyveto");
	SET(CURLOPT_ERRORBUFFER, g->error);
#undef SET
	return bad == 0;
}

static enum network_cause
find_cause(CURLcode code)
{
	switch (code) {
	case CURLE_OK:
		return NETWORK_DONE;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_CONNECT:
		return NETWORK_UNREACHABLE;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
		return NETWORK_UNPROVEN;
	case CURLE_UNSUPPORTED_PROTOCOL:
		return NETWORK_NOT_HTTPS;
	case CURLE_TOO_MANY_REDIRECTS:
		return NETWORK_REDIRECTS;
	default:
		return NETWORK_TRANSFER;
	}
}

static void
send_end(struct get *g, enum network_cause cause, const char *why)
{
	char text[NETWORK_WHY_BYTES];

	snprintf(text, sizeof(text), "%s", why);
	record_send(g->out, NETWORK_END, R_VALUE(cause), R_TEXT(text));
	record_flush(g->out);
}

/*
 * For a proxy that it cannot parse, libcurl's message repeats the whole URL,
 * which may hold a password.
 */
static const char *
find_reason(const struct get *g, CURLcode code)
{
	return g->error[0] == '\0' || strchr(g->error, '@') != NULL ?
	    curl_easy_strerror(code) :
	    g->error;
}

/* After some failures, libcurl 7.88 takes no CURLOPT_BUFFERSIZE any more. */
static void
begin_anew(void)
{
	CURL *fresh = curl_easy_init();

	if (fresh == NULL)
		return;
	curl_easy_cleanup(curl);
	curl = fresh;
}

static void
run(struct get *g)
{
	char why[128];
	CURLcode code;

	/* Connections are kept. */
	curl_easy_reset(curl);
	if (!set_options(g)) {
		snprintf(why, sizeof(why),
		    "this libcurl cannot do what is needed (%.60s)",
		    curl_version());
		send_end(g, NETWORK_UNABLE, why);
		return;
	}
	code = curl_easy_perform(curl);
	if (code == CURLE_OK && !g->in_body)
		send_head(g);
	if (g->too_long)
		send_end(g, NETWORK_TOO_LONG,
		    "the headers of the answer are too long");
	else
		send_end(g, find_cause(code),
		    code == CURLE_OK ? "" : find_reason(g, code));
	if (code != CURLE_OK)
		begin_anew();
}

/* Takes the lines of headers. */
static bool
read_headers(struct get *g, struct kv_bytes *b)
{
	struct curl_slist *longer;
	char *line;

	while (b->left > 0) {
		if ((line = record_copy_text(b)) == NULL)
			return false;
		longer = curl_slist_append(g->headers, line);
		free(line);
		if (longer == NULL)
			return false;
		g->headers = longer;
	}
	return true;
}

static bool
read_order(struct get *g, struct kv_bytes *b)
{
	bool has_proxy;

	if ((g->url = record_copy_text(b)) == NULL ||
	    !record_get(b, R_ANY(g->timeout), R_ANY(g->stall_timeout),
		R_ANY(g->redirects), R_ANY(g->keep), R_FLAG(g->head_only),
		R_FLAG(has_proxy)) ||
	    (g->proxy = record_copy_text(b)) == NULL)
		return false;
	if (!has_proxy) {
		free(g->proxy);
		g->proxy = NULL;
	}
	return read_headers(g, b);
}

bool
get_obey(struct kv_bytes b, int body, struct record_out *out)
{
	struct get g = { .out = out, .body = body };
	const bool ok = body != -1 && read_order(&g, &b);

	if (ok)
		run(&g);
	/* The options point to what is freed here. */
	curl_easy_reset(curl);
	curl_slist_free_all(g.headers);
	free(g.url);
	free(g.proxy);
	io_close(body);
	return ok;
}
