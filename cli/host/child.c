/* SPDX-License-Identifier: ISC */
#include "host/child.h"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/io.h"

#define LENGTH_BYTES 4

static void
store_u32(uint8_t *p, uint32_t n)
{
	p[0] = (uint8_t)(n >> 24);
	p[1] = (uint8_t)(n >> 16);
	p[2] = (uint8_t)(n >> 8);
	p[3] = (uint8_t)n;
}

/* If the records cannot be written, the parent is gone. */
void
record_flush(struct record_out *o)
{
	if (!io_write(o->fd, o->buf, o->start))
		_exit(1);
	memmove(o->buf, o->buf + o->start, o->len - o->start);
	o->len -= o->start;
	o->start = 0;
}

static uint8_t *
reserve_bytes(struct record_out *o, size_t n)
{
	if (n > sizeof(o->buf) - o->len)
		record_flush(o);
	if (n > sizeof(o->buf) - o->len)
		_exit(1);
	o->len += n;
	return o->buf + o->len - n;
}

void
record_begin(struct record_out *o, uint8_t tag)
{
	reserve_bytes(o, LENGTH_BYTES);
	*reserve_bytes(o, 1) = tag;
}

void
record_add_number(struct record_out *o, uint64_t n)
{
	uint8_t *p = reserve_bytes(o, 8);

	store_u32(p, (uint32_t)(n >> 32));
	store_u32(p + 4, (uint32_t)n);
}

void
record_add_bytes(struct record_out *o, const void *p, size_t len)
{
	store_u32(reserve_bytes(o, LENGTH_BYTES), (uint32_t)len);
	if (len > 0)
		memcpy(reserve_bytes(o, len), p, len);
}

void
record_add_text(struct record_out *o, const char *text)
{
	record_add_bytes(o, text, strlen(text));
}

void
record_end(struct record_out *o)
{
	store_u32(o->buf + o->start,
	    (uint32_t)(o->len - o->start - LENGTH_BYTES));
	o->start = o->len;
}

ssize_t
record_fill(struct record_in *in, int fd)
{
	size_t cap = in->cap > 0 ? 2 * in->cap : 16 * 1024;
	uint8_t *buf;
	ssize_t n;

	if (in->start > 0) {
		memmove(in->buf, in->buf + in->start, in->end - in->start);
		in->end -= in->start;
		in->start = 0;
	}
	if (in->end == RECORD_MAX_BYTES) {
		errno = EMSGSIZE;
		return -1;
	}
	if (in->end == in->cap) {
		if ((buf = realloc(in->buf, cap)) == NULL)
			return -1;
		in->buf = buf;
		in->cap = cap;
	}
	do
		n = read(fd, in->buf + in->end, in->cap - in->end);
	while (n == -1 && errno == EINTR);
	if (n > 0)
		in->end += (size_t)n;
	return n;
}

bool
record_next(struct record_in *in, uint8_t *tagp, struct kv_bytes *payload,
    bool *badp)
{
	struct kv_bytes b = { in->buf + in->start, in->end - in->start };
	uint32_t len;

	*badp = false;
	if (b.left == 0 || kv_bytes_get_u32(&b, &len) != KV_OK)
		return false;
	if (len == 0 || len > RECORD_MAX_BYTES - LENGTH_BYTES) {
		*badp = true;
		return false;
	}
	if (b.left < len)
		return false;
	*tagp = *b.p;
	*payload = (struct kv_bytes){ b.p + 1, len - 1 };
	in->start += LENGTH_BYTES + len;
	return true;
}

void
record_in_free(struct record_in *in)
{
	free(in->buf);
	*in = (struct record_in){ 0 };
}

enum kv_err
record_get_number(struct kv_bytes *b, uint64_t *np)
{
	uint32_t high, low;
	enum kv_err r;

	if ((r = kv_bytes_get_u32(b, &high)) != KV_OK ||
	    (r = kv_bytes_get_u32(b, &low)) != KV_OK)
		return r;
	*np = (uint64_t)high << 32 | low;
	return KV_OK;
}

