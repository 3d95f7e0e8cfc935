/* SPDX-License-Identifier: ISC */
#include "log_lines/journal_line.h"

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

/* Whether the path in _EXE is sshd's. */
static bool
is_sshds_path(const char *exe)
{
	const char *slash = strrchr(exe, '/');
	char name[64];
	size_t n;

	snprintf(name, sizeof(name), "%s", slash != NULL ? slash + 1 : exe);
	n = strlen(name);
	if (n > strlen(DELETED) &&
	    strcmp(name + n - strlen(DELETED), DELETED) == 0)
		name[n - strlen(DELETED)] = '\0';
	return is_sshd(name);
}

/* "ssh.service", "sshd.service", or one for each connection, "ssh@...". */
static bool
is_sshds_unit(const char *unit)
{
	return strcmp(unit, "ssh.service") == 0 ||
	    strcmp(unit, "sshd.service") == 0 ||
	    strncmp(unit, "ssh@", 4) == 0 || strncmp(unit, "sshd@", 5) == 0;
}

/*
 * Whether sshd has sent the entry. _COMM is the name under which a program was
 * started, which may be a link of anybody's; without _EXE it needs the unit.
 */
static enum journal_origin
find_sender(const json_t *entry)
{
	const char *comm = get_text(entry, "_COMM");
	const char *exe = get_text(entry, "_EXE");

	if (*comm != '\0' && !is_sshd(comm))
		return JOURNAL_OTHER;
	if (*exe != '\0')
		return is_sshds_path(exe) ? JOURNAL_SSHD : JOURNAL_OTHER;
	return *comm != '\0' &&
		is_sshds_unit(get_text(entry, "_SYSTEMD_UNIT")) ?
	    JOURNAL_SSHD :
	    JOURNAL_UNKNOWN;
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
    char message[static JOURNAL_MESSAGE_BYTES], int64_t *secondsp,
    uint64_t *processp)
{
	json_t *entry = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	enum journal_origin origin = JOURNAL_OTHER;
	const char *transport = get_text(entry, "_TRANSPORT");

	if (!cli_read_number(get_text(entry, "_PID"), 0, INT64_MAX, processp))
		*processp = 0;
	if (strcmp(get_text(entry, "_UID"), "0") == 0 &&
	    is_sshd(get_text(entry, "SYSLOG_IDENTIFIER")) &&
	    read_microseconds(get_text(entry, TIME_FIELD), secondsp)) {
		snprintf(message, JOURNAL_MESSAGE_BYTES, "%s",
		    get_text(entry, "MESSAGE"));
		if (strcmp(transport, "syslog") == 0)
			origin = find_sender(entry);
		else if (strcmp(transport, "stdout") == 0 &&
		    find_sender(entry) != JOURNAL_OTHER)
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
