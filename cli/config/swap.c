/* SPDX-License-Identifier: ISC */
#include "config/swap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool
config_swap_open(struct config_swap *s, const char *path)
{
	*s = (struct config_swap){ 0 };
	if (!replace_open(&s->r, path))
		return false;
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
	/* Whatever the umask: each user of the guard must read it. */
	if (s->r.old == -1 && fchmod(s->r.fd, 0644) == -1) {
		cli_error("%s: %s", s->r.path, strerror(errno));
		return false;
	}
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

	if (geteuid() != 0) {
		cli_error("%s: only root can change it: run this as root",
		    path);
		return false;
	}
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
