/* SPDX-License-Identifier: ISC */
#include "sessions/processes.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/room.h"
#include "host/proc.h"
#include "host/sshd_process.h"
#include "sessions/sockets.h"

#define PID_BYTES 24
#define STAT_BYTES 1024
/* As sshd calls the account of its process that has let nobody in yet. */
#define UNPRIVILEGED "sshd"

struct found {
	struct processes all;
	struct sockets sockets;
	struct sessions *sessions;
	int error; /* why the sockets of a process cannot be read; or 0 */
};

static void
format_pid(pid_t pid, char text[static PID_BYTES])
{
	snprintf(text, PID_BYTES, "%jd", (intmax_t)pid);
}

/*
 * The name in /proc/PID/stat may hold any byte: what counts follows its ")".
 * False for a process that has ended.
 */
static bool
read_process(const char *pid, struct process *p)
{
	char text[STAT_BYTES], *end;
	intmax_t parent;
	char state;

	if (!proc_read_start(pid, "stat", text, sizeof(text)) ||
	    (end = strrchr(text, ')')) == NULL ||
	    /* NOLINTNEXTLINE(cert-err34-c): the kernel wrote it */
	    sscanf(end,
		") %c %jd %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d "
		"%*d %*d %*d %*d %*d %" SCNu64,
		&state, &parent, &p->start) != 3 ||
	    state == 'Z' || state == 'X')
		return false;
	p->pid = (pid_t)strtol(pid, NULL, 10);
	p->parent = (pid_t)parent;
	return true;
}

bool
processes_read(struct processes *all)
{
	DIR *dir = opendir("/proc");
	const struct dirent *d;
	struct process p;
	bool ok = dir != NULL;

	while (ok && (d = readdir(dir)) != NULL) {
		if (strspn(d->d_name, "0123456789") != strlen(d->d_name) ||
		    !read_process(d->d_name, &p))
			continue;
		ok = room_for_one(&all->v, all->n, sizeof(*all->v));
		if (ok)
			all->v[all->n++] = p;
	}
	if (dir != NULL)
		closedir(dir);
	return ok;
}

static const struct process *
find_process(const struct processes *all, pid_t pid)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].pid == pid)
			return &all->v[i];
	return NULL;
}

/* The list is of no single moment: no more steps than it has processes. */
static bool
is_below(const struct processes *all, const struct process *one, pid_t pid)
{
	for (size_t i = 0; one != NULL && i < all->n; i++) {
		if (one->parent == pid)
			return true;
		one = find_process(all, one->parent);
	}
	return false;
}

static int
compare_parents(const void *a, const void *b)
{
	const struct process *one = a, *other = b;

	return (one->parent > other->parent) - (one->parent < other->parent);
}

/* The first in such an order whose parent is not below this one. */
static size_t
find_children(const struct processes *all, pid_t parent)
{
	size_t from = 0, to = all->n;

	while (from < to) {
		const size_t i = from + (to - from) / 2;

		if (all->v[i].parent < parent)
			from = i + 1;
		else
			to = i;
	}
	return from;
}

/*
 * An account can start many processes, each below the one before. The list is of
 * no single moment, so pid itself may stand below its children.
 */
bool
processes_find_below(struct processes *all, pid_t pid, struct processes *below)
{
	bool ok = true;

	if (all->n > 0)
		qsort(all->v, all->n, sizeof(*all->v), compare_parents);
	for (size_t i = 0; ok && i <= below->n; i++) {
		const pid_t parent = i == 0 ? pid : below->v[i - 1].pid;

		for (size_t j = find_children(all, parent);
		     ok && j < all->n && all->v[j].parent == parent; j++) {
			if (all->v[j].pid == pid)
				continue;
			ok = room_for_one(&below->v, below->n,
			    sizeof(*below->v));
			if (ok)
				below->v[below->n++] = all->v[j];
		}
	}
	return ok;
}

bool
process_runs(const struct process *p)
{
	char pid[PID_BYTES];
	struct process now;

	format_pid(p->pid, pid);
	return read_process(pid, &now) && now.start == p->start;
}

/*
 * Calls each with the inode of each socket of the process, until one is true.
 * Sets errno, to 0 if they can be read.
 */
static bool
find_socket(const char *pid, bool (*each)(uint64_t inode, void *arg), void *arg)
{
	char path[64], link[64];
	const struct dirent *d;
	uint64_t inode;
	bool found = false;
	ssize_t n;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	if ((dir = opendir(path)) == NULL)
		return false;
	while (!found && (d = readdir(dir)) != NULL) {
		n = readlinkat(dirfd(dir), d->d_name, link, sizeof(link) - 1);
		if (n <= 0)
			continue;
		link[n] = '\0';
		/* NOLINTNEXTLINE(cert-err34-c): the kernel wrote it */
		found = sscanf(link, "socket:[%" SCNu64, &inode) == 1 &&
		    each(inode, arg);
	}
	closedir(dir);
	errno = 0;
	return found;
}

