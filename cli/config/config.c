/* SPDX-License-Identifier: ISC */
/* keyveto config: checks keyveto.conf, and edits it. */
#include "config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/io.h"

static const struct cli_command *const commands[] = {
	&config_check,
	&config_edit,
};

bool
config_absolute(const char *path, char *absolute, size_t cap)
{
	char *cwd = NULL;
	int n;

	if (*path != '/' && (cwd = getcwd(NULL, 0)) == NULL) {
		cli_error("%s: the working directory: %s", path,
		    strerror(errno));
		return false;
	}
	n = snprintf(absolute, cap, "%s%s%s", cwd != NULL ? cwd : "",
	    cwd != NULL ? "/" : "", path);
	free(cwd);
	if (n >= 0 && (size_t)n < cap)
		return true;
	cli_error("%s: %s", path, strerror(ENAMETOOLONG));
	return false;
}

bool
config_read_fd(int fd, const char *path, struct config_text *t)
{
	const size_t cap = KV_CONFIG_MAX_BYTES + 1;
	ssize_t n = -1;

	*t = (struct config_text){ .text = malloc(cap + 1) };
	if (t->text == NULL || (n = io_read(fd, t->text, cap)) == -1) {
		cli_error("%s: %s", path, strerror(errno));
		free(t->text);
		t->text = NULL;
		return false;
	}
	t->len = (size_t)n;
	t->text[t->len] = '\0';
	return true;
}

bool
config_text_is_whole(const struct config_text *t, const char *path)
{
	if (t->len <= KV_CONFIG_MAX_BYTES)
		return true;
	cli_error("%s: larger than any keyveto.conf; move it away, and begin "
		  "a new one with " CONFIG_EDIT_COMMAND,
	    path);
	return false;
}

static int
run_config(const struct cli_command *cmd, int argc, char **argv)
{
	return cli_run_subcommand(cmd, commands,
	    sizeof(commands) / sizeof(commands[0]),
	    "so do keyveto(1) and keyveto.conf(5)", argc, argv);
}

const struct cli_command cli_config = {
	.name = "config",
	.synopsis = "COMMAND [OPTION...]",
	.help = "Check keyveto.conf, or edit it without a mistake",
	.details = "",
	.run = run_config,
};
