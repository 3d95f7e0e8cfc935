/* SPDX-License-Identifier: ISC */
/*
 * The lines of a log, as keyveto audit --logins reads them: text lines, twice for
 * their years, and entries of the journal. What is taken stands in the line, and
 * a name that somebody chose changes neither address nor key of sshd's message.
 */
#include <stdio.h>
#include <string.h>

#include "log_lines/accepted.h"
#include "log_lines/journal_line.h"
#include "log_lines/syslog_line.h"
#include "fuzz.h"

#define NOW 1795440000
#define KEY "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

static void
check_digest(bool has, const uint8_t digest[static KV_SHA256_BYTES],
    const char *message)
{
	char text[KV_FINGERPRINT_BYTES];

	kv_fingerprint_format(digest, text);
	FUZZ_CHECK(!has || strstr(message, text) != NULL);
}

static void
check_message(const char *message)
{
	struct accepted a;

	if (accepted_parse_keyless(message, &a)) {
		FUZZ_CHECK(*a.user != '\0' && strstr(message, a.from) != NULL);
		FUZZ_CHECK(!accepted_parse(message, &a));
	}
	if (!accepted_parse(message, &a))
		return;
	FUZZ_CHECK(*a.user != '\0' && strlen(a.user) < sizeof(a.user));
	FUZZ_CHECK(*a.from != '\0' && strstr(message, a.from) != NULL);
	FUZZ_CHECK(a.has_key || a.has_ca || a.md5);
	check_digest(a.has_key, a.key, message);
	check_digest(a.has_ca, a.ca, message);
}

/* The ID of a certificate, which its CA chose. */
static void
check_id(const char *id)
{
	static char message[4096];
	struct accepted a;

	snprintf(message, sizeof(message),
	    "Accepted publickey for alice from ::1 port 22 ssh2: RSA-CERT " KEY
	    " ID %.300s (serial 1) CA RSA " KEY,
	    id);
	FUZZ_CHECK(accepted_parse(message, &a));
	FUZZ_CHECK(strcmp(a.user, "alice") == 0 && strcmp(a.from, "::1") == 0);
	FUZZ_CHECK(a.has_key && a.key[0] == 0);
	if (strlen(message) < 500)
		FUZZ_CHECK(a.has_ca && a.ca[0] == 0 && a.ca[31] == 0);
}

static void
check_lines(char *text)
{
	struct syslog_years years = { .any = false };
	struct syslog_line l;
	int64_t seconds;

	for (int turn = 0; turn < 2; turn++) {
		for (char *line = text; *line != '\0';) {
			char *end = line + strcspn(line, "\n"), kept = *end;

			*end = '\0';
			if (syslog_line_parse(line, &l)) {
				FUZZ_CHECK(
				    l.message >= line || *l.message == '\0');
				if (syslog_line_is_sshds(&l))
					FUZZ_CHECK(l.program_len >= 4);
				if (turn == 0)
					syslog_years_add(&years, &l);
				else if (syslog_years_find(&years, &l, NOW,
					     &seconds))
					FUZZ_CHECK(seconds >= 0);
				check_message(l.message);
			}
			*end = kept;
			line = end + (kept != '\0');
		}
		syslog_years_end(&years, NOW);
		syslog_years_begin(&years);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_alloc(size + 1), message[JOURNAL_MESSAGE_BYTES];
	uint64_t process;
	int64_t seconds;

	memcpy(text, data, size);
	text[size] = '\0';
	check_message(text);
	check_id(text);
	check_lines(text);
	(void)journal_line_time(text, &seconds);
	if (journal_line_parse(text, strlen(text), message, &seconds,
		&process) != JOURNAL_OTHER)
		check_message(message);
	free(text);
	return 0;
}
