/* SPDX-License-Identifier: ISC */
/* The arguments of the sshd that listen, and the system log. */
#include "doctor/doctor.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "host/system_file.h"
#include "sshd_config/arguments.h"
#include "sshd_config/guard_command.h"
#include "sshd_config/tree.h"
#include "sshd_config/words.h"

#define LOG_SOCKET "/dev/log"

/* Whether it is the file that sshd is asked about. */
static bool
is_asked_file(const struct doctor *d, const char *path)
{
	const char *asked = d->o->sshd.config;

	return system_file_is_same(path, asked != NULL ? asked : SSHD_TREE_TOP);
}

/*
 * An -o option overrides the file. The other checks ask an sshd that is started
 * without such options.
 */
static void
check_option(void *arg, const struct sshd_start *start, const char *keyword,
    const char *value)
{
	struct doctor *d = arg;
	const unsigned int is = sshd_keyword(keyword);
	const char *args;
	bool bypasses = false, unseen = false;

	/* An option may repeat the file. check_file tells of another file. */
	if ((start->file != NULL && !is_asked_file(d, start->file)) ||
	    ((is & SSHD_KEYWORD_SWITCH) != 0 && d->dump != NULL &&
		sshd_text_is(d->dump, keyword, value)))
		return;
	if (strcasecmp(keyword, "AuthorizedKeysFile") == 0)
		bypasses = doctor_find_guard(d, true) != NULL &&
		    strcasecmp(value, "none") != 0;
	else if (strcasecmp(keyword, "AuthorizedKeysCommand") == 0)
		bypasses = !guard_command(value, &args);
	else if (strcasecmp(keyword, "UsePAM") == 0)
		bypasses = strcasecmp(value, "yes") != 0;
	else
		unseen = (is & SSHD_KEYWORD_DECIDES) != 0 ||
		    strcasecmp(keyword, "PermitTunnel") == 0;
	if (bypasses || unseen)
		doctor_add(d, bypasses ? DOCTOR_BLIND : DOCTOR_UNSEEN,
		    SSHD_ARGUMENTS_REMEDY, "%s: -o %s=%s %s", start->place,
		    keyword, value,
		    bypasses ? "bypasses keyveto, whatever sshd_config says" :
			       "is not seen by the other checks");
}

static void
check_file(void *arg, const struct sshd_start *start, const char *path)
{
	struct doctor *d = arg;

	/* What is to start may be the one that counts. */
	if (!is_asked_file(d, path))
		doctor_add(d, start->listens ? DOCTOR_WARNING : DOCTOR_UNSEEN,
		    "name that file with --sshd-config",
		    "%s: its configuration is %s, which the other checks have "
		    "not read",
		    start->place, path);
}

static void
check_name(void *arg, const struct sshd_start *start, const char *name)
{
	struct doctor *d = arg;

	d->elsewhere += start->other_config ||
	    (start->file != NULL && !is_asked_file(d, start->file));
	if (!d->service_set && strcmp(name, d->service) != 0)
		doctor_add(d, DOCTOR_UNSEEN,
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

/* It serves other accounts than those of this machine. */
static void
note_elsewhere(void *arg, const char *place, const char *why)
{
	doctor_add(arg, DOCTOR_OK, NULL, "%s: %s", place, why);
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
		.elsewhere = note_elsewhere,
	};
	size_t n;

	if (geteuid() != 0)
		doctor_add(d, DOCTOR_UNSEEN, "run keyveto status as root",
		    "only root can see the arguments of sshd");
	n = sshd_arguments_find(&found);
	if (n > 0 && d->elsewhere == n)
		doctor_add(d, DOCTOR_UNSEEN, NULL,
		    "no sshd listens that reads %s: whether a way in is "
		    "guarded cannot be told",
		    d->o->sshd.config != NULL ? d->o->sshd.config :
						SSHD_TREE_TOP);
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
