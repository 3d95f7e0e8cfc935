/* SPDX-License-Identifier: ISC */
/*
 * What keyveto update reads before a filter: its settings, and the headers of a
 * server. A header value that is kept must be safe to send to a server.
 */
#include <string.h>
#include <strings.h>

#include "fuzz.h"
#include "net/http_header.h"
#include "upkeep/settings.h"

static void
check_header(const char *line, size_t len)
{
	char value[HTTP_VALUE_BYTES] = "";

	http_header_keep(line, len, "ETag", value);
	FUZZ_CHECK(memchr(value, '\0', sizeof(value)) != NULL);
	FUZZ_CHECK(http_value_is_safe(value));
	FUZZ_CHECK(strpbrk(value, "\r\n") == NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct update_conf c;
	char why[UPDATE_SETTINGS_WHY_BYTES];
	struct update_settings s;
	bool ok;

	check_header((const char *)data, size);
	ok = update_conf_parse((const char *)data, size, "fuzz.conf", &c, why);
	FUZZ_CHECK(ok == (why[0] == '\0'));
	FUZZ_CHECK(!ok || c.confirm == NULL ||
	    strncasecmp(c.confirm, "https://", 8) == 0);
	for (size_t i = 0; ok && i < c.n; i++) {
		FUZZ_CHECK(update_conf_find(&c, c.source[i].name, &s));
		FUZZ_CHECK(s.max_bytes > 0 && s.max_bytes <= INT64_MAX);
		FUZZ_CHECK(s.max_rate > 0 && s.max_rate < 1);
		FUZZ_CHECK(s.timeout > 0 && s.stall_timeout > 0);
		FUZZ_CHECK(s.ca_file == NULL || s.ca_file[0] == '/');
		FUZZ_CHECK(s.target == NULL || s.target[0] == '/');
		FUZZ_CHECK(s.hold.n_groups <= CHANGE_HOLD_GROUPS_MAX);
	}
	update_conf_free(&c);
	return 0;
}
