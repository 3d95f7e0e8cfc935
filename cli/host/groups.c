/* SPDX-License-Identifier: ISC */
#include "host/groups.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/room.h"
#include "host/root_file.h"
#include "host/services.h"
#include "kv_userfile.h"

#define BLANKS " \t\r\n"
#define MERGE "[SUCCESS=merge]"
/*
 * With a group line alone, glibc asks the next service after each success. An
 * initgroups line must say so.
 */
#define GO_ON " [SUCCESS=continue] "

static bool
is_service(const char *word)
{
	return word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_")] ==
	    '\0' &&
	    strcmp(word, "files") != 0 && strcmp(word, "compat") != 0;
}

/* Sets others from the services of a group line, which it changes. */
static bool
read_services(char *line, char others[static GROUPS_OTHERS_BYTES],
    bool *mergedp)
{
	char *rest = NULL, *word = strtok_r(line, BLANKS, &rest);
	size_t len = 0;

	*others = '\0';
	/* getgrgid takes a group's name from the first service. */
	if (word == NULL || strcmp(word, "files") != 0)
		return false;
	while ((word = strtok_r(NULL, BLANKS, &rest)) != NULL) {
		if (strcasecmp(word, MERGE) == 0) {
			*mergedp = true;
			continue;
		}
		if (!is_service(word) ||
		    len + strlen(word) + sizeof(GO_ON) > GROUPS_OTHERS_BYTES)
			return false;
		len += (size_t)snprintf(others + len, GROUPS_OTHERS_BYTES - len,
		    "%s" GO_ON, word);
	}
	return true;
}

/* What comes after the database's name and colon; NULL for another line. */
static char *
after_name(char *line, const char *database)
{
	line += strspn(line, BLANKS);
	if (strncmp(line, database, strlen(database)) != 0)
		return NULL;
	line += strlen(database);
	line += strspn(line, BLANKS);
	return *line == ':' ? line + 1 : NULL;
}

/* Whether the services are known; then sets others to those but files. */
static bool
read_nsswitch(char others[static GROUPS_OTHERS_BYTES], bool *mergedp)
{
	size_t len;
	char *text = root_read("", "/etc/nsswitch.conf", &len);
	char *rest = NULL, *line, *value;
	size_t lines = 0;
	bool ok = text != NULL && strlen(text) == len;

	for (line = ok ? strtok_r(text, "\n", &rest) : NULL; line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		line[strcspn(line, "#")] = '\0';
		if (after_name(line, "initgroups") != NULL)
			ok = false;
		if ((value = after_name(line, "group")) != NULL)
			ok = ok && lines++ == 0 &&
			    read_services(value, others, mergedp);
	}
	free(text);
	return ok && lines == 1;
}

