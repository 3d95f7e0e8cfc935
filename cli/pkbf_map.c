/* SPDX-License-Identifier: ISC */
#include "pkbf_map.h"

#include <sys/mman.h>

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

static void
on_bus_error(int sig)
{
	static const char message[] =
	    "keyveto: a filter was cut short while it was read\n";

	(void)sig;
	(void)!write(STDERR_FILENO, message, sizeof(message) - 1);
	_exit(CLI_UNCHECKED);
}

bool
pkbf_map_open(struct pkbf_map *m, const struct kv_pkbf *f)
{
	struct sigaction sa = { .sa_handler = on_bus_error };
	void *p;

	m->header = f->header;
	m->bytes = (size_t)kv_pkbf_file_bytes(f->header.length);
	p = mmap(NULL, m->bytes, PROT_READ, MAP_SHARED, f->fd, 0);
	if (p == MAP_FAILED)
		return false;
	m->map = p;
	m->file = p;
	sigemptyset(&sa.sa_mask);
	return sigaction(SIGBUS, &sa, NULL) == 0;
}

void
pkbf_map_close(struct pkbf_map *m)
{
	munmap(m->map, m->bytes);
	m->map = NULL;
	m->file = NULL;
}

static const uint8_t *
byte_at(const struct pkbf_map *m, uint64_t bit)
{
	return m->file + KV_PKBF_HEADER_BYTES + bit / 8;
}

/*
 * All first bits, then all second bits of those that are left, and so on: the
 * memory is asked for many at a time instead of waited for one by one.
 */
void
pkbf_map_lookup(const struct pkbf_map *m, const struct kv_pkbf_hash *h,
    size_t n, bool *listed)
{
	uint16_t left[PKBF_MAP_BATCH];
	uint64_t bit[PKBF_MAP_BATCH];
	size_t n_left = n;

	for (size_t j = 0; j < n; j++)
		left[j] = (uint16_t)j;
	memset(listed, 0, n * sizeof(*listed));
	for (unsigned int i = 0; i < m->header.hashes; i++) {
		size_t kept = 0;

		for (size_t j = 0; j < n_left; j++) {
			bit[j] = kv_pkbf_position(&h[left[j]], i,
			    m->header.length);
			__builtin_prefetch(byte_at(m, bit[j]));
		}
		for (size_t j = 0; j < n_left; j++) {
			bool set = *byte_at(m, bit[j]) & 0x80U >> (bit[j] % 8);

			/* No branch: it could not be foretold. */
			left[kept] = left[j];
			kept += set;
		}
		n_left = kept;
		if (n_left == 0)
			return;
	}
	for (size_t j = 0; j < n_left; j++)
		listed[left[j]] = true;
}
