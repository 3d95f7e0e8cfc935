/* SPDX-License-Identifier: ISC */
/* The guard's file, and the account that sshd runs it as. */
#include "doctor/doctor.h"

#include <sys/stat.h>

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/become.h"
#include "host/child.h"

#define PATH_REMEDY "chown root and chmod go-w it, and each folder above it"

static void
get_path(const char *command, char path[static DOCTOR_VALUE_BYTES])
{
	snprintf(path, DOCTOR_VALUE_BYTES, "%.*s",
	    (int)strcspn(command, " \t\""), command);
}

/*
 * Whether sshd accepts the owner and mode of a file or directory; if not, adds
 * a finding. sshd makes no exception for sticky directories.
 */
static bool
is_safe(struct doctor *d, const char *check, const char *path)
{
	struct stat st;

	if (stat(path, &st) == -1)
		doctor_broken(d, check, PATH_REMEDY, "%s: %s", path,
		    strerror(errno));
	else if (st.st_uid != 0)
		doctor_broken(d, check, PATH_REMEDY,
		    "%s is not owned by "
		    "root: sshd does not run the guard",
		    path);
	else if ((st.st_mode & 022) == 020 && st.st_gid == 0) {
		/* Debian's sshd accepts that if only root is in the group. */
		doctor_warning(d, check, PATH_REMEDY,
		    "%s is writable by "
		    "root's group: sshd may not run the guard",
		    path);
		return true;
	} else if ((st.st_mode & 022) != 0)
		doctor_broken(d, check, PATH_REMEDY,
		    "%s is writable by group "
		    "or others: sshd does not run the guard",
		    path);
	else
		return true;
	return false;
}

/* Checks the file and each directory above it. path has no links. */
static bool
is_safe_up(struct doctor *d, const char *check, char *path)
{
	char *slash;

	if (!is_safe(d, check, path))
		return false;
	while ((slash = strrchr(path, '/')) != NULL && slash != path) {
		*slash = '\0';
		if (!is_safe(d, check, path))
			return false;
	}
	return is_safe(d, check, "/");
}

static void
check_path(struct doctor *d, const char *check, const char *command)
{
	char path[DOCTOR_VALUE_BYTES], real[PATH_MAX];
	struct stat st;

	get_path(command, path);
	if (realpath(path, real) == NULL || stat(real, &st) == -1)
		doctor_broken(d, check,
		    "install the guard there: until then sshd refuses the "
		    "keys and certificates that it asks the guard about",
		    "%s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		doctor_broken(d, check,
		    "install the guard there: until then sshd refuses the "
		    "keys and certificates that it asks the guard about",
		    "%s: not a regular file", path);
	else if (is_safe_up(d, check, real) &&
	    doctor_status(d, check) == DOCTOR_OK)
		doctor_ok(d, check, "%s and all above it are root's alone",
		    path);
}

void
doctor_guard_path(struct doctor *d, const char *check)
{
	const struct sshd_settings *s = d->settings;

	if (!doctor_has_sshd(d, check))
		return;
	if (d->root.guard)
		check_path(d, check, s->keys_command);
	if (d->root.principals)
		check_path(d, check, s->principals_command);
	if (!d->root.guard && !d->root.principals)
		doctor_ok(d, check, "the guard is not in use");
}

struct trial {
	const struct doctor *d;
	const struct passwd *pw;
	const char *guard;
};

/* The child's records: an attempt that failed; the end. */
enum { CANNOT = 1, TRIED_ALL };

/* Sends errno, and what the account cannot do with a name. */
static void
send_failure(struct record_out *out, const char *what, const char *name)
{
	const int error = errno;

	record_begin(out, CANNOT);
	record_add_text(out, what);
	record_add_text(out, name);
	record_add_number(out, (uint64_t)error);
	record_end(out);
}

static void
check_access(struct record_out *out, const char *path, int mode,
    const char *what)
{
	if (access(path, mode) == -1)
		send_failure(out, what, path);
}

