/* SPDX-License-Identifier: ISC */
#include "weak/moduli.h"

#include <sys/random.h>

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define SLOTS_MIN 1024

static uint64_t
hash(const struct moduli *m, struct kv_span n)
{
	return n.p != NULL ? XXH64(n.p, n.len, m->seed) : m->seed;
}

static size_t *
find_slot(const struct moduli *m, struct kv_span n)
{
	size_t i = (size_t)hash(m, n) & (m->n_slots - 1);

	while (m->slot[i] != 0 && !kv_span_equal(m->v[m->slot[i] - 1].n, n))
		i = (i + 1) & (m->n_slots - 1);
	return &m->slot[i];
}

/* Doubles the hash table when half of it is used. False without memory. */
static bool
make_slots(struct moduli *m)
{
	const size_t n_slots = m->n_slots > 0 ? 2 * m->n_slots : SLOTS_MIN;
	size_t *slot;

	if (2 * m->n < m->n_slots)
		return true;
	slot = calloc(n_slots, sizeof(*slot));
	if (slot == NULL)
		return false;
	if (m->n_slots == 0 &&
	    getrandom(&m->seed, sizeof(m->seed), GRND_NONBLOCK) == -1)
		m->seed = (uintptr_t)slot;
	free(m->slot);
	m->slot = slot;
	m->n_slots = n_slots;
	for (size_t i = 0; i < m->n; i++)
		*find_slot(m, m->v[i].n) = i + 1;
	return true;
}

static bool
make_room(struct moduli *m)
{
	const size_t cap = m->cap > 0 ? 2 * m->cap : SLOTS_MIN;
	struct modulus *v;

	if (m->n < m->cap)
		return true;
	v = reallocarray(m->v, cap, sizeof(*v));
	if (v == NULL)
		return false;
	m->v = v;
	m->cap = cap;
	return true;
}

bool
moduli_add(struct moduli *m, struct kv_span n, size_t *ip, bool *addedp)
{
	struct modulus *added;
	size_t *slot;

	*addedp = false;
	if (!make_slots(m) || !make_room(m))
		return false;
	slot = find_slot(m, n);
	if (*slot != 0) {
		*ip = *slot - 1;
		return true;
	}
	added = &m->v[m->n];
	*added = (struct modulus){ .bytes = malloc(n.len + 1) };
	if (added->bytes == NULL)
		return false;
	if (n.len > 0)
		memcpy(added->bytes, n.p, n.len);
	added->n = (struct kv_span){ added->bytes, n.len };
	*addedp = true;
	*ip = m->n++;
	*slot = m->n;
	return true;
}

void
moduli_free(struct moduli *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->v[i].bytes);
	free(m->v);
	free(m->slot);
	*m = (struct moduli){ .n = 0 };
}
