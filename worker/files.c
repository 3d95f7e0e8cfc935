/* SPDX-License-Identifier: ISC */
/* Opens files by asking the front: host/files.h, and some more. */
#include "host/files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "command.h"
#include "keys/input.h"

void
files_promise(const char *path)
{
	struct kv_bytes b;

	record_add_text(ask_begin(WORKING_PROMISE), path);
	(void)ask(&b, NULL);
}

bool
files_is_standard_input(const char *path)
{
	return strcmp(path, "-") == 0;
}

int
files_open(const char *path, int flags)
{
	struct kv_bytes b;
	int fd;

	record_add(ask_begin(WORKING_OPEN), R_STRING(path),
	    R_VALUE((flags & O_NONBLOCK) != 0));
	errno = ask(&b, &fd);
	return fd;
}

bool
files_stat(const char *path, struct stat *st)
{
	struct kv_bytes b;

	record_add_text(ask_begin(WORKING_STAT), path);
	errno = ask(&b, NULL);
	if (errno == 0 && !record_get(&b, R_BYTES(*st)))
		ask_failed();
	return errno == 0;
}

int
files_scratch(void)
{
	struct kv_bytes b;
	int fd;

	ask_begin(WORKING_SCRATCH);
	errno = ask(&b, &fd);
	return fd;
}

/* Returns whether the front is root's. */
static bool
find_distrust(const char *path, char why[static KV_TRUSTED_WHY_BYTES])
{
	struct kv_bytes b;
	bool root;

	record_add_text(ask_begin(WORKING_DISTRUST), path);
	(void)ask(&b, NULL);
	if (!record_get(&b, R_FLAG(root), R_TEXT_AT(why, KV_TRUSTED_WHY_BYTES)))
		ask_failed();
	return root;
}

void
cli_find_distrust(const char *path, char why[static KV_TRUSTED_WHY_BYTES])
{
	(void)find_distrust(path, why);
}

void
cli_warn_if_distrusted(const char *path)
{
	char why[KV_TRUSTED_WHY_BYTES];

	if (find_distrust(path, why) && why[0] != '\0')
		cli_error("warning: %s: a login would not trust this file",
		    why);
}

/* The front walks, and hands over each file. */
void
input_walk(const char *path, const struct input_walk *w)
{
	static char found[WORKING_TEXT_BYTES], reason[1024];
	struct input_problem problem = { .path = found, .reason = reason };
	struct kv_bytes b;
	uint8_t tag;
	bool walked;
	int fd;

	record_add_text(ask_begin(WORKING_WALK), path);
	ask_tell();
	for (;;) {
		ask_begin(WORKING_NEXT);
		tag = ask_for_any(&b, &fd);
		if (!record_get_text(&b, found, sizeof(found)))
			ask_failed();
		if (tag == WORKING_FOUND_END)
			return;
		if (tag == WORKING_FOUND_PROBLEM &&
		    record_get_text(&b, reason, sizeof(reason))) {
			w->problem(&problem, w->arg);
			continue;
		}
		if (tag != WORKING_FOUND || fd == -1 ||
		    !record_get(&b, R_FLAG(walked)))
			ask_failed();
		/* Whoever named the file may keep its name. */
		w->file(fd, walked ? found : path, walked, w->arg);
		close(fd);
	}
}

uint64_t
input_size(const char *path)
{
	struct stat st;

	return files_stat(path, &st) && S_ISREG(st.st_mode) ?
	    (uint64_t)st.st_size :
	    0;
}