static int
compare_accounts(const void *a, const void *b)
{
	const struct account *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static int
compare_with_account(const void *name, const void *account)
{
	const struct account *const *a = account;

	return strcmp(name, (*a)->name);
}

static int
compare_members(const void *a, const void *b)
{
	const struct groups_member *x = a, *y = b;

	return x->account != y->account ?
	    (x->account > y->account) - (x->account < y->account) :
	    (x->gid > y->gid) - (x->gid < y->gid);
}

static int
compare_names(const void *a, const void *b)
{
	const struct groups_name *x = a, *y = b;

	return x->gid != y->gid ? (x->gid > y->gid) - (x->gid < y->gid) :
				  (x->line > y->line) - (x->line < y->line);
}

static bool
add_member(struct groups *g, size_t account, gid_t gid)
{
	if (!room_for_one(&g->member, g->n_members, sizeof(*g->member)))
		return false;
	g->member[g->n_members++] = (struct groups_member){
		.account = (uint32_t)account,
		.gid = gid,
	};
	return true;
}

static bool
add_name(struct groups *g, const struct group *gr)
{
	const struct groups_name new = {
		.gid = gr->gr_gid,
		.line = g->n_names,
		.name = strdup(gr->gr_name),
		.has_members = gr->gr_mem[0] != NULL,
	};

	if (new.name == NULL ||
	    !room_for_one(&g->name, g->n_names, sizeof(new))) {
		free(new.name);
		return false;
	}
	g->name[g->n_names++] = new;
	return true;
}

/* Adds a group's member to all accounts of that name. */
static bool
add_members(struct groups *g, const struct group *gr, const char *name,
    const struct accounts *accounts, const struct account *const *sorted)
{
	const struct account *const *end = sorted + accounts->n;
	const struct account *const *a = bsearch(name, sorted, accounts->n,
	    sizeof(struct account *), compare_with_account);
	bool ok = true;

	while (a != NULL && a > sorted && strcmp(a[-1]->name, name) == 0)
		a--;
	for (; ok && a != NULL && a < end && strcmp((*a)->name, name) == 0; a++)
		ok = add_member(g, (size_t)(*a - accounts->v), gr->gr_gid);
	return ok;
}

/* sorted are the accounts by name. */
static bool
read_groups(struct groups *g, FILE *file, const struct accounts *accounts,
    const struct account *const *sorted, bool names)
{
	const struct group *gr;
	bool ok = true;

	while (ok && (errno = 0, gr = fgetgrent(file)) != NULL) {
		for (char **m = gr->gr_mem; ok && *m != NULL; m++)
			ok = add_members(g, gr, *m, accounts, sorted);
		/* getgrgid does not find a NIS line. */
		if (names && *gr->gr_name != '+' && *gr->gr_name != '-')
			ok = ok && add_name(g, gr);
	}
	return ok && (errno == 0 || errno == ENOENT) && ferror(file) == 0;
}

static bool
read_all(struct groups *g, const char *root, const struct accounts *accounts,
    bool names)
{
	const struct account **sorted = calloc(accounts->n + 1,
	    sizeof(struct account *));
	const int fd = root_open(root, "/etc/group", O_RDONLY);
	FILE *file = fd != -1 ? fdopen(fd, "r") : NULL;
	bool ok = file != NULL && sorted != NULL && accounts->n <= UINT32_MAX;

	for (size_t i = 0; ok && i < accounts->n; i++)
		sorted[i] = &accounts->v[i];
	if (ok) {
		qsort(sorted, accounts->n, sizeof(struct account *),
		    compare_accounts);
		ok = read_groups(g, file, accounts, sorted, names);
	}
	if (file != NULL)
		fclose(file);
	else if (fd != -1)
		close(fd);
	free(sorted);
	return ok;
}

void
groups_read(struct groups *g, const char *root, const struct accounts *accounts,
    bool names)
{
	*g = (struct groups){ .below_root = *root != '\0' };
	/* After root_enter only files are asked. */
	if ((!g->below_root && !read_nsswitch(g->others, &g->merged)) ||
	    !read_all(g, root, accounts, names)) {
		groups_free(g);
		return;
	}
	if (g->n_members > 0)
		qsort(g->member, g->n_members, sizeof(*g->member),
		    compare_members);
	if (g->n_names > 0)
		qsort(g->name, g->n_names, sizeof(*g->name), compare_names);
	g->known = true;
}

/* getgrouplist(3) with room for extra more. NULL without memory. */
static gid_t *
ask_system(const char *name, gid_t gid, size_t extra, size_t *np)
{
	gid_t *list = NULL, *grown;
	int n = 16, cap = 0;

	while (n > cap) {
		cap = n;
		grown = reallocarray(list, (size_t)cap + extra, sizeof(*list));
		if (grown == NULL)
			break;
		list = grown;
		if (getgrouplist(name, gid, list, &n) != -1) {
			*np = (size_t)n;
			return list;
		}
	}
	free(list);
	return NULL;
}

/* Asks the other services only. NULL without memory. */
static gid_t *
ask_others(const struct groups *g, const char *name, gid_t gid, size_t extra,
    size_t *np)
{
	char all[sizeof("files" GO_ON) + GROUPS_OTHERS_BYTES];
	gid_t *list;

	snprintf(all, sizeof(all), "files" GO_ON "%s", g->others);
	if (!services_choose("initgroups", g->others))
		return ask_system(name, gid, extra, np);
	list = ask_system(name, gid, extra, np);
	if (services_choose("initgroups", all))
		return list;
	free(list);
	return NULL;
}

/*
 * The place of the first of n sorted elements of this size whose first member, a
 * number, is not below key; n if there is none.
 */
static size_t
find_first(const void *v, size_t n, size_t size, uint32_t key)
{
	size_t low = 0;
	uint32_t its;

	while (low < n) {
		const size_t middle = low + (n - low) / 2;

		memcpy(&its, (const char *)v + middle * size, sizeof(its));
		if (its < key)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* The first group of an account, and how many it has. */
static const struct groups_member *
find_members(const struct groups *g, size_t account, size_t *np)
{
	const size_t low = find_first(g->member, g->n_members,
	    sizeof(*g->member), (uint32_t)account);

	*np = 0;
	while (
	    low + *np < g->n_members && g->member[low + *np].account == account)
		++*np;
	return g->member + low;
}

gid_t *
groups_of(const struct groups *g, size_t i, const struct account *a, size_t *np)
{
	const struct groups_member *m;
	gid_t *list;
	size_t extra, asked;

	*np = 0;
	if (!g->known)
		return ask_system(a->name, a->gid, 0, np);
	m = find_members(g, i, &extra);
	if (*g->others != '\0')
		list = ask_others(g, a->name, a->gid, extra, np);
	else if ((list = calloc(extra + 1, sizeof(*list))) != NULL)
		list[(*np)++] = a->gid;
	asked = *np;
	for (size_t j = 0; list != NULL && j < extra; j++) {
		bool there = j > 0 && m[j].gid == m[j - 1].gid;

		for (size_t k = 0; k < asked && !there; k++)
			there = list[k] == m[j].gid;
		if (!there)
			list[(*np)++] = m[j].gid;
	}
	return list;
}

bool
groups_set(const struct groups *g, size_t i, const struct account *a)
{
	gid_t *list = NULL;
	size_t n = 0;
	bool ok;

	if (g->known && (list = groups_of(g, i, a, &n)) == NULL)
		return false;
	/* Of too many groups, initgroups leaves some out. */
	ok = list != NULL && n <= NGROUPS_MAX ?
	    setgroups(n, list) == 0 :
	    initgroups(a->name, a->gid) == 0;
	free(list);
	return ok;
}

/* The group of /etc/group that getgrgid finds; NULL if there is none. */
static const struct groups_name *
groups_find(const struct groups *g, gid_t gid)
{
	const size_t low = find_first(g->name, g->n_names, sizeof(*g->name),
	    gid);

	return low < g->n_names && g->name[low].gid == gid ?
	    &g->name[low] :
	    NULL;
}

const char *
groups_name(const struct groups *g, gid_t gid)
{
	const struct groups_name *found = groups_find(g, gid);
	const struct group *gr;

	if (found != NULL)
		return found->name;
	gr = getgrgid(gid);
	return gr != NULL ? gr->gr_name : NULL;
}

void
groups_free(struct groups *g)
{
	for (size_t i = 0; i < g->n_names; i++)
		free(g->name[i].name);
	free(g->name);
	free(g->member);
	*g = (struct groups){ .known = false };
}

/* --- private groups ----------------------------------------------------- */

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
	size_t low = find_first(p->v, p->n, sizeof(*p->v), gid);
	bool found = false;

	for (; low < p->n && p->v[low].gid == gid; low++) {
		if (p->v[low].uid != uid)
			return false;
		found = true;
	}
	return found;
}

uint8_t *
groups_find_private(const char *root, const struct accounts *accounts)
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
