/* SPDX-License-Identifier: ISC */
/*
 * What keyveto update reads before a filter: its settings, and the headers of a
 * server. A header value that is kept must be safe to send to a server.
 */
#include <string.h>

#include "fuzz.h"
#include "net/http_header.h"
#include "update/settings.h"

static void
check_header(const char *line, size_t len)
{
	char value[HTTP_VALUE_BYTES] = "";

	http_header_keep(line, len, "ETag", value);
	FUZZ_CHECK(memchr(value, '\0', sizeof(value)) != NULL);
	FUZZ_CHECK(http_value_is_safe(value));
	FUZZ_CHECK(strpbrk(value, "\r\n") == NULL);
	FUZZ_CHECK(http_range_start(value) >= -1);
	(void)http_etag_is_strong(value);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[UPDATE_SETTINGS_WHY_BYTES];
	struct update_settings s;
	bool ok;

	check_header((const char *)data, size);
	ok = update_settings_parse((const char *)data, size, "fuzz.conf", &s,
	    why);
	FUZZ_CHECK(ok == (why[0] == '\0'));
	if (ok) {
		FUZZ_CHECK(s.max_bytes > 0 && s.max_bytes <= INT64_MAX);
		FUZZ_CHECK(s.max_rate > 0 && s.max_rate < 1);
		FUZZ_CHECK(s.timeout > 0 && s.stall_timeout > 0);
		FUZZ_CHECK(s.ca_file == NULL || s.ca_file[0] == '/');
	}
	update_settings_free(&s);
	return 0;
}
