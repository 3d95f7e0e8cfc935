/* SPDX-License-Identifier: ISC */
#include "sshd/usable.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "config/findings.h"
#include "host/child.h"
#include "host/memory.h"
#include "host/system_file.h"
#include "sshd_config/guard_command.h"

#define NOBODY 65534U

struct needed_file {
	const char *path;
	int mode;      /* for access(2) */
	bool is_guard; /* sshd itself runs it */
};

/*
 * Whether a file can be accessed, and only root can have written it. Is asked
 * in a child, as root.
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
sshd_usable_program(const char *program, char *why, size_t cap)
{
	struct needed_file p = { .path = program, .mode = X_OK };

	return child_ask_as(0, 0, is_trusted, &p, why, cap);
}

/* The same for p. False after a message that ends with advice. */
static bool
file_is_usable(struct needed_file p, const char *advice)
{
	char why[SSHD_WHY_BYTES];

	if (child_ask_as(0, 0, is_trusted, &p, why, sizeof(why)))
		return true;
	return cli_error("%s; %s", why, advice);
}

bool
sshd_usable_guard(const char *path)
{
	const struct needed_file p = {
		.path = path,
		.mode = X_OK,
		.is_guard = true,
	};

	return file_is_usable(p,
	    "the guard must be there, be root's, "
	    "and be writable by nobody else, or sshd will not run it");
}

bool
sshd_usable_module(const char *module)
{
	const struct needed_file p = {
		.path = *module == '/' ? module : SSHD_MODULE_PATH,
		.mode = R_OK,
	};

	return file_is_usable(p,
	    "the module must be there, or PAM refuses every login");
}

static const char no_filter[] = "no filter is named";

/* Why j can give no verdict; NULL if it can. */
static const char *
find_fault(const struct kv_judge *j)
{
	if (j->broken[0] != '\0')
		return j->broken;
	if (j->n_filters + j->n_lists == 0)
		return no_filter;
	return judging_find_unopened(j);
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

/* Reads keyveto.conf as the guard does: it goes by OnError allow there. */
static bool
guard_lets_in(void *arg, char *why, size_t cap)
{
	const struct kv_paths none = { .n_filters = 0 };
	struct kv_judge j;
	bool ok;

	kv_judge_open_with(&j, arg, &none, cli_open_as_login, NULL);
	ok = j.config.on_error == KV_ACTION_ALLOW;
	snprintf(why, cap, "%s", ok ? "" : j.broken);
	kv_judge_close(&j);
	return ok;
}

/* What counts as the text of a file. */
struct instead {
	const char *config;
	const struct sshd_text *text; /* of config; NULL: its own */
};

/* Returns a file with the text; -1 with errno. */
static int
open_text(const struct sshd_text *text)
{
	const int fd = memory_file("keyveto.conf");

	if (fd != -1 && io_write(fd, text->p, text->len) &&
	    lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	io_close(fd);
	return -1;
}

/* Is a kv_open_fn; arg is a struct instead. */
static enum kv_err
open_instead(const char *path, int *fdp, char why[static KV_TRUSTED_WHY_BYTES],
    void *arg)
{
	const struct instead *b = arg;

	*fdp = b->text != NULL && strcmp(path, b->config) == 0 ?
	    open_text(b->text) :
	    system_file_open(path, O_RDONLY);
	if (*fdp != -1)
		return KV_OK;
	snprintf(why, KV_TRUSTED_WHY_BYTES, "%.200s: %s", path,
	    strerror(errno));
	return KV_ERR_SYSTEM;
}

/*
 * Opens j, and has keyveto-reader look into its files. Returns why there is no
 * verdict, which why may hold; NULL if there is one.
 */
static const char *
open_judging(const struct instead *b, struct judging *j,
    char why[static WALL_WHY_BYTES])
{
	judging_open(j, b->config, NULL, open_instead, (void *)b);
	return judging_start(j, why) ? find_fault(&j->judge) : why;
}

/* The guard, as root, gets a verdict. False with a reason. */
static bool
has_verdict(const char *config, char why[static SSHD_WHY_BYTES])
{
	const struct instead b = { .config = config };
	char broken[WALL_WHY_BYTES];
	struct judging j;
	const char *wrong = open_judging(&b, &j, broken);

	snprintf(why, SSHD_WHY_BYTES, "%s", wrong != NULL ? wrong : "");
	(void)judging_close(&j, broken);
	return *why == '\0';
}

bool
sshd_usable_verdict(const char *config, char why[static SSHD_WHY_BYTES])
{
	const char *fault;
	struct kv_judge j;

	if (!child_ask_as(0, 0, guard_can_open, (char *)config, why,
		SSHD_WHY_BYTES))
		return false;
	kv_judge_open_with(&j, config, NULL, cli_open_as_login, NULL);
	fault = find_fault(&j);
	snprintf(why, SSHD_WHY_BYTES, "%s", fault != NULL ? fault : "");
	kv_judge_close(&j);
	return *why == '\0';
}

bool
sshd_usable_filters(const char *config, const char *user,
    const struct accounts *accounts, bool lets_in)
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
		if (as == NULL && accounts_add(&asked, user))
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
	if (child_ask_as(uid, gid, lets_in ? guard_lets_in : guard_can_open,
		(char *)config, why, sizeof(why)) &&
	    (lets_in || *user != '\0' || has_verdict(config, why)))
		return true;
	cli_error("%s%s%s%s; no login would get %s", why,
	    *user == '\0' ? "" : " (read as ", user, *user == '\0' ? "" : ")",
	    lets_in ? "in" : "a verdict");
	return false;
}

bool
sshd_usable_open(const char *config, const struct sshd_text *text,
    struct judging *j)
{
	const struct instead b = { .config = config, .text = text };
	char why[WALL_WHY_BYTES];
	const char *wrong = open_judging(&b, j, why);

	if (wrong == NULL)
		return true;
	cli_error("%s", wrong);
	(void)judging_close(j, why);
	return false;
}
