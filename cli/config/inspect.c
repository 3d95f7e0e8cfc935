/* SPDX-License-Identifier: ISC */
/* keyveto config check: prints what a login makes of a keyveto.conf. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/findings.h"

enum { CONFIG_FINE = 0, CONFIG_NOTICES = 1, CONFIG_NO_VERDICT = 2 };

static int
check_file(const char *name)
{
	struct config_readers readers;
	struct config_findings f;
	char path[PATH_MAX];
	struct config_text t;
	struct config_subject s = {
		.name = name,
		.path = path,
		.readers = &readers,
	};
	int status = CONFIG_NO_VERDICT;

	/* A file that a login would not trust may have mistakes, too. */
	if (!config_absolute(name, path, sizeof(path)) ||
	    !config_read_file(name, &t, NULL))
		return CONFIG_NO_VERDICT;
	config_readers_find(&readers, path);
	/* If no guard reads it, check it as a draft of the default. */
	if (readers.n == 0 && strcmp(path, KV_CONFIG_PATH) != 0) {
		config_readers_find(&readers, KV_CONFIG_PATH);
		s.draft = true;
	}
	s.text = t.text;
	s.len = t.len;
	if (config_findings_make(&f, &s)) {
		if (!f.unseen)
			config_findings_print(&f, name);
		if (cli_stdout_ok() && !f.unseen &&
		    !config_findings_no_verdict(&f))
			status = f.notices > 0 ? CONFIG_NOTICES : CONFIG_FINE;
	}
	config_findings_free(&f);
	free(t.text);
	return status;
}

static int
run_config_check(const struct cli_command *cmd, int argc, char **argv)
{
	const char *name = NULL;
	const struct cli_option options[] = {
		{ .name = "config", .text = &name },
		{ .name = NULL },
	};
	const int status = cli_read_options(cmd, argc, argv, options, NULL);

	if (status != -1)
		return status;
	if (argc - optind > (name == NULL ? 1 : 0)) {
		cli_error("%s takes one file", cmd->name);
		return cli_usage_error(cmd);
	}
	if (optind < argc)
		name = argv[optind];
	return check_file(name != NULL ? name : KV_CONFIG_PATH);
}

const struct cli_command config_check = {
	.name = "config check",
	.section = 8,
	.synopsis = "[--config FILE] [FILE]",
	.help = "Say each mistake in keyveto.conf, and what a login does now",
	.details = "  --config FILE    check FILE (default " KV_CONFIG_PATH
		   ")\n",
	.run = run_config_check,
};