/* Where the sockets of a process lead. */
struct peers {
	const struct sockets *sockets;
	struct session *s;
	bool listens; /* the process listens, too */
	bool failed;
};

static bool
add_peer(uint64_t inode, void *arg)
{
	struct peers *p = arg;
	const struct socket_entry *e = sockets_find(p->sockets, inode);
	struct session *s = p->s;

	if (e == NULL || e->listens) {
		p->listens |= e != NULL;
		return false;
	}
	p->failed = !room_for_one(&s->peer, s->n_peers, sizeof(*s->peer));
	if (p->failed)
		return true;
	s->peer[s->n_peers++] = (struct session_peer){
		.inode = inode,
		.address = e->remote,
		.port = e->remote_port,
	};
	return false;
}

/* Sets where the process is connected to. False with errno. */
static bool
read_peers(const struct sockets *sockets, const char *pid, struct session *s,
    bool *listensp)
{
	struct peers p = { .sockets = sockets, .s = s };

	find_socket(pid, add_peer, &p);
	*listensp = p.listens;
	if (p.failed)
		errno = ENOMEM;
	return errno == 0;
}

static bool
is_of_session(uint64_t inode, void *arg)
{
	const struct session *s = arg;

	for (size_t i = 0; i < s->n_peers; i++)
		if (s->peer[i].inode == inode)
			return true;
	return false;
}

bool
processes_share_socket(const struct process *p, const struct session *s)
{
	struct session copy = *s;
	char pid[PID_BYTES];

	format_pid(p->pid, pid);
	return find_socket(pid, is_of_session, &copy);
}

/* The real user of a process. False if it has ended. */
static bool
read_uid(pid_t pid, uid_t *uidp)
{
	char name[PID_BYTES], text[STAT_BYTES], *p;
	unsigned int uid;

	format_pid(pid, name);
	if (!proc_read_start(name, "status", text, sizeof(text)) ||
	    (p = strstr(text, "\nUid:\t")) == NULL ||
	    /* NOLINTNEXTLINE(cert-err34-c): the kernel wrote it */
	    sscanf(p, "\nUid:\t%u", &uid) != 1)
		return false;
	*uidp = (uid_t)uid;
	return true;
}

/*
 * Whether this is the title of the sshd that waits for connections. It names the
 * program and its words, and may be cut off before "[listener]"; if they are too
 * long, sshd sets none. A session's has the account in their place.
 */
static bool
is_listener(const char *title, bool listens)
{
	static const char sshd[] = "sshd: ", session[] = "sshd-session: ";

	if (strstr(title, " [listener] ") != NULL)
		return true;
	if (strncmp(title, sshd, strlen(sshd)) == 0)
		return listens && title[strlen(sshd)] == '/';
	return listens && strncmp(title, session, strlen(session)) != 0;
}

/*
 * Whether nobody was let in yet. sshd then has a child without privileges, which
 * speaks to the client, and before that a title of its own. The sockets of the
 * sshd that waits for connections may lead elsewhere, such as to the server of the
 * accounts.
 */
static bool
waits(pid_t pid, uid_t child, bool listens)
{
	static const char title[] = ": [accepted]";
	const struct passwd *pw = getpwnam(UNPRIVILEGED);
	char name[PID_BYTES], text[STAT_BYTES], *p;

	if (pw != NULL && pw->pw_uid != 0 && child == pw->pw_uid)
		return true;
	format_pid(pid, name);
	if (!proc_read_start(name, "cmdline", text, sizeof(text)))
		return false;
	return is_listener(text, listens) ||
	    ((p = strstr(text, title)) != NULL &&
		strspn(p + strlen(title), " ") == strlen(p + strlen(title)));
}

/* The child of a session's process that serves it as the account. */
static const struct process *
find_child(const struct processes *all, const struct session *s)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].parent == s->pid &&
		    processes_share_socket(&all->v[i], s))
			return &all->v[i];
	return NULL;
}

static int64_t
find_time(uint64_t start)
{
	struct timespec now, since;

	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &since);
	return now.tv_sec - since.tv_sec +
	    (int64_t)(start / (uint64_t)sysconf(_SC_CLK_TCK));
}

/*
 * Reads where a process of sshd's is connected to. False if it is not, has
 * ended, or cannot be read: then f->error is set.
 */
