/* SPDX-License-Identifier: ISC */
#include "host/private_groups.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/room.h"
#include "host/groups.h"
#include "host/root_file.h"

struct primary {
	gid_t gid;
	uid_t uid;
};

/* All accounts of the machine, by gid. */
struct primaries {
	struct primary *v;
	size_t n;
};

static int
compare_primaries(const void *a, const void *b)
{
	const struct primary *x = a, *y = b;

	return x->gid != y->gid ? (x->gid > y->gid) - (x->gid < y->gid) :
				  (x->uid > y->uid) - (x->uid < y->uid);
}

static bool
add_primary(struct primaries *p, const struct passwd *pw)
{
	/* getpwent lists a NIS line, but getpwuid does not find it. */
	if (*pw->pw_name == '+' || *pw->pw_name == '-')
		return false;
	if (!room_for_one(&p->v, p->n, sizeof(*p->v)))
		return false;
	p->v[p->n++] = (struct primary){
		.gid = pw->pw_gid,
		.uid = pw->pw_uid,
	};
	return true;
}

/* With passwd NULL, all accounts that the system lists. */
static bool
read_listed(struct primaries *p, FILE *passwd)
{
	const struct passwd *pw;
	bool ok = true;
	int error;

	if (passwd == NULL)
		setpwent();
	while (ok &&
	    (errno = 0, pw = passwd != NULL ? fgetpwent(passwd) : getpwent()) !=
		NULL)
		ok = add_primary(p, pw);
	error = errno;
	if (passwd == NULL)
		endpwent();
	/* NSS modules may leave other values in errno at the end. */
	return ok && error != EIO && error != EMFILE && error != ENFILE &&
	    error != ENOMEM;
}

static bool
read_primaries(struct primaries *p, const char *root)
{
	FILE *passwd = NULL;
	int fd = -1;
	bool ok = true;

	if (*root != '\0') {
		fd = root_open(root, "/etc/passwd", O_RDONLY);
		passwd = fd != -1 ? fdopen(fd, "r") : NULL;
		ok = passwd != NULL;
	}
	ok = ok && read_listed(p, passwd);
	if (passwd != NULL)
		fclose(passwd);
	else if (fd != -1)
		close(fd);
	if (ok && p->n > 0)
		qsort(p->v, p->n, sizeof(*p->v), compare_primaries);
	return ok;
}

/* Whether the group is the primary one of uid, and of no other. */
static bool
is_primary_of_one(const struct primaries *p, gid_t gid, uid_t uid)
{
	size_t low = 0, high = p->n;
	bool found = false;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (p->v[middle].gid < gid)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < p->n && p->v[low].gid == gid; low++) {
		if (p->v[low].uid != uid)
			return false;
		found = true;
	}
	return found;
}

uint8_t *
private_groups_read(const char *root, const struct accounts *accounts)
{
	struct groups groups;
	struct primaries p = { 0 };
	uint8_t *answer = NULL;

	groups_read(&groups, root, accounts, true);
	if (groups.known && !groups.merged && read_primaries(&p, root))
		answer = calloc(accounts->n, sizeof(*answer));
	for (size_t i = 0; answer != NULL && i < accounts->n; i++) {
		const struct account *a = &accounts->v[i];
		const struct groups_name *group = groups_find(&groups, a->gid);

		/* libc is asked about groups of other services, or with members. */
		if (group != NULL && !group->has_members)
			answer[i] = is_primary_of_one(&p, a->gid, a->uid) ?
			    KV_PRIVATE_GROUP_YES :
			    KV_PRIVATE_GROUP_NO;
	}
	free(p.v);
	groups_free(&groups);
	return answer;
}
