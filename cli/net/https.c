/* SPDX-License-Identifier: ISC */
#include "net/https.h"

#include <string.h>

#define CONNECT_SECONDS 30L
/* A server that is slower, for stall_timeout, counts as silent. */
#define STALL_BYTES_A_SECOND 1000L

static int
on_progress(void *arg, curl_off_t total, curl_off_t now, curl_off_t up_total,
    curl_off_t up_now)
{
	const struct https_limits *l = arg;

	(void)total;
	(void)now;
	(void)up_total;
	(void)up_now;
	return l->stopped();
}

bool
https_set_up(CURL *c, const struct https_limits *l, long redirects,
    char why[static CURL_ERROR_SIZE])
{
	int bad = 0;

#define SET(option, value) (bad |= (int)curl_easy_setopt(c, option, value))
#if LIBCURL_VERSION_NUM >= 0x075500
	SET(CURLOPT_PROTOCOLS_STR, "https");
	SET(CURLOPT_REDIR_PROTOCOLS_STR, "https");
#else
	SET(CURLOPT_PROTOCOLS, (long)CURLPROTO_HTTPS);
	SET(CURLOPT_REDIR_PROTOCOLS, (long)CURLPROTO_HTTPS);
#endif
	SET(CURLOPT_FOLLOWLOCATION, redirects > 0 ? 1L : 0L);
	SET(CURLOPT_MAXREDIRS, redirects);
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
	/* The same of all: a server learns no version to attack. */
	SET(CURLOPT_USERAGENT, "keyveto");
	SET(CURLOPT_NOPROGRESS, 0L);
	SET(CURLOPT_XFERINFOFUNCTION, on_progress);
	SET(CURLOPT_XFERINFODATA, l);
	SET(CURLOPT_ERRORBUFFER, why);
#undef SET
	return bad == 0;
}

const char *
https_reason(CURLcode code, const char *why)
{
	if (code == CURLE_ABORTED_BY_CALLBACK)
		return "interrupted";
	/*
	 * For a proxy that it cannot parse, libcurl's message repeats the whole
	 * URL, which may hold a password.
	 */
	return why[0] == '\0' || strchr(why, '@') != NULL ?
	    curl_easy_strerror(code) :
	    why;
}

const char *
https_hint(CURLcode code)
{
	switch (code) {
	case CURLE_ABORTED_BY_CALLBACK:
		return "";
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
