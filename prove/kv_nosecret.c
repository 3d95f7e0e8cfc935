/* SPDX-License-Identifier: ISC */
/*
 * The table of points is written a second time by tests/oracle/nosecret.py, from RFC
 * 8032 and the curves' parameters: nosecret_table.h. Numbers have the size of real
 * keys where the code looks at bytes. Where it divides they are small; a step of the
 * division is proved for every word and divisor, and for a modulus of 2 words.
 * That a prime divides a number if it divides the rest of it is arithmetic: see
 * kv_nosecret.c. tests/unit/test_nosecret.c divides all numbers of 16 bits, and by
 * moduli of DSA that are small.
 *
 * shrink lib/kv_nosecret.c: #define DSA_WORDS (KV_MPINT_MAX_BYTES / 4) -> #define DSA_WORDS 2
 * proof  ed25519 [quick] --minisat --unwind 34: Ed25519 keys, in hardware, too
 * proof  composite [quick] --minisat --unwind 34: composite keys, any Ed25519 half
 * proof  p256 [quick] --minisat --unwind 34: ECDSA keys of P-256, in hardware, too
 * proof  p384 [quick] --minisat --unwind 50: ECDSA keys of P-384
 * proof  p521 [quick] --minisat --unwind 68: ECDSA keys of P-521
 * proof  rsa [quick] --minisat --replace has_small_factor:any_factor --unwind 18: RSA keys, numbers of up to NUMBER bytes, any answer of what divides
 * proof  words [quick] --minisat --no-conversion-check --unwind LENGTH+5: numbers of up to LENGTH bytes, in words
 * proof  table [quick] --minisat --unwind 1001: every number below 1000
 * proof  inverse [quick] --minisat --no-conversion-check --unwind 57: the product of each row of primes
 * proof  step [quick] --minisat --no-conversion-check --replace multiple_of:any_multiple --unwind 2: every divisor, every word, every rest, any multiple that fits
 * proof  bit [quick] --minisat --no-conversion-check --unwind 3: every modulus of up to 2 words, every number below it, a bit more
 * proof  small [quick] --minisat --no-conversion-check --unwind 3: the same; 0, 1 and the number before the modulus
 * proof  dsa [quick] --minisat --replace is_trivial:any_trivial --unwind 18: DSA keys, numbers of up to NUMBER bytes, any answer of what divides
 * proof  others [quick] --minisat --unwind 2: keys of other types
 */
#define NUMBER 8
#define LENGTH 9

#include "lib/kv_nosecret.c"

#include "nosecret_table.h"
#include "prove.h"

static bool
is(const char *source, const char *class)
{
	return source != NULL && strcmp(source, class) == 0;
}

/* An integer of up to max bytes, without leading zeros, as kv_sshkey.h promises. */
static struct kv_span
any_integer(size_t max)
{
	size_t len = any_size_up_to(max);
	uint8_t *p = any_end(max, len);

	GIVEN(len == 0 || p[0] != 0);
	return (struct kv_span){ p, len };
}

static bool
equal(const uint8_t *a, const uint8_t *b, size_t len)
{
	bool same = true;

	for (size_t i = 0; i < len; i++)
		same = same && a[i] == b[i];
	return same;
}

/* The unit asks only whether it is 0. This one costs CBMC less than its own. */
int
memcmp(const void *a, const void *b, size_t len)
{
	PROVE(__CPROVER_r_ok(a, len) && __CPROVER_r_ok(b, len), "readable");
	return equal(a, b, len) ? 0 : 1;
}

/* The field of the point is a constant: CBMC takes long for one that is chosen. */
static void
edwards(enum kv_keytype type, size_t field)
{
	struct kv_pubkey k = { .type = type };
	const uint8_t *raw = any_bytes(KV_ED25519_BYTES);
	const char *source;
	bool known = false;

	k.field[field] = (struct kv_span){ raw, KV_ED25519_BYTES };
	for (size_t i = 0; i < COUNT(table_ed25519); i++)
		known = known || equal(raw, table_ed25519[i], KV_ED25519_BYTES);
	source = kv_nosecret_source(&k);
	PROVE(!known || is(source, "ed25519-order"), "every small order");
	PROVE(known || source == NULL, "and no other point");
}

