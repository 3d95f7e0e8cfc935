/* SPDX-License-Identifier: ISC */
#include "published/index_records.h"

#include "testlib.h"

#include <stdlib.h>
#include <string.h>

#define SHA1 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde1"
#define SHA2 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde2"
#define SHA3 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde3"

#define HEAD "{\"format\":\"keyveto-index-1\",\"serial\":12,"
#define TIMES \
	"\"date\":\"2026-11-23T03:00:00Z\",\"expires\":\"2026-12-23T03:00:00Z\","
#define FILTER \
	"\"name\":\"filter.pkbf\",\"type\":\"pkbf\",\"size\":33554456," \
	"\"sha256\":\"" SHA2 "\",\"packed_size\":1234,\"revision\":7"
#define LIST \
	"\"name\":\"blocklist.dat\",\"type\":\"blocklist\",\"size\":160," \
	"\"sha256\":\"" SHA1 "\",\"packed_size\":200"
#define DELTA "{\"from\":\"" SHA1 "\",\"to\":\"" SHA2 "\",\"size\":99}"

static struct index x;
static char why[INDEX_WHY_BYTES];

/* Ends a part, and returns it. */
static struct kv_bytes
part_of(struct record_out *o)
{
	record_end(o);
	/* Behind the length and the tag. */
	return (struct kv_bytes){ o->buf + 5, o->len - 5 };
}

/* What is parsed comes over as records. */
static void
check_records(void)
{
	struct record_out o = { .fd = -1 };
	struct index got;
	size_t n, len, got_len;
	char *text = index_format(&x, &len), *got_text;

	record_begin(&o, 1);
	index_add_head(&o, &x);
	assert_true(index_get_head(part_of(&o), &got, &n));
	assert_int_equal(n, x.n);
	for (size_t i = 0; i < n; i++) {
		record_clear(&o);
		record_begin(&o, 1);
		index_add_file(&o, &x.file[i]);
		assert_true(index_get_file(part_of(&o), &got, n));
	}
	assert_false(n > 0 && index_get_file(part_of(&o), &got, n));
	got_text = index_format(&got, &got_len);
	assert_int_equal(got_len, len);
	assert_memory_equal(got_text, text, len);
	index_free(&got);
	record_out_free(&o);
	free(got_text);
	free(text);
}

static bool
parse(const void *text, size_t len)
{
	bool ok;

	index_free(&x);
	memset(&x, 0xa5, sizeof(x));
	ok = index_parse(text, len, &x, why);
	assert_int_equal(ok, why[0] == '\0');
	assert_non_null(memchr(why, '\0', sizeof(why)));
	if (ok)
		check_records();
	return ok;
}

static bool
parse_text(const char *text)
{
	size_t len = strlen(text);

	return parse(exact_copy(text, len), len);
}

static const char *
with_file(const char *file)
{
	return format(HEAD TIMES "\"files\":[{%s}]}", file);
}

static void
refuses(const char *text, const char *reason)
{
	if (parse_text(text))
		fail_msg("taken for an index: %s", text);
	assert_contains(why, reason);
}

static void
all_members_are_read(void **state)
{
	const struct index_file *f;

	(void)state;
	assert_true(parse_text(HEAD TIMES
	    "\"files\":[{" FILTER ",\"date\":\"2026-11-20T10:00:00Z\","
	    "\"deltas\":[" DELTA ",{\"to\":\"" SHA2 "\",\"from\":\"" SHA3
	    "\",\"size\":7,\"more\":[]}]},{" LIST
	    ",\"manifest\":{\"sha256\":\"" SHA3 "\",\"size\":10}},"
	    "{\"name\":\"own.list\",\"type\":\"blocklist\",\"size\":16,"
	    "\"sha256\":\"" SHA3 "\",\"packed_size\":76,"
	    "\"sources\":{\"sha256\":\"" SHA1 "\",\"size\":1048576}}],"
	    "\"unknown\":{\"serial\":\"x\"}}"));
	assert_int_equal(x.serial, 12);
	assert_int_equal(x.date, 1795402800);
	assert_int_equal(x.expires, 1795402800 + 30 * 86400);
	assert_int_equal(x.n, 3);
	f = index_find(&x, "filter.pkbf");
	assert_ptr_equal(f, &x.file[0]);
	assert_int_equal(f->type, INDEX_PKBF);
	assert_int_equal(f->size, 33554456);
	assert_string_equal(f->sha256, SHA2);
	assert_int_equal(f->packed_size, 1234);
	assert_int_equal(f->revision, 7);
	assert_true(f->dated);
	assert_int_equal(f->date, 1795168800);
	assert_int_equal(f->n_deltas, 2);
	assert_string_equal(f->delta[1].from, SHA3);
	assert_string_equal(f->delta[1].to, SHA2);
	assert_int_equal(f->delta[0].size, 99);
	f = index_find(&x, "blocklist.dat");
	assert_int_equal(f->type, INDEX_BLOCKLIST);
	assert_false(f->dated);
	assert_int_equal(f->n_deltas, 0);
	assert_string_equal(f->manifest.sha256, SHA3);
	assert_int_equal(f->manifest.size, 10);
	assert_string_equal(f->sources.sha256, "");
	assert_int_equal(index_find(&x, "own.list")->sources.size, 1048576);
	assert_null(index_find(&x, "own"));
	index_free(&x);
}

