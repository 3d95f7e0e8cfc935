/* SPDX-License-Identifier: ISC */
#include "sshd/usable.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "config/findings.h"
#include "host/memory.h"
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

static const char no_filter[] = "no filter is named";

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
	return j->n_filters + j->n_lists == 0 ? no_filter : NULL;
}

/* Opens keyveto.conf and its filters as the guard does, and reads the former. */
static bool
guard_can_open(void *arg, char *why, size_t cap)
{
	const struct kv_paths none = { .n_filters = 0 };
	const char *config = arg;
	char reason[KV_REASON_BYTES];
	struct kv_judge j;

	kv_judge_open_with(&j, config, &none, cli_open_as_login, NULL);
	memcpy(reason, j.broken, sizeof(reason));
	if (reason[0] == '\0')
		(void)config_can_open_all(&j.config, reason);
	if (reason[0] == '\0' &&
	    j.config.n_filters + j.config.n_blocklists == 0)
		snprintf(reason, sizeof(reason), "%s", no_filter);
	kv_judge_close(&j);
	snprintf(why, cap, "%s", reason);
	return reason[0] == '\0';
}

/* Whose files are opened, and what counts as the text of one. */
struct below {
	const char *root, *config;
	const struct sshd_text *text; /* of config; NULL: its own */
};

/* Sets *fdp to a file with the text. */
static bool
replace_text(const struct sshd_text *text, int *fdp)
{
	const int fd = memory_file("keyveto.conf");

	if (fd == -1 || !io_write(fd, text->p, text->len) ||
	    lseek(fd, 0, SEEK_SET) == -1) {
		io_close(fd);
		return false;
	}
	close(*fdp);
	*fdp = fd;
	return true;
}

/* Is a kv_open_fn; arg is a struct below. */
static enum kv_err
open_below(const char *path, int *fdp, char why[static KV_TRUSTED_WHY_BYTES],
    void *arg)
{
	const struct below *b = arg;

	if ((*fdp = root_open(b->root, path, O_RDONLY)) != -1 &&
	    (b->text == NULL || strcmp(path, b->config) != 0 ||
		replace_text(b->text, fdp)))
		return KV_OK;
	snprintf(why, KV_TRUSTED_WHY_BYTES, "%.200s%.200s: %s", b->root, path,
	    strerror(errno));
	io_close(*fdp);
	*fdp = -1;
	return KV_ERR_SYSTEM;
}

/*
 * Opens j, and has keyveto-reader look into its files. Returns why there is no
 * verdict, which why may hold; NULL if there is one.
 */
static const char *
open_judging(const struct below *b, struct judging *j,
    char why[static WALL_WHY_BYTES])
{
	judging_open(j, b->config, NULL, open_below, (void *)b);
	return judging_start(j, why) ? find_fault(&j->judge) : why;
}

/* The guard, as root, gets a verdict. False with a reason. */
static bool
has_verdict(const struct sshd_options *o, const char *config,
    char why[static SSHD_WHY_BYTES])
{
	const struct below below = { .root = o->root, .config = config };
	char broken[WALL_WHY_BYTES];
	struct judging j;
	const char *wrong = open_judging(&below, &j, broken);

	snprintf(why, SSHD_WHY_BYTES, "%s", wrong != NULL ? wrong : "");
	(void)judging_close(&j, broken);
	return *why == '\0';
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
	if (root_ask(o->root, uid, gid, guard_can_open, (char *)config, why,
		sizeof(why)) &&
	    (*user != '\0' || has_verdict(o, config, why)))
		return true;
	if (uid == 0)
		cli_error("%s%s; no login would get a verdict", o->root, why);
	else
		cli_error("%s%s (read as %s); no login would get a verdict",
		    o->root, why, user);
	return false;
}

bool
sshd_usable_open(const struct sshd_options *o, const char *config,
    const struct sshd_text *text, struct judging *j)
{
	const struct below below = {
		.root = o->root,
		.config = config,
		.text = text,
	};
	char why[WALL_WHY_BYTES];
	const char *wrong = open_judging(&below, j, why);

	if (wrong == NULL)
		return true;
	cli_error("%s", wrong);
	(void)judging_close(j, why);
	return false;
}