void
ed25519(void)
{
	edwards(nondet_bool() ? KV_KEY_ED25519 : KV_KEY_SK_ED25519, 0);
}

void
composite(void)
{
	edwards(nondet_bool() ? KV_KEY_MLDSA44_ED25519 :
				KV_KEY_MLDSA44_ED25519_OLD,
	    1);
}

static void
ecdsa(enum kv_keytype type, const uint8_t *table, size_t len)
{
	struct kv_pubkey k = { .type = type };
	const uint8_t *point = any_bytes(1 + 2 * len);
	const char *source;
	bool known = false;

	k.field[0] = (struct kv_span){ point, 1 + 2 * len };
	for (size_t i = 0; i < 8; i++)
		known = known || equal(point + 1, table + i * len, len);
	source = kv_nosecret_source(&k);
	PROVE(!known || is(source, "ecdsa-generator"), "every multiple");
	PROVE(known || source == NULL, "and no other point");
}

void
p256(void)
{
	ecdsa(nondet_bool() ? KV_KEY_ECDSA_P256 : KV_KEY_SK_ECDSA_P256,
	    table_nistp256[0], 32);
}

void
p384(void)
{
	ecdsa(KV_KEY_ECDSA_P384, table_nistp384[0], 48);
}

void
p521(void)
{
	ecdsa(KV_KEY_ECDSA_P521, table_nistp521[0], 66);
}

static struct kv_pubkey key;
static bool divides;

bool
any_factor(struct kv_span n)
{
	PROVE(n.p == key.field[1].p && n.len == key.field[1].len,
	    "the modulus");
	return divides;
}

static bool
ends_even(struct kv_span n)
{
	return n.len == 0 || n.p[n.len - 1] % 2 == 0;
}

void
rsa(void)
{
	const char *source;
	bool exponent;

	key.type = KV_KEY_RSA;
	key.field[0] = any_integer(NUMBER);
	key.field[1] = any_integer(NUMBER);
	divides = nondet_bool();
	exponent = ends_even(key.field[0]) ||
	    (key.field[0].len == 1 && key.field[0].p[0] == 1);
	source = kv_nosecret_source(&key);
	PROVE(!exponent || is(source, "rsa-exponent"), "0, 1 or even");
	PROVE(exponent || !(ends_even(key.field[1]) || divides) ||
		is(source, "rsa-factor"),
	    "a small factor");
	PROVE(exponent || ends_even(key.field[1]) || divides || source == NULL,
	    "and no other key");
}

void
words(void)
{
	const struct kv_span n = any_integer(LENGTH);
	struct kv_span left = n;
	uint8_t byte[LENGTH + 3] = { 0 };
	size_t len = 0;

	while (left.len > 0) {
		uint32_t word = cut_word(&left);

		PROVE(left.p == n.p && len < n.len, "from the end");
		for (int i = 0; i < 4; i++, word >>= 8)
			byte[len++] = (uint8_t)word;
	}
	PROVE(len >= n.len && len < n.len + 4, "as few as hold it");
	for (size_t i = 0; i < len; i++)
		PROVE(byte[i] == (i < n.len ? n.p[n.len - 1 - i] : 0),
		    "the bytes, and zeros before them");
}

static uint64_t
product_of_row(size_t i)
{
	return (uint64_t)primes[3 * i] * primes[3 * i + 1] * primes[3 * i + 2];
}

void
table(void)
{
	size_t found = 0;

	for (unsigned int n = 3; n < 1000; n++) {
		bool prime = true;

		for (unsigned int d = 2; d * d <= n; d++)
			prime = prime && n % d != 0;
		if (!prime)
			continue;
		PROVE(primes[found] == n, "every odd prime, in order");
		found++;
	}
	PROVE(found + 1 == COUNT(primes) && primes[found] == 3,
	    "no other number");
	for (size_t i = 0; i < ROWS; i++)
		PROVE(product_of_row(i) < UINT32_MAX, "a product fits");
}

