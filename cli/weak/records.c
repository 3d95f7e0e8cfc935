/* SPDX-License-Identifier: ISC */
#include "weak/records.h"

#include <stdlib.h>

#include "weak/common.h"

enum { HEAD = 1, MODULUS, EXPONENT };

void
weak_records_put(struct record_out *o, const struct weak_tests *t)
{
	record_begin(o, HEAD);
	record_add_number(o, t->n);
	record_add_number(o, t->n_exponents);
	record_add_number(o, t->threads);
	record_add_number(o, t->progress);
	record_end(o);
	for (size_t i = 0; i < t->n; i++) {
		const struct modulus *m = &t->modulus[i];

		record_begin(o, MODULUS);
		record_add_number(o, m->is_open);
		record_add_bytes(o, m->n.p, m->n.len);
		record_end(o);
	}
	for (size_t i = 0; i < t->n_exponents; i++) {
		const struct weak_exponent *x = &t->exponent[i];

		record_begin(o, EXPONENT);
		record_add_number(o, x->modulus);
		record_add_bytes(o, x->e.p, x->e.len);
		record_end(o);
	}
}

static bool
get_head(struct kv_bytes b, size_t most, struct weak_tests *t)
{
	uint64_t n, n_exponents, threads, progress;

	if (!record_get_number(&b, &n) ||
	    !record_get_number(&b, &n_exponents) ||
	    !record_get_number(&b, &threads) ||
	    !record_get_number(&b, &progress) || n > most ||
	    n_exponents > most || threads == 0)
		return false;
	*t = (struct weak_tests){
		.modulus = calloc(n + 1, sizeof(*t->modulus)),
		.n = n,
		.exponent = calloc(n_exponents + 1, sizeof(*t->exponent)),
		.n_exponents = n_exponents,
		.threads = threads,
		.progress = progress != 0,
	};
	return t->modulus != NULL && t->exponent != NULL;
}

static bool
get_modulus(struct kv_bytes b, struct modulus *m)
{
	uint64_t is_open;

	if (!record_get_number(&b, &is_open))
		return false;
	m->is_open = is_open != 0;
	return kv_bytes_get_string(&b, &m->n) == KV_OK;
}

static bool
get_exponent(struct kv_bytes b, size_t n, struct weak_exponent *x)
{
	uint64_t modulus;

	if (!record_get_number(&b, &modulus) || modulus >= n)
		return false;
	x->modulus = modulus;
	return kv_bytes_get_string(&b, &x->e) == KV_OK;
}

bool
weak_records_get(struct kv_bytes b, struct weak_tests *t)
{
	struct kv_bytes record;
	uint8_t tag;
	bool bad = false;
	bool ok = record_cut(&b, &tag, &record, &bad) && tag == HEAD &&
	    get_head(record, b.left, t);

	for (size_t i = 0; ok && i < t->n; i++)
		ok = record_cut(&b, &tag, &record, &bad) && tag == MODULUS &&
		    get_modulus(record, &t->modulus[i]);
	for (size_t i = 0; ok && i < t->n_exponents; i++)
		ok = record_cut(&b, &tag, &record, &bad) && tag == EXPONENT &&
		    get_exponent(record, t->n, &t->exponent[i]);
	return ok && b.left == 0;
}

bool
weak_records_put_found(struct record_out *o, const struct weak_tests *t,
    size_t i)
{
	const bool is_modulus = i < t->n;
	const enum weak_class class = is_modulus ?
	    t->modulus[i].class :
	    t->exponent[i - t->n].class;

	record_add_number(o, i);
	record_add_number(o, (uint64_t) class);
	record_add_number(o, is_modulus ? t->modulus[i].other : 0);
	return class != WEAK_NONE;
}

/* Whether tests find this of a modulus. */
static bool
is_found_of_modulus(const struct weak_tests *t, size_t i, uint64_t class,
    uint64_t other)
{
	switch (class) {
	case WEAK_FACTOR:
	case WEAK_SQUARE:
	case WEAK_FERMAT:
	case WEAK_ROCA:
		return true;
	case WEAK_PRIME:
		return t->modulus[i].is_open;
	case WEAK_SHARED_PRIME:
		return other == WEAK_COMMON_UNKNOWN ||
		    (other < t->n && other != i);
	default:
		return false;
	}
}

static bool
is_found_of_exponent(uint64_t class)
{
	return class == WEAK_SQUARE || class == WEAK_FERMAT ||
	    class == WEAK_ROCA || class == WEAK_SMALL_D;
}

bool
weak_records_get_found(struct kv_bytes b, struct weak_tests *t, size_t *nextp)
{
	uint64_t i, class, other;

	if (!record_get_number(&b, &i) || !record_get_number(&b, &class) ||
	    !record_get_number(&b, &other) || b.left != 0 || i < *nextp ||
	    i >= t->n + t->n_exponents)
		return false;
	*nextp = i + 1;
	if (i < t->n) {
		t->modulus[i].class = (enum weak_class) class;
		t->modulus[i].other = other;
		return is_found_of_modulus(t, i, class, other);
	}
	t->exponent[i - t->n].class = (enum weak_class) class;
	return is_found_of_exponent(class);
}