static void
what_is_written_is_read_again(void **state)
{
	const char *text = HEAD TIMES
	    "\"files\":[{" FILTER ",\"date\":\"1970-01-01T00:00:00Z\","
	    "\"deltas\":[" DELTA "]},{" LIST ",\"manifest\":{\"sha256\":\"" SHA3
	    "\",\"size\":10},"
	    "\"sources\":{\"sha256\":\"" SHA1 "\",\"size\":9},"
	    "\"deltas\":[]}]}\n";
	char *again;
	size_t len;

	(void)state;
	assert_true(parse_text(text));
	again = keep(index_format(&x, &len));
	assert_bytes(again, len, text, strlen(text));
	index_free(&x);
	assert_true(parse_text(HEAD TIMES "\"files\":[]}"));
	again = keep(index_format(&x, &len));
	assert_bytes(again, len, HEAD TIMES "\"files\":[]}\n",
	    strlen(HEAD TIMES "\"files\":[]}\n"));
	index_free(&x);
}

static void
mistakes_of_the_index(void **state)
{
	(void)state;
	refuses("", "not JSON");
	refuses("[]", "not an index");
	refuses("{}", "not an index");
	refuses("{\"format\":1}", "not an index");
	refuses("{\"format\":\"keyveto-index-2\"}", "newer keyveto");
	refuses(HEAD TIMES "\"files\":[]} x", "not JSON");
	refuses(HEAD TIMES "\"files\":[],\"files\":[]}", "duplicate");
	refuses(HEAD TIMES "\"files\":[],\"\\u0000\":1}", "not JSON");
	refuses(HEAD TIMES "\"x\":\"\xff\",\"files\":[]}", "not JSON");
	refuses(HEAD TIMES "\"files\":[{}]}", "file 1: has no name");
	refuses(HEAD TIMES "\"files\":[null]}", "file 1: is not an object");
	refuses(HEAD TIMES "\"files\":{}}", "files is not an array");
	refuses(HEAD TIMES "\"x\":1}", "has no files");
	refuses(HEAD "\"files\":[]}", "has no date");
	refuses(HEAD "\"date\":\"2026-11-23T03:00:00Z\","
		     "\"expires\":\"2026-11-23T02:59:59Z\",\"files\":[]}",
	    "expires before");
}

static void
a_serial_is_from_1_to_2_53(void **state)
{
	static const char *const bad[] = { "0", "-1", "9007199254740993",
		"9223372036854775808", "18446744073709551617", "1.0", "1e3",
		"\"1\"", "null", "true", "[1]" };

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(parse_text(format(
		    "{\"format\":\"keyveto-index-1\",\"serial\":%s," TIMES
		    "\"files\":[]}",
		    bad[i])));
	assert_true(parse_text(
	    "{\"format\":\"keyveto-index-1\","
	    "\"serial\":9007199254740992," TIMES "\"files\":[]}"));
	assert_int_equal(x.serial, INDEX_SERIAL_MAX);
	index_free(&x);
}

static void
times_have_one_form(void **state)
{
	static const char *const bad[] = { "2026-11-23", "2026-11-23T03:00:00",
		"2026-11-23T03:00:00+00:00", "2026-11-23T03:00:00.0Z",
		"2026-11-23 03:00:00Z", "2026-11-23T03:00Z",
		"2026-11-31T03:00:00Z", "1969-12-31T23:59:59Z",
		"2026-11-23T03:00:60Z", "" };
	char text[INDEX_TIME_BYTES];

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		refuses(with_file(format(LIST ",\"date\":\"%s\"", bad[i])),
		    "blocklist.dat: date is not a time");
	refuses(with_file(LIST ",\"date\":1"), "date is not a string");
	assert_true(index_format_time(253402300799, text));
	assert_string_equal(text, "9999-12-31T23:59:59Z");
	assert_false(index_format_time(253402300800, text));
	assert_false(index_format_time(-1, text));
	assert_false(index_format_time(INT64_MAX, text));
}

