/* SPDX-License-Identifier: ISC */
#include "working/questions.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "base/io.h"
#include "host/files.h"
#include "keys/input.h"
#include "kv_sources.h"
#include "wall/packet.h"
#include "wire/working.h"

/* Whether path has the names of a list's sources: LIST.sources. */
static bool
is_names_of_list(const char *path, const char *word)
{
	const size_t len = strlen(word);

	return len > 0 && strncmp(path, word, len) == 0 &&
	    strcmp(path + len, KV_SOURCES_SUFFIX) == 0;
}

/* Whether the command opens path besides the file that a word names. */
static bool
is_beside(const struct questions *q, const char *path, const char *word)
{
	return strcmp(q->argv[0], "list") == 0 && is_names_of_list(path, word);
}

/* Whether the path is below the folder that a word names. */
static bool
is_below(const char *path, const char *word)
{
	const size_t len = strlen(word);

	return len > 0 && strncmp(path, word, len) == 0 &&
	    (word[len - 1] == '/' || path[len] == '/');
}

enum naming {
	NOT_NAMED,
	NAMED, /* by a word of the command line, or beside such a file */
	BELOW, /* a folder that is named; *wordp says which */
};

static enum naming
find_naming(const struct questions *q, const char *path, const char **wordp)
{
	enum naming naming = NOT_NAMED;

	for (int i = 1; i < q->argc; i++) {
		const char *word = q->argv[i];
		const char *value = strncmp(word, "--", 2) == 0 ?
		    strchr(word, '=') :
		    NULL;

		if (value != NULL)
			word = value + 1;
		if (strcmp(path, word) == 0 || is_beside(q, path, word))
			return NAMED;
		if (is_below(path, word)) {
			naming = BELOW;
			*wordp = word;
		}
	}
	return naming;
}

/*
 * Opens a file below a folder, which may be anybody's: a link there could lead
 * the worker to any file. openat2(2) would do it in one call, but there are
 * kernels and containers without it.
 */
static int
open_below(const char *folder, const char *path, int flags)
{
	int fd;

	path += strlen(folder);
	path += strspn(path, "/");
	errno = ENOENT;
	if (*path == '\0')
		return -1;
	fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	while (fd != -1 && *path != '\0') {
		const size_t len = strcspn(path, "/");
		const char *next = path + len + strspn(path + len, "/");
		const int dir = fd;
		char name[NAME_MAX + 1];
		int error = len > NAME_MAX ? ENAMETOOLONG : EXDEV;

		snprintf(name, sizeof(name), "%.*s", (int)len, path);
		fd = -1;
		if (len <= NAME_MAX && strcmp(name, "..") != 0) {
			fd = openat(dir, name,
			    O_CLOEXEC | O_NOFOLLOW |
				(*next != '\0' ? O_PATH | O_DIRECTORY :
						 O_RDONLY | O_NOCTTY | flags));
			error = errno;
		}
		close(dir);
		errno = error;
		path = next;
	}
	return fd;
}

/* A terminal or a file that is open for writing, too, is opened again. */
static int
open_standard_input(void)
{
	const int flags = fcntl(STDIN_FILENO, F_GETFL);
	int fd = -1;

	if (flags != -1 && (flags & O_ACCMODE) == O_RDWR)
		fd = open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd != -1 ? fd : files_open("-", 0);
}

static void
note_stream(struct questions *q, int fd)
{
	struct stat st;

	if (fd != -1 && (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode)))
		q->has_stream = true;
}

/* Starts an answer; send it with send_answer. */
static void
begin_answer(struct questions *q, int error)
{
	q->answer.fd = -1;
	record_clear(&q->answer);
	record_begin(&q->answer, WORKING_ANSWER);
	record_add_number(&q->answer, (uint64_t)error);
}

/* False if the worker does not take it. */
static bool
send_answer(struct questions *q, int fd)
{
	record_end(&q->answer);
	if (packet_send(q->socket, q->answer.buf, q->answer.len, &fd,
		fd != -1 ? 1 : 0, 0))
		return true;
	q->send_error = errno;
	return false;
}

static bool
add_promise(struct questions *q, const char *path)
{
	if (q->n_promises == QUESTIONS_PROMISES_MAX ||
	    (q->promise[q->n_promises] = strdup(path)) == NULL)
		return false;
	q->n_promises++;
	return true;
}

static bool
answer_promise(struct questions *q, struct kv_bytes b)
{
	char path[WORKING_TEXT_BYTES];

	if (q->has_read || !record_get_all(&b, R_TEXT(path)) ||
	    !add_promise(q, path))
		return false;
	begin_answer(q, 0);
	return send_answer(q, -1);
}

