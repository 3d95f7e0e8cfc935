/* SPDX-License-Identifier: ISC */
/*
 * Stands in the guard's place, as if an attacker controlled the guard: tries
 * actions that the guard does not need, and logs which ones the kernel allows.
 * sshd discards its output.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

static void
log_attempt(const char *what, int result)
{
	syslog(LOG_NOTICE, "intruder: %s: %s", what,
	    result >= 0 ? "done" : strerror(errno));
}

static void
try_open(const char *what, const char *path, int flags)
{
	int fd = open(path, flags, 0600);

	log_attempt(what, fd);
	if (fd != -1)
		close(fd);
}

static void
try_exec(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "exit 0", (char *)NULL);
		_exit(errno);
	}
	if (pid == -1 || waitpid(pid, &status, 0) != pid)
		return;
	errno = WEXITSTATUS(status);
	log_attempt("exec", errno == 0 ? 0 : -1);
}

int
main(void)
{
	openlog("keyveto-intruder", LOG_PID, LOG_AUTHPRIV);
	try_open("config", "/etc/keyveto/keyveto.conf", O_RDONLY);
	try_open("shadow", "/etc/shadow", O_RDONLY);
	try_open("host-key", "/etc/ssh/ssh_host_ed25519_key", O_RDONLY);
	try_open("private-key", "/root/.ssh/id_ed25519", O_RDONLY);
	try_open("other-file", "/root/secret", O_RDONLY);
	try_open("write-filter", "/var/lib/keyveto/filter.pkbf", O_WRONLY);
	try_open("write-config", "/etc/keyveto/keyveto.conf", O_WRONLY);
	try_open("write-keys", "/root/.ssh/authorized_keys", O_WRONLY);
	try_open("make-file", "/tmp/intruder", O_WRONLY | O_CREAT);
	log_attempt("chown", chown("/root/secret", 1, 1));
	log_attempt("packet-socket", socket(AF_PACKET, SOCK_RAW, 0));
	log_attempt("internet-socket", socket(AF_INET, SOCK_STREAM, 0));
	log_attempt("raw-socket", socket(AF_INET, SOCK_RAW, 1));
	try_exec();
	syslog(LOG_NOTICE, "intruder: end");
	return 0;
}