/* LIST with another value for a member. */
static const char *
changed(const char *key, const char *value)
{
	return with_file(
	    format("\"name\":%s,\"type\":%s,\"size\":%s,\"sha256\":%s,"
		   "\"packed_size\":%s",
		strcmp(key, "name") == 0 ? value : "\"n\"",
		strcmp(key, "type") == 0 ? value : "\"blocklist\"",
		strcmp(key, "size") == 0 ? value : "16",
		strcmp(key, "sha256") == 0 ? value : "\"" SHA1 "\"",
		strcmp(key, "packed_size") == 0 ? value : "76"));
}

static void
mistakes_of_a_file(void **state)
{
	static const struct {
		const char *key, *value;
	} bad[] = {
		{ "name", "\"\"" },
		{ "name", "\".\"" },
		{ "name", "\"..\"" },
		{ "name", "\".hidden\"" },
		{ "name", "\"a/b\"" },
		{ "name", "\"a b\"" },
		{ "name", "\"\\u00e4\"" },
		{ "name", "\"a\\n\"" },
		{ "name", "7" },
		{ "type", "\"PKBF\"" },
		{ "type", "\"krl\"" },
		{ "type", "null" },
		{ "size", "0" },
		{ "size", "-16" },
		{ "size", "16.0" },
		{ "packed_size", "0" },
		{ "packed_size", "\"76\"" },
		{ "sha256", "\"" SHA1 "0\"" },
		{ "sha256", "\"0123\"" },
		{ "sha256", "[]" },
		{ "sha256",
		    "\"0123456789ABCDEF0123456789abcdef"
		    "0123456789abcdef0123456789abcdef\"" },
	};

	(void)state;
	assert_true(parse_text(changed("none", "")));
	index_free(&x);
	for (size_t i = 0; i < COUNT(bad); i++)
		refuses(changed(bad[i].key, bad[i].value), bad[i].key);
	refuses(changed("size", "9223372036854775808"), "too big");
	refuses(with_file(LIST "},{" LIST), "blocklist.dat is there twice");
	refuses(with_file("\"name\":\"f\",\"type\":\"pkbf\",\"size\":32,"
			  "\"sha256\":\"" SHA1 "\",\"packed_size\":9"),
	    "f: has no revision");
	refuses(with_file("\"name\":\"f\",\"type\":\"pkbf\",\"size\":32,"
			  "\"sha256\":\"" SHA1 "\",\"packed_size\":9,"
			  "\"revision\":4294967296"),
	    "f: revision");
	refuses(with_file(LIST ",\"manifest\":{}"), "manifest: has no sha256");
	refuses(with_file(LIST ",\"manifest\":[]"), "manifest: is not an");
	refuses(with_file(LIST
		    ",\"sources\":{\"sha256\":\"" SHA1 "\",\"size\":1048577}"),
	    "sources: size");
}

static void
mistakes_of_a_delta(void **state)
{
	(void)state;
	refuses(with_file(FILTER ",\"deltas\":{}"), "deltas is not an array");
	refuses(with_file(FILTER ",\"deltas\":[1]"),
	    "filter.pkbf: delta 1: is not an object");
	refuses(with_file(FILTER ",\"deltas\":[{}]"), "delta 1: has no from");
	refuses(with_file(FILTER ",\"deltas\":[" DELTA "," DELTA "]"),
	    "delta 2: is there twice");
	refuses(with_file(FILTER ",\"deltas\":[{\"from\":\"" SHA1
				 "\",\"to\":\"" SHA1 "\",\"size\":1}]"),
	    "to itself");
	refuses(with_file(FILTER ",\"deltas\":[{\"from\":\"" SHA1
				 "\",\"to\":\"" SHA2 "\",\"size\":0}]"),
	    "delta 1: size");
}

/* Whether an index with n files, the first with m deltas, is taken. */
static bool
takes(size_t n, size_t m)
{
	struct index big = { .serial = 1, .n = n };
	char *text;
	size_t len;

	big.file = keep(calloc(n, sizeof(*big.file)));
	for (size_t i = 0; i < n; i++) {
		strcpy(big.file[i].name, format("%zu", i));
		big.file[i].type = INDEX_BLOCKLIST;
		strcpy(big.file[i].sha256, SHA1);
		big.file[i].size = big.file[i].packed_size = INT64_MAX;
	}
	big.file[0].delta = keep(calloc(m + 1, sizeof(struct index_delta)));
	big.file[0].n_deltas = m;
	for (size_t i = 0; i < m; i++) {
		strcpy(big.file[0].delta[i].from, SHA1);
		strcpy(big.file[0].delta[i].to, format("%064zx", i));
		big.file[0].delta[i].size = i + 1;
	}
	text = keep(index_format(&big, &len));
	return parse(text, len);
}

