/* SPDX-License-Identifier: ISC */
/* keyveto config: prints what a login makes of a keyveto.conf, and edits it. */
#include "config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "ways/configurations.h"

static const struct cli_command *const commands[] = {
	&config_edit,
};

bool
config_absolute(const char *path, char *absolute, size_t cap)
{
	char *cwd = NULL;
	int n;

	if (*path != '/' && (cwd = getcwd(NULL, 0)) == NULL)
		return cli_error("%s: the working directory: %s", path,
		    strerror(errno));
	n = snprintf(absolute, cap, "%s%s%s", cwd != NULL ? cwd : "",
	    cwd != NULL ? "/" : "", path);
	free(cwd);
	if (n >= 0 && (size_t)n < cap)
		return true;
	return cli_error("%s: %s", path, strerror(ENAMETOOLONG));
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
config_read_file(const char *path, struct config_text *t, bool *therep)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	bool ok;

	*t = (struct config_text){ NULL, 0 };
	if (therep != NULL)
		*therep = fd != -1;
	if (fd == -1 && errno == ENOENT && therep != NULL)
		return (t->text = calloc(1, 1)) != NULL;
	if (fd == -1)
		return cli_error("%s: %s", path, strerror(errno));
	ok = config_read_fd(fd, path, t);
	close(fd);
	return ok;
}

bool
config_text_is_same(const struct config_text *a, const struct config_text *b)
{
	return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

bool
config_text_is_whole(const struct config_text *t, const char *path)
{
	if (t->len <= KV_CONFIG_MAX_BYTES)
		return true;
	return cli_error(
	    "%s: larger than any keyveto.conf; move it away, and begin "
	    "a new one with " CONFIG_EDIT_COMMAND,
	    path);
}

bool
config_swap_open(struct config_swap *s, const char *path)
{
	*s = (struct config_swap){ 0 };
	if (!replace_open(&s->r, path))
		return false;
	/* The caller may have replace_commit ask. */
	s->r.change = CHANGE_JUDGED;
	if (s->r.old == -1)
		return (s->was.text = calloc(1, 1)) != NULL;
	return config_read_fd(s->r.old, path, &s->was) &&
	    config_text_is_whole(&s->was, path);
}

bool
config_swap_commit(struct config_swap *s, const char *text, size_t len)
{
	if (!replace_begin(&s->r) || !replace_write_text(&s->r, text, len))
		return false;
	/* Each user of the guard must read it. */
	s->r.readable = true;
	return replace_commit(&s->r);
}

void
config_swap_close(struct config_swap *s)
{
	replace_close(&s->r);
	free(s->was.text);
	s->was.text = NULL;
}

bool
config_may_be_changed(const char *path)
{
	char why[KV_TRUSTED_WHY_BYTES];
	enum kv_err r;

	if (geteuid() != 0)
		return cli_error(
		    "%s: only root can change it: run this as root", path);
	r = kv_trusted_check(path, 0, why);
	if (r == KV_OK || (r == KV_ERR_SYSTEM && errno == ENOENT))
		return true;
	if (r == KV_ERR_SYSTEM)
		cli_error("%s", why);
	else
		cli_error("%s: a login does not read %s; give it back to root "
			  "first: chown root and chmod go-w",
		    why, path);
	return false;
}

bool
config_may_be_made(const char *path)
{
	char place[PATH_MAX];

	return config_absolute(path, place, sizeof(place)) &&
	    (!configurations_name(place) ||
		cli_error(
		    "%s: does not exist, and logins are judged by it: a "
		    "new one lets in whom the lost one refused; put that "
		    "back, or write a whole one with " CONFIG_EDIT_COMMAND,
		    path));
}

static int
run_config(const struct cli_command *cmd, int argc, char **argv)
{
	return cli_run_subcommand(cmd, commands,
	    sizeof(commands) / sizeof(commands[0]), argc, argv);
}

const struct cli_command cli_config = {
	.name = "config",
	.section = 8,
	.synopsis = "COMMAND [OPTION...]",
	.help = "Check keyveto.conf, or edit it without a mistake",
	.details = "",
	.run = run_config,
};
