/* SPDX-License-Identifier: ISC */
/* The task "journal": journalctl prints into a pipe, for cli/logs/journalctl.h. */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "system.h"
#include "tasks.h"

#define WORDS_MAX 32
#define PATHS_MAX 128
/* The most of journalctl's messages that is kept. */
#define MESSAGES_BYTES 8192
/* A journal may be large: the front knows how long it waits. */
#define SECONDS INT_MAX

/* What journalctl reads of this machine. */
static const char *const files[] = {
	"/etc/machine-id",
	"/proc/cmdline",
	"/proc/sys/kernel",
};
static const char *const folders[] = {
	"/run/log/journal",
	"/var/log/journal",
};

/* What the front asks for: journalctl's words, and the path among them. */
static struct {
	const char *word[WORDS_MAX + 1];
	const char *path; /* "": this machine's journal */
	uint64_t prints;  /* whether its messages are printed */
	bool ok;
} asked;

static const char *paths[PATHS_MAX];
static size_t n_paths;

static void
add_path(const char *path)
{
	if (path != NULL && n_paths < PATHS_MAX)
		paths[n_paths++] = path;
}

static int
may_be_link(const struct dirent *d)
{
	return d->d_type == DT_LNK || d->d_type == DT_UNKNOWN;
}

/* A journal may have links to folders or files that are elsewhere. */
static void
add_folder(const char *folder)
{
	struct dirent **link = NULL;
	const int n = scandir(folder, &link, may_be_link, NULL);
	char *path;

	add_path(folder);
	for (int i = 0; i < n; i++) {
		if (asprintf(&path, "%s/%s", folder, link[i]->d_name) != -1)
			add_path(path);
		free(link[i]);
	}
	free(link);
}

static bool can_read(const char *path, unsigned int depth);

/* What is in a folder, but not behind depth folders. */
static bool
can_read_folder(int fd, const char *path, unsigned int depth)
{
	DIR *folder = fdopendir(fd);
	const struct dirent *d;
	bool can = folder != NULL;
	char *name;

	if (folder == NULL)
		close(fd);
	while (can && depth > 0 && (d = readdir(folder)) != NULL) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		can = asprintf(&name, "%s/%s", path, d->d_name) != -1;
		if (can) {
			can = can_read(name, depth - 1);
			free(name);
		}
	}
	if (folder != NULL)
		closedir(folder);
	return can;
}

/*
 * Whether this process can read a file, or all that is in a folder and in its
 * folders: journalctl leaves out what it cannot read, and says nothing.
 */
static bool
can_read(const char *path, unsigned int depth)
{
	const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd == -1)
		return errno == ENOENT;
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		return can_read_folder(fd, path, depth);
	close(fd);
	return true;
}

/* Is can_read of struct system. A journal's files are in folders by machine. */
static bool
can_read_journals(void)
{
	bool can = true;

	if (asked.ok && asked.path[0] != '\0')
		return can_read(asked.path, 2);
	for (size_t i = 0; can && i < sizeof(folders) / sizeof(folders[0]); i++)
		can = can_read(folders[i], 2);
	return can;
}

/* Whether to print, the path, and the words up to the end. */
static bool
get_asked(struct kv_bytes *b)
{
	size_t n = 0;

	if (!record_get_number(b, &asked.prints) ||
	    (asked.path = record_copy_text(b)) == NULL)
		return false;
	while (b->left > 0 && n < WORDS_MAX)
		if ((asked.word[n++] = record_copy_text(b)) == NULL)
			return false;
	return n > 0 && b->left == 0;
}

unsigned int
task_journal_enter(struct task_work *t, uint64_t memory)
{
	asked.ok = get_asked(&t->args);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		add_path(files[i]);
	if (asked.ok && asked.path[0] != '\0')
		add_folder(asked.path);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		add_folder(folders[i]);
	return system_enter(&(struct system){
	    .program = asked.ok ? asked.word[0] : "",
	    .group = "systemd-journal",
	    .can_read = can_read_journals,
	    .path = paths,
	    .n_paths = n_paths,
	    .memory = memory,
	});
}

bool
task_journal(struct task_work *t)
{
	struct program journalctl = { .argv = asked.word };
	char messages[MESSAGES_BYTES];
	int error, status = 0;

	if (!asked.ok)
		return false;
	program_fds(&journalctl, PROGRAM_NULL, t->fd[0], SYSTEM_PIPE);
	error = system_run(&journalctl, SECONDS, messages, sizeof(messages),
	    &status);
	if (asked.prints != 0)
		fputs(messages, stderr);
	return task_tell(R_VALUE(error), R_VALUE(status));
}