static void
numbers_are_bounded(void **state)
{
	size_t len = INDEX_MAX_BYTES + 1;
	char *blanks = test_alloc(len);

	(void)state;
	assert_true(takes(INDEX_FILES, INDEX_DELTAS));
	assert_int_equal(x.n, INDEX_FILES);
	assert_int_equal(x.file[0].n_deltas, INDEX_DELTAS);
	assert_false(takes(INDEX_FILES + 1, 0));
	assert_contains(why, "files has more than 64");
	assert_false(takes(1, INDEX_DELTAS + 1));
	assert_contains(why, "deltas has more than 256");
	index_free(&x);
	memset(blanks, ' ', len);
	memcpy(blanks, HEAD TIMES "\"files\":[]}",
	    strlen(HEAD TIMES "\"files\":[]}"));
	assert_true(parse(blanks, len - 1));
	assert_false(parse(blanks, len));
	assert_contains(why, "larger than 1048576 bytes");
	memset(blanks, '[', len);
	assert_false(parse(blanks, len - 1));
}

static void
names_are_plain(void **state)
{
	char name[INDEX_NAME_MAX + 2];

	(void)state;
	memset(name, 'a', sizeof(name));
	name[INDEX_NAME_MAX + 1] = '\0';
	assert_false(index_is_name(name));
	name[INDEX_NAME_MAX] = '\0';
	assert_true(index_is_name(name));
	assert_true(index_is_name("a..-_Z9"));
	assert_true(index_is_name("-x"));
}

static void
the_signature_begins_a_line(void **state)
{
	static const char sig[] = "-----BEGIN SSH SIGNATURE-----\nAAAA\n";
	size_t len;

	(void)state;
	assert_false(index_split("", 0, &len));
	assert_int_equal(len, 0);
	assert_true(index_split(sig, strlen(sig), &len));
	assert_int_equal(len, 0);
	assert_true(index_split(format("{}\n%s", sig), strlen(sig) + 3, &len));
	assert_int_equal(len, 3);
	/* Not within a line, and not cut short. */
	assert_false(index_split(format("{} %s", sig), strlen(sig) + 3, &len));
	assert_int_equal(len, strlen(sig) + 3);
	assert_false(index_split((char *)exact_copy(sig, 28), 28, &len));
	assert_true(index_split((char *)exact_copy(sig, 29), 29, &len));
	/* The first one counts. */
	assert_true(index_split(format("x\n%s%s", sig, sig),
	    2 * strlen(sig) + 2, &len));
	assert_int_equal(len, 2);
}

static void
paths_are_those_of_the_manual(void **state)
{
	char path[INDEX_PATH_BYTES];
	uint8_t digest[KV_SHA256_BYTES] = { 0x01, 0xaf };
	char sha256[INDEX_SHA256_BYTES];

	(void)state;
	index_packed_path(SHA1, path);
	assert_string_equal(path, "files/" SHA1 ".xz");
	index_companion_path(SHA1, path);
	assert_string_equal(path, "files/" SHA1);
	index_delta_path(SHA1, "ffff56789abcdef0ffff56789abcdef0" SHA2, path);
	assert_string_equal(path,
	    "deltas/0123456789abcdef0123456789abcdef-"
	    "ffff56789abcdef0ffff56789abcdef0.delta");
	index_format_sha256(digest, sha256);
	assert_string_equal(sha256,
	    "01af000000000000000000000000000000000000000000000000000000000000");
	assert_true(index_is_sha256(sha256));
}

static void
parse_mutant(const uint8_t *p, size_t len, void *arg)
{
	(void)arg;
	(void)parse(p, len);
}

static void
mutants_are_read_or_refused(void **state)
{
	const char *text = with_file(FILTER
	    ",\"deltas\":[" DELTA "]},{" LIST ",\"sources\":{\"sha256\":\"" SHA1
	    "\",\"size\":9}");

	(void)state;
	for_each_mutant(text, strlen(text), parse_mutant, NULL);
	index_free(&x);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_members_are_read),
		TEST(what_is_written_is_read_again),
		TEST(mistakes_of_the_index),
		TEST(a_serial_is_from_1_to_2_53),
		TEST(times_have_one_form),
		TEST(mistakes_of_a_file),
		TEST(mistakes_of_a_delta),
		TEST(numbers_are_bounded),
		TEST(names_are_plain),
		TEST(the_signature_begins_a_line),
		TEST(paths_are_those_of_the_manual),
		TEST(mutants_are_read_or_refused),
	};

	return cmocka_run_group_tests(tests, test_begin, NULL);
}
