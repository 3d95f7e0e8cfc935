/* SPDX-License-Identifier: ISC */
#include "host/accounts.h"

#include <errno.h>
#include <pwd.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

static bool
append(struct accounts *a, const struct passwd *pw)
{
	size_t cap = a->cap > 0 ? 2 * a->cap : 64;
	struct account *v;

	if (a->n == a->cap) {
		if ((v = realloc(a->v, cap * sizeof(*v))) == NULL)
			return false;
		a->v = v;
		a->cap = cap;
	}
	v = &a->v[a->n];
	*v = (struct account){
		.name = strdup(pw->pw_name),
		.home = strdup(pw->pw_dir),
		.uid = pw->pw_uid,
		.gid = pw->pw_gid,
	};
	if (v->name == NULL || v->home == NULL) {
		free(v->name);
		free(v->home);
		errno = ENOMEM;
		return false;
	}
	a->n++;
	return true;
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void
keep_name(void *name)
{
	(void)name; /* the account's */
}

/*
 * Whether a line of /etc/passwd is one of NIS ("+::::::"), which getpwent shows
 * as an account of that name, and getpwnam does not find: sshd lets nobody in
 * by it.
 */
static bool
is_nis_line(const char *name, bool system)
{
	return (*name == '+' || *name == '-') &&
	    (!system || getpwnam(name) == NULL);
}

/* passwd NULL: the system's own list. */
static bool
add_each(struct accounts *a, FILE *passwd)
{
	const struct passwd *pw;
	void *seen = NULL;
	bool ok = true;
	int saved;

	while (ok &&
	    (errno = 0, pw = passwd != NULL ? fgetpwent(passwd) : getpwent()) !=
		NULL) {
		if (tfind(pw->pw_name, &seen, compare_names) != NULL ||
		    is_nis_line(pw->pw_name, passwd == NULL))
			continue;
		ok = append(a, pw) &&
		    tsearch(a->v[a->n - 1].name, &seen, compare_names) != NULL;
	}
	saved = errno;
	tdestroy(seen, keep_name);
	errno = saved;
	/* What else modules leave in errno at the end is no error. */
	return ok && saved != EIO && saved != EMFILE && saved != ENFILE &&
	    saved != ENOMEM;
}

bool
accounts_add_all(struct accounts *a)
{
	bool ok;
	int saved;

	setpwent();
	ok = add_each(a, NULL);
	saved = errno;
	endpwent();
	errno = saved;
	return ok;
}

bool
accounts_add_file(struct accounts *a, FILE *passwd)
{
	return add_each(a, passwd);
}

bool
accounts_add(struct accounts *a, const char *name)
{
	const struct passwd *pw;

	errno = 0;
	if ((pw = getpwnam(name)) != NULL)
		return append(a, pw);
	if (errno == 0 || errno == ESRCH)
		errno = ENOENT;
	return false;
}

void
accounts_free(struct accounts *a)
{
	for (size_t i = 0; i < a->n; i++) {
		free(a->v[i].name);
		free(a->v[i].home);
	}
	free(a->v);
	*a = (struct accounts){ 0 };
}
