/* SPDX-License-Identifier: ISC */
/*
 * Any text, read as keyveto.conf, leaves a config that can be used and freed; a
 * file is read as its text.
 */
#include <sys/mman.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "fuzz.h"
#include "kv_config.h"

/* The whole input as a word of an option. */
static void
check_words(const uint8_t *data, size_t size)
{
	enum kv_strictmodes mode;
	enum kv_wildcards wildcards;
	char word[32];

	snprintf(word, sizeof(word), "%.*s", (int)size, (const char *)data);
	if (kv_config_read_strictmodes(word, &mode))
		FUZZ_CHECK(
		    strcasecmp(kv_config_strictmodes_word(mode), word) == 0);
	(void)kv_config_read_wildcards(word, &wildcards);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t digest[KV_SHA256_BYTES];
	char why[KV_CONFIG_WHY_BYTES], message[256];
	struct kv_config c;
	enum kv_err r;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	FUZZ_CHECK(fd != -1 && write(fd, data, size) == (ssize_t)size);
	FUZZ_CHECK(lseek(fd, 0, SEEK_SET) == 0);
	r = kv_config_parse((const char *)data, size, "fuzz.conf", &c, why);
	FUZZ_CHECK((r == KV_OK) == (why[0] == '\0'));
	kv_config_free(&c);
	FUZZ_CHECK(kv_config_read(fd, "fuzz.conf", &c, why) == r);
	close(fd);
	check_words(data, size);
	FUZZ_CHECK(c.n_filters + c.n_blocklists >= 1);
	for (size_t i = 0; i < c.n_filters; i++)
		FUZZ_CHECK(c.filter[i][0] == '/');
	for (size_t i = 0; i < c.n_blocklists; i++)
		FUZZ_CHECK(c.blocklist[i][0] == '/');
	for (size_t i = 0; i < c.n_patterns; i++)
		FUZZ_CHECK(strlen(c.pattern[i]) <= size + 32);
	(void)kv_config_find_allowed(&c, digest, 0);
	(void)kv_config_find_denied(&c, digest, 0);
	if (c.message != NULL)
		kv_config_message(c.message, "SHA256:x", "ssh-rsa", message,
		    sizeof(message));
	kv_config_free(&c);
	return 0;
}
