/* SPDX-License-Identifier: ISC */
#include "kv_base64.h"

#include "testlib.h"

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/*
 * Decodes a copy of exactly the text's size, into KV_BASE64_DECODED_MAX bytes.
 */
static enum kv_err
decode(const char *text, size_t len, uint8_t *out, size_t *lenp)
{
	const char *copy = (const char *)exact_copy(text, len);

	return kv_base64_decode(copy, len, out, KV_BASE64_DECODED_MAX(len),
	    lenp);
}

static void
decodes_to(const char *text, const char *want)
{
	uint8_t *out = test_alloc(KV_BASE64_DECODED_MAX(strlen(text)));
	size_t len;

	assert_ok(decode(text, strlen(text), out, &len));
	assert_bytes(out, len, want, strlen(want));
}

static void
refused(const char *text)
{
	uint8_t *out = test_alloc(KV_BASE64_DECODED_MAX(strlen(text)));
	size_t len = 1;

	if (decode(text, strlen(text), out, &len) != KV_ERR_BASE64)
		fail_msg("not refused: %s", text);
	assert_int_equal(len, 0);
}

/* Whole groups, as many as there are, and as many as have room. */
TEST_CASE(groups_are_decoded_as_far_as_they_fit)
{
	static const char text[] = "S2V5dmV0byE/S2V5dmV0byE/",
			  want[] = "Keyveto!?Key";

	for (size_t len = 0; len <= strlen(text); len++) {
		for (size_t cap = 0; cap < 12; cap++) {
			size_t in = len / 4, room = cap / 3;
			size_t groups = in < room ? in : room;
			uint8_t *out = exact_copy(want, cap);

			memset(out, 0, cap);
			assert_int_equal(
			    kv_base64_decode_groups(exact_copy(text, len), len,
				out, cap),
			    4 * groups);
			assert_bytes(out, 3 * groups, want, 3 * groups);
			for (size_t i = 3 * groups; i < cap; i++)
				assert_int_equal(out[i], 0);
		}
	}
	/* A group with anything else in it is left to the caller. */
	for (size_t i = 0; i < 4; i++) {
		uint8_t two[] = "S2V5dmV0", out[6];

		two[4 + i] = '=';
		assert_int_equal(kv_base64_decode_groups(two, 8, out, 6), 4);
		two[4 + i] = '\n';
		assert_int_equal(kv_base64_decode_groups(two, 8, out, 6), 4);
		two[4 + i] = '-';
		assert_int_equal(kv_base64_decode_groups(two, 8, out, 6), 4);
	}
}

TEST_CASE(decodes_what_openssl_encodes)
{
	uint8_t data[700], out[KV_BASE64_DECODED_MAX(936)];
	size_t len;

	for (size_t n = 0; n <= sizeof(data); n++) {
		const char *text;

		fresh_bytes(data, n);
		text = base64_of(data, n);
		assert_ok(decode(text, strlen(text), out, &len));
		assert_bytes(out, len, data, n);
	}
}

TEST_CASE(encodes_as_openssl_does_without_padding)
{
	uint8_t data[300];

	for (size_t n = 0; n <= sizeof(data); n++) {
		size_t chars = (n * 4 + 2) / 3;
		char *want, *out = keep(malloc(chars + 1));

		fresh_bytes(data, n);
		want = base64_of(data, n);
		want[strcspn(want, "=")] = '\0';
		kv_base64_encode_unpadded(exact_copy(data, n), n, out);
		assert_string_equal(out, want);
	}
}

TEST_CASE(empty_text_decodes_to_nothing)
{
	decodes_to("", "");
	decodes_to(" \t\r\n\v\f", "");
}

TEST_CASE(blanks_are_skipped_anywhere)
{
	static const char blanks[] = " \t\n\v\f\r";

	for (const char *b = blanks; *b != '\0'; b++) {
		decodes_to(format("%cS%cG%ck%c=%c", *b, *b, *b, *b, *b), "Hi");
		decodes_to(format("S%cA=%c=%c", *b, *b, *b), "H");
		decodes_to(format("SGk%c%chIQ==", *b, *b), "Hi!!");
	}
}

/* The text with blanks before random characters. */
static char *
with_blanks(const char *text)
{
	char *spaced = test_alloc(2 * strlen(text) + 1), *out = spaced;

	for (; *text != '\0'; text++) {
		if (rng_below(6) == 0)
			*out++ = " \t\n\v\f\r"[rng_below(6)];
		*out++ = *text;
	}
	return spaced;
}

