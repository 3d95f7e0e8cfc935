/* SPDX-License-Identifier: ISC */
/*
 * sshd/reload: makes the running sshd read its configuration again.
 */
#include <sys/stat.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "host/program.h"
#include "host/sshd_process.h"
#include "host/system_file.h"
#include "sshd/sshd.h"

#define SYSTEMCTL "/usr/bin/systemctl"

static bool
systemctl(const char *verb, const char *unit)
{
	const char *const argv[] = { SYSTEMCTL, "--quiet", verb, unit, NULL };
	struct program program = { .argv = argv };
	int status;

	program_fds(&program, PROGRAM_NULL, STDOUT_FILENO, STDERR_FILENO);
	return program_run(&program, &status) == 0 && status == 0;
}

/* Sends SIGHUP to the sshd whose process id is in the file. */
static bool
signal_listener(const char *path)
{
	uint64_t pid;
	char *text;
	size_t len;
	bool ok;

	/* PidFile may be none. */
	if (*path != '/' || (text = system_file_read(path, &len)) == NULL)
		return false;
	text[strcspn(text, "\r\n \t")] = '\0';
	ok = cli_read_number(text, 2, INT32_MAX, &pid) &&
	    sshd_process_kind(text) == SSHD_PROCESS_SSHD &&
	    kill((pid_t)pid, SIGHUP) == 0;
	free(text);
	return ok;
}

bool
sshd_has_systemd(void)
{
	struct stat first, ours;

	if (access("/run/systemd/system", F_OK) == -1)
		return false;
	if (stat("/proc/1/root/", &first) == -1)
		return errno != ENOENT;
	return stat("/", &ours) == 0 && io_is_same(&first, &ours) &&
	    !sshd_process_is_elsewhere("1");
}

bool
sshd_reload(const char *dump)
{
	static const struct {
		const char *service, *socket;
	} units[] = {
		{ "ssh.service", "ssh.socket" },
		{ "sshd.service", "sshd.socket" },
	};
	const size_t n = sshd_has_systemd() ? 2 : 0;
	char path[SSHD_VALUE_BYTES];

	/*
	 * Restarts the unit if systemd's socket is in use. Debian 12's sshd
	 * does not take the socket a second time: on a reload it ends, and the
	 * unit stays failed until the next connection. A restart ends no
	 * session.
	 */
	for (size_t i = 0; i < n; i++)
		if (systemctl("is-active", units[i].service) &&
		    systemctl(systemctl("is-active", units[i].socket) ?
			    "try-restart" :
			    "reload",
			units[i].service))
			return true;
	if (!sshd_text_value(dump, "pidfile", path, sizeof(path)))
		snprintf(path, sizeof(path), "none");
	if (signal_listener(path))
		return true;
	/* systemd starts an sshd for each connection: it reads the files. */
	for (size_t i = 0; i < n; i++)
		if (systemctl("is-active", units[i].socket))
			return true;
	return cli_error(
	    "PidFile %s names no running sshd; nothing was reloaded: reload "
	    "sshd by hand",
	    path);
}
