/* SPDX-License-Identifier: ISC */
/*
 * What exact lists and filters together make of a key. The filters and lists
 * are made by the oracle.
 */
#include "testjudge.h"

/* What one kind of file says of a key. */
enum answer { MISS, HIT, FAILS, ANSWERS };

static struct testkey key, ca;

/* The configuration has no mistake. */
#define CONFIGURE(...) \
	do { \
		configure(__VA_ARGS__); \
		assert_string_equal(j.broken, ""); \
	} while (0)

TEST_CASE(a_listed_key_is_refused_and_its_source_is_logged)
{
	const char *list = list_of("a.dat", 13, testkey_line(&key));

	CONFIGURE("Blocklist %s\n", list);
	expect_of(&key, KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_null(d.filter);
	assert_string_equal(d.list->path, list);
	assert_true(d.list_hits == 1);
	expect_log(format("part=key list=%s source=id13", list));
	expect_of(&ca, KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
	assert_null(d.list);
	tmp_text("a.dat" KV_SOURCES_SUFFIX, "12 git\n13 debianssl\n");
	CONFIGURE("Blocklist %s\n", list);
	judge(&key);
	expect_log(format("list=%s source=debianssl", list));
}

TEST_CASE(the_exact_list_is_reported_before_a_filter)
{
	const char *list = list_of("a.dat", 1, testkey_line(&key));

	CONFIGURE("Filter %s\nBlocklist %s\n",
	    filter_of("a.pkbf", testkey_line(&key)), list);
	expect_of(&key, KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_non_null(d.filter);
	expect_log(format("list=%s source=id1", list));
}

TEST_CASE(every_list_is_asked)
{
	CONFIGURE("Blocklist %s\nBlocklist %s\nBlocklist %s\n",
	    list_of("a.dat", 1, testkey_line(&ca)),
	    list_of("b.dat", 2, testkey_line(&key)),
	    list_of("c.dat", 3, testkey_line(&key)));
	judge(&key);
	assert_string_equal(d.source, "id2");
	assert_true(d.list_hits == 6);
}

TEST_CASE(key_and_ca_of_a_certificate_and_security_keys_count)
{
	const char *name = cert_name_of(kv_keytype_name(key.type));
	struct testkey sk;
	struct blob b;

	CONFIGURE("Blocklist %s\n", list_of("a.dat", 1, testkey_line(&key)));
	testcert_new(&b, &ca, &key);
	expect_as(name, &b, KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_int_equal(d.part, KV_PART_CA);
	testcert_new(&b, &key, &ca);
	expect_as(name, &b, KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_int_equal(d.part, KV_PART_KEY);
	testkey_sk(&sk, &key, "ssh:");
	expect_of(&sk, KV_VERDICT_LISTED, KV_ACTION_DENY);
}

/* The key with its ML-DSA-44 half, and the one with its Ed25519 half. */
TEST_CASE(each_half_of_a_composite_key_counts)
{
	const char *line = line_of_openssh_10_6("composite");
	struct kv_blocklist_hash h;
	struct kv_sshkey parsed;
	uint8_t record[KV_BLOCKLIST_RECORD_BYTES] = { 0 };
	struct blob b;

	blob_of_line(line, &b);
	assert_ok(kv_sshkey_parse(b.p, b.len, &parsed));
	for (size_t i = 0; i < 2; i++) {
		kv_blocklist_hash_key(&parsed.key, i, &h);
		memcpy(record, h.byte, sizeof(h.byte));
		CONFIGURE("Blocklist %s\n",
		    tmp_file("half.dat", record, sizeof(record)));
		expect_as("ssh-mldsa44-ed25519", &b, KV_VERDICT_LISTED,
		    KV_ACTION_DENY);
	}
}

static int
compare_records(const void *a, const void *b)
{
	return memcmp(a, b, KV_BLOCKLIST_RECORD_BYTES);
}

/* Both halves are listed under different ids: one is told, and only that one. */
TEST_CASE(the_first_half_that_is_listed_names_the_source)
{
	struct kv_blocklist_hash h;
	struct kv_sshkey parsed;
	uint8_t record[2][KV_BLOCKLIST_RECORD_BYTES];
	struct blob b;

	blob_of_line(line_of_openssh_10_6("composite"), &b);
	assert_ok(kv_sshkey_parse(b.p, b.len, &parsed));
	for (size_t i = 0; i < 2; i++) {
		kv_blocklist_hash_key(&parsed.key, i, &h);
		memcpy(record[i], h.byte, sizeof(h.byte));
		record[i][KV_BLOCKLIST_HASH_BYTES] = (uint8_t)(4 + i);
	}
	qsort(record, 2, sizeof(record[0]), compare_records);
	CONFIGURE("Blocklist %s\n",
	    tmp_file("both.dat", record, sizeof(record)));
	expect_as("ssh-mldsa44-ed25519", &b, KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_string_equal(d.source, "id4");
	assert_int_equal(d.source_id[0], 4);
}

/* Of such a key (X25519) only the SPKI is known. */
TEST_CASE(a_type_that_lists_do_not_have_is_clean_only_by_a_filter)
{
	static const uint8_t spki[] = { 0x30, 0x00 };
	const char *list = list_of("a.dat", 1, testkey_line(&key));

	CONFIGURE("Blocklist %s\n", list);
	kv_judge_spki(&j, spki, sizeof(spki), NULL, &d);
	expect(KV_VERDICT_UNSUPPORTED, KV_ACTION_ALLOW);
	assert_string_equal(d.reason, "exact lists have no keys of this type");
	CONFIGURE("Blocklist %s\nFilter %s\n", list,
	    filter_of("a.pkbf", testkey_line(&key)));
	kv_judge_spki(&j, spki, sizeof(spki), NULL, &d);
	expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
}

TEST_CASE(negated_point_and_other_exponent_are_listed)
{
	static const uint8_t three[] = { 3 }, usual[] = { 1, 0, 1 };
	uint8_t n[256];
	struct testkey a, b, p;

	testkey_new(&a, KV_KEY_RSA);
	memcpy(n, a.blob.p + a.blob.len - sizeof(n), sizeof(n));
	testkey_rsa_numbers(&a, three, sizeof(three), n, sizeof(n));
	testkey_rsa_numbers(&b, usual, sizeof(usual), n, sizeof(n));
	testkey_new(&p, KV_KEY_ECDSA_P256);
	CONFIGURE("Blocklist %s\n",
	    list_of("a.dat", 1,
		format("%s\n%s\n", testkey_line(&a), testkey_line(&p))));
	expect_of(&b, KV_VERDICT_LISTED, KV_ACTION_DENY);
	/* Only x is hashed, so any other y will do. */
	p.blob.p[p.blob.len - 1] ^= 0xff;
	expect_of(&p, KV_VERDICT_LISTED, KV_ACTION_DENY);
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

TEST_CASE(actions_follow_the_table)
{
	static const char *const words[] = { "deny", "warn", "allow" };
	enum kv_verdict verdict;
	enum kv_action action;

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
		CONFIGURE("Blocklist %s\n%sFilter %s\nOnHit %s\n"
			  "OnError %s\n",
		    answering_list(list), probable_line,
		    answering_filter(filter), words[on_hit], words[on_error]);
		model(filter, list, on_hit, on_probable, on_error, &verdict,
		    &action);
		expect_of(&key, verdict, action);
	}
}

/* A part that is let in must not hide one that is refused. */
TEST_CASE(the_part_that_is_refused_decides)
{
	const char *name = cert_name_of(kv_keytype_name(key.type));
	const char *filter = filter_of("f.pkbf", testkey_line(&key));
	struct blob b, turned;

	testcert_new(&b, &key, &ca);
	testcert_new(&turned, &ca, &key);
	CONFIGURE("Filter %s\nBlocklist %s\nOnProbable warn\n", filter,
	    list_of("a.dat", 1, testkey_line(&ca)));
	expect_as(name, &b, KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_int_equal(d.part, KV_PART_CA);
	expect_as(name, &turned, KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_int_equal(d.part, KV_PART_KEY);
	CONFIGURE("Filter %s\nBlocklist %s\nOnHit warn\n"
		  "OnProbable deny\n",
	    filter, tmp_path("a.dat"));
	expect_as(name, &b, KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_int_equal(d.part, KV_PART_KEY);
	expect_as(name, &turned, KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_int_equal(d.part, KV_PART_CA);
	/* With both let in, the certain hit is reported. */
	CONFIGURE("Filter %s\nBlocklist %s\nOnHit warn\n", filter,
	    tmp_path("a.dat"));
	expect_as(name, &b, KV_VERDICT_LISTED, KV_ACTION_WARN);
	assert_int_equal(d.part, KV_PART_CA);
}

TEST_CASE(allowed_keys_pass_an_exact_list)
{
	CONFIGURE("Blocklist %s\n", list_of("a.dat", 1, testkey_line(&key)));
	judge(&key);
	CONFIGURE("Blocklist %s\nAllowKey %s a week\n", tmp_path("a.dat"),
	    d.fingerprint);
	expect_of(&key, KV_VERDICT_ALLOWED, KV_ACTION_ALLOW);
}

/* An SPKI has no key that could be hashed: the caller gives the hash. */
TEST_CASE(spkis_are_judged_by_their_hash)
{
	struct kv_blocklist_hash listed, other;
	struct kv_sshkey k;

	assert_ok(kv_sshkey_parse(key.blob.p, key.blob.len, &k));
	kv_blocklist_hash_key(&k.key, 0, &listed);
	assert_ok(kv_sshkey_parse(ca.blob.p, ca.blob.len, &k));
	kv_blocklist_hash_key(&k.key, 0, &other);
	CONFIGURE("Blocklist %s\n", list_of("a.dat", 1, testkey_line(&key)));
	kv_judge_spki(&j, key.spki[0].p, key.spki[0].len, &listed, &d);
	expect(KV_VERDICT_LISTED, KV_ACTION_DENY);
	kv_judge_spki(&j, ca.spki[0].p, ca.spki[0].len, &other, &d);
	expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
	kv_judge_spki(&j, key.spki[0].p, key.spki[0].len, NULL, &d);
	expect(KV_VERDICT_UNSUPPORTED, KV_ACTION_ALLOW);
	assert_contains(d.reason, "no keys of this type");
}

TEST_CASE(an_unsorted_list_is_an_error)
{
	uint8_t records[2 * KV_BLOCKLIST_RECORD_BYTES] = { 9 };

	CONFIGURE("Blocklist %s\n",
	    tmp_file("a.dat", records, sizeof(records)));
	expect_of(&key, KV_VERDICT_ERROR, KV_ACTION_DENY);
	assert_contains(d.reason,
	    "a.dat: the records of the list are not in order");
}

TEST_CASE(there_is_no_default_filter_beside_a_list)
{
	struct kv_config c;
	char why[KV_CONFIG_WHY_BYTES];

	assert_ok(kv_config_parse("Blocklist /a", 12, "f", &c, why));
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

TEST_CASE(descriptors_are_closed_again)
{
	size_t before = count_descriptors();

	tmp_text("a.dat" KV_SOURCES_SUFFIX, "1 git\n");
	CONFIGURE("Blocklist %s\nBlocklist %s\n",
	    list_of("a.dat", 1, testkey_line(&key)),
	    tmp_text("b.dat", "damaged"));
	assert_int_equal(count_descriptors(), before + 2);
	kv_judge_close(&j);
	assert_int_equal(count_descriptors(), before);
}

static void
make_keys(void)
{
	testkey_new(&key, KV_KEY_ED25519);
	testkey_new(&ca, KV_KEY_ED25519);
}

int
main(void)
{
	return run_all_tests(&(struct fixture){ .before_all = make_keys,
	    .after_each = close_judge });
}
