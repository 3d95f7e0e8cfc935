/* SPDX-License-Identifier: ISC */
#include "audit/journal_line.h"

#include <jansson.h>
#include <string.h>

#include "command.h"

#define TIME_FIELD "__REALTIME_TIMESTAMP"
#define MICROSECONDS 1000000
#define DELETED " (deleted)" /* of proc(5): the package was upgraded */

/* "" for a field that is missing, or that is no single text. */
static const char *
get_text(const json_t *entry, const char *field)
{
	const char *text = json_string_value(json_object_get(entry, field));

	return text != NULL ? text : "";
}

static bool
is_sshd(const char *name)
{
	return strcmp(name, "sshd") == 0 || strcmp(name, "sshd-session") == 0;
}

/* A process that ended quickly has neither _EXE nor _COMM. */
static bool
is_sshds_program(const json_t *entry)
{
	const char *comm = get_text(entry, "_COMM");
	const char *exe = get_text(entry, "_EXE"), *slash = strrchr(exe, '/');
	char name[64];
	size_t n;

	if (*comm != '\0' && !is_sshd(comm))
		return false;
	if (*exe == '\0')
		return true;
	snprintf(name, sizeof(name), "%s", slash != NULL ? slash + 1 : exe);
	n = strlen(name);
	if (n > strlen(DELETED) &&
	    strcmp(name + n - strlen(DELETED), DELETED) == 0)
		name[n - strlen(DELETED)] = '\0';
	return is_sshd(name);
}

static bool
read_microseconds(const char *text, int64_t *secondsp)
{
	uint64_t n;

	if (!cli_read_number(text, 0, INT64_MAX, &n))
		return false;
	*secondsp = (int64_t)(n / MICROSECONDS);
	return true;
}

enum journal_origin
journal_line_parse(const char *line, size_t len,
    char message[static JOURNAL_MESSAGE_BYTES], int64_t *secondsp)
{
	json_t *entry = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	enum journal_origin origin = JOURNAL_OTHER;
	const char *transport = get_text(entry, "_TRANSPORT");

	if (strcmp(get_text(entry, "_UID"), "0") == 0 &&
	    is_sshd(get_text(entry, "SYSLOG_IDENTIFIER")) &&
	    is_sshds_program(entry) &&
	    read_microseconds(get_text(entry, TIME_FIELD), secondsp)) {
		snprintf(message, JOURNAL_MESSAGE_BYTES, "%s",
		    get_text(entry, "MESSAGE"));
		if (strcmp(transport, "syslog") == 0)
			origin = JOURNAL_SSHD;
		else if (strcmp(transport, "stdout") == 0)
			origin = JOURNAL_STDERR;
	}
	json_decref(entry);
	return origin;
}

/* In a text of JSON each quote has a backslash before it. */
bool
journal_line_time(const char *line, int64_t *secondsp)
{
	const char *p = strstr(line, "\"" TIME_FIELD "\"");
	char digits[24];
	size_t n;

	if (p == NULL)
		return false;
	p += strlen(TIME_FIELD) + 2;
	p += strspn(p, " :\"");
	n = strspn(p, "0123456789");
	if (n == 0 || n >= sizeof(digits))
		return false;
	memcpy(digits, p, n);
	digits[n] = '\0';
	return read_microseconds(digits, secondsp);
}
