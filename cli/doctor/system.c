/* SPDX-License-Identifier: ISC */
/* The arguments of the sshd that listen, and the system log. */
#include "doctor/doctor.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "sshd_config/arguments.h"
#include "sshd_config/guard_command.h"
#include "sshd_config/tree.h"
#include "sshd_config/words.h"

#define LOG_SOCKET "/dev/log"

/*
 * An -o option overrides the file. The other checks ask an sshd that is started
 * without such options.
 */
static void
check_option(void *arg, const struct sshd_start *start, const char *keyword,
    const char *value)
{
	struct doctor *d = arg;
	const char *args;
	bool bypasses = false, unseen = false;

	if (strcasecmp(keyword, "AuthorizedKeysFile") == 0)
		bypasses = d->keys_guard != NULL &&
		    strcasecmp(value, "none") != 0;
	else if (strcasecmp(keyword, "AuthorizedKeysCommand") == 0)
		bypasses = !guard_command(value, &args);
	else if (strcasecmp(keyword, "UsePAM") == 0)
		bypasses = strcasecmp(value, "yes") != 0;
	else
		unseen = (sshd_keyword(keyword) & SSHD_KEYWORD_DECIDES) != 0 ||
		    strcasecmp(keyword, "PermitTunnel") == 0;
	if (bypasses || unseen)
		doctor_add(d, bypasses ? DOCTOR_BROKEN : DOCTOR_WARNING,
		    SSHD_ARGUMENTS_REMEDY, "%s: -o %s=%s %s", start->place,
		    keyword, value,
		    bypasses ? "bypasses keyveto, whatever sshd_config says" :
			       "is not seen by the other checks");
}

static void
check_file(void *arg, const struct sshd_start *start, const char *path)
{
	struct doctor *d = arg;
	const char *asked = d->o->sshd.config;

	if (strcmp(path, asked != NULL ? asked : SSHD_TREE_TOP) != 0)
		doctor_add(d, DOCTOR_WARNING,
		    "name that file with --sshd-config",
		    "%s: its configuration is %s, which the other checks have "
		    "not read",
		    start->place, path);
}

static void
check_name(void *arg, const struct sshd_start *start, const char *name)
{
	struct doctor *d = arg;

	if (!d->service_set && strcmp(name, d->service) != 0)
		doctor_add(d, DOCTOR_WARNING,
		    "start it by the name of that service",
		    "%s: its PAM service is %s, by the name that it was "
		    "started by; the other checks have read %s",
		    start->place, name, d->service);
}

static void
warn_of_unseen(void *arg, const char *place, const char *why)
{
	doctor_add(arg, DOCTOR_WARNING, NULL, "%s: %s", place, why);
}

void
doctor_service(struct doctor *d)
{
	const struct sshd_arguments found = {
		.arg = d,
		.option = check_option,
		.file = check_file,
		.name = check_name,
		.unseen = warn_of_unseen,
	};
	size_t n;

	if (geteuid() != 0)
		doctor_add(d, DOCTOR_WARNING, "run keyveto status as root",
		    "only root can see the arguments of sshd");
	n = sshd_arguments_find(&found);
	if (doctor_status(d, d->check) != DOCTOR_OK)
		return;
	if (n == 0)
		doctor_add(d, DOCTOR_OK, NULL,
		    "no sshd listens now, and the next one gets no options "
		    "that matter here");
	else
		doctor_add(d, DOCTOR_OK, NULL,
		    "%zu sshd %s, without options that matter here", n,
		    cli_plural(n, "listens", "listen"));
}

/* Connects to the log socket, and sends nothing. */
void
doctor_syslog(struct doctor *d)
{
	static const int types[] = { SOCK_DGRAM, SOCK_STREAM };
	const struct sockaddr_un address = {
		.sun_family = AF_UNIX,
		.sun_path = LOG_SOCKET,
	};
	int fd, error = EPROTOTYPE;

	for (size_t i = 0; i < 2 && error == EPROTOTYPE; i++) {
		fd = socket(AF_UNIX, types[i] | SOCK_CLOEXEC | SOCK_NONBLOCK,
		    0);
		error = fd != -1 &&
			connect(fd, (const struct sockaddr *)&address,
			    sizeof(address)) == 0 ?
		    0 :
		    errno;
		if (fd != -1)
			close(fd);
	}
	if (error == 0)
		doctor_add(d, DOCTOR_OK, NULL,
		    LOG_SOCKET " accepts log messages");
	else
		doctor_add(d, DOCTOR_WARNING,
		    "start the machine's log service; until then nobody sees "
		    "who is refused, or why",
		    LOG_SOCKET ": %s", strerror(error));
}