TEST_CASE(blanks_change_nothing)
{
	uint8_t data[90], *out;
	size_t len;

	for (int round = 0; round < 3000; round++) {
		size_t n = rng_below(sizeof(data)), cap;
		const char *text;

		fresh_bytes(data, n);
		text = with_blanks(base64_of(data, n));
		out = exact_copy(data, n);
		assert_ok(kv_base64_decode(text, strlen(text), out, n, &len));
		assert_bytes(out, len, data, n);
		cap = n > 0 ? rng_below(n) : 0;
		assert_err(kv_base64_decode(text, strlen(text),
			       exact_copy(data, cap), cap, &len),
		    n > 0 ? KV_ERR_NO_SPACE : KV_OK);
		test_cleanup(NULL);
	}
}

TEST_CASE(every_other_byte_is_refused)
{
	uint8_t out[6];
	size_t len;

	for (int c = 0; c < 256; c++) {
		bool letter = c != 0 && strchr(alphabet, c) != NULL;
		bool blank = c != 0 && strchr(" \t\n\v\f\r", c) != NULL;
		char text[] = { 'A', (char)c, 'A', 'A', 'A' };

		/* A blank is skipped; a letter is one character too many. */
		assert_err(kv_base64_decode(text, 5, out, sizeof(out), &len),
		    blank ? KV_OK : KV_ERR_BASE64);
		assert_err(kv_base64_decode(text, 4, out, sizeof(out), &len),
		    letter ? KV_OK : KV_ERR_BASE64);
	}
}

TEST_CASE(url_alphabet_is_refused)
{
	decodes_to("fn5+", "~~~");
	refused("fn5-");
	refused("fn5_");
	refused("__8=");
	refused("--8=");
}

TEST_CASE(padding_is_exact)
{
	static const char *const bad[] = { "=", "==", "A",
		"A=", "A==", "A===", "AA", "AA=", "AA===", "AAA",
		"AAA==", "AAAA=", "AAAA==", "AAAA====", "AAAAA", "AA=A",
		"AA==A", "AA==AAAA", "AAA=A", "AAA=AAAA", "=AAA", "A=AA",
		"AA= =A", "AAAAA=", "AAAAAA=", "AAAA=AAA" };

	decodes_to("SA==", "H");
	decodes_to("SGk=", "Hi");
	for (size_t i = 0; i < COUNT(bad); i++)
		refused(bad[i]);
}

TEST_CASE(spare_bits_are_zero)
{
	uint8_t out[6];
	size_t len;

	for (size_t i = 0; i < 64; i++) {
		const char *two = format("A%c==", alphabet[i]);
		const char *three = format("AA%c=", alphabet[i]);

		assert_err(kv_base64_decode(two, 4, out, sizeof(out), &len),
		    i % 16 == 0 ? KV_OK : KV_ERR_BASE64);
		assert_err(kv_base64_decode(three, 4, out, sizeof(out), &len),
		    i % 4 == 0 ? KV_OK : KV_ERR_BASE64);
	}
}

TEST_CASE(result_that_does_not_fit_is_refused)
{
	uint8_t data[64];
	size_t len;

	fresh_bytes(data, sizeof(data));
	for (size_t n = 1; n <= sizeof(data); n++) {
		const char *text = base64_of(data, n);

		for (size_t cap = 0; cap < n; cap++) {
			uint8_t *out = exact_copy(data, cap);

			assert_err(kv_base64_decode(text, strlen(text), out,
				       cap, &len),
			    KV_ERR_NO_SPACE);
			assert_int_equal(len, 0);
		}
		assert_ok(kv_base64_decode(text, strlen(text),
		    exact_copy(data, n), n, &len));
	}
}

TEST_CASE(text_and_result_may_share_memory)
{
	uint8_t data[200];
	size_t len;

	for (size_t n = 0; n <= sizeof(data); n++) {
		char *text;

		fresh_bytes(data, n);
		text = base64_of(data, n);
		assert_ok(kv_base64_decode(text, strlen(text), (uint8_t *)text,
		    strlen(text), &len));
		assert_bytes(text, len, data, n);
	}
}

static void
decode_any(const uint8_t *p, size_t len, void *arg)
{
	uint8_t out[64];
	size_t n;

	if (kv_base64_decode((const char *)p, len, out, sizeof(out), &n) ==
	    KV_OK) {
		assert_true(n <= KV_BASE64_DECODED_MAX(len));
		++*(size_t *)arg;
	} else
		assert_int_equal(n, 0);
}

TEST_CASE(mutants_are_decoded_or_refused)
{
	static const char text[] = "VGhlIHF1aWNrIGJyb3duIGZveA==";
	size_t accepted = 0;

	for_each_mutant(text, strlen(text), decode_any, &accepted);
	assert_true(accepted > 0);
}