static bool
read_sockets(struct found *f, const char *pid, struct session *s,
    bool *listensp)
{
	if (sockets_read(&f->sockets, pid) &&
	    read_peers(&f->sockets, pid, s, listensp))
		return s->n_peers > 0;
	if (errno != ENOENT && errno != ESRCH)
		f->error = errno;
	return false;
}

/* Fills in what serves a connection. False if the process does not. */
static bool
read_session(struct found *f, const struct process *p, struct session *s)
{
	char pid[PID_BYTES];
	const struct process *child;
	bool listens = false, ok;

	*s = (struct session){ .pid = p->pid, .start = p->start };
	format_pid(p->pid, pid);
	ok = sshd_process_kind_serving(pid) == SSHD_PROCESS_SSHD &&
	    read_sockets(f, pid, s, &listens);
	child = ok ? find_child(&f->all, s) : NULL;
	ok = ok && (child == NULL || read_uid(child->pid, &s->uid)) &&
	    !waits(p->pid, s->uid, listens) && process_runs(p);
	s->started = s->since = find_time(p->start);
	if (!ok)
		free(s->peer);
	return ok;
}

/* Whether its parent serves the same connection: then that one let it in. */
static bool
is_child(const struct found *f, const struct session *s, pid_t parent)
{
	for (size_t i = 0; i < f->sessions->n; i++) {
		struct session *other = &f->sessions->v[i];

		if (other->pid != parent)
			continue;
		for (size_t j = 0; j < s->n_peers; j++)
			if (is_of_session(s->peer[j].inode, other))
				return true;
	}
	return false;
}

/* Takes out the children: a process may come before its parent. */
static void
remove_children(struct found *f)
{
	struct sessions *s = f->sessions;
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct process *p = find_process(&f->all, s->v[i].pid);

		if (p != NULL && is_child(f, &s->v[i], p->parent)) {
			free(s->v[i].peer);
			s->v[i].peer = NULL;
			s->v[i].n_peers = 0;
		}
	}
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].n_peers > 0)
			s->v[n++] = s->v[i];
	s->n = n;
}

/* The audit session of a process (pam_loginuid(8)); "" for none. */
static void
read_audit_session(pid_t pid, char text[static PID_BYTES])
{
	char name[PID_BYTES];

	format_pid(pid, name);
	if (!proc_read_start(name, "sessionid", text, PID_BYTES) ||
	    strcmp(text, "4294967295") == 0)
		*text = '\0';
}

/*
 * Whether this process was started in the session: below its process, or in its
 * audit session. That counts unless sshd itself was started in it.
 */
static bool
is_own(const struct found *f, const struct session *s)
{
	const struct process *self = find_process(&f->all, getpid());
	const struct process *its = find_process(&f->all, s->pid);
	char audit[PID_BYTES], parent[PID_BYTES], ours[PID_BYTES];

	if (self == NULL || its == NULL)
		return false;
	if (is_below(&f->all, self, s->pid))
		return true;
	read_audit_session(s->pid, audit);
	read_audit_session(its->parent, parent);
	read_audit_session(getpid(), ours);
	return *audit != '\0' && strcmp(audit, ours) == 0 &&
	    strcmp(audit, parent) != 0;
}

static bool
find_all(struct found *f)
{
	struct sessions *all = f->sessions;
	struct session s;

	if (!processes_read(&f->all))
		return false;
	for (size_t i = 0; i < f->all.n; i++) {
		if (!read_session(f, &f->all.v[i], &s))
			continue;
		if (!room_for_one(&all->v, all->n, sizeof(*all->v))) {
			free(s.peer);
			return false;
		}
		all->v[all->n++] = s;
	}
	errno = f->error;
	if (f->error != 0)
		return false;
	remove_children(f);
	for (size_t i = 0; i < all->n; i++)
		all->v[i].own = is_own(f, &all->v[i]);
	return true;
}

bool
processes_find_sessions(struct sessions *s)
{
	struct found f = { .sessions = s };
	const bool ok = find_all(&f);

	free(f.all.v);
	sockets_free(&f.sockets);
	return ok;
}

bool
processes_have_session(const struct session *s)
{
	struct found f = { .all = { .n = 0 } };
	const struct process p = { .pid = s->pid, .start = s->start };
	struct session now;
	bool same;

	if (!processes_read(&f.all) || !read_session(&f, &p, &now)) {
		free(f.all.v);
		sockets_free(&f.sockets);
		return false;
	}
	same = now.uid == s->uid && now.n_peers > 0 &&
	    processes_share_socket(&p, s);
	free(now.peer);
	free(f.all.v);
	sockets_free(&f.sockets);
	return same;
}
