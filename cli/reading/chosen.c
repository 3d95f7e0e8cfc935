/* SPDX-License-Identifier: ISC */
#include "reading/chosen.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sets/list_consulted.h"

/* Prints why keys cannot be judged. False if there is a reason. */
static bool
report_unread(const struct kv_judge *j)
{
	bool ok = true;

	if (j->broken[0] != '\0')
		ok = cli_error("%s", j->broken);
	for (size_t i = 0; i < j->n_filters; i++) {
		if (j->filter[i].pkbf.fd == -1)
			ok = cli_error("%s", j->filter[i].why);
	}
	for (size_t i = 0; i < j->n_lists; i++) {
		if (j->list[i].blocklist.fd == -1)
			ok = cli_error("%s", j->list[i].why);
	}
	return ok;
}

#define NAME_ONE \
	"name a filter with --filter FILE, or an exact list with --blocklist " \
	"FILE"

/* Prints what to type if not all files can be read that nobody named. */
static void
advise(const struct kv_judge *j, const struct cli_judge_options *o)
{
	const char *config = o->config != NULL ? o->config : KV_CONFIG_PATH;
	const bool usual = strcmp(config, KV_CONFIG_PATH) == 0;

	if (o->own_list != NULL && j->n_lists > 0 &&
	    j->list[j->n_lists - 1].blocklist.fd == -1)
		cli_error("%s: remove it, or type keyveto update", o->own_list);
	else if (geteuid() != 0 || access(config, F_OK) == -1)
		cli_error(NAME_ONE);
	else
		cli_error("correct it with keyveto config edit%s%s%s",
		    usual ? "" : " --config ", usual ? "" : config,
		    j->broken[0] != '\0' ? "" : ", or " NAME_ONE);
}

/* Whether nothing is configured, and the default filter is not there. */
static bool
has_no_list(const struct kv_judge *j)
{
	return j->broken[0] == '\0' && j->n_filters == 1 && j->n_lists == 0 &&
	    j->filter[0].pkbf.fd == -1 && list_replaces_default(&j->config) &&
	    access(j->filter[0].path, F_OK) == -1 && errno == ENOENT;
}

/* Has the reader say what the files are. False after a message. */
static bool
start(struct judging *j, struct chosen_reading *files)
{
	char why[WALL_WHY_BYTES];

	if (files == NULL)
		return judging_start(j, why) || cli_error("%s", why);
	files->talk = judging_start_report(j, files->flags, files->total,
	    files->quiet, why);
	return files->talk != NULL ||
	    cli_error("%s: not everything was checked", why);
}

/* Closes it after a message. */
static void
discard(struct judging *j)
{
	char why[WALL_WHY_BYTES];

	(void)judging_close(j, why);
}

bool
chosen_open_partly(struct judging *j, const struct cli_judge_options *o,
    struct chosen_reading *files, bool *partlyp)
{
	const bool named = !o->found && o->n_filters + o->n_blocklists > 0;
	struct cli_judge_options chosen = *o;
	struct kv_paths paths;

	cli_judge_choose_config(&chosen);
	judging_open(j, chosen.config, cli_judge_paths(o, &paths),
	    cli_open_with_warning, NULL);
	if (!start(j, files)) {
		discard(j);
		return false;
	}
	if (o->found && has_no_list(&j->judge)) {
		*partlyp = true;
		cli_error("no list is installed yet: type keyveto setup");
		return true;
	}
	*partlyp = !report_unread(&j->judge);
	if (!*partlyp)
		return true;
	if (named)
		discard(j);
	else
		advise(&j->judge, o);
	return !named;
}

bool
chosen_open(struct judging *j, const struct cli_judge_options *o)
{
	bool partly;

	if (!chosen_open_partly(j, o, NULL, &partly))
		return false;
	if (partly)
		discard(j);
	return !partly;
}

bool
chosen_close(struct judging *j)
{
	char why[WALL_WHY_BYTES];

	return judging_close(j, why) ||
	    cli_error("%s: not everything was judged", why);
}
