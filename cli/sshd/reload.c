/* SPDX-License-Identifier: ISC */
#include "sshd/reload.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/program.h"
#include "host/root_file.h"
#include "host/sshd_process.h"
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

/*
 * Reloads a unit; restarts it if systemd's socket is in use. Debian 12's sshd
 * does not take the socket a second time: on a reload it ends, and the unit
 * stays failed until the next connection. A restart ends no session.
 */
static bool
reload_unit(const char *service, const char *socket)
{
	return systemctl("is-active", service) &&
	    systemctl(systemctl("is-active", socket) ? "try-restart" : "reload",
		service);
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
	if (*path != '/' || (text = root_read("", path, &len)) == NULL)
		return false;
	text[strcspn(text, "\r\n \t")] = '\0';
	ok = cli_read_number(text, 2, INT32_MAX, &pid) &&
	    sshd_process_kind(text) == SSHD_PROCESS_SSHD &&
	    kill((pid_t)pid, SIGHUP) == 0;
	free(text);
	return ok;
}

bool
sshd_reload(const char *dump)
{
	const bool systemd = access("/run/systemd/system", F_OK) == 0;
	char path[SSHD_VALUE_BYTES];

	if (systemd &&
	    (reload_unit("ssh.service", "ssh.socket") ||
		reload_unit("sshd.service", "sshd.socket")))
		return true;
	if (!sshd_text_value(dump, "pidfile", path, sizeof(path)))
		snprintf(path, sizeof(path), "none");
	if (signal_listener(path))
		return true;
	/*
	 * systemd starts an sshd for each connection: it reads the files then.
	 */
	if (systemd &&
	    (systemctl("is-active", "ssh.socket") ||
		systemctl("is-active", "sshd.socket")))
		return true;
	cli_error("PidFile %s names no running sshd; nothing was reloaded: "
		  "reload sshd by hand",
	    path);
	return false;
}