void
child_die_with_parent(void)
{
	/* Only a kernel that lacks this option could refuse it. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

/* Lower numbers are the child's own. */
#define KEPT_MIN 10

static int kept_fd = -1;

int
child_keep(int fd)
{
	const int high = fcntl(fd, F_DUPFD_CLOEXEC, KEPT_MIN);
	const int error = errno;

	close(fd);
	errno = error;
	if (high != -1)
		kept_fd = high;
	return high;
}

/* Closes all descriptors from first on, but for kept_fd. */
static bool
close_others(unsigned int first)
{
	if (kept_fd != -1) {
		if (!io_close_range(first, (unsigned int)kept_fd - 1))
			return false;
		first = (unsigned int)kept_fd + 1;
	}
	return io_close_range(first, ~0U);
}

/*
 * The child must not hold its parent's descriptors: filters that only root may
 * read, the pipes of other children. A child that hangs in the kernel survives
 * its parent: whoever reads the parent's standard error would wait for it.
 */
static void
run_child(int fd, void (*work)(struct record_out *, void *), void *arg)
{
	static struct record_out out;
	int null = open("/dev/null", O_RDWR);

	/* fd or null may be 0 to 3, if the parent had those closed. */
	out.fd = STDERR_FILENO + 1;
	fd = fcntl(fd, F_DUPFD, out.fd);
	if (null == -1 || fd == -1 || dup2(null, STDIN_FILENO) == -1 ||
	    dup2(null, STDOUT_FILENO) == -1 ||
	    dup2(null, STDERR_FILENO) == -1 || dup2(fd, out.fd) == -1 ||
	    !close_others((unsigned int)out.fd + 1))
		_exit(1);
	signal(SIGPIPE, SIG_DFL);
	child_die_with_parent();
	work(&out, arg);
	record_flush(&out);
	_exit(0);
}

bool
child_start(struct child *c, void (*work)(struct record_out *, void *),
    void *arg)
{
	int ends[2];
	int saved;

	*c = (struct child){ .pid = -1, .fd = -1 };
	if (pipe2(ends, O_CLOEXEC) == -1)
		return false;
	if ((c->pid = fork()) == 0)
		run_child(ends[1], work, arg);
	saved = errno;
	close(ends[1]);
	if (c->pid == -1) {
		close(ends[0]);
		errno = saved;
		return false;
	}
	c->fd = ends[0];
	return true;
}

int
child_wait(struct child *c)
{
	/* If waitpid fails, report failure. */
	int status = SIGKILL;

	close(c->fd);
	while (waitpid(c->pid, &status, 0) == -1 && errno == EINTR)
		;
	*c = (struct child){ .pid = -1, .fd = -1 };
	return status;
}

uint8_t
child_take_text(struct child *c, char *text, size_t cap)
{
	struct record_in in = { 0 };
	struct kv_bytes payload;
	struct kv_span s;
	uint8_t tag = 0;
	bool bad;

	while (record_fill(&in, c->fd) > 0)
		;
	if (record_next(&in, &tag, &payload, &bad) &&
	    kv_bytes_get_string(&payload, &s) == KV_OK)
		snprintf(text, cap, "%.*s", (int)s.len, (const char *)s.p);
	record_in_free(&in);
	return child_wait(c) == 0 ? tag : 0;
}

void
child_kill_process(pid_t pid)
{
	const struct timespec moment = { .tv_nsec = 10 * 1000 * 1000 };

	kill(pid, SIGKILL);
	for (int i = 0; i < 20; i++) {
		if (waitpid(pid, NULL, WNOHANG) != 0)
			break;
		nanosleep(&moment, NULL);
	}
}

void
child_kill(struct child *c)
{
	close(c->fd);
	child_kill_process(c->pid);
	*c = (struct child){ .pid = -1, .fd = -1 };
}
