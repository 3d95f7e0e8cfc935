/* SPDX-License-Identifier: ISC */
/*
 * The table of points is computed a second time by tests/oracle/nosecret.py, from RFC
 * 8032 and the curves' parameters: run.py has it write nosecret_table.h. Numbers have
 * the size of real keys where the code looks at bytes. Where it divides they are small;
 * a step of the division is proved for every word and divisor, and for a modulus of 2
 * words. That a prime divides a number if it divides the rest of it, and what a
 * multiplication by its inverse says, is arithmetic: see kv_nosecret.c.
 * tests/unit/test_nosecret.c divides all numbers of 16 bits, and by moduli of DSA that
 * are small.
 *
 * shrink lib/kv_nosecret.c: #define DSA_WORDS (KV_MPINT_MAX_BYTES / 4) -> #define DSA_WORDS 2
 * proof  ed25519 [quick] --minisat --unwind 34: Ed25519 keys, in hardware, too
 * proof  composite [quick] --minisat --unwind 34: composite keys, any Ed25519 half
 * proof  p256 [quick] --minisat --unwind 34: ECDSA keys of P-256, in hardware, too
 * proof  p384 [quick] --minisat --unwind 50: ECDSA keys of P-384
 * proof  p521 [quick] --minisat --unwind 68: ECDSA keys of P-521
 * proof  rsa [quick] --minisat --replace has_small_factor:any_factor --unwind 18: RSA keys, numbers of up to NUMBER bytes, any answer of what divides
 * proof  words [quick] --minisat --no-conversion-check --unwind LENGTH+5: numbers of up to LENGTH bytes, in words
 * proof  table [quick] --minisat --no-conversion-check --unwind 1001: every number below 1000
 * proof  chunk [quick] --minisat --no-conversion-check --unwind 17: any 15 bytes
 * proof  step [quick] --minisat --no-conversion-check --replace product_of:any_product --unwind 2: every divisor, every chunk, every rest, any products that fit
 * proof  limb_left [quick] --minisat --no-conversion-check --replace product_of:any_multiple --unwind 2: every divisor, every rest, any multiple that fits
 * proof  primes [quick] --minisat --no-conversion-check --replace product_of:any_product_of --unwind 8: every divisor, every rest, any products
 * proof  division [quick] --minisat --replace read_chunk:any_chunk --replace append_chunk:any_sum --replace shorten:any_limb --replace has_prime:any_prime --unwind MODULUS+2: numbers of up to MODULUS bytes, any answer of what divides
 * proof  bit [quick] --minisat --no-conversion-check --unwind 3: every modulus of up to 2 words, every number below it, a bit more
 * proof  small [quick] --minisat --no-conversion-check --unwind 3: the same; 0, 1 and the number before the modulus
 * proof  dsa [quick] --minisat --replace is_trivial:any_trivial --unwind 18: DSA keys, numbers of up to NUMBER bytes, any answer of what divides
 * proof  others [quick] --minisat --unwind 2: keys of other types
 */
#define NUMBER 8
#define LENGTH 9
#define MODULUS 31

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

PROOF(ed25519, edwards(nondet_bool() ? KV_KEY_ED25519 : KV_KEY_SK_ED25519, 0))

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

PROOF(p256,
    ecdsa(nondet_bool() ? KV_KEY_ECDSA_P256 : KV_KEY_SK_ECDSA_P256,
	table_nistp256[0], 32))
PROOF(p384, ecdsa(KV_KEY_ECDSA_P384, table_nistp384[0], 48))
PROOF(p521, ecdsa(KV_KEY_ECDSA_P521, table_nistp521[0], 66))

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

/* Each product of primes of a row is below this: proof table. */
#define DIVISOR_MAX ((limb)1 << 60)

void
table(void)
{
	static size_t found[1000];

	for (size_t i = 0; i < COUNT(divisors) * PRIMES; i++) {
		const struct divisor *d = &divisors[i / PRIMES];
		const limb most = d->prime[i % PRIMES].most;
		const limb p = most > 0 ? (limb)-1 / most : 0;

		PROVE(p >= 3 && p < COUNT(found) && most == (limb)-1 / p,
		    "the most that fits");
		PROVE((limb)(d->prime[i % PRIMES].inverse * p) == 1,
		    "the inverse of the prime");
		PROVE(d->m % p == 0, "it divides the product");
		found[p]++;
	}
	for (unsigned int n = 0; n < COUNT(found); n++) {
		bool prime = n >= 3;

		for (unsigned int i = 2; i * i <= n; i++)
			prime = prime && n % i != 0;
		PROVE(found[n] == (prime ? 1 + (n == 3) : 0),
		    "every odd prime once, and 3 twice");
	}
	for (size_t i = 0; i < COUNT(divisors); i++) {
		const struct divisor *d = &divisors[i];
		const wide power = (wide)1 << 8 * CHUNK_BYTES;

		PROVE(d->m < DIVISOR_MAX, "the product");
		PROVE((limb)(d->inverse * d->m) == 1, "the inverse");
		PROVE(d->low < d->m && (power - d->low) % d->m == 0,
		    "the power of 2");
		PROVE(d->high < d->m &&
			(((wide)d->low << 64) - d->high) % d->m == 0,
		    "the higher power");
	}
}

