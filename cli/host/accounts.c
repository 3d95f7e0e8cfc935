/* SPDX-License-Identifier: ISC */
#include "host/accounts.h"

#include <errno.h>
#include <pwd.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"

static bool
append_account(struct accounts *a, const struct passwd *pw)
{
	struct account *v;

	if (!room_for_one(&a->v, a->n, sizeof(*v)))
		return false;
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
free_nothing(void *name)
{
	(void)name;
}

bool
accounts_add_all(struct accounts *a)
{
	const struct passwd *pw;
	void *seen = NULL;
	bool ok = true;
	int saved;

	setpwent();
	while (ok && (errno = 0, pw = getpwent()) != NULL) {
		if (tfind(pw->pw_name, &seen, compare_names) != NULL)
			continue;
		/*
		 * getpwent lists a NIS line of /etc/passwd ("+::::::") as an
		 * account, but getpwnam does not find it, so sshd lets nobody
		 * in as it.
		 */
		if ((*pw->pw_name == '+' || *pw->pw_name == '-') &&
		    getpwnam(pw->pw_name) == NULL)
			continue;
		ok = append_account(a, pw) &&
		    tsearch(a->v[a->n - 1].name, &seen, compare_names) != NULL;
	}
	saved = errno;
	tdestroy(seen, free_nothing);
	endpwent();
	errno = saved;
	/* NSS modules may leave other values in errno at the end. */
	return ok && saved != EIO && saved != EMFILE && saved != ENFILE &&
	    saved != ENOMEM;
}

bool
accounts_add(struct accounts *a, const char *name)
{
	const struct passwd *pw;

	errno = 0;
	if ((pw = getpwnam(name)) != NULL)
		return append_account(a, pw);
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
