/* SPDX-License-Identifier: ISC */
#include "logs/connected.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/room.h"
#include "base/unvis.h"
#include "host/sshd_process.h"

#define PID_BYTES 24
#define STAT_BYTES 1024
#define NANOSECONDS 1000000000
/* A line has whole seconds, and a clock may be set back by as little. */
#define SLACK_SECONDS 1
/* How far in the future a line may be. */
#define FUTURE_SECONDS 60

/*
 * Reads what the kernel says of a process. The name in /proc/PID/stat may hold
 * any byte: what counts follows its ")". False for a process that has ended.
 */
static bool
read_process(uint64_t process, char parent[static PID_BYTES], uint64_t *startp)
{
	char pid[PID_BYTES], text[STAT_BYTES], state;
	const char *end;
	intmax_t above;

	snprintf(pid, sizeof(pid), "%" PRIu64, process);
	if (!sshd_process_read(pid, "stat", text, sizeof(text)) ||
	    (end = strrchr(text, ')')) == NULL ||
	    /* NOLINTNEXTLINE(cert-err34-c): the kernel wrote it */
	    sscanf(end,
		") %c %jd %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d "
		"%*d %*d %*d %*d %*d %" SCNu64,
		&state, &above, startp) != 3)
		return false;
	snprintf(parent, PID_BYTES, "%jd", above);
	return state != 'Z' && state != 'X';
}

static int64_t
nanoseconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * NANOSECONDS + t.tv_nsec;
}

/* When a process was started, in seconds since 1970. */
static int64_t
find_time(uint64_t start)
{
	const int64_t tick = NANOSECONDS / sysconf(_SC_CLK_TCK);

	return (nanoseconds(CLOCK_REALTIME) - nanoseconds(CLOCK_BOOTTIME) +
		   (int64_t)start * tick) /
	    NANOSECONDS;
}

/*
 * Whether the process is root's sshd, and serves the account by its own title:
 *   sshd: ACCOUNT [priv]     sshd-session: ACCOUNT@pts/0     sshd: ACCOUNT
 *   sshd-session: ACCOUNT [postauth], of what follows OpenSSH 10.5
 * The sshd that waits for connections has its path there, and no account's name
 * begins like that. OpenSSH cuts a title off where its room ends.
 */
static bool
serves(const char *pid, const char *account)
{
	char title[STAT_BYTES];
	const char *p;

	if (*account == '/' ||
	    sshd_process_kind_serving(pid) != SSHD_PROCESS_SSHD ||
	    !sshd_process_read(pid, "cmdline", title, sizeof(title)) ||
	    (strncmp(title, "sshd: ", 6) != 0 &&
		strncmp(title, "sshd-session: ", 14) != 0))
		return false;
	p = strchr(title, ' ') + 1;
	if (*p == '\0')
		return false;
	for (; *account != '\0' && *p != '\0'; account++)
		if (unvis_next(&p) != *account)
			return false;
	return *p == '@' || strncmp(p, " [priv]", strnlen(p, 7)) == 0 ||
	    strncmp(p, " [postauth]", strnlen(p, 11)) == 0;
}

/*
 * Whether the line tells of a connection that is open. Root's may have a second
 * process, below the one that let it in: no line is of that one.
 */
static bool
is_open(const struct connected_line *l, uint64_t *startp)
{
	char pid[PID_BYTES], parent[PID_BYTES];

	snprintf(pid, sizeof(pid), "%" PRIu64, l->process);
	return read_process(l->process, parent, startp) &&
	    find_time(*startp) <= l->seconds + SLACK_SECONDS &&
	    l->seconds <= time(NULL) + FUTURE_SECONDS &&
	    serves(pid, l->a.user) && !serves(parent, l->a.user);
}

static bool
is_same_process(const struct connected_line *a, const struct connected_line *b)
{
	return a->process == b->process && a->start == b->start;
}

/* Whether both lines say the same, as copies of one line in two logs do. */
static bool
is_same(const struct accepted *a, const struct accepted *b)
{
	return strcmp(a->user, b->user) == 0 && strcmp(a->from, b->from) == 0 &&
	    a->port == b->port && a->hostbased == b->hostbased &&
	    a->partial == b->partial && a->md5 == b->md5 &&
	    a->has_key == b->has_key && a->has_ca == b->has_ca &&
	    memcmp(a->key, b->key, sizeof(a->key)) == 0 &&
	    memcmp(a->ca, b->ca, sizeof(a->ca)) == 0;
}

/*
 * Whether there is nothing to add. Of lines without a key that is looked for, one
 * is enough to contradict the others.
 */
static bool
is_known(struct connected *c, const struct connected_line *line)
{
	for (size_t i = 0; i < c->n; i++) {
		struct connected_line *known = &c->v[i];

		if (!is_same_process(known, line))
			continue;
		if (is_same(&known->a, &line->a) ||
		    (!known->wanted && !line->wanted)) {
			if (line->sent && !known->sent)
				*known = *line;
			return true;
		}
	}
	return false;
}

bool
connected_add(struct connected *c, const struct connected_line *line,
    bool *addedp)
{
	struct connected_line l = *line;

	*addedp = false;
	/* What was one step of several contradicts no other. */
	if ((!l.wanted && l.a.partial) || !is_open(&l, &l.start))
		return true;
	*addedp = true;
	if (is_known(c, &l))
		return true;
	if (!room_for_one(&c->v, c->n, sizeof(*c->v)))
		return false;
	c->v[c->n++] = l;
	return true;
}

bool
connected_counts(const struct connected *c, const struct connected_line *line)
{
	char parent[PID_BYTES];
	uint64_t start;

	for (size_t i = 0; !line->sent && i < c->n; i++)
		if (c->v[i].sent && is_same_process(&c->v[i], line))
			return false;
	return read_process(line->process, parent, &start) &&
	    start == line->start;
}

const char *
connected_find_doubt(const struct connected *c,
    const struct connected_line *line)
{
	if (line->sent)
		return NULL;
	if (line->a.partial)
		return "only a line \"Partial\" tells of it";
	for (size_t i = 0; i < c->n; i++)
		if (is_same_process(&c->v[i], line) && !c->v[i].a.partial &&
		    !is_same(&c->v[i].a, &line->a))
			return "its lines contradict each other";
	return NULL;
}
