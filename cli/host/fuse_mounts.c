/* SPDX-License-Identifier: ISC */
#include "host/fuse_mounts.h"

#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>

#define COMMAND "umount -l"
#define WORD_BYTES (4 * PATH_MAX) /* "\ooo" for each byte */
#define LINE_BYTES (2 * WORD_BYTES)

/* Quotes text as one word of a shell. False if it does not fit. */
static bool
quote(const char *text, char *word, size_t cap)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789/._-+@:";
	size_t n = 0;

	if (text[strspn(text, plain)] == '\0')
		return (size_t)snprintf(word, cap, "%s", text) < cap;
	n = (size_t)snprintf(word, cap, "$'");
	for (; *text != '\0' && n < cap; text++) {
		const unsigned char c = (unsigned char)*text;

		if (c >= ' ' && c <= '~' && c != '\'' && c != '\\')
			n += (size_t)snprintf(word + n, cap - n, "%c", c);
		else
			n += (size_t)snprintf(word + n, cap - n, "\\%03o", c);
	}
	if (n < cap)
		n += (size_t)snprintf(word + n, cap - n, "'");
	return n < cap;
}

static bool
is_below(const char *place, const char *home)
{
	const size_t n = strlen(home);

	return strncmp(place, home, n) == 0 &&
	    (place[n] == '\0' || place[n] == '/');
}

/* Whether the account has mounted it, and it is of FUSE. */
static bool
is_own(const struct mntent *m, uid_t uid)
{
	char option[32];

	snprintf(option, sizeof(option), "user_id=%u", (unsigned int)uid);
	return strncmp(m->mnt_type, "fuse", 4) == 0 &&
	    hasmntopt(m, option) != NULL;
}

static void
add_places(const struct account *account, bool in_home,
    char remedy[static FUSE_MOUNTS_REMEDY_BYTES])
{
	char word[WORD_BYTES], line[LINE_BYTES];
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent m;
	size_t n;
	int added;

	while (f != NULL && getmntent_r(f, &m, line, sizeof(line)) != NULL) {
		if (!is_own(&m, account->uid) ||
		    is_below(m.mnt_dir, account->home) != in_home ||
		    !quote(m.mnt_dir, word, sizeof(word)))
			continue;
		n = strlen(remedy);
		added = snprintf(remedy + n, FUSE_MOUNTS_REMEDY_BYTES - n,
		    "%s %s", n == 0 ? COMMAND : "", word);
		if (added < 0 ||
		    (size_t)added >= FUSE_MOUNTS_REMEDY_BYTES - n) {
			/* A command that was cut would unmount other places. */
			remedy[n] = '\0';
			break;
		}
	}
	if (f != NULL)
		endmntent(f);
}

void
fuse_mounts_remedy(const struct account *account,
    char remedy[static FUSE_MOUNTS_REMEDY_BYTES])
{
	remedy[0] = '\0';
	/* What root has mounted may be the home of many. */
	if (account->uid == 0)
		return;
	add_places(account, true, remedy);
	if (remedy[0] == '\0')
		add_places(account, false, remedy);
}
