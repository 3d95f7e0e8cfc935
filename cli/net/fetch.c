/* SPDX-License-Identifier: ISC */
#include "net/fetch.h"

#include <sys/sendfile.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/io.h"
#include "command.h"

#define REDIRECTS_MAX 5
#define HEADERS_MAX 2
#define FILE_BLOCK_BYTES (256 * 1024)

struct transfer {
	struct fetch *f;
	bool begun;
	bool refused; /* by count */
	struct network_head head;
};

/* --- over HTTPS --------------------------------------------------------- */

static void
on_head(const struct network_head *head, void *arg)
{
	struct transfer *t = arg;

	t->head = *head;
	memcpy(t->f->etag, head->etag, sizeof(t->f->etag));
	memcpy(t->f->last_modified, head->last_modified,
	    sizeof(t->f->last_modified));
}

/* Counts len bytes more; 0: with errno, they could not be written. */
static bool
count(struct fetch *f, size_t len)
{
	if (f->arrived != NULL)
		return f->arrived(len, f->arg) && len > 0;
	f->error = len == 0 ? errno : 0;
	f->len += len;
	if (f->shows)
		progress_add(f->progress, len);
	return len > 0 && f->len <= f->max;
}

/* False after a message. */
static bool
begin(struct fetch *f)
{
	return lseek(f->into, 0, SEEK_SET) != -1 || count(f, 0);
}

/* Before the first byte. False if the answer is not the file asked for. */
static bool
begin_file(void *arg)
{
	struct transfer *t = arg;

	if (t->head.status != 200)
		return false;
	if (t->head.encoding[0] != '\0' &&
	    strcasecmp(t->head.encoding, "identity") != 0)
		return false;
	t->begun = true;
	t->refused = !t->f->head_only && !begin(t->f);
	return !t->refused;
}

static bool
on_arrived(size_t len, void *arg)
{
	struct transfer *t = arg;

	t->refused = !count(t->f, len);
	return !t->refused;
}

static enum fetch_end
fail_by_status(const struct transfer *t)
{
	const char *hint = "; look at URL in a browser";
	const long status = t->head.status;

	if (t->f->quiet)
		return FETCH_FAILED;
	progress_clear(t->f->progress);
	if (status == 200) {
		cli_error("%s: the server sends it in another encoding (%s); "
			  "have it send the file as it is",
		    t->f->place->shown, t->head.encoding);
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
fail_by_cause(const struct transfer *t, enum network_cause cause,
    const char *why)
{
	if (t->refused)
		return FETCH_FAILED;
	/* begin_file did. */
	if (cause == NETWORK_STOPPED && why[0] == '\0')
		return fail_by_status(t);
	if (t->f->quiet)
		return FETCH_FAILED;
	progress_clear(t->f->progress);
	cli_error("%s: %s%s", t->f->place->shown, why, network_hint(cause));
	return FETCH_FAILED;
}

/* Formats a header, if it has a value. */
static void
add_header(char line[][HTTP_VALUE_BYTES + 64], size_t *np, const char *name,
    const char *value)
{
	if (value != NULL && value[0] != '\0')
		snprintf(line[(*np)++], sizeof(line[0]), "%s: %s", name, value);
}

static enum fetch_end
fetch_url(struct fetch *f)
{
	struct transfer t = { .f = f };
	char line[HEADERS_MAX][HTTP_VALUE_BYTES + 64];
	const char *const header[] = { line[0], line[1] };
	struct network_request r = {
		.url = f->place->where,
		.limits = f->limits,
		.redirects = REDIRECTS_MAX,
		.header = header,
		.head = on_head,
		.head_only = f->head_only,
		.begin = begin_file,
		.arrived = on_arrived,
		.into = f->into,
		.arg = &t,
	};
	char why[NETWORK_WHY_BYTES];
	enum network_cause cause;
	bool asked;

	add_header(line, &r.n_headers, "If-None-Match", f->if_none_match);
	add_header(line, &r.n_headers, "If-Modified-Since",
	    f->if_modified_since);
	asked = r.n_headers > 0;
	if ((cause = network_get(&r, why)) != NETWORK_DONE)
		return fail_by_cause(&t, cause, why);
	if (t.head.status == 304 && asked)
		return FETCH_NOT_MODIFIED;
	/* An answer without a body did not begin. */
	if (t.begun || begin_file(&t))
		return FETCH_DONE;
	return t.refused ? FETCH_FAILED : fail_by_status(&t);
}

/* --- from this machine -------------------------------------------------- */

/*
 * Opens a regular file for reading; -1 with the reason in *whyp. Nothing else
 * is ever opened, not even for a moment: a link in a folder of somebody else's
 * may lead to a device.
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
	io_close(found);
	return fd;
}

/* Whether a copy failed for want of room where it goes. */
static bool
is_no_room(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

/*
 * Copies on. Returns how many bytes; 0 at the end; -1 with the reason in *whyp,
 * or after a message.
 */
static ssize_t
copy_some(struct fetch *f, int fd, const char **whyp)
{
	ssize_t n;

	do
		n = sendfile(f->into, fd, NULL, FILE_BLOCK_BYTES);
	while (n == -1 && errno == EINTR);
	if (n == -1 && is_no_room(errno))
		(void)count(f, 0);
	else if (n == -1)
		*whyp = strerror(errno);
	else if (f->limits->stopped())
		*whyp = "interrupted";
	else if (n == 0 || count(f, (size_t)n))
		return n;
	return -1;
}

static enum fetch_end
fetch_file(struct fetch *f)
{
	const char *why;
	int fd = open_regular(f->place->where, &why);
	ssize_t n = fd != -1 && begin(f) ? 1 : -1;

	while (n > 0)
		n = copy_some(f, fd, &why);
	if (why != NULL && !f->quiet) {
		progress_clear(f->progress);
		cli_error("%s: %s", f->place->shown, why);
	}
	io_close(fd);
	return n == 0 ? FETCH_DONE : FETCH_FAILED;
}

enum fetch_end
fetch_run(struct fetch *f)
{
	enum fetch_end end;

	f->etag[0] = f->last_modified[0] = '\0';
	if (f->shows)
		progress_start(f->progress, "fetching", 0);
	end = f->place->is_url ? fetch_url(f) : fetch_file(f);
	if (f->shows)
		progress_clear(f->progress);
	return end;
}