static bool
answer_open(struct questions *q, struct kv_bytes b)
{
	char path[WORKING_TEXT_BYTES];
	const char *folder = NULL;
	enum naming naming;
	int fd, flags;
	bool no_wait, ok;

	if (!record_get_all(&b, R_TEXT(path), R_FLAG(no_wait)))
		return false;
	flags = no_wait ? O_NONBLOCK : 0;
	naming = find_naming(q, path, &folder);
	q->has_read = true;
	if (files_is_standard_input(path))
		fd = open_standard_input();
	else if (naming == NAMED)
		fd = files_open(path, flags);
	else if (naming == BELOW)
		fd = open_below(folder, path, flags);
	else
		return false;
	note_stream(q, fd);
	begin_answer(q, fd != -1 ? 0 : errno);
	ok = send_answer(q, fd);
	io_close(fd);
	return ok;
}

static bool
answer_stat(struct questions *q, struct kv_bytes b)
{
	char path[WORKING_TEXT_BYTES];
	struct stat st = { 0 };
	const char *folder;
	int error = 0;

	if (!record_get_all(&b, R_TEXT(path)) ||
	    (!files_is_standard_input(path) &&
		find_naming(q, path, &folder) == NOT_NAMED))
		return false;
	if (!files_stat(path, &st))
		error = errno;
	begin_answer(q, error);
	record_add(&q->answer, R_BYTES(st));
	return send_answer(q, -1);
}

static bool
answer_scratch(struct questions *q)
{
	int fd;
	bool ok;

	if (q->n_scratch++ == QUESTIONS_SCRATCH_MAX)
		return false;
	fd = files_scratch();
	begin_answer(q, fd != -1 ? 0 : errno);
	ok = send_answer(q, fd);
	io_close(fd);
	return ok;
}

/* Of one WORKING_WALK. */
struct walk {
	struct questions *q;
	bool ok;
};

/* Answers until the worker wants the next file. */
static bool
wait_for_next(struct walk *w)
{
	struct kv_bytes b;
	uint8_t tag;

	while (w->ok && (w->ok = w->q->next(w->q->arg, &tag, &b))) {
		if (tag == WORKING_NEXT && b.left == 0)
			return true;
		w->ok = tag != WORKING_WALK && questions_answer(w->q, tag, b);
	}
	return false;
}

/* Sends what a walk found: a file, or the reason of a problem. */
static void
send_found(struct walk *w, enum working_order tag, const char *path,
    bool walked, const char *reason, int fd)
{
	struct record_out *o = &w->q->answer;
	const size_t len = strlen(path);

	if (!wait_for_next(w))
		return;
	o->fd = -1;
	record_clear(o);
	record_begin(o, (uint8_t)tag);
	record_add_bytes(o, path,
	    len < WORKING_TEXT_BYTES ? len : WORKING_TEXT_BYTES - 1);
	if (reason != NULL)
		record_add_text(o, reason);
	else
		record_add(o, R_FLAG(walked));
	w->ok = send_answer(w->q, fd);
}

static void
on_found(int fd, const char *path, bool walked, void *arg)
{
	struct walk *w = arg;
	int own = -1;

	if (!walked && files_is_standard_input(path))
		fd = own = open_standard_input();
	note_stream(w->q, fd);
	send_found(w, WORKING_FOUND, path, walked, NULL, fd);
	io_close(own);
}

static void
on_problem(const struct input_problem *p, void *arg)
{
	send_found(arg, WORKING_FOUND_PROBLEM, p->path, false, p->reason, -1);
}

static bool
answer_walk(struct questions *q, struct kv_bytes b)
{
	char path[WORKING_TEXT_BYTES];
	struct walk w = { .q = q, .ok = true };
	const struct input_walk walk = {
		.file = on_found,
		.problem = on_problem,
		.arg = &w,
	};
	const char *folder;

	if (!record_get_all(&b, R_TEXT(path)) ||
	    (!files_is_standard_input(path) &&
		find_naming(q, path, &folder) != NAMED))
		return false;
	q->has_read = true;
	input_walk(path, &walk);
	if (w.ok)
		send_found(&w, WORKING_FOUND_END, "", false, NULL, -1);
	return w.ok;
}

/* The path must be one that was promised. Returns it, or NULL. */
static const char *
find_promise(const struct questions *q, const char *path)
{
	for (size_t i = 0; i < q->n_promises; i++)
		if (strcmp(q->promise[i], path) == 0)
			return q->promise[i];
	return NULL;
}

static bool
answer_replace(struct questions *q, struct kv_bytes b)
{
	char path[WORKING_TEXT_BYTES];
	const char *promise;
	bool ok;

	if (q->is_replacing || !record_get_all(&b, R_TEXT(path)) ||
	    (!q->has_read && !add_promise(q, path)) ||
	    (promise = find_promise(q, path)) == NULL)
		return false;
	q->has_read = true;
	q->is_replacing = true;
	ok = replace_open(&q->replace, promise);
	begin_answer(q, ok ? 0 : EACCES);
	record_add(&q->answer, R_VALUE(q->replace.old != -1),
	    R_BYTES(q->replace.old_st));
	return send_answer(q, q->replace.old);
}

