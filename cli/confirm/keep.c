/* SPDX-License-Identifier: ISC */
#include "confirm/keep.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "base/io.h"
#include "host/replace.h"
#include "sets/list_names.h"

#define ID_CHARS (PROOF_ID_BYTES - 1)
#define LINE_BYTES 4096

static struct list_writer writer;

static int
compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

char *
keep_proof_path(const struct keep *k, const struct hit *hit)
{
	char *path;

	if (asprintf(&path, "%s/proofs/%s.json", k->folder, hit->id) != -1)
		return path;
	cli_error("%s", strerror(errno));
	return NULL;
}

/* Whether only this user and root could have written the old file. */
static bool
is_ours(const struct replace *r)
{
	return (r->old_st.st_uid == geteuid() || r->old_st.st_uid == 0) &&
	    (r->old_st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* --- what the publisher did not have ------------------------------------ */

/*
 * Reads "ID SECONDS URL", and adds ID if the line is about url and not old.
 * False if the line is of no use any more.
 */
static bool
read_absent(struct keep *k, char *line, const char *url, int64_t now)
{
	char *seconds, *end;
	long long then;

	line[strcspn(line, "\n")] = '\0';
	if (strlen(line) < ID_CHARS + 3 || line[ID_CHARS] != ' ' ||
	    strspn(line, "0123456789abcdef") != ID_CHARS)
		return false;
	seconds = line + ID_CHARS + 1;
	errno = 0;
	then = strtoll(seconds, &end, 10);
	if (errno != 0 || *seconds < '0' || *seconds > '9' || *end != ' ' ||
	    then > now || now - then >= KEEP_ABSENT_SECONDS)
		return false;
	if (strcmp(end + 1, url) == 0) {
		char *id = strndup(line, ID_CHARS), **found;

		found = id != NULL ? tsearch(id, &k->by_id, compare) : NULL;
		if (found == NULL || *found != id)
			free(id);
	}
	return true;
}

/*
 * Writes the lines of the old file that are still of use to a new one. A line
 * that a killed run did not finish goes away, too.
 */
static bool
rewrite_absent(struct keep *k, const char *url, int64_t now)
{
	char line[LINE_BYTES], copy[LINE_BYTES];
	FILE *in = NULL;
	struct replace r;
	bool ok, stale = false;
	int fd;

	ok = replace_open(&r, k->absent);
	if (!ok || r.old == -1)
		goto out;
	/* Who can write it could say that a key was not confirmed. */
	if (!is_ours(&r)) {
		ok = cli_error("%s: others can write it; remove it", k->absent);
		goto out;
	}
	r.root_only = true;
	r.change = CHANGE_JUDGED;
	fd = fcntl(r.old, F_DUPFD_CLOEXEC, 0);
	in = fd != -1 ? fdopen(fd, "r") : NULL;
	if (in == NULL) {
		io_close(fd);
		ok = cli_failed(k->absent, "cannot be read");
		goto out;
	}
	ok = replace_begin(&r);
	while (ok && fgets(line, sizeof(line), in) != NULL) {
		snprintf(copy, sizeof(copy), "%s", line);
		if (strchr(line, '\n') != NULL &&
		    read_absent(k, copy, url, now))
			ok = io_write(r.fd, line, strlen(line)) ||
			    cli_failed(k->absent, "cannot be written");
		else
			stale = true;
	}
	ok = ok && (!stale || replace_commit(&r));
out:
	if (in != NULL)
		fclose(in);
	replace_close(&r);
	return ok;
}

bool
keep_was_absent(const struct keep *k, const struct hit *hit)
{
	return tfind(hit->id, &k->by_id, compare) != NULL;
}

bool
keep_absent(const struct keep *k, const struct hit *hit, const char *url,
    int64_t now)
{
	char line[LINE_BYTES];
	int n;

	if (k->folder == NULL)
		return true;
	n = snprintf(line, sizeof(line), "%s %" PRId64 " %s\n", hit->id, now,
	    url);
	/* Such a URL is asked again each time. */
	if (n < 0 || (size_t)n >= sizeof(line))
		return true;
	return io_write(k->absent_fd, line, (size_t)n) ||
	    cli_failed(k->absent, "cannot be written");
}

/* --- proofs ------------------------------------------------------------- */

bool
keep_has_proof(const struct keep *k, const struct hit *hit)
{
	const struct kv_span spki = { hit->spki, hit->spki_len };
	struct answer answer = { .kind = ANSWER_OTHER };
	char *path;
	struct stat st;
	int fd;

	if (k->folder == NULL || (path = keep_proof_path(k, hit)) == NULL)
		return false;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd != -1 && spki.len > 0 && fstat(fd, &st) == 0 &&
	    S_ISREG(st.st_mode))
		api_verify(fd, spki, &answer);
	if (answer.kind == ANSWER_UNREAD)
		cli_error("%s: cannot be read: %s", path, answer.why);
	io_close(fd);
	free(path);
	return answer.kind == ANSWER_PROOF;
}

bool
keep_proof(const struct keep *k, const struct hit *hit, int proof, size_t len)
{
	struct replace r;
	char *path;
	bool ok;

	if (k->folder == NULL)
		return true;
	if ((path = keep_proof_path(k, hit)) == NULL)
		return false;
	ok = replace_open(&r, path);
	if (ok) {
		r.root_only = true;
		/* Its name is the key's. */
		r.change = CHANGE_JUDGED;
		ok = replace_begin(&r) && replace_write_file(&r, proof, len) &&
		    replace_commit(&r);
	}
	replace_close(&r);
	free(path);
	return ok;
}

/* --- the list ----------------------------------------------------------- */

/*
 * Whether the keys of the old list may be in the new one, which logins trust.
 * False after a message.
 */
static bool
may_be_kept(const struct replace *r)
{
	if (is_ours(r))
		return true;
	return cli_error(
	    "%s: others can write it, so that any key may be in it: make "
	    "it yours, with mode 0644, if only confirmed keys are",
	    r->path);
}

bool
keep_list(const struct keep *k, struct list_batch *batch, bool consulted,
    bool *changedp)
{
	bool ok;

	*changedp = false;
	if (k->folder == NULL || batch->n == 0)
		return true;
	/*
	 * The name comes first: once a list that logins consult has the keys,
	 * no run asks about them again, and none would write the name.
	 */
	if (!list_names_set(k->list, KEEP_SOURCE_ID, KEEP_NAME, consulted))
		return false;
	ok = list_writer_open(&writer, k->list);
	/* The caller asked already. */
	writer.file.change = CHANGE_JUDGED;
	writer.file.readable = consulted;
	ok = ok && (writer.file.old == -1 || may_be_kept(&writer.file)) &&
	    list_writer_keep_old(&writer) && list_batch_write(batch, &writer);
	*changedp = ok && batch->added > 0;
	if (*changedp)
		ok = list_writer_commit(&writer);
	replace_close(&writer.file);
	return ok;
}

/* --- all ---------------------------------------------------------------- */

/* Sets path to a file in the folder. False if it is too long. */
static bool
set_path(const struct keep *k, const char *name, char path[static PATH_MAX])
{
	int n = snprintf(path, PATH_MAX, "%s/%s", k->folder, name);

	return n > 0 && n < PATH_MAX;
}

bool
keep_open(struct keep *k, const char *folder, const char *url, int64_t now)
{
	char proofs[PATH_MAX];

	*k = (struct keep){ .folder = folder, .absent_fd = -1 };
	if (folder == NULL)
		return true;
	if (!set_path(k, "proofs", proofs) ||
	    !set_path(k, KEEP_NAME ".dat", k->list) ||
	    !set_path(k, ".keyveto-not-confirmed", k->absent)) {
		errno = ENAMETOOLONG;
		return cli_failed(folder, "is no folder to keep proofs in");
	}
	if (mkdir(proofs, 0755) == -1 && errno != EEXIST)
		return cli_error(
		    "%s: cannot be made: %s; --state names another "
		    "directory, and --dry-run keeps nothing",
		    proofs, strerror(errno));
	if (!rewrite_absent(k, url, now))
		return false;
	k->absent_fd = open(k->absent,
	    O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
	    0644);
	return k->absent_fd != -1 || cli_failed(k->absent, "cannot be written");
}

void
keep_close(struct keep *k)
{
	tdestroy(k->by_id, free);
	io_close(k->absent_fd);
	*k = (struct keep){ .absent_fd = -1 };
}
