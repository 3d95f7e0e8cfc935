/* SPDX-License-Identifier: ISC */
#include "weak/moduli.h"

#include <sys/random.h>

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/room.h"

#define SLOTS_MIN 1024

const char *weak_class_name(enum weak_class class)
{
	static const char *const name[WEAK_CLASSES] = {
		[WEAK_NONE] = "",
		[WEAK_FACTOR] = "rsa-factor",
		[WEAK_PRIME] = "rsa-prime",
		[WEAK_SQUARE] = "rsa-square",
		[WEAK_FERMAT] = "rsa-fermat",
		[WEAK_ROCA] = "rsa-roca",
		[WEAK_SMALL_D] = "rsa-small-d",
	};

	return name[class];
}

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

bool
moduli_add(struct moduli *m, struct kv_span n, size_t *ip, bool *addedp)
{
	struct modulus *added;
	size_t *slot;

	*addedp = false;
	if (!make_slots(m) || !room_for_one(&m->v, m->n, sizeof(*m->v)))
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
