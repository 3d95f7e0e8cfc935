/* SPDX-License-Identifier: ISC */
#include "accounts/revoked.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "host/program.h"
#include "kv_base64.h"
#include "kv_fingerprint.h"
#include "kv_line.h"
#include "kv_lines.h"
#include "sshd_config/words.h"

#define KEYGEN "/usr/bin/ssh-keygen"
/* krl.h: KRL_MAGIC */
#define MAGIC "SSHKRL\n"
#define LINE_BYTES (256 * 1024)

/*
 * Copies the values of RevokedKeys, which may have several lines since 10.3.
 * Returns NULL if there is none, or without memory, with *failed then.
 */
static char *
copy_values(const struct sshd_settings *settings, bool *failed)
{
	static const char keyword[] = "RevokedKeys ";
	const size_t len = sizeof(keyword) - 1;
	const char *line = settings->login;
	char *values = NULL, *longer;

	*failed = false;
	for (; *line != '\0'; line += strcspn(line, "\n"), line += *line != 0) {
		const int n = (int)strcspn(line, "\n");

		if (strncasecmp(line, keyword, len) != 0)
			continue;
		*failed |= asprintf(&longer, "%s %.*s",
			       values != NULL ? values : "", n - (int)len,
			       line + len) == -1;
		if (*failed)
			break;
		free(values);
		values = longer;
	}
	if (!*failed && values != NULL && !sshd_words_none(values))
		return values;
	free(values);
	return NULL;
}

bool
revoked_any(const struct sshd_settings *settings)
{
	bool failed = false;
	char *values = settings != NULL ? copy_values(settings, &failed) : NULL;
	const bool any = values != NULL || failed;

	free(values);
	return any;
}

/* Writes a line with the key into a file in memory. -1 if that fails. */
static int
write_key(struct kv_span blob, const struct kv_sshkey *key)
{
	/* Four characters for three bytes, and a padding. */
	char *text = malloc(blob.len * 4 / 3 + 8);
	int fd = memfd_create("key", 0);
	size_t len;
	bool ok = text != NULL && fd != -1;

	if (ok) {
		kv_base64_encode_unpadded(blob.p, blob.len, text);
		for (len = strlen(text); len % 4 != 0; len++)
			text[len] = '=';
		text[len] = '\0';
		ok = dprintf(fd, "%s %s\n", kv_keytype_name(key->key.type),
			 text) > 0 &&
		    lseek(fd, 0, SEEK_SET) == 0;
	}
	free(text);
	if (!ok && fd != -1)
		close(fd);
	return ok ? fd : -1;
}

/* Asks ssh-keygen whether a KRL has the key. Without an answer: doubt. */
static bool
krl_has(const char *path, struct kv_span blob, const struct kv_sshkey *key,
    bool doubt)
{
	const char *const argv[] = { KEYGEN, "-Q", "-f", path, "/dev/stdin",
		NULL };
	struct program program = { .argv = argv, .dies_with_us = true };
	const int fd = write_key(blob, key);
	int status = 0, error;

	if (fd == -1)
		return doubt;
	program_fds(&program, fd, PROGRAM_NULL, PROGRAM_NULL);
	error = program_run(&program, &status);
	close(fd);
	if (error != 0 || !WIFEXITED(status) || WEXITSTATUS(status) > 1)
		return doubt;
	return WEXITSTATUS(status) == 1;
}

/* Whether a line is about the key, or about its CA: of the same key. */
static bool
line_has(struct kv_span text, const uint8_t digest[static KV_SHA256_BYTES])
{
	static uint8_t blob[KV_BLOB_MAX_BYTES];
	uint8_t its[KV_SHA256_BYTES];
	struct kv_line line;

	if (kv_line_parse(text, blob, sizeof(blob), &line) != KV_OK ||
	    line.is_blank)
		return false;
	kv_fingerprint_digest(&line.key.key, its);
	return memcmp(its, digest, sizeof(its)) == 0;
}

/* Whether a file of keys has the key. A read error counts as a yes. */
static bool
lines_have(int fd, const struct kv_sshkey *key)
{
	static uint8_t buf[LINE_BYTES];
	uint8_t digest[KV_SHA256_BYTES];
	struct kv_lines lines;
	struct kv_span text;
	bool more = true;

	kv_fingerprint_digest(&key->key, digest);
	kv_lines_init(&lines, fd, buf, sizeof(buf));
	while (more) {
		enum kv_err err = kv_lines_next(&lines, &text, &more);

		if (err == KV_ERR_SYSTEM ||
		    (err == KV_OK && more && line_has(text, digest)))
			return true;
	}
	return false;
}

static bool
file_has(const char *path, struct kv_span blob, const struct kv_sshkey *key,
    bool doubt)
{
	char start[sizeof(MAGIC)] = "";
	struct stat st;
	bool has = true;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd == -1)
		return true;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    pread(fd, start, sizeof(start) - 1, 0) != -1)
		has = strcmp(start, MAGIC) == 0 ?
		    krl_has(path, blob, key, doubt) :
		    lines_have(fd, key);
	close(fd);
	return has;
}

bool
revoked_has(const struct sshd_settings *settings, struct kv_span blob,
    bool doubt)
{
	bool has = false, failed;
	char *values = copy_values(settings, &failed), *rest = values;
	struct kv_sshkey key;
	const char *path;

	if (failed || kv_sshkey_parse(blob.p, blob.len, &key) != KV_OK) {
		free(values);
		return doubt;
	}
	while (!has && rest != NULL && (path = sshd_words_next(&rest)) != NULL)
		has = strcasecmp(path, "none") != 0 &&
		    file_has(path, blob, &key, doubt);
	free(values);
	return has;
}
