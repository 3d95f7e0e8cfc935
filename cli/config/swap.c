/* SPDX-License-Identifier: ISC */
#include "config/swap.h"

#include <sys/xattr.h>

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

/*
 * Access control lists and the like go over to the new file, as far as the
 * file system takes them. Labels it gives by itself.
 */
static void
copy_attributes(const struct replace *r)
{
	char names[4096], value[4096];
	ssize_t len = r->old != -1 ? flistxattr(r->old, names, sizeof(names)) :
	    0;

	for (const char *name = names; len > 0 && name < names + len;
	    name += strlen(name) + 1) {
		ssize_t n = fgetxattr(r->old, name, value, sizeof(value));

		if (n >= 0)
			(void)fsetxattr(r->fd, name, value, (size_t)n, 0);
	}
}

static bool
write_all(const struct replace *r, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(r->fd, text, len);

		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0) {
			cli_error("%s: cannot be written, and is as it was: "
			    "%s", r->path, strerror(errno));
			return false;
		}
		text += n;
		len -= (size_t)n;
	}
	return true;
}

bool
config_swap_commit(struct config_swap *s, const char *text, size_t len)
{
	if (!replace_begin(&s->r) || !write_all(&s->r, text, len))
		return false;
	/* Whatever the umask is: each user that sshd names must read it. */
	if (s->r.old == -1 && fchmod(s->r.fd, 0644) == -1) {
		cli_error("%s: %s", s->r.path, strerror(errno));
		return false;
	}
	copy_attributes(&s->r);
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
		    "first: chown root and chmod go-w", why, path);
	return false;
}
