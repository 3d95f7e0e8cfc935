/* SPDX-License-Identifier: ISC */
#include "update/unwanted.h"

#include <sys/types.h> /* sha2.h of libmd needs u_int types */

#include <errno.h>
#include <sha2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

#define READ_BYTES (256 * 1024)

/* The notes have them with a blank between two. */

bool
update_unwanted_has(const struct update_notes *s, const char *sha256)
{
	return strlen(sha256) == UPDATE_DIGEST_CHARS - 1 &&
	    strstr(s->unwanted_files, sha256) != NULL;
}

void
update_unwanted_report(const char *shown, const char *name)
{
	cli_error("%s: still has the %s that was rolled back here, which is "
		  "not installed again. Any other one that is newer is "
		  "installed by itself; to take this one, use --force",
	    shown, name);
}

void
update_unwanted_remove(struct update_notes *s, const char *sha256)
{
	char *at = strstr(s->unwanted_files, sha256);
	size_t len = strlen(sha256);

	if (!update_unwanted_has(s, sha256))
		return;
	/* With the blank behind it, or else the one before. */
	if (at[len] == ' ')
		len++;
	else if (at > s->unwanted_files)
		*--at = '\0';
	if (*at != '\0')
		memmove(at, at + len, strlen(at + len) + 1);
}

void
update_unwanted_add(struct update_notes *s, const char *sha256)
{
	char *text = s->unwanted_files, *next;
	const size_t len = strlen(sha256);

	update_unwanted_remove(s, sha256);
	while (text[0] != '\0' &&
	    strlen(text) + 1 + len >= sizeof(s->unwanted_files)) {
		next = strchr(text, ' ');
		if (next == NULL)
			text[0] = '\0';
		else
			memmove(text, next + 1, strlen(next + 1) + 1);
	}
	next = text + strlen(text);
	snprintf(next, sizeof(s->unwanted_files) - (size_t)(next - text),
	    "%s%s", next > text ? " " : "", sha256);
}

bool
update_unwanted_hash(const char *shown, int fd,
    char sha256[static UPDATE_DIGEST_CHARS])
{
	static uint8_t buf[READ_BYTES];
	SHA2_CTX ctx;
	ssize_t n = 1;

	sha256[0] = '\0';
	SHA256Init(&ctx);
	for (off_t at = 0; n != 0; at += n) {
		do
			n = pread(fd, buf, sizeof(buf), at);
		while (n == -1 && errno == EINTR);
		if (n == -1)
			return cli_failed(shown, "cannot be read");
		SHA256Update(&ctx, buf, (size_t)n);
	}
	(void)SHA256End(&ctx, sha256);
	return true;
}
