/* SPDX-License-Identifier: ISC */
#include "weak/records.h"

#include <stdlib.h>

enum { HEAD = 1, MODULUS, EXPONENT };

/* Each list of fields is of what is written and of what is read. */
#define HEAD_FIELDS(t) \
	R_ANY((t)->n), R_ANY((t)->n_exponents), R_ANY((t)->threads), \
	    R_FLAG((t)->progress)
#define MODULUS_FIELDS(m) R_FLAG((m)->is_open), R_SPAN((m)->n)
#define EXPONENT_FIELDS(x) R_ANY((x)->modulus), R_SPAN((x)->e)

void
weak_records_put(struct record_out *o, const struct weak_tests *t)
{
	record_send(o, HEAD, HEAD_FIELDS(t));
	for (size_t i = 0; i < t->n; i++)
		record_send(o, MODULUS, MODULUS_FIELDS(&t->modulus[i]));
	for (size_t i = 0; i < t->n_exponents; i++)
		record_send(o, EXPONENT, EXPONENT_FIELDS(&t->exponent[i]));
}

static bool
get_head(struct kv_bytes b, size_t most, struct weak_tests *t)
{
	*t = (struct weak_tests){ .n = 0 };
	if (!record_get(&b, HEAD_FIELDS(t)) || t->n > most ||
	    t->n_exponents > most || t->threads == 0)
		return false;
	t->modulus = calloc(t->n + 1, sizeof(*t->modulus));
	t->exponent = calloc(t->n_exponents + 1, sizeof(*t->exponent));
	return t->modulus != NULL && t->exponent != NULL;
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
		    record_get(&record, MODULUS_FIELDS(&t->modulus[i]));
	for (size_t i = 0; ok && i < t->n_exponents; i++)
		ok = record_cut(&b, &tag, &record, &bad) && tag == EXPONENT &&
		    record_get(&record, EXPONENT_FIELDS(&t->exponent[i])) &&
		    t->exponent[i].modulus < t->n;
	return ok && b.left == 0;
}

bool
weak_records_put_found(struct record_out *o, const struct weak_tests *t,
    size_t i)
{
	const enum weak_class class = i < t->n ?
	    t->modulus[i].class :
	    t->exponent[i - t->n].class;

	record_add(o, R_ANY(i), R_VALUE(class));
	return class != WEAK_NONE;
}

/* Whether tests find this of a modulus. */
static bool
is_found_of_modulus(const struct weak_tests *t, size_t i, uint64_t class)
{
	switch (class) {
	case WEAK_FACTOR:
	case WEAK_SQUARE:
	case WEAK_FERMAT:
	case WEAK_ROCA:
		return true;
	case WEAK_PRIME:
		return t->modulus[i].is_open;
	default:
		return false;
	}
}

static bool
is_found_of_exponent(uint64_t class)
{
	return class == WEAK_SQUARE || class == WEAK_FERMAT ||
	    class == WEAK_ROCA || class == WEAK_SMALL_D || class == WEAK_FACTOR;
}

bool
weak_records_get_found(struct kv_bytes b, struct weak_tests *t, size_t *nextp)
{
	uint64_t class;
	size_t i;

	if (!record_get_all(&b, R_ANY(i), R_ANY(class)) || i < *nextp ||
	    i >= t->n + t->n_exponents)
		return false;
	*nextp = i + 1;
	if (i < t->n) {
		t->modulus[i].class = (enum weak_class) class;
		return is_found_of_modulus(t, i, class);
	}
	t->exponent[i - t->n].class = (enum weak_class) class;
	return is_found_of_exponent(class);
}
