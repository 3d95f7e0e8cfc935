/* SPDX-License-Identifier: ISC */
/*
 * What exact lists and filters together make of a key. The filters and lists
 * are made by the oracle.
 */
#include "kv_verdict.h"

#include "testkeys.h"
#include "testlib.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kv_line.h"
#include "kv_log.h"

#define NOW 1700000000
#define LIST_ORACLE "python3 -B tests/oracle/blocklist.py "

/* What one kind of file says of a key. */
enum answer { MISS, HIT, FAILS, ANSWERS };

static struct kv_judge j;
static struct kv_decision d;
static struct testkey key, ca;

static int
close_judge(void **state)
{
	kv_judge_close(&j);
	return test_cleanup(state);
}

#undef TEST
#define TEST(f) cmocka_unit_test_setup_teardown(f, NULL, close_judge)

/* A filter file that lists keys, which are lines of text. */
static const char *
filter_of(const char *name, const char *lines)
{
	const char *keys = tmp_text(format("%s.pub", name), lines);

	output_of(ORACLE "create %s/%s --hashes 12 --length 18 %s", tmp_dir(),
	    name, keys);
	return tmp_path("%s", name);
}

static const char *
list_of(const char *name, int id, const char *lines)
{
	const char *keys = tmp_text(format("%s.pub", name), lines);

	output_of(LIST_ORACLE "create %s/%s --id %d %s", tmp_dir(), name, id,
	    keys);
	return tmp_path("%s", name);
}

static void
configure(const char *text)
{
	kv_judge_close(&j);
	kv_judge_open(&j, tmp_text("keyveto.conf", text), geteuid());
	assert_string_equal(j.broken, "");
}

static void
judge_as(const char *type, const struct blob *blob)
{
	static uint8_t decoded[KV_BLOB_MAX_BYTES];
	struct kv_sshkey offered;
	const char *text = base64_of(blob->p, blob->len);

	memset(&d, 0xa5, sizeof(d));
	kv_judge_offered(&j, span_of(type), span_of(text), decoded,
	    sizeof(decoded), NOW, &offered, &d);
}

static void
judge(const struct testkey *k)
{
	judge_as(kv_keytype_name(k->type), &k->blob);
}

static void
expect(enum kv_verdict verdict, enum kv_action action)
{
	if (d.verdict != verdict || d.action != action)
		fail_msg("%s %s instead of %s %s: %s",
		    kv_verdict_name(d.verdict), kv_action_name(d.action),
		    kv_verdict_name(verdict), kv_action_name(action), d.reason);
}

static void
expect_log(const char *words)
{
	const struct kv_log_context context = { .via = "guard" };
	char line[KV_LOG_LINE_BYTES];

	kv_log_format(&context, &d, line);
	assert_contains(line, words);
}

