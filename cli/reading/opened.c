/* SPDX-License-Identifier: ISC */
#include "reading/opened.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "host/memory.h"

/* More than any configuration may have. */
#define PIPE_MAX_BYTES (16 * 1024 * 1024)

struct opened_file {
	char *path, *why;
	enum kv_err err;
	int fd; /* -1 if it was not opened */
};

struct opened_files {
	const char *config; /* NULL: none is opened */
	struct opened_file
	    v[1 + KV_CONFIG_MAX_FILTERS + 2 * KV_CONFIG_MAX_BLOCKLISTS];
	size_t n;
	int error; /* an errno: not all is noted; 0 if it is */
};

struct opened_files *
opened_files_new(const char *config)
{
	struct opened_files *files = calloc(1, sizeof(*files));

	if (files != NULL)
		files->config = config;
	return files;
}

void
opened_files_free(struct opened_files *files)
{
	if (files == NULL)
		return;
	for (size_t i = 0; i < files->n; i++) {
		free(files->v[i].path);
		free(files->v[i].why);
		io_close(files->v[i].fd);
	}
	free(files);
}

/*
 * A pipe, such as a shell's <(...), can be read only once, but this process and
 * the reader both read the configuration: fd becomes a copy in memory.
 */
static bool
copy_pipe(int fd)
{
	char buf[4096];
	struct stat st;
	ssize_t n;
	size_t total = 0;
	int copy;
	bool ok;

	if (fstat(fd, &st) == -1 || !S_ISFIFO(st.st_mode))
		return true;
	if ((copy = memory_file("keyveto")) == -1)
		return false;
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		total += (size_t)n;
		errno = EFBIG;
		if (total > PIPE_MAX_BYTES || !io_write(copy, buf, (size_t)n))
			break;
	}
	ok = n == 0 && lseek(copy, 0, SEEK_SET) == 0 &&
	    dup3(copy, fd, O_CLOEXEC) != -1;
	close(copy);
	return ok;
}

void
opened_files_add(struct opened_files *files, const char *path, enum kv_err err,
    int fd, const char *why)
{
	struct opened_file *f = &files->v[files->n];
	/* It is opened first. A filter or a list cannot be a pipe. */
	const bool is_config = files->n == 0 && files->config != NULL;

	errno = E2BIG;
	if (files->n == sizeof(files->v) / sizeof(files->v[0]) ||
	    (err == KV_OK && is_config && !copy_pipe(fd))) {
		files->error = errno;
		return;
	}
	*f = (struct opened_file){
		.path = strdup(path),
		.why = strdup(why),
		.err = err,
		.fd = err == KV_OK ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1,
	};
	files->n++;
	if (f->path == NULL || f->why == NULL || (err == KV_OK && f->fd == -1))
		files->error = errno;
}

int
opened_files_error(const struct opened_files *files)
{
	return files->error;
}

int
opened_files_find(const struct opened_files *files, const char *path)
{
	for (size_t i = 0; i < files->n; i++)
		if (strcmp(files->v[i].path, path) == 0)
			return files->v[i].fd;
	return -1;
}

static void
send_path(struct talk *t, enum reading_order tag, const char *path)
{
	talk_begin(t, tag, strlen(path), -1);
	record_add_text(&t->packet, path);
	record_end(&t->packet);
}

static void
send_setup(const struct opened_files *files, const struct opened_setup *s,
    struct talk *t)
{
	const struct kv_paths none = { .n_filters = 0 };
	const struct kv_paths *paths = s->paths != NULL ? s->paths : &none;

	talk_begin(t, READING_SETUP, PATH_MAX, -1);
	record_add(&t->packet, R_VALUE(READING_VERSION), R_VALUE(s->threads),
	    R_VALUE(s->flags), R_VALUE(s->total),
	    R_STRING(files->config != NULL ? files->config : ""));
	record_end(&t->packet);
	for (size_t i = 0; i < paths->n_filters; i++)
		send_path(t, READING_FILTER, paths->filter[i]);
	for (size_t i = 0; i < paths->n_blocklists; i++)
		send_path(t, READING_BLOCKLIST, paths->blocklist[i]);
}

static void
send_file(const struct opened_file *f, struct talk *t)
{
	const bool is_open = f->fd != -1;
	/* Another reader may get it, too. */
	int fd = is_open ? fcntl(f->fd, F_DUPFD_CLOEXEC, 3) : -1;
	bool lost = is_open && fd == -1;
	const char *why;

	if (lost) {
		/* Perhaps too many files are open. */
		talk_flush(t);
		fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 3);
		lost = fd == -1;
	}
	why = lost ? strerror(errno) : f->why;
	talk_begin(t, READING_OPENED, strlen(f->path) + strlen(why), fd);
	record_add(&t->packet, R_STRING(f->path),
	    R_VALUE(lost ? KV_ERR_SYSTEM : f->err), R_STRING(why));
	record_end(&t->packet);
}

void
opened_files_send(const struct opened_files *files,
    const struct opened_setup *setup, struct talk *t)
{
	send_setup(files, setup, t);
	for (size_t i = 0; i < files->n; i++)
		send_file(&files->v[i], t);
	talk_begin(t, READING_JUDGE, 0, -1);
	record_end(&t->packet);
}
