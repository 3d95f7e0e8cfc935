/* SPDX-License-Identifier: ISC */
/*
 * What keyveto update reads of an exact list: the manifest, from which it makes
 * the text of LIST.sources; and the list, in xz or not. Whatever the manifest
 * says, the text must be printable, and have names as kv_sources takes them.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "published/records.h"
#include "published/unxz.h"
#include "update/sources.h"

#define UNPACKED_MAX (1 << 20)

struct unpacked {
	struct update_records records;
	size_t len;
};

static bool
add_records(const void *p, size_t len, void *arg)
{
	struct unpacked *u = arg;

	u->len += len;
	return u->len <= UNPACKED_MAX &&
	    update_records_add(&u->records, p, len);
}

static void
check_manifest(const uint8_t *data, size_t size)
{
	char why[MANIFEST_WHY_BYTES];
	struct update_sources s;
	struct manifest m;
	char *text;
	bool ok = manifest_parse((const char *)data, size, &m, why);

	FUZZ_CHECK(ok == (why[0] == '\0'));
	if (ok) {
		FUZZ_CHECK(m.blocklist_url != NULL);
		text = update_sources_text(&m);
		FUZZ_CHECK(text != NULL);
		for (const char *p = text; *p != '\0'; p++)
			FUZZ_CHECK(*p == '\n' || (*p >= ' ' && *p <= '~'));
		update_sources_parse(text, &s);
		FUZZ_CHECK(strcmp(s.sha256, m.blocklist_sha256) == 0);
		FUZZ_CHECK(s.time == m.time);
		free(text);
	}
	manifest_free(&m);
}

static void
check_list(const uint8_t *data, size_t size)
{
	static struct unpacked u;
	struct unxz xz;
	size_t half = size / 2;
	bool ok;

	u.len = 0;
	update_records_begin(&u.records);
	unxz_begin(&xz, add_records, &u);
	ok = unxz_add(&xz, data, half) &&
	    unxz_add(&xz, data + half, size - half) && unxz_end(&xz);
	FUZZ_CHECK(!ok || xz.why == NULL);
	if (update_records_end(&u.records) && ok)
		FUZZ_CHECK(u.len == u.records.n * 16 && u.len > 0);
	unxz_free(&xz);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_manifest(data, size);
	check_list(data, size);
	return 0;
}
