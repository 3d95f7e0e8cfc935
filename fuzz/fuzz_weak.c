/* SPDX-License-Identifier: ISC */
/*
 * What keyveto-worker is asked about moduli, as it takes it; and what it says
 * about three moduli and two exponents, as keyveto
 * takes it. What is taken is told again with the same bytes, and names nothing
 * that was not asked about.
 */
#include <string.h>

#include "fuzz.h"
#include "weak/records.h"

#define MODULI 3
#define EXPONENTS 2

static void
check_told(const struct weak_tests *t, size_t i, struct kv_span part)
{
	struct record_out o = { .fd = -1 };

	record_begin(&o, 1);
	FUZZ_CHECK(weak_records_put_found(&o, t, i));
	record_end(&o);
	/* Behind the length and the tag. */
	FUZZ_CHECK(
	    o.len == part.len + 5 && memcmp(o.buf + 5, part.p, part.len) == 0);
	record_out_free(&o);
}

static void
check_found(const struct weak_tests *t, size_t i)
{
	enum weak_class class = i < t->n ?
	    t->modulus[i].class :
	    t->exponent[i - t->n].class;

	FUZZ_CHECK(*weak_class_name(class) != '\0');
}

/* What a worker is to test is told again as it was taken. */
static void
check_asked(const uint8_t *data, size_t size)
{
	struct record_out first = { .fd = -1 }, second = { .fd = -1 };
	struct weak_tests t = { .n = 0 }, again = { .n = 0 };

	if (weak_records_get((struct kv_bytes){ data, size }, &t)) {
		for (size_t i = 0; i < t.n_exponents; i++)
			FUZZ_CHECK(t.exponent[i].modulus < t.n);
		weak_records_put(&first, &t);
		FUZZ_CHECK(
		    weak_records_get((struct kv_bytes){ first.buf, first.len },
			&again));
		weak_records_put(&second, &again);
		FUZZ_CHECK(first.len == second.len &&
		    memcmp(first.buf, second.buf, first.len) == 0);
	}
	free(t.modulus);
	free(t.exponent);
	free(again.modulus);
	free(again.exponent);
	record_out_free(&first);
	record_out_free(&second);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct modulus modulus[MODULI] = { [1] = { .is_open = true } };
	struct weak_exponent exponent[EXPONENTS] = { { .modulus = 1 } };
	struct weak_tests t = { .modulus = modulus,
		.n = MODULI,
		.exponent = exponent,
		.n_exponents = EXPONENTS };
	struct kv_bytes b = { data, size };
	struct kv_span part;
	size_t next = 0;

	check_asked(data, size);
	while (kv_bytes_get_string(&b, &part) == KV_OK &&
	    weak_records_get_found((struct kv_bytes){ part.p, part.len }, &t,
		&next)) {
		FUZZ_CHECK(next > 0 && next <= MODULI + EXPONENTS);
		check_found(&t, next - 1);
		check_told(&t, next - 1, part);
	}
	return 0;
}
