/* SPDX-License-Identifier: ISC */
#include "host/temporary.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"

/* What the remover says once. */
struct made {
	int error; /* errno, if there is no folder */
	char path[sizeof(((struct temporary *)0)->path)];
};

/*
 * In the remover: makes the folder, and waits until our end of the socket is
 * closed, or we are dead. Then removes the folder. There is none before the
 * remover runs, so that no signal can leave one behind.
 */
static _Noreturn void
make_and_remove(int fd, struct made *m)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM,
		SIGPIPE };
	const struct dirent *e;
	char byte;
	DIR *dir;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_IGN);
	/* Do not hold the caller's output open. */
	if (dup2(fd, STDIN_FILENO) == -1 || !io_close_range(1, ~0U))
		_exit(1);
	m->error = mkdtemp(m->path) == NULL ? errno : 0;
	(void)!write(STDIN_FILENO, m, sizeof(*m));
	if (m->error != 0)
		_exit(1);
	while (read(STDIN_FILENO, &byte, 1) == -1 && errno == EINTR)
		;
	if ((dir = opendir(m->path)) != NULL)
		while ((e = readdir(dir)) != NULL)
			if (e->d_name[0] != '.')
				(void)unlinkat(dirfd(dir), e->d_name, 0);
	(void)rmdir(m->path);
	_exit(0);
}

bool
temporary_make(struct temporary *t, const char *name)
{
	struct made m = { .error = 0 };
	int ends[2];

	*t = (struct temporary){ .remover = 0 };
	snprintf(m.path, sizeof(m.path), "/tmp/%s.XXXXXX", name);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == -1)
		return false;
	if ((t->remover = fork()) == 0)
		make_and_remove(ends[1], &m);
	if (t->remover == -1)
		m.error = errno;
	close(ends[1]);
	t->alive = ends[0];
	if (m.error == 0 && io_read(t->alive, &m, sizeof(m)) != sizeof(m))
		m.error = EIO;
	if (m.error == 0) {
		snprintf(t->path, sizeof(t->path), "%s", m.path);
		return true;
	}
	temporary_remove(t);
	errno = m.error;
	return false;
}

void
temporary_remove(struct temporary *t)
{
	if (t->remover == 0)
		return;
	close(t->alive);
	while (t->remover > 0 && waitpid(t->remover, NULL, 0) == -1 &&
	    errno == EINTR)
		;
	*t = (struct temporary){ .remover = 0 };
}