void
inverse(void)
{
	for (size_t i = 0; i < ROWS; i++) {
		uint32_t m = (uint32_t)product_of_row(i);

		PROVE(inverse_of(m) * m == 1, "the inverse");
	}
}

static uint32_t divisor;
static uint64_t multiple;

/*
 * q * m has n as its low half, since q is n * inverse and inverse * m is 1: proof
 * inverse. Its high half is below m, since q is below 2^32.
 */
uint64_t
any_multiple(uint32_t m, uint32_t inverse_of_m, uint32_t n)
{
	PROVE(m == divisor && inverse_of_m == 7, "of this divisor");
	multiple = nondet_u64();
	GIVEN((uint32_t)multiple == n && multiple >> 32 < m);
	return multiple;
}

void
step(void)
{
	uint32_t w = nondet_u32(), rest = nondet_u32(), next;

	divisor = nondet_u32();
	GIVEN(rest <= divisor && divisor < UINT32_MAX);
	next = next_rest(rest, w, divisor, 7);
	PROVE(next <= divisor, "a rest");
	PROVE(multiple + rest == ((uint64_t)next << 32) + w,
	    "w = a multiple + rest - 2^32 * next");
}

/* A number of two words, and what it is below: any modulus. */
static uint32_t number[2], modulus[2];
static uint64_t n_before, m_value;
static size_t n_words;

static uint64_t
value_of(const uint32_t *n)
{
	return n[0] + (n_words == 2 ? (uint64_t)n[1] << 32 : 0);
}

static void
any_number(size_t words)
{
	n_words = words;
	for (size_t i = 0; i < 2; i++) {
		number[i] = nondet_u32();
		modulus[i] = nondet_u32();
	}
	n_before = value_of(number);
	m_value = value_of(modulus);
	GIVEN(n_before < m_value);
}

void
bit(void)
{
	for (size_t words = 1; words <= 2; words++) {
		uint32_t more = nondet_bool();
		unsigned __int128 twice;

		any_number(words);
		twice = (unsigned __int128)n_before * 2 + more;
		append_bit(number, modulus, words, more);
		PROVE(value_of(number) ==
			(twice < m_value ? twice : twice - m_value),
		    "2n + bit modulo m");
		PROVE(value_of(modulus) == m_value, "m is as it was");
	}
}

void
small(void)
{
	for (size_t words = 1; words <= 2; words++) {
		any_number(words);
		PROVE(is_at_most_one(number, words) == (n_before <= 1),
		    "0 or 1");
		PROVE(is_one_less(number, modulus, words) ==
			(n_before + 1 == m_value),
		    "m - 1");
	}
}

static bool g_is_trivial, y_is_trivial;

bool
any_trivial(struct kv_span n, struct kv_span p)
{
	PROVE(p.p == key.field[0].p && p.len == key.field[0].len, "modulo p");
	PROVE(n.p == key.field[2].p || n.p == key.field[3].p, "g or y");
	return n.p == key.field[2].p ? g_is_trivial : y_is_trivial;
}

void
dsa(void)
{
	const char *source;

	key.type = KV_KEY_DSA;
	for (size_t i = 0; i < 4; i++)
		key.field[i] = any_integer(NUMBER);
	g_is_trivial = nondet_bool();
	y_is_trivial = nondet_bool();
	source = kv_nosecret_source(&key);
	PROVE(!(g_is_trivial || y_is_trivial) || is(source, "dsa-group"),
	    "either of them");
	PROVE(g_is_trivial || y_is_trivial || source == NULL,
	    "and no other key");
}

void
others(void)
{
	key.type = nondet_bool() ? KV_KEY_ED448 : KV_KEY_NONE;
	PROVE(kv_nosecret_source(&key) == NULL, "in no class");
}
