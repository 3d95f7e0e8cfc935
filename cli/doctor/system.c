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

#define LOG_SOCKET "/dev/log"

/* What the callbacks of sshd_arguments_find share. */
struct service {
	struct doctor *d;
	const char *check;
	size_t overrides; /* arguments that the other checks do not know of */
	size_t unseen;	  /* arguments that could not be read */
};

/* An -o option overrides the file. */
static void
check_option(void *arg, const struct sshd_start *start, const char *keyword,
    const char *value)
{
	struct service *s = arg;
	const char *args;
	bool bad = false, known = false;

	if (strcasecmp(keyword, "AuthorizedKeysFile") == 0)
		bad = s->d->root.guard && strcasecmp(value, "none") != 0;
	else if (strcasecmp(keyword, "AuthorizedKeysCommand") == 0)
		bad = !guard_command(value, &args);
	else if (strcasecmp(keyword, "UsePAM") == 0)
		bad = strcasecmp(value, "yes") != 0;
	else
		known = sshd_arguments_decide(keyword) ||
		    strcasecmp(keyword, "PermitTunnel") == 0;
	if (bad)
		doctor_broken(s->d, s->check, SSHD_ARGUMENTS_REMEDY,
		    "%s: "
		    "-o %s=%s bypasses keyveto, whatever sshd_config says",
		    start->place, keyword, value);
	else if (known)
		doctor_warning(s->d, s->check, SSHD_ARGUMENTS_REMEDY,
		    "%s: "
		    "-o %s=%s is not seen by the other checks",
		    start->place, keyword, value);
	s->overrides += bad || known;
}

static void
check_file(void *arg, const struct sshd_start *start, const char *path)
{
	struct service *s = arg;
	const char *asked = s->d->o->sshd.config;

	if (strcmp(path, asked != NULL ? asked : "/etc/ssh/sshd_config") == 0)
		return;
	doctor_warning(s->d, s->check, "name that file with --sshd-config",
	    "%s: its configuration is %s, which the other checks have not "
	    "read",
	    start->place, path);
	s->overrides++;
}

static void
check_name(void *arg, const struct sshd_start *start, const char *name)
{
	struct service *s = arg;

	if (s->d->service_set || strcmp(name, s->d->service) == 0)
		return;
	doctor_warning(s->d, s->check, "start it by the name of that service",
	    "%s: its PAM service is %s, by the name that it was started by; "
	    "the other checks have read %s",
	    start->place, name, s->d->service);
	s->overrides++;
}

static void
note_unseen(void *arg, const char *place, const char *why)
{
	struct service *s = arg;

	doctor_warning(s->d, s->check, NULL, "%s: %s", place, why);
	s->unseen++;
}

void
doctor_service(struct doctor *d, const char *check)
{
	struct service s = { .d = d, .check = check };
	const struct sshd_arguments found = {
		.arg = &s,
		.option = check_option,
		.file = check_file,
		.name = check_name,
		.unseen = note_unseen,
	};
	size_t n;

	if (geteuid() != 0) {
		doctor_warning(d, check, "run keyveto doctor as root",
		    "only root can see the arguments of sshd");
		s.unseen++;
	}
	n = sshd_arguments_find(&found);
	if (s.overrides + s.unseen > 0)
		return;
	if (n == 0)
		doctor_ok(d, check,
		    "no sshd listens now, and the next one gets no options "
		    "that matter here");
	else
		doctor_ok(d, check,
		    "%zu sshd %s, without options that matter here", n,
		    n == 1 ? "listens" : "listen");
}

/* Connects to the log socket, and sends nothing. Returns 0 or errno. */
static int
connect_to_log(int type)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error = 0;

	if (fd == -1)
		return errno;
	memcpy(address.sun_path, LOG_SOCKET, sizeof(LOG_SOCKET));
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) ==
	    -1)
		error = errno;
	close(fd);
	return error;
}

void
doctor_syslog(struct doctor *d, const char *check)
{
	int error = connect_to_log(SOCK_DGRAM);

	if (error == EPROTOTYPE)
		error = connect_to_log(SOCK_STREAM);
	if (error == 0)
		doctor_ok(d, check, LOG_SOCKET " accepts log messages");
	else
		doctor_warning(d, check,
		    "start the machine's log service; "
		    "until then nobody sees who is refused, or why",
		    LOG_SOCKET ": %s", strerror(error));
}