static bool
answer_begin(struct questions *q)
{
	begin_answer(q, replace_begin(&q->replace) ? 0 : EACCES);
	return send_answer(q, q->replace.fd);
}

static bool
answer_spill(struct questions *q)
{
	int fd = -1;
	bool ok;

	begin_answer(q, replace_make_scratch(&q->replace, &fd) ? 0 : EACCES);
	ok = send_answer(q, fd);
	io_close(fd);
	return ok;
}

/*
 * What the command says that it puts in place. The worker has no say: logins
 * may consult it, and who is locked out then is asked before.
 */
static enum change_kind
find_change(const struct questions *q, const char *path)
{
	const bool is_filter = strcmp(q->argv[0], "filter") == 0;

	/* No other command writes files. */
	if (!is_filter && strcmp(q->argv[0], "list") != 0)
		return CHANGE_NONE;
	if (is_filter)
		return CHANGE_FILTER;
	for (int i = 1; i < q->argc; i++)
		if (strcmp(path, q->argv[i]) == 0)
			return CHANGE_LIST;
	for (int i = 1; i < q->argc; i++)
		if (is_names_of_list(path, q->argv[i]))
			return CHANGE_JUDGED;
	return CHANGE_LIST;
}

/* Whether --yes is given, which may be abbreviated. */
static bool
has_yes(const struct questions *q)
{
	static const char yes[] = "--yes";

	for (int i = 1; i < q->argc; i++)
		if (strlen(q->argv[i]) > strlen("--") &&
		    strncmp(yes, q->argv[i], strlen(q->argv[i])) == 0)
			return true;
	return false;
}

static bool
answer_commit(struct questions *q, struct kv_bytes b)
{
	struct replace *r = &q->replace;
	char sources[WORKING_TEXT_BYTES];
	bool ok;

	if (!record_get_all(&b, R_FLAG(r->keep_beside), R_FLAG(r->readable),
		R_TEXT(sources)) ||
	    r->fd == -1)
		return false;
	/* As all commands want it that write files. */
	r->root_only = true;
	r->change = find_change(q, r->path);
	r->via = q->argv[0];
	r->sources = *sources != '\0' ? sources : NULL;
	r->yes = has_yes(q);
	ok = replace_detach(r) && replace_commit(r);
	if (r->is_done)
		q->replaced = r->path;
	begin_answer(q, ok ? 0 : EACCES);
	record_add(&q->answer, R_FLAG(r->readable), R_TEXT(r->kept_name));
	return send_answer(q, -1);
}

static bool
answer_distrust(struct questions *q, struct kv_bytes b)
{
	char path[WORKING_TEXT_BYTES], why[KV_TRUSTED_WHY_BYTES];
	const char *folder;

	if (!record_get_all(&b, R_TEXT(path)) ||
	    (find_promise(q, path) == NULL &&
		find_naming(q, path, &folder) != NAMED))
		return false;
	cli_find_distrust(path, why);
	begin_answer(q, 0);
	record_add(&q->answer, R_VALUE(geteuid() == 0), R_TEXT(why));
	return send_answer(q, -1);
}

static bool
answer_about_replacement(struct questions *q, uint8_t tag, struct kv_bytes b)
{
	if (!q->is_replacing)
		return false;
	switch (tag) {
	case WORKING_REPLACE_BEGIN:
		return q->replace.fd == -1 && answer_begin(q);
	case WORKING_REPLACE_SCRATCH:
		return q->replace.fd == -1 && answer_spill(q);
	case WORKING_REPLACE_AS_TEXT:
		if (q->replace.fd == -1)
			return false;
		begin_answer(q,
		    replace_write_text(&q->replace, "", 0) ? 0 : EACCES);
		return send_answer(q, -1);
	case WORKING_REPLACE_COMMIT:
		return answer_commit(q, b);
	case WORKING_REPLACE_CLOSE:
		replace_close(&q->replace);
		q->is_replacing = false;
		begin_answer(q, 0);
		return send_answer(q, -1);
	default:
		return false;
	}
}

bool
questions_answer(struct questions *q, uint8_t tag, struct kv_bytes b)
{
	switch (tag) {
	case WORKING_PROMISE:
		return answer_promise(q, b);
	case WORKING_OPEN:
		return answer_open(q, b);
	case WORKING_STAT:
		return answer_stat(q, b);
	case WORKING_WALK:
		return answer_walk(q, b);
	case WORKING_SCRATCH:
		return b.left == 0 && answer_scratch(q);
	case WORKING_DISTRUST:
		return answer_distrust(q, b);
	case WORKING_REPLACE:
		return answer_replace(q, b);
	default:
		return answer_about_replacement(q, tag, b);
	}
}

void
questions_end(struct questions *q)
{
	if (q->is_replacing)
		replace_close(&q->replace);
	q->is_replacing = false;
	for (size_t i = 0; i < q->n_promises; i++)
		free(q->promise[i]);
	q->n_promises = 0;
	record_out_free(&q->answer);
}
