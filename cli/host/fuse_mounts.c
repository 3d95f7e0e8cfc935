/* SPDX-License-Identifier: ISC */
#include "host/fuse_mounts.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND "umount -l"
#define WORD_BYTES (4 * PATH_MAX) /* "\ooo" for each byte */

/* A line of proc_pid_mountinfo(5) about a FUSE mount of the account. */
struct mount {
	char place[PATH_MAX];
	bool own;
};

/* Undoes the escapes of mountinfo, "\040" for a blank. */
static void
unescape(const char *text, size_t len, char *out, size_t cap)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n < cap - 1; i++) {
		if (text[i] == '\\' && len - i > 3 &&
		    strspn(text + i + 1, "01234567") >= 3) {
			out[n++] = (char)((text[i + 1] - '0') * 64 +
			    (text[i + 2] - '0') * 8 + text[i + 3] - '0');
			i += 3;
		} else
			out[n++] = text[i];
	}
	out[n] = '\0';
}

/* Whether the options of a file system name uid as who has mounted it. */
static bool
names_uid(const char *options, uid_t uid)
{
	char wanted[32];
	const size_t len = (size_t)snprintf(wanted, sizeof(wanted),
	    "user_id=%u", (unsigned int)uid);
	size_t n;

	for (; *options != '\0'; options += n + (options[n] == ',')) {
		n = strcspn(options, ",\n");
		if (n == len && memcmp(options, wanted, n) == 0)
			return true;
		if (options[n] == '\n')
			break;
	}
	return false;
}

/*
 * Parses "ID PARENT DEVICE ROOT PLACE OPTIONS... - TYPE SOURCE OPTIONS". No
 * field has a blank in it.
 */
static void
parse_mount(const char *line, uid_t uid, struct mount *m)
{
	const char *p = line, *rest = strstr(line, " - ");
	size_t len;

	*m = (struct mount){ .own = false };
	for (int i = 0; i < 4 && p != NULL; i++)
		if ((p = strchr(p, ' ')) != NULL)
			p++;
	if (p == NULL || rest == NULL || rest < p)
		return;
	len = strcspn(p, " ");
	rest += 3;
	if (strncmp(rest, "fuse", 4) != 0 || len >= sizeof(m->place))
		return;
	for (int i = 0; i < 2 && rest != NULL; i++)
		if ((rest = strchr(rest, ' ')) != NULL)
			rest++;
	m->own = rest != NULL && names_uid(rest, uid);
	unescape(p, len, m->place, sizeof(m->place));
}

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

static void
add_places(const struct account *account, bool in_home,
    char remedy[static FUSE_MOUNTS_REMEDY_BYTES])
{
	char word[WORD_BYTES], *line = NULL;
	FILE *f = fopen("/proc/self/mountinfo", "re");
	struct mount m;
	size_t cap = 0, n;
	int added;

	while (f != NULL && getline(&line, &cap, f) != -1) {
		parse_mount(line, account->uid, &m);
		if (!m.own || is_below(m.place, account->home) != in_home ||
		    !quote(m.place, word, sizeof(word)))
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
	free(line);
	if (f != NULL)
		fclose(f);
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
