/* SPDX-License-Identifier: ISC */
/* Makes the running sshd read its files anew. */
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "root_file.h"
#include "sshd_command.h"

#define SYSTEMCTL "/usr/bin/systemctl"

/* By its full name: root's PATH may be another's, after su. */
static int
run_systemctl(char *const *argv)
{
	char search[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	char *const env[] = { search, NULL };
	int status = 0;
	pid_t pid;

	if (posix_spawn(&pid, SYSTEMCTL, NULL, NULL, argv, env) != 0)
		return -1;
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return -1;
	return status;
}

static bool
reload_unit(const char *unit)
{
	char systemctl[] = "systemctl", quiet[] = "--quiet";
	char active[] = "is-active", reload[] = "reload", name[32];
	char *const ask[] = { systemctl, quiet, active, name, NULL };
	char *const tell[] = { systemctl, reload, name, NULL };

	snprintf(name, sizeof(name), "%s", unit);
	return run_systemctl(ask) == 0 && run_systemctl(tell) == 0;
}

/* Whether the process is an sshd, as far as its name tells. */
static bool
is_sshd(pid_t pid)
{
	char path[64], name[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return false;
	n = read(fd, name, sizeof(name));
	close(fd);
	return n == 5 && memcmp(name, "sshd\n", 5) == 0;
}

bool
sshd_reload(const char *dump)
{
	char path[SSHD_VALUE_BYTES], *text;
	size_t len;
	uint64_t pid;
	bool ok;

	if (access("/run/systemd/system", F_OK) == 0 &&
	    (reload_unit("ssh.service") || reload_unit("sshd.service")))
		return true;
	if (!sshd_text_value(dump, "pidfile", path, SSHD_VALUE_BYTES) ||
	    (text = root_read("", path, &len)) == NULL) {
		cli_error("no running sshd was found to be reloaded");
		return false;
	}
	text[strcspn(text, "\r\n \t")] = '\0';
	ok = cli_read_number(text, 2, INT32_MAX, &pid) &&
	    is_sshd((pid_t)pid) && kill((pid_t)pid, SIGHUP) == 0;
	free(text);
	if (!ok)
		cli_error("%s: names no running sshd; nothing was reloaded",
		    path);
	return ok;
}
