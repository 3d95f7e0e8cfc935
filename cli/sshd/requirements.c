/* SPDX-License-Identifier: ISC */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "host/root_file.h"
#include "sshd/sshd.h"

#define NOBODY 65534U

struct needed_file {
	const char *path;
	int mode; /* as for access(2) */
};

/* Run with that machine's root directory. */
static bool
is_trusted(void *arg, char *why, size_t cap)
{
	const struct needed_file *p = arg;
	char reason[KV_TRUSTED_WHY_BYTES];

	if (access(p->path, p->mode) == -1)
		snprintf(why, cap, "%s: %s", p->path, strerror(errno));
	else if (kv_trusted_check(p->path, 0, reason) != KV_OK)
		snprintf(why, cap, "%s", reason);
	else
		return true;
	return false;
}

static bool
require(const struct sshd_options *o, const char *path, int mode,
    const char *advice)
{
	struct needed_file p = { .path = path, .mode = mode };
	char why[SSHD_WHY_BYTES];

	if (root_ask(o->root, 0, 0, is_trusted, &p, why, sizeof(why)))
		return true;
	cli_error("%s%s; %s", o->root, why, advice);
	return false;
}

bool
sshd_guard_would_run(const struct sshd_options *o, const char *program,
    char *why, size_t cap)
{
	struct needed_file p = { .path = program, .mode = X_OK };

	return root_ask(o->root, 0, 0, is_trusted, &p, why, cap);
}

bool
sshd_require_guard(const struct sshd_options *o, const char *path)
{
	return require(o, path, X_OK,
	    "the guard must be there, be root's, "
	    "and be writable by nobody else, or sshd will not run it");
}

bool
sshd_require_module(const struct sshd_options *o, const char *module)
{
	return require(o, *module == '/' ? module : SSHD_MODULE_PATH, R_OK,
	    "the module must be there, or PAM refuses every login");
}

/* Why there is no verdict by it; NULL if there is one. */
static const char *
wrong_with(const struct kv_judge *j)
{
	if (j->broken[0] != '\0')
		return j->broken;
	for (size_t i = 0; i < j->n_filters; i++)
		if (j->filter[i].pkbf.fd == -1)
			return j->filter[i].why;
	return j->n_filters == 0 ? "no filter is named" : NULL;
}

/* As the guard does at a login. */
static bool
judge_works(void *arg, char *why, size_t cap)
{
	const char *config = arg, *wrong;
	struct kv_judge j;

	kv_judge_open(&j, config, 0);
	if ((wrong = wrong_with(&j)) != NULL)
		snprintf(why, cap, "%s", wrong);
	kv_judge_close(&j);
	return wrong == NULL;
}

bool
sshd_require_filters(const struct sshd_options *o, const char *config,
    const char *user, const struct accounts *accounts)
{
	unsigned int uid = NOBODY, gid = NOBODY;
	struct accounts asked = { 0 };
	char why[SSHD_WHY_BYTES];
	bool known = strcmp(user, "%u") == 0;

	if (*user == '\0') {
		uid = gid = 0;
		known = true;
	}
	for (size_t i = 0; !known && i < accounts->n; i++) {
		if (strcmp(accounts->v[i].name, user) != 0)
			continue;
		uid = accounts->v[i].uid;
		gid = accounts->v[i].gid;
		known = true;
	}
	/* Not every name service lists all that it knows. */
	if (!known && *o->root == '\0' && accounts_add(&asked, user)) {
		uid = asked.v[0].uid;
		gid = asked.v[0].gid;
		known = true;
	}
	accounts_free(&asked);
	if (!known) {
		cli_error("account %s: there is none of that name, and sshd is "
			  "to run a command as it",
		    user);
		return false;
	}
	if (root_ask(o->root, uid, gid, judge_works, (char *)config, why,
		sizeof(why)))
		return true;
	cli_error("%s%s%s%s%s; a login would have no verdict", o->root, why,
	    uid != 0 ? " (read as " : "", uid != 0 ? user : "",
	    uid != 0 ? ")" : "");
	return false;
}

static enum kv_err
open_below(const char *path, int *fdp, char why[static KV_TRUSTED_WHY_BYTES],
    void *arg)
{
	const char *root = arg;

	if ((*fdp = root_open(root, path, O_RDONLY)) != -1)
		return KV_OK;
	snprintf(why, KV_TRUSTED_WHY_BYTES, "%.200s%.200s: %s", root, path,
	    strerror(errno));
	return KV_ERR_SYSTEM;
}

bool
sshd_judge_open(const struct sshd_options *o, const char *config,
    struct kv_judge *j)
{
	const char *wrong;

	kv_judge_open_with(j, config, NULL, 0, open_below, (char *)o->root);
	if ((wrong = wrong_with(j)) == NULL)
		return true;
	cli_error("%s", wrong);
	kv_judge_close(j);
	return false;
}
