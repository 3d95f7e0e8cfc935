/* SPDX-License-Identifier: ISC */
/* Where is a file? URLs are read by keyveto-network, paths here. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "command.h"
#include "net/fetch.h"
#include "net/network.h"

/* Copies the path of a file URL, to be freed. NULL if it has none. */
static char *
read_file_url(const char *text)
{
	char *path, *out;
	char hex[3] = "";

	text += strlen("file:");
	if (strncmp(text, "//", 2) == 0) {
		text += 2;
		if (strncasecmp(text, "localhost/", 10) == 0 ||
		    strncmp(text, "127.0.0.1/", 10) == 0)
			text += 9;
	}
	if (*text != '/' || (path = strndup(text, strcspn(text, "?#"))) == NULL)
		return NULL;
	out = path;
	for (const char *in = path; *in != '\0'; in++) {
		if (*in == '%' && isxdigit((unsigned char)in[1]) &&
		    isxdigit((unsigned char)in[2])) {
			memcpy(hex, in + 1, 2);
			*out = (char)strtoul(hex, NULL, 16);
			in += 2;
		} else {
			*out = *in;
		}
		if ((unsigned char)*out < 0x20 || *out == 0x7f) {
			free(path);
			return NULL;
		}
		out++;
	}
	*out = '\0';
	return path;
}

/* Always false. */
static bool
report_no_url(void)
{
	/* Do not print the text: it may hold a password. */
	return cli_error("what is given as URL is not one; write "
			 "https://HOST/PATH, or the path of a file");
}

static bool
parse_url(const char *text, const char *suffix, struct fetch_place *p)
{
	struct network_place found;
	bool ok = network_find_place("", text, suffix, true, &found);

	if (ok && found.kind == NETWORK_NO_PLACE)
		report_no_url();
	else if (ok && found.kind == NETWORK_OTHER_SCHEME)
		cli_error("files are fetched over https, not over %s; write "
			  "https://HOST/PATH, or the path of a file",
		    found.scheme);
	*p = (struct fetch_place){ found.where, true, found.shown };
	ok = ok && found.kind == NETWORK_HTTPS;
	free(found.scheme);
	return ok;
}

/* The file of this machine with the first len bytes of that path, and suffix. */
static bool
set_path(const char *path, size_t len, const char *suffix,
    struct fetch_place *p)
{
	*p = (struct fetch_place){ .is_url = false };
	if (asprintf(&p->where, "%.*s%s", (int)len, path, suffix) == -1)
		p->where = NULL;
	else
		p->shown = strdup(p->where);
	return p->shown != NULL || cli_error("out of memory");
}

bool
fetch_place_parse(const char *text, const char *suffix, struct fetch_place *p)
{
	char *path;
	bool ok;

	*p = (struct fetch_place){ .is_url = false };
	if (strncasecmp(text, "file:", 5) == 0) {
		if ((path = read_file_url(text)) == NULL)
			return report_no_url();
		ok = set_path(path, strlen(path), suffix, p);
		free(path);
		return ok;
	}
	return strstr(text, "://") != NULL ?
	    parse_url(text, suffix, p) :
	    set_path(text, strlen(text), suffix, p);
}

bool
fetch_url_is_one(const char *text)
{
	struct network_place found;
	const bool ok = network_find_place("", text, "", true, &found);

	free(found.where);
	free(found.shown);
	free(found.scheme);
	return ok && found.kind != NETWORK_NO_PLACE;
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
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-") <
		len)
		return false;
	memcpy(name, start, len);
	name[len] = '\0';
	return true;
}

/*
 * Sets *p to what text leads to in a file at base, a URL. False if it leads
 * nowhere; *failedp is set after a message.
 */
static bool
follow_url(const struct fetch_place *base, const char *text, bool other_hosts,
    struct fetch_place *p, bool *failedp)
{
	struct network_place found = { 0 };

	*failedp = !network_find_place(base->where, text, "", other_hosts,
	    &found);
	*p = (struct fetch_place){ found.where, true, found.shown };
	free(found.scheme);
	if (!*failedp && found.kind == NETWORK_HTTPS)
		return true;
	free(found.where);
	free(found.shown);
	*p = (struct fetch_place){ 0 };
	return false;
}

/*
 * Sets *p to the file of this plain name beside the file of base, with its user
 * and password. False after a message.
 */
static bool
find_beside(const struct fetch_place *base, const char *name,
    struct fetch_place *p)
{
	const char *slash = strrchr(base->where, '/');
	bool failed;

	if (base->is_url)
		return follow_url(base, name, false, p, &failed) ||
		    (!failed && cli_error("out of memory"));
	return set_path(base->where,
	    slash != NULL ? (size_t)(slash + 1 - base->where) : 0, name, p);
}

bool
fetch_place_resolve(const struct fetch_place *base, const char *text,
    bool other_hosts, struct fetch_place *p)
{
	char name[NAME_MAX + 1];
	bool failed;

	*p = (struct fetch_place){ .is_url = false };
	if (base->is_url) {
		if (follow_url(base, text, other_hosts, p, &failed))
			return true;
		if (failed)
			return false;
	}
	if (last_name(text, name))
		return find_beside(base, name, p);
	return cli_error(
	    "%s: names a file that cannot be beside it: %s; ask its publisher",
	    base->shown, text);
}

void
fetch_place_free(struct fetch_place *p)
{
	free(p->where);
	free(p->shown);
	*p = (struct fetch_place){ 0 };
}