/* In the child: becomes the account, and checks what the guard needs. */
static void
check_as_account(struct record_out *out, void *arg)
{
	const struct trial *t = arg;
	const struct passwd *pw = t->pw;

	if (pw->pw_uid != 0 &&
	    !become_account(pw->pw_name, pw->pw_uid, pw->pw_gid)) {
		send_failure(out, "become", pw->pw_name);
	} else {
		child_die_with_parent();
		check_access(out, t->guard, X_OK, "execute");
		check_access(out, t->d->config, R_OK, "read");
		for (size_t i = 0; i < t->d->judge.n_filters; i++)
			check_access(out, t->d->judge.filter[i].path, R_OK,
			    "read");
	}
	record_begin(out, TRIED_ALL);
	record_end(out);
}

/* Adds a finding for a CANNOT record. False if the record is malformed. */
static bool
add_failure(struct doctor *d, const char *check, const struct passwd *pw,
    struct kv_bytes payload)
{
	struct kv_span what, name;
	uint64_t error;

	if (kv_bytes_get_string(&payload, &what) != KV_OK ||
	    kv_bytes_get_string(&payload, &name) != KV_OK ||
	    record_get_number(&payload, &error) != KV_OK)
		return false;
	/* Another check reports the missing file, and has the remedy. */
	if (error == ENOENT)
		doctor_warning(d, check, NULL, "%s has no %.*s to %.*s",
		    pw->pw_name, (int)name.len, (const char *)name.p,
		    (int)what.len, (const char *)what.p);
	else
		doctor_broken(d, check,
		    "give it those permissions, or have "
		    "sshd run the guard as another account",
		    "%s cannot %.*s %.*s: %s", pw->pw_name, (int)what.len,
		    (const char *)what.p, (int)name.len, (const char *)name.p,
		    strerror((int)error));
	return true;
}

static void
check_account(struct doctor *d, const char *check, const struct passwd *pw,
    const char *guard)
{
	struct trial t = { .d = d, .pw = pw, .guard = guard };
	struct record_in in = { 0 };
	struct kv_bytes payload;
	struct child c;
	bool all = false, heard = true, bad = false;
	uint8_t tag;

	if (!child_start(&c, check_as_account, &t)) {
		doctor_warning(d, check, NULL, "not looked at: %s",
		    strerror(errno));
		return;
	}
	while (record_fill(&in, c.fd) > 0)
		;
	while (record_next(&in, &tag, &payload, &bad)) {
		if (tag == TRIED_ALL)
			all = true;
		else
			heard &= add_failure(d, check, pw, payload);
	}
	record_in_free(&in);
	if (child_wait(&c) != 0 || !all || !heard)
		doctor_warning(d, check, NULL,
		    "not looked at: the process that ran as %s failed",
		    pw->pw_name);
	else if (doctor_status(d, check) == DOCTOR_OK)
		doctor_ok(d, check,
		    "%s can run the guard and read what it "
		    "needs",
		    pw->pw_name);
}

static void
check_user(struct doctor *d, const char *check, const char *keyword,
    const char *name, const char *command)
{
	const struct passwd *pw;
	char path[DOCTOR_VALUE_BYTES];

	get_path(command, path);
	/* %u is any account: the account nobody stands for all. */
	if (strchr(name, '%') != NULL)
		name = "nobody";
	if ((pw = getpwnam(name)) == NULL)
		doctor_broken(d, check,
		    "name an account that exists; until then sshd refuses "
		    "the keys and certificates that it asks the guard about",
		    "%s %s: there is no such account", keyword, name);
	else
		check_account(d, check, pw, path);
}

void
doctor_guard_user(struct doctor *d, const char *check)
{
	const struct sshd_settings *s = d->settings;

	if (!doctor_has_sshd(d, check))
		return;
	if (d->root.guard)
		check_user(d, check, "AuthorizedKeysCommandUser", s->keys_user,
		    s->keys_command);
	if (d->root.principals)
		check_user(d, check, "AuthorizedPrincipalsCommandUser",
		    s->principals_user, s->principals_command);
	if (!d->root.guard && !d->root.principals)
		doctor_ok(d, check, "the guard is not in use");
}
