/* SPDX-License-Identifier: ISC */
#include "accounts/named.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "accounts/machine.h"
#include "command.h"
#include "base/io.h"
#include "host/memory.h"
#include "reading/keys.h"

#define LOG_PREFIX "key_fp="
#define SHA256_PREFIX "SHA256:"
#define SHA256_CHARS 43 /* of base64, behind the prefix */
#define MD5_CHARS 47	/* 16 hexadecimal bytes with colons */

/* Whether the key is one that the words name. */
static bool
is_named(const struct named_keys *n, const struct input_key *key)
{
	uint8_t digest[KV_SHA256_BYTES];

	if (n->line != 0 && key->line != n->line)
		return false;
	if (!n->by_fingerprint)
		return true;
	if (key->key.type == KV_KEY_NONE)
		return false;
	kv_fingerprint_digest(&key->key, digest);
	return memcmp(digest, n->digest, sizeof(digest)) == 0;
}

static void
on_key(const struct input_key *key, void *arg)
{
	struct named_keys *n = arg;

	if (is_named(n, key))
		n->key(key, n->arg);
}

static void
on_problem(const struct input_problem *problem, void *arg)
{
	struct named_keys *n = arg;

	/* A problem of line 0 is about the whole file. */
	if (n->by_fingerprint ||
	    (n->line != 0 && problem->line != 0 && problem->line != n->line))
		return;
	n->problems++;
	cli_error_at(problem->path, problem->line, problem->reason);
}

/*
 * Splits FILE:LINE, as keyveto check prints it, into file, of cap bytes, and
 * line. False if text has no such form.
 */
static bool
split_line_number(const char *text, char *file, size_t cap, uint64_t *linep)
{
	size_t len = strlen(text), digits = 0;
	char number[24];

	if (len > 0 && text[len - 1] == ':')
		len--;
	while (digits < len && strchr("0123456789", text[len - digits - 1]))
		digits++;
	if (digits == 0 || digits >= sizeof(number) || digits == len ||
	    text[len - digits - 1] != ':' || len - digits > cap)
		return false;
	snprintf(number, sizeof(number), "%.*s", (int)digits,
	    text + len - digits);
	snprintf(file, cap, "%.*s", (int)(len - digits - 1), text);
	return cli_read_number(number, 1, UINT64_MAX, linep);
}

/* Reads the keys in the text of the words. False after a message. */
static bool
read_text(const struct input_sink *sink, char **words)
{
	int fd = memory_file("key");
	bool ok = fd != -1;

	for (; ok && *words != NULL; words++)
		ok = io_write(fd, *words, strlen(*words)) &&
		    io_write(fd, " ", 1);
	ok = ok && io_write(fd, "\n", 1) && lseek(fd, 0, SEEK_SET) == 0;
	if (ok)
		reading_keys_fd(fd, "the key", sink);
	else
		cli_failed("the key", "cannot be read");
	io_close(fd);
	return ok;
}

bool
named_is_key_text(char **words)
{
	bool has_blob = false;

	if (access(words[0], F_OK) == 0)
		return false;
	for (size_t i = 0; words[i] != NULL; i++)
		has_blob |= strncmp(words[i], "AAAA", 4) == 0 ||
		    strstr(words[i], " AAAA") != NULL ||
		    strncmp(words[i], "-----BEGIN ", 11) == 0;
	return has_blob;
}

/* Whether word is a fingerprint, with or without what stands before it. */
static bool
is_fingerprint(const char *word)
{
	const size_t n = strspn(word,
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");

	if (strncmp(word, LOG_PREFIX, strlen(LOG_PREFIX)) == 0 ||
	    strncmp(word, SHA256_PREFIX, strlen(SHA256_PREFIX)) == 0 ||
	    strncmp(word, "MD5:", 4) == 0)
		return true;
	return access(word, F_OK) == -1 &&
	    ((n == SHA256_CHARS && word[n + strspn(word + n, "=")] == '\0') ||
		(strlen(word) == MD5_CHARS &&
		    strspn(word, "0123456789abcdef:") == MD5_CHARS));
}

/* False after a message. */
static bool
set_fingerprint(struct named_keys *n, const char *word)
{
	char text[KV_FINGERPRINT_BYTES];
	const char *p = word;
	size_t len;

	n->by_fingerprint = true;
	if (strncmp(p, LOG_PREFIX, strlen(LOG_PREFIX)) == 0)
		p += strlen(LOG_PREFIX);
	if (strncmp(p, SHA256_PREFIX, strlen(SHA256_PREFIX)) == 0)
		p += strlen(SHA256_PREFIX);
	len = strcspn(p, "=");
	if (len == SHA256_CHARS && strlen(p) <= len + 1) {
		snprintf(text, sizeof(text), SHA256_PREFIX "%.*s", (int)len, p);
		if (kv_fingerprint_parse((struct kv_span){ (uint8_t *)text,
					     strlen(text) },
			n->digest) == KV_OK)
			return true;
	}
	return cli_error("%s: not a SHA256 fingerprint; that is " SHA256_PREFIX
			 " and %d characters, as ssh-keygen -l prints it",
	    word, SHA256_CHARS);
}

bool
named_keys_read(struct named_keys *n, char **words)
{
	const struct input_sink sink = { .key = on_key,
		.problem = on_problem,
		.arg = n };
	char file[PATH_MAX];

	if (is_fingerprint(*words)) {
		if (!set_fingerprint(n, *words++))
			return false;
		if (*words == NULL && geteuid() != 0)
			return cli_error(
			    "only root can look for a fingerprint among "
			    "the keys of this machine; name the file "
			    "that has the key, or give the key itself");
		if (*words == NULL)
			return machine_each_key(n->judge, NULL, 0, on_key, n,
			    &n->problems);
	} else if (named_is_key_text(words))
		return read_text(&sink, words);
	for (; *words != NULL; words++) {
		if (access(*words, F_OK) == -1 &&
		    split_line_number(*words, file, sizeof(file), &n->line))
			reading_keys(file, &sink);
		else
			reading_keys(*words, &sink);
		n->line = 0;
	}
	return true;
}
