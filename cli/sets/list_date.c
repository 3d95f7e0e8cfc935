/* SPDX-License-Identifier: ISC */
/* sets/list_date: when a list was made, by the file of its sources. */
#include "sets/list_date.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kv_config.h"
#include "kv_sources.h"
#include "base/io.h"

#define DATE_LINE "# date "
#define DATE_LEN 10
#define DAY_SECONDS 86400

bool
list_date_read(int fd, int64_t *secondsp)
{
	char text[KV_SOURCES_MAX_BYTES + 1], date[DATE_LEN + 1];
	ssize_t len;

	if (fd == -1 || lseek(fd, 0, SEEK_SET) == -1 ||
	    (len = io_read(fd, text, sizeof(text) - 1)) == -1)
		return false;
	text[len] = '\0';
	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, DATE_LINE, strlen(DATE_LINE)) != 0)
			continue;
		line += strlen(DATE_LINE);
		snprintf(date, sizeof(date), "%s", line);
		if (strcspn(line, "\n") != DATE_LEN ||
		    !kv_config_read_date(date, secondsp))
			return false;
		*secondsp *= DAY_SECONDS;
		return true;
	}
	return false;
}
