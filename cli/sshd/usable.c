/* SPDX-License-Identifier: ISC */
#include "sshd/usable.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "host/root_file.h"
#include "sshd_config/runnable.h"

#define NOBODY 65534U

struct needed_file {
	const char *path;
	int mode;      /* for access(2) */
	bool is_guard; /* sshd itself runs it */
};

/*
 * Whether a file can be accessed, and only root can have written it. root_ask
 * calls this with o->root as the root directory.
 */
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
		return !p->is_guard ||
		    runnable_path(p->path, why, cap) == RUNNABLE;
	return false;
}

bool
sshd_usable_program(const struct sshd_options *o, const char *program,
    char *why, size_t cap)
{
	struct needed_file p = { .path = program, .mode = X_OK };

	return root_ask(o->root, 0, 0, is_trusted, &p, why, cap);
}

/* The same for p. False after a message that ends with advice. */
static bool
file_is_usable(const struct sshd_options *o, struct needed_file p,
    const char *advice)
{
	char why[SSHD_WHY_BYTES];

	if (root_ask(o->root, 0, 0, is_trusted, &p, why, sizeof(why)))
		return true;
	return cli_error("%s%s; %s", o->root, why, advice);
}

bool
sshd_usable_guard(const struct sshd_options *o, const char *path)
{
	const struct needed_file p = {
		.path = path,
		.mode = X_OK,
		.is_guard = true,
	};

	return file_is_usable(o, p,
	    "the guard must be there, be root's, "
	    "and be writable by nobody else, or sshd will not run it");
}

bool
sshd_usable_module(const struct sshd_options *o, const char *module)
{
	const struct needed_file p = {
		.path = *module == '/' ? module : SSHD_MODULE_PATH,
		.mode = R_OK,
	};

	return file_is_usable(o, p,
	    "the module must be there, or PAM refuses every login");
}

/* Why j can give no verdict; NULL if it can. */
static const char *
find_fault(const struct kv_judge *j)
{
	if (j->broken[0] != '\0')
		return j->broken;
	for (size_t i = 0; i < j->n_filters; i++)
		if (j->filter[i].pkbf.fd == -1)
			return j->filter[i].why;
	for (size_t i = 0; i < j->n_lists; i++)
		if (j->list[i].blocklist.fd == -1)
			return j->list[i].why;
	return j->n_filters + j->n_lists == 0 ? "no filter is named" : NULL;
}

/* Opens keyveto.conf and its filters as the guard does. */
static bool
judge_can_open(void *arg, char *why, size_t cap)
{
	const char *config = arg, *wrong;
	struct kv_judge j;

	kv_judge_open(&j, config, 0);
	if ((wrong = find_fault(&j)) != NULL)
		snprintf(why, cap, "%s", wrong);
	kv_judge_close(&j);
	return wrong == NULL;
}

bool
sshd_usable_filters(const struct sshd_options *o, const char *config,
    const char *user, const struct accounts *accounts)
{
	unsigned int uid = *user == '\0' ? 0 : NOBODY, gid = uid;
	const struct account *as = NULL;
	struct accounts asked = { 0 };
	char why[SSHD_WHY_BYTES];

	if (*user != '\0' && strcmp(user, "%u") != 0) {
		for (size_t i = 0; i < accounts->n; i++)
			if (strcmp(accounts->v[i].name, user) == 0)
				as = &accounts->v[i];
		/* Some name services do not list all their accounts. */
		if (as == NULL && *o->root == '\0' &&
		    accounts_add(&asked, user))
			as = asked.v;
		if (as == NULL)
			return cli_error(
			    "account %s: there is none of that name, but sshd "
			    "has to run a command as it",
			    user);
		uid = as->uid;
		gid = as->gid;
		accounts_free(&asked); /* as may point into it */
	}
	if (root_ask(o->root, uid, gid, judge_can_open, (char *)config, why,
		sizeof(why)))
		return true;
	if (uid == 0)
		cli_error("%s%s; no login would get a verdict", o->root, why);
	else
		cli_error("%s%s (read as %s); no login would get a verdict",
		    o->root, why, user);
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
sshd_usable_open(const struct sshd_options *o, const char *config,
    struct kv_judge *j)
{
	const char *wrong;

	kv_judge_open_with(j, config, NULL, open_below, (char *)o->root);
	if ((wrong = find_fault(j)) == NULL)
		return true;
	cli_error("%s", wrong);
	kv_judge_close(j);
	return false;
}