static void
a_listed_key_is_refused_and_its_source_is_logged(void **state)
{
	const char *list = list_of("a.dat", 13, testkey_line(&key));

	(void)state;
	configure(format("Blocklist %s\n", list));
	judge(&key);
	expect(KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_null(d.filter);
	assert_string_equal(d.list->path, list);
	assert_true(d.list_hits == 1);
	expect_log(format("part=key list=%s source=id13", list));
	judge(&ca);
	expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
	assert_null(d.list);
	tmp_text("a.dat" KV_SOURCES_SUFFIX, "12 git\n13 debianssl\n");
	configure(format("Blocklist %s\n", list));
	judge(&key);
	expect_log(format("list=%s source=debianssl", list));
}

static void
the_exact_list_is_reported_before_a_filter(void **state)
{
	const char *list = list_of("a.dat", 1, testkey_line(&key));

	(void)state;
	configure(format("Filter %s\nBlocklist %s\n",
	    filter_of("a.pkbf", testkey_line(&key)), list));
	judge(&key);
	expect(KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_non_null(d.filter);
	expect_log(format("list=%s source=id1", list));
}

static void
every_list_is_asked(void **state)
{
	(void)state;
	configure(format("Blocklist %s\nBlocklist %s\nBlocklist %s\n",
	    list_of("a.dat", 1, testkey_line(&ca)),
	    list_of("b.dat", 2, testkey_line(&key)),
	    list_of("c.dat", 3, testkey_line(&key))));
	judge(&key);
	assert_string_equal(d.source, "id2");
	assert_true(d.list_hits == 6);
}

static void
key_and_ca_of_a_certificate_and_security_keys_count(void **state)
{
	const char *name = cert_name_of(kv_keytype_name(key.type));
	struct testkey sk;
	struct blob b;

	(void)state;
	configure(
	    format("Blocklist %s\n", list_of("a.dat", 1, testkey_line(&key))));
	testcert_new(&b, &ca, &key);
	judge_as(name, &b);
	expect(KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_int_equal(d.part, KV_PART_CA);
	testcert_new(&b, &key, &ca);
	judge_as(name, &b);
	expect(KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_int_equal(d.part, KV_PART_KEY);
	testkey_sk(&sk, &key, "ssh:");
	judge(&sk);
	expect(KV_VERDICT_LISTED, KV_ACTION_DENY);
}

/* The key with its ML-DSA-44 half, and the one with its Ed25519 half. */
static void
each_half_of_a_composite_key_counts(void **state)
{
	const char *line = line_of_openssh_10_6("composite");
	struct kv_blocklist_hash h;
	struct kv_sshkey parsed;
	uint8_t record[KV_BLOCKLIST_RECORD_BYTES] = { 0 };
	struct blob b;

	(void)state;
	blob_of_line(line, &b);
	assert_err(kv_sshkey_parse(b.p, b.len, &parsed), KV_OK);
	for (size_t i = 0; i < 2; i++) {
		kv_blocklist_hash_key(&parsed.key, i, &h);
		memcpy(record, h.byte, sizeof(h.byte));
		configure(format("Blocklist %s\n",
		    tmp_file("half.dat", record, sizeof(record))));
		judge_as("ssh-mldsa44-ed25519", &b);
		expect(KV_VERDICT_LISTED, KV_ACTION_DENY);
	}
}

static int
compare_records(const void *a, const void *b)
{
	return memcmp(a, b, KV_BLOCKLIST_RECORD_BYTES);
}

/* Both halves are listed under different ids: one is told, and only that one. */
static void
the_first_half_that_is_listed_names_the_source(void **state)
{
	struct kv_blocklist_hash h;
	struct kv_sshkey parsed;
	uint8_t record[2][KV_BLOCKLIST_RECORD_BYTES];
	struct blob b;

	(void)state;
	blob_of_line(line_of_openssh_10_6("composite"), &b);
	assert_err(kv_sshkey_parse(b.p, b.len, &parsed), KV_OK);
	for (size_t i = 0; i < 2; i++) {
		kv_blocklist_hash_key(&parsed.key, i, &h);
		memcpy(record[i], h.byte, sizeof(h.byte));
		record[i][KV_BLOCKLIST_HASH_BYTES] = (uint8_t)(4 + i);
	}
	qsort(record, 2, sizeof(record[0]), compare_records);
	configure(format("Blocklist %s\n",
	    tmp_file("both.dat", record, sizeof(record))));
	judge_as("ssh-mldsa44-ed25519", &b);
	expect(KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_string_equal(d.source, "id4");
	assert_int_equal(d.source_id[0], 4);
}

/* Of such a key (X25519) only the SPKI is known. */
static void
a_type_that_lists_do_not_have_is_clean_only_by_a_filter(void **state)
{
	static const uint8_t spki[] = { 0x30, 0x00 };
	const char *list = list_of("a.dat", 1, testkey_line(&key));

	(void)state;
	configure(format("Blocklist %s\n", list));
	kv_judge_spki(&j, spki, sizeof(spki), NULL, &d);
	expect(KV_VERDICT_UNSUPPORTED, KV_ACTION_ALLOW);
	assert_string_equal(d.reason, "exact lists have no keys of this type");
	configure(format("Blocklist %s\nFilter %s\n", list,
	    filter_of("a.pkbf", testkey_line(&key))));
	kv_judge_spki(&j, spki, sizeof(spki), NULL, &d);
	expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
}

static void
negated_point_and_other_exponent_are_listed(void **state)
{
	static const uint8_t three[] = { 3 }, usual[] = { 1, 0, 1 };
	uint8_t n[256];
	struct testkey a, b, p;

	(void)state;
	testkey_new(&a, KV_KEY_RSA);
	memcpy(n, a.blob.p + a.blob.len - sizeof(n), sizeof(n));
	testkey_rsa_numbers(&a, three, sizeof(three), n, sizeof(n));
	testkey_rsa_numbers(&b, usual, sizeof(usual), n, sizeof(n));
	testkey_new(&p, KV_KEY_ECDSA_P256);
	configure(format("Blocklist %s\n",
	    list_of("a.dat", 1,
		format("%s\n%s\n", testkey_line(&a), testkey_line(&p)))));
	judge(&b);
	expect(KV_VERDICT_LISTED, KV_ACTION_DENY);
	/* Only x is hashed, so any other y will do. */
	p.blob.p[p.blob.len - 1] ^= 0xff;
	judge(&p);
	expect(KV_VERDICT_LISTED, KV_ACTION_DENY);
}

/* A filter that gives this answer about the key. The oracle makes it once. */
static const char *
answering_filter(enum answer answer)
{
	const char *name = format("f%d.pkbf", (int)answer);

	if (access(tmp_path("%s", name), F_OK) == 0)
		return tmp_path("%s", name);
	if (answer == FAILS)
		return tmp_text(name, "damaged");
	return filter_of(name, answer == HIT ? testkey_line(&key) : "# none\n");
}

/* The same, of exact lists. */
static const char *
answering_list(enum answer answer)
{
	const char *name = format("l%d.dat", (int)answer);

	if (access(tmp_path("%s", name), F_OK) == 0)
		return tmp_path("%s", name);
	if (answer == FAILS)
		return tmp_text(name, "not whole records");
	return list_of(name, 1, testkey_line(answer == HIT ? &key : &ca));
}

/* What manuals say: the verdict of one key, and the action on it. */
static void
model(enum answer filter, enum answer list, enum kv_action on_hit,
    enum kv_action on_probable, enum kv_action on_error,
    enum kv_verdict *verdict, enum kv_action *action)
{
	if (list == HIT) {
		*verdict = KV_VERDICT_LISTED;
		*action = on_hit;
	} else if (filter == HIT && list == FAILS && on_hit == KV_ACTION_DENY &&
	    on_probable == KV_ACTION_WARN) {
		/* The list could have said that the key is to be refused. */
		*verdict = KV_VERDICT_ERROR;
		*action = on_error;
	} else if (filter == HIT) {
		*verdict = KV_VERDICT_LISTED;
		*action = on_probable;
	} else if (filter == FAILS || list == FAILS) {
		*verdict = KV_VERDICT_ERROR;
		*action = on_error;
	} else {
		*verdict = KV_VERDICT_CLEAN;
		*action = KV_ACTION_ALLOW;
	}
}

static void
actions_follow_the_table(void **state)
{
	static const char *const words[] = { "deny", "warn", "allow" };
	enum kv_verdict verdict;
	enum kv_action action;

	(void)state;
	for (int i = 0; i < ANSWERS * ANSWERS * 2 * 3 * 2; i++) {
		enum answer filter = (enum answer)(i % ANSWERS);
		enum answer list = (enum answer)(i / ANSWERS % ANSWERS);
		int rest = i / (ANSWERS * ANSWERS);
		enum kv_action on_hit = (enum kv_action)(rest % 2);
		enum kv_action on_error = rest / 2 % 2 == 0 ?
		    KV_ACTION_DENY :
		    KV_ACTION_ALLOW;
		enum kv_action on_probable = (enum kv_action)(rest / 4);
		const char *probable_line = on_probable == KV_ACTION_ALLOW ?
		    "" :
		    format("OnProbable %s\n", words[on_probable]);

		/* Without a line it is as OnHit. */
		if (on_probable == KV_ACTION_ALLOW)
			on_probable = on_hit;
		configure(format("Blocklist %s\n%sFilter %s\nOnHit %s\n"
				 "OnError %s\n",
		    answering_list(list), probable_line,
		    answering_filter(filter), words[on_hit], words[on_error]));
		model(filter, list, on_hit, on_probable, on_error, &verdict,
		    &action);
		judge(&key);
		expect(verdict, action);
	}
}

/* A part that is let in must not hide one that is refused. */
static void
the_part_that_is_refused_decides(void **state)
{
	const char *name = cert_name_of(kv_keytype_name(key.type));
	const char *filter = filter_of("f.pkbf", testkey_line(&key));
	struct blob b, turned;

	(void)state;
	testcert_new(&b, &key, &ca);
	testcert_new(&turned, &ca, &key);
	configure(format("Filter %s\nBlocklist %s\nOnProbable warn\n", filter,
	    list_of("a.dat", 1, testkey_line(&ca))));
	judge_as(name, &b);
	expect(KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_int_equal(d.part, KV_PART_CA);
	judge_as(name, &turned);
	expect(KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_int_equal(d.part, KV_PART_KEY);
	configure(format("Filter %s\nBlocklist %s\nOnHit warn\n"
			 "OnProbable deny\n",
	    filter, tmp_path("a.dat")));
	judge_as(name, &b);
	expect(KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_int_equal(d.part, KV_PART_KEY);
	judge_as(name, &turned);
	expect(KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_int_equal(d.part, KV_PART_CA);
	/* With both let in, the certain hit is reported. */
	configure(format("Filter %s\nBlocklist %s\nOnHit warn\n", filter,
	    tmp_path("a.dat")));
	judge_as(name, &b);
	expect(KV_VERDICT_LISTED, KV_ACTION_WARN);
	assert_int_equal(d.part, KV_PART_CA);
}

static void
allowed_keys_pass_an_exact_list(void **state)
{
	(void)state;
	configure(
	    format("Blocklist %s\n", list_of("a.dat", 1, testkey_line(&key))));
	judge(&key);
	configure(format("Blocklist %s\nAllowKey %s a week\n",
	    tmp_path("a.dat"), d.fingerprint));
	judge(&key);
	expect(KV_VERDICT_ALLOWED, KV_ACTION_ALLOW);
}

/* An SPKI has no key that could be hashed: the caller gives the hash. */
static void
spkis_are_judged_by_their_hash(void **state)
{
	struct kv_blocklist_hash listed, other;
	struct kv_sshkey k;

	(void)state;
	assert_err(kv_sshkey_parse(key.blob.p, key.blob.len, &k), KV_OK);
	kv_blocklist_hash_key(&k.key, 0, &listed);
	assert_err(kv_sshkey_parse(ca.blob.p, ca.blob.len, &k), KV_OK);
	kv_blocklist_hash_key(&k.key, 0, &other);
	configure(
	    format("Blocklist %s\n", list_of("a.dat", 1, testkey_line(&key))));
	kv_judge_spki(&j, key.spki[0].p, key.spki[0].len, &listed, &d);
	expect(KV_VERDICT_LISTED, KV_ACTION_DENY);
	kv_judge_spki(&j, ca.spki[0].p, ca.spki[0].len, &other, &d);
	expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
	kv_judge_spki(&j, key.spki[0].p, key.spki[0].len, NULL, &d);
	expect(KV_VERDICT_UNSUPPORTED, KV_ACTION_ALLOW);
	assert_contains(d.reason, "no keys of this type");
}

static void
an_unsorted_list_is_an_error(void **state)
{
	uint8_t records[2 * KV_BLOCKLIST_RECORD_BYTES] = { 9 };

	(void)state;
	configure(format("Blocklist %s\n",
	    tmp_file("a.dat", records, sizeof(records))));
	judge(&key);
	expect(KV_VERDICT_ERROR, KV_ACTION_DENY);
	assert_contains(d.reason,
	    "a.dat: the records of the list are not in order");
}

static void
there_is_no_default_filter_beside_a_list(void **state)
{
	struct kv_config c;
	char why[KV_CONFIG_WHY_BYTES];

	(void)state;
	assert_err(kv_config_parse("Blocklist /a", 12, "f", &c, why), KV_OK);
	assert_int_equal(c.n_filters, 0);
	assert_int_equal(c.n_blocklists, 1);
	assert_string_equal(c.blocklist[0], "/a");
	kv_config_free(&c);
	assert_err(kv_config_parse("Blocklist a\n", 12, "f", &c, why),
	    KV_ERR_CONFIG);
	assert_string_equal(why,
	    "f:1: Blocklist needs an absolute path, not \"a\"");
	assert_int_equal(c.n_filters, 1);
	kv_config_free(&c);
}

static void
descriptors_are_closed_again(void **state)
{
	size_t before = count_descriptors();

	(void)state;
	tmp_text("a.dat" KV_SOURCES_SUFFIX, "1 git\n");
	configure(format("Blocklist %s\nBlocklist %s\n",
	    list_of("a.dat", 1, testkey_line(&key)),
	    tmp_text("b.dat", "damaged")));
	assert_int_equal(count_descriptors(), before + 2);
	kv_judge_close(&j);
	assert_int_equal(count_descriptors(), before);
}

static int
make_keys(void **state)
{
	test_begin(state);
	testkey_new(&key, KV_KEY_ED25519);
	testkey_new(&ca, KV_KEY_ED25519);
	return test_cleanup(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_listed_key_is_refused_and_its_source_is_logged),
		TEST(the_exact_list_is_reported_before_a_filter),
		TEST(every_list_is_asked),
		TEST(key_and_ca_of_a_certificate_and_security_keys_count),
		TEST(each_half_of_a_composite_key_counts),
		TEST(the_first_half_that_is_listed_names_the_source),
		TEST(a_type_that_lists_do_not_have_is_clean_only_by_a_filter),
		TEST(negated_point_and_other_exponent_are_listed),
		TEST(actions_follow_the_table),
		TEST(the_part_that_is_refused_decides),
		TEST(allowed_keys_pass_an_exact_list),
		TEST(spkis_are_judged_by_their_hash),
		TEST(an_unsorted_list_is_an_error),
		TEST(there_is_no_default_filter_beside_a_list),
		TEST(descriptors_are_closed_again),
	};

	return cmocka_run_group_tests(tests, make_keys, NULL);
}