void
chunk(void)
{
	const uint8_t *p = any_bytes(CHUNK_BYTES);
	wide n = read_chunk(p);

	for (size_t i = CHUNK_BYTES; i > 0; i--, n >>= 8)
		PROVE(p[i - 1] == (uint8_t)n, "the bytes");
	PROVE(n == 0, "and no more");
}

static wide
any_wide(void)
{
	return (wide)nondet_u64() << 64 | nondet_u64();
}

static struct divisor
any_divisor(void)
{
	const struct divisor d = { .m = nondet_u64(),
		.inverse = nondet_u64(),
		.low = nondet_u64(),
		.high = nondet_u64() };

	GIVEN(0 < d.m && d.m < DIVISOR_MAX && d.low < d.m && d.high < d.m);
	return d;
}

static struct divisor by;
static wide rest_before, products[2];
static size_t n_products;

/* Nothing else is known of a product: that costs CBMC too much. */
wide
any_product(limb a, limb b)
{
	const bool higher = n_products == 0;
	const wide product = any_wide();

	PROVE(n_products < 2, "two products");
	PROVE(a == (limb)(higher ? rest_before >> 64 : rest_before) &&
		b == (higher ? by.high : by.low),
	    "each half by its power");
	GIVEN(product <= ((wide)b << 64) - b);
	products[n_products++] = product;
	return product;
}

void
step(void)
{
	const wide chunk = any_wide() >> 8;
	wide next;

	by = any_divisor();
	rest_before = any_wide();
	next = append_chunk(rest_before, chunk, &by);
	PROVE(next >= chunk && next - chunk >= products[0] &&
		next - chunk - products[0] == products[1],
	    "the sum, which fits");
	PROVE(next < (wide)1 << 126, "as small as shorten needs it");
}

/*
 * The first product is q, times inverse. inverse * m is 1, as proof table shows, so
 * q * m has the low limb that q was made for.
 */
wide
any_multiple(limb a, limb b)
{
	const limb lacks = -(limb)rest_before;
	const wide product = any_wide();

	if (n_products == 0) {
		PROVE(a == lacks && b == by.inverse, "the inverse");
	} else {
		PROVE(n_products == 1 && a == (limb)products[0] && b == by.m,
		    "a multiple");
		GIVEN(product <= ((wide)b << 64) - b);
		GIVEN((limb)product == lacks);
	}
	products[n_products++] = product;
	return product;
}

void
limb_left(void)
{
	limb left;

	by = any_divisor();
	rest_before = any_wide();
	GIVEN(rest_before < (wide)1 << 126);
	left = shorten(rest_before, &by);
	PROVE((wide)left << 64 == rest_before + products[1],
	    "the sum, which fits, without its low limb");
}

static limb any_rest;
static bool is_below;

wide
any_product_of(limb a, limb b)
{
	const wide product = any_wide();

	PROVE(a == any_rest && b == by.prime[n_products].inverse, "by each");
	is_below = (limb)product <= by.prime[n_products].most;
	n_products++;
	return product;
}

void
primes(void)
{
	bool found;

	for (size_t i = 0; i < PRIMES; i++) {
		by.prime[i].inverse = nondet_u64();
		by.prime[i].most = nondet_u64();
	}
	any_rest = nondet_u64();
	found = has_prime(any_rest, &by);
	PROVE(found == is_below, "as the last one says");
	PROVE(found || n_products == PRIMES, "or none");
}

/* What has_small_factor has read, and made of that, for each divisor. */
static struct kv_span unread;
static wide last[COUNT(divisors)], last_chunk;
static limb last_limb;
static size_t n_divided, n_shortened;
static bool divided;

wide
any_chunk(const uint8_t *p)
{
	PROVE(p == unread.p && CHUNK_BYTES <= unread.len, "each byte once");
	PROVE(n_divided % COUNT(divisors) == 0, "each is divided");
	unread.p += CHUNK_BYTES;
	unread.len -= CHUNK_BYTES;
	last_chunk = any_wide();
	return last_chunk;
}

wide
any_sum(wide rest, wide chunk, const struct divisor *d)
{
	const size_t at = n_divided++ % COUNT(divisors);

	PROVE(d == &divisors[at], "by each");
	PROVE(rest == last[at] && chunk == last_chunk, "one after another");
	last[at] = any_wide();
	return last[at];
}

limb
any_limb(wide rest, const struct divisor *d)
{
	PROVE(unread.len == 0 && !divided, "all is read");
	PROVE(d == &divisors[n_shortened] && rest == last[n_shortened],
	    "what is left of each");
	n_shortened++;
	last_limb = nondet_u64();
	return last_limb;
}

bool
any_prime(limb rest, const struct divisor *d)
{
	PROVE(rest == last_limb && d == &divisors[n_shortened - 1],
	    "of the same");
	divided = nondet_bool();
	return divided;
}

static void
divide(size_t len)
{
	const struct kv_span n = { any_bytes(len), len };
	const size_t rest = len % CHUNK_BYTES;
	wide head = 0;
	bool found;

	for (size_t i = 0; i < rest; i++)
		head = 256 * head + n.p[i];
	for (size_t i = 0; i < COUNT(divisors); i++)
		last[i] = head;
	unread = (struct kv_span){ n.p + rest, len - rest };
	n_divided = n_shortened = 0;
	divided = false;
	found = has_small_factor(n);
	PROVE(found == divided, "as the last one says");
	PROVE(found || n_shortened == COUNT(divisors), "or none");
}

void
division(void)
{
	for (size_t len = 0; len <= MODULUS; len++)
		divide(len);
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
