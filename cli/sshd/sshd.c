/* SPDX-License-Identifier: ISC */
/* What enable and disable share: their options, and sshd's files. */
#include "sshd/sshd.h"

#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sshd/state.h"

#define TIMEOUT_DEFAULT 30
#define TIMEOUT_MAX 3600

/*
 * Reads the options that cmd's synopsis names. Returns -1 to go on; otherwise
 * the exit status, after --help or a message.
 */
static int
read_options(const struct cli_command *cmd, int argc, char **argv,
    struct sshd_options *o)
{
	const struct cli_option options[] = {
		{ .name = "sshd", .text = &o->sshd, .path = true },
		{ .name = "timeout",
		    .number = &o->timeout,
		    .min = 1,
		    .max = TIMEOUT_MAX },
		{ .name = "guard", .flag = &o->guard },
		{ .name = "pam", .flag = &o->pam },
		{ .name = "warn", .flag = &o->warn },
		{ .name = "yes", .flag = &o->yes },
		{ .name = "dry-run", .flag = &o->dry_run },
		{ .name = "reload", .flag = &o->reload },
		{ .name = "json", .flag = &o->json },
		{ .name = NULL },
	};
	int status;

	*o = (struct sshd_options){ .sshd = SSHD_PATH,
		.timeout = TIMEOUT_DEFAULT };
	status = cli_read_options(cmd, argc, argv, options, NULL);
	if (status != -1)
		return status;
	if (optind < argc) {
		cli_error("%s takes no argument %s", cmd->name, argv[optind]);
		return cli_usage_error(cmd);
	}
	if (geteuid() == 0)
		return -1;
	cli_error("only root can ask sshd for its settings: run it as root");
	return CLI_UNCHECKED;
}

bool
sshd_try_copy(struct sshd_copy *c, const struct sshd_files *fs, bool next,
    char *why, size_t cap)
{
	struct sshd_change *change = NULL;
	size_t n = 0;
	bool ok;

	*c = (struct sshd_copy){ 0 };
	if (fs != NULL && (change = sshd_files_changes(fs, next, &n)) == NULL) {
		snprintf(why, cap, "%s", strerror(errno));
		return false;
	}
	ok = sshd_copy_open(c, change, n, why, cap);
	free(change);
	return ok;
}

bool
sshd_open_copy(struct sshd_copy *c, const struct sshd_files *fs, bool next)
{
	char why[SSHD_WHY_BYTES];

	return sshd_try_copy(c, fs, next, why, sizeof(why)) ||
	    cli_error("%s", why);
}

char *
sshd_ask_copy(const struct sshd_options *o, struct sshd_copy *c,
    const char *user)
{
	char why[SSHD_WHY_BYTES];
	char *dump = sshd_copy_ask(o->sshd, c, user, why, sizeof(why));

	if (dump == NULL)
		cli_error("%s", why);
	return dump;
}

struct sshd_settings *
sshd_ask_settings(const struct sshd_options *o, struct sshd_copy *c,
    const char *user)
{
	char *dump = sshd_ask_copy(o, c, user);
	struct sshd_settings *s = dump != NULL ?
	    sshd_settings_parse(dump) :
	    NULL;

	if (dump != NULL && s == NULL)
		cli_error("%s", strerror(errno));
	free(dump);
	return s;
}

const char *
sshd_service(const struct sshd_settings *s)
{
	/* Debian 12's sshd has no PAMServiceName. */
	return s != NULL && *s->service != '\0' ? s->service : "sshd";
}

bool
sshd_find_accounts(struct accounts *a)
{
	return accounts_add_all(a) ||
	    cli_error("/etc/passwd: the list of accounts: %s", strerror(errno));
}

/*
 * Reads sshd's configuration into now, and into files all that enable and
 * disable may change: sshd's files, keyveto.conf, and the kept ones. kept says
 * whether enable made a file, which sshd_files_add can only guess. False after
 * a message.
 */
static bool
read_files(bool needs_all, struct sshd_copy *now, struct sshd_files *files,
    const struct sshd_state *kept)
{
	const struct sshd_file *top = NULL;
	char why[SSHD_WHY_BYTES];

	if (!needs_all && (top = sshd_files_add(files, SSHD_TREE_TOP)) == NULL)
		return false;
	/* sshd_base_read says which part cannot be read. */
	if (!sshd_try_copy(now, top != NULL && !top->there ? files : NULL,
		false, why, sizeof(why)) &&
	    needs_all)
		return cli_error("%s", why);
	for (size_t i = 0; i < now->tree.n_files; i++)
		if (sshd_files_add(files, now->tree.file[i].path) == NULL)
			return false;
	if (sshd_files_add(files, SSHD_DROP_IN) == NULL ||
	    sshd_files_add(files, KV_CONFIG_PATH) == NULL)
		return false;
	for (size_t i = 0; i < kept->n; i++) {
		const struct sshd_kept *k = &kept->v[i];
		struct sshd_file *f = sshd_files_add(files, k->path);

		if (f == NULL)
			return false;
		if (f->blocks > 0)
			f->made = !k->there;
	}
	return true;
}

int
sshd_change(const struct cli_command *cmd, int argc, char **argv,
    bool needs_all, sshd_change_fn *change)
{
	struct sshd_options o;
	struct sshd_files files = { 0 };
	struct sshd_copy now = { 0 };
	struct sshd_state kept;
	int status, lock;

	if ((status = read_options(cmd, argc, argv, &o)) != -1)
		return status;
	umask(022);
	if (!sshd_state_lock(&lock))
		return CLI_UNCHECKED;
	status = sshd_state_load(&kept) &&
		read_files(needs_all, &now, &files, &kept) ?
	    change(&o, &now, &files, &kept) :
	    CLI_UNCHECKED;
	sshd_copy_close(&now);
	sshd_files_free(&files);
	sshd_state_free(&kept);
	sshd_state_unlock(lock);
	return status;
}
