/* SPDX-License-Identifier: ISC */
#include "sshd_config/copy.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "host/program.h"
#include "sshd_config/sshd_config.h"

/* Writes file number i; its Include lines name other files of the copy. */
static bool
write_file(const struct sshd_copy *c, size_t i, char *why, size_t cap)
{
	const struct sshd_tree *t = &c->tree;
	const struct sshd_config_file *f = &t->file[i];
	char path[PATH_MAX];
	size_t at = 0;
	bool whole;
	FILE *out;

	snprintf(path, sizeof(path), "%s/%zu.conf", c->folder.path, i);
	if ((out = fopen(path, "wxe")) == NULL) {
		snprintf(why, cap, "%s: %s", path, strerror(errno));
		return false;
	}
	for (size_t k = 0; k < t->n_lines; k++) {
		const struct sshd_line *l = &t->line[k];
		const char *before = "Include";

		if (l->file != i || strcasecmp(l->keyword, "Include") != 0)
			continue;
		fwrite(f->text + at, 1, l->at - at, out);
		at = l->at + l->len;
		for (size_t n = i + 1; n < t->n_files; n++) {
			if (t->file[n].include != k + 1)
				continue;
			fprintf(out, "%s %s/%zu.conf", before, c->folder.path,
			    n);
			before = "";
		}
		putc('\n', out);
	}
	fwrite(f->text + at, 1, f->len - at, out);
	whole = ferror(out) == 0;
	if (fclose(out) == 0 && whole)
		return true;
	snprintf(why, cap, "%s: cannot be written", path);
	return false;
}

bool
sshd_copy_open(struct sshd_copy *c, const struct sshd_change *change, size_t n,
    char *why, size_t cap)
{
	bool ok;

	*c = (struct sshd_copy){ 0 };
	if (!sshd_tree_read(&c->tree, SSHD_TREE_TOP, change, n, why, cap))
		return false;
	if (!temporary_make(&c->folder, "keyveto-sshd")) {
		snprintf(why, cap, "/tmp: cannot make a directory: %s",
		    strerror(errno));
		return false;
	}
	ok = asprintf(&c->top, "%s/0.conf", c->folder.path) != -1;
	if (!ok) {
		c->top = NULL;
		snprintf(why, cap, "out of memory");
	}
	for (size_t i = 0; ok && i < c->tree.n_files; i++)
		ok = write_file(c, i, why, cap);
	/* sshd passes over an Include of a file that was not written. */
	if (!ok) {
		free(c->top);
		c->top = NULL;
	}
	return ok;
}

void
sshd_copy_close(struct sshd_copy *c)
{
	temporary_remove(&c->folder);
	sshd_tree_free(&c->tree);
	free(c->top);
	free(c->host_key);
	*c = (struct sshd_copy){ 0 };
}

/* Makes a host key, without which sshd -T and -t fail. */
static bool
make_host_key(struct sshd_copy *c, char *why, size_t cap)
{
	char path[PATH_MAX];
	const char *const argv[] = { "/usr/bin/ssh-keygen", "-q", "-t",
		"ed25519", "-N", "", "-f", path, NULL };
	struct program keygen = { .argv = argv };
	int error, status;

	if (c->host_key != NULL)
		return true;
	snprintf(path, sizeof(path), "%s/host_key", c->folder.path);
	program_fds(&keygen, PROGRAM_NULL, STDOUT_FILENO, STDERR_FILENO);
	error = program_run(&keygen, &status);
	if (error != 0 || status != 0)
		snprintf(why, cap,
		    "ssh-keygen cannot make a host key, without which sshd -T "
		    "fails: %s",
		    error != 0 ? strerror(error) : "ssh-keygen failed");
	else if ((c->host_key = strdup(path)) == NULL)
		snprintf(why, cap, "out of memory");
	return c->host_key != NULL;
}

/* Replaces the names of copies in text by the names of the real files. */
static void
use_real_names(const struct sshd_copy *c, char *text, size_t cap)
{
	const size_t len = strlen(c->folder.path);
	char *out = malloc(cap), *p = text;
	size_t n = 0;

	if (out == NULL)
		return;
	while (*p != '\0' && n + 1 < cap) {
		unsigned long i;
		char *end;

		if (strncmp(p, c->folder.path, len) == 0 && p[len] == '/' &&
		    isdigit((unsigned char)p[len + 1]) &&
		    (i = strtoul(p + len + 1, &end, 10)) < c->tree.n_files &&
		    strncmp(end, ".conf", 5) == 0) {
			n += (size_t)snprintf(out + n, cap - n, "%s",
			    c->tree.file[i].path);
			if (n >= cap)
				n = cap - 1;
			p = end + 5;
		} else
			out[n++] = *p++;
	}
	out[n] = '\0';
	memcpy(text, out, n + 1);
	free(out);
}

/*
 * Runs "sshd -t" (valid), or "sshd -T" about user. Makes a host key if sshd
 * needs one.
 */
static char *
run_sshd(struct sshd_copy *c, const char *path, bool valid, const char *user,
    char *why, size_t cap)
{
	static const char *const test[] = { "-t" };
	struct sshd sshd = { .path = path, .config = c->top };
	const struct sshd_subject *s;
	struct sshd_question q;
	char *text = NULL;
	bool lacks_key = false;

	if (c->top == NULL) {
		snprintf(why, cap,
		    "a part of sshd's configuration cannot be "
		    "read");
		return NULL;
	}
	if (access(path, X_OK) == -1) {
		snprintf(why, cap, "%s: %s", path, strerror(errno));
		return NULL;
	}
	do {
		if (lacks_key && !make_host_key(c, why, cap))
			return NULL;
		sshd.host_key = c->host_key;
		s = sshd_subject(&sshd);
		if (!valid)
			sshd_ask(&sshd, user, &q);
		else if (*s->refused == '\0')
			sshd_start(&sshd, test, 1, &q);
		else
			q = (struct sshd_question){ .fd = -1,
				.refused = s->refused };
		text = sshd_answer_text(&q, why, cap);
		lacks_key = text == NULL && c->host_key == NULL &&
		    strstr(why, "no hostkeys available") != NULL;
	} while (lacks_key);
	if (text == NULL)
		use_real_names(c, why, cap);
	return text;
}

char *
sshd_copy_ask(const char *sshd, struct sshd_copy *c, const char *user,
    char *why, size_t cap)
{
	return run_sshd(c, sshd, false, user, why, cap);
}

bool
sshd_copy_is_valid(const char *sshd, struct sshd_copy *c, char *why, size_t cap)
{
	char *text = run_sshd(c, sshd, true, NULL, why, cap);

	free(text);
	return text != NULL;
}
