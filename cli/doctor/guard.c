/* SPDX-License-Identifier: ISC */
/* The guard's file, and the account that sshd runs it as. */
#include "doctor/doctor.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "host/become.h"
#include "host/child.h"
#include "host/system_file.h"
#include "sshd_config/guard_command.h"

static void
check_path(struct doctor *d, const struct doctor_guard *g)
{
	char path[PATH_MAX], why[KV_TRUSTED_WHY_BYTES + PATH_MAX];
	enum runnable found;

	doctor_guard_program(g, path);
	found = runnable_path(path, why, sizeof(why));
	if (found == RUNNABLE)
		doctor_add(d, DOCTOR_OK, NULL,
		    "%s and all above it are root's alone", path);
	else
		doctor_add(d,
		    found == RUNNABLE_DOUBTFUL ? DOCTOR_WARNING : DOCTOR_BLIND,
		    found == RUNNABLE_MISSING ?
			"install the guard there: until then sshd refuses the "
			"keys and certificates that it asks the guard about" :
			"chown root and chmod go-w it, and each folder above "
			"it",
		    "%s", why);
	/* The other command is asked about certificates alone. */
	if (g->keys)
		doctor_add_refuses(d);
}

void
doctor_guard_path(struct doctor *d)
{
	for (size_t i = 0; i < d->n_guards; i++)
		check_path(d, &d->guard[i]);
	if (d->n_guards == 0)
		doctor_add_unused(d, "the guard is not in use");
}

/* What an account must be able to do with a file. */
struct access {
	const struct passwd *pw;
	const char *path;
	int mode; /* for access(2) */
};

/*
 * Sets why to what keeps the account from it; "" if nothing does. child_ask_as
 * calls this as root. sshd gives the guard the account's groups.
 */
static bool
find_obstacle(void *arg, char *why, size_t cap)
{
	const struct access *a = arg;
	const struct passwd *pw = a->pw;

	if (pw->pw_uid != 0 &&
	    !become_account(pw->pw_name, pw->pw_uid, pw->pw_gid)) {
		snprintf(why, cap, "cannot become %s: %s", pw->pw_name,
		    strerror(errno));
		return true;
	}
	child_die_with_parent();
	snprintf(why, cap, "%s",
	    access(a->path, a->mode) == 0 ? "" : strerror(errno));
	return true;
}

static void
check_access(struct doctor *d, const struct passwd *pw, const char *path,
    int mode, bool refuses)
{
	struct access a = { .pw = pw, .path = path, .mode = mode };
	const char *what = mode == X_OK ? "execute" : "read";
	char why[1024];

	if (!child_ask_as(0, 0, find_obstacle, &a, why, sizeof(why)))
		doctor_add(d, DOCTOR_UNSEEN, NULL,
		    "whether %s can %s %s is not looked at: %s", pw->pw_name,
		    what, path, why);
	/* Another check reports the missing file, and has the remedy. */
	else if (strcmp(why, strerror(ENOENT)) == 0)
		doctor_add(d, DOCTOR_WARNING, NULL, "%s has no %s to %s",
		    pw->pw_name, path, what);
	else if (*why != '\0') {
		doctor_add(d, DOCTOR_BLIND,
		    "give it those permissions, or have sshd run the guard as "
		    "another account",
		    "%s cannot %s %s: %s", pw->pw_name, what, path, why);
		if (refuses)
			doctor_add_refuses(d);
	}
}

/* Checks what the guard needs as the account that sshd runs it as. */
static void
check_user(struct doctor *d, const struct doctor_guard *g)
{
	const bool denies = g->keys &&
	    d->judging.judge.config.on_error == KV_ACTION_DENY;
	const char *name = g->user;
	const struct passwd *pw;
	char path[PATH_MAX];

	/* %u is any account: the account nobody stands for all. */
	if (strchr(name, '%') != NULL)
		name = "nobody";
	if ((pw = getpwnam(name)) == NULL) {
		doctor_add(d, DOCTOR_BLIND,
		    "name an account that exists; until then sshd refuses "
		    "the keys and certificates that it asks the guard about",
		    "Authorized%sCommandUser %s: there is no such account",
		    g->keys ? "Keys" : "Principals", name);
		if (g->keys)
			doctor_add_refuses(d);
		return;
	}
	doctor_guard_program(g, path);
	check_access(d, pw, path, X_OK, g->keys);
	(void)guard_config(g->args, path, sizeof(path));
	/* The check config looks at others. Unread, OnError deny holds. */
	if (strcmp(path, d->config) == 0 ||
	    system_file_is_same(path, d->config)) {
		check_access(d, pw, d->config, R_OK, g->keys);
		for (size_t i = 0; i < d->judging.judge.n_filters; i++)
			check_access(d, pw, d->judging.judge.filter[i].path,
			    R_OK, denies);
		for (size_t i = 0; i < d->judging.judge.n_lists; i++)
			check_access(d, pw, d->judging.judge.list[i].path, R_OK,
			    denies);
	}
	if (doctor_status(d, d->check) == DOCTOR_OK)
		doctor_add(d, DOCTOR_OK, NULL,
		    "%s can run the guard and read what it needs", pw->pw_name);
}

void
doctor_guard_user(struct doctor *d)
{
	for (size_t i = 0; i < d->n_guards; i++)
		check_user(d, &d->guard[i]);
	if (d->n_guards == 0)
		doctor_add_unused(d, "the guard is not in use");
}
