/* SPDX-License-Identifier: ISC */
#include "sets/pkbf_map.h"

#include <sys/mman.h>

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

/* The open maps, for replace_lost_page. */
static struct pkbf_map *mapped[KV_CONFIG_MAX_FILTERS];

static size_t page_bytes;

/*
 * Replaces a page that is no longer in the file by one in which every bit is
 * set. Lookups then say "listed", so that kv_pkbf_lookup is asked, which
 * reports what is wrong with the file.
 */
static void
replace_lost_page(int sig, siginfo_t *info, void *context)
{
	static const char message[] =
	    "keyveto: a filter was cut short while it was read\n";
	uint8_t *page = info->si_addr;
	uintptr_t at = (uintptr_t)page;
	bool found = false;

	(void)sig;
	(void)context;
	for (size_t i = 0; i < KV_CONFIG_MAX_FILTERS; i++) {
		uintptr_t start = mapped[i] != NULL ?
		    (uintptr_t)mapped[i]->map :
		    0;

		if (start == 0 || at < start || at - start >= mapped[i]->bytes)
			continue;
		mapped[i]->lost = true;
		found = true;
	}
	page -= at % page_bytes;
	if (!found ||
	    mmap(page, page_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
		(void)!write(STDERR_FILENO, message, sizeof(message) - 1);
		_exit(CLI_UNCHECKED);
	}
	for (size_t i = 0; i < page_bytes; i++)
		page[i] = 0xff;
}

bool
pkbf_map_open(struct pkbf_map *m, const struct kv_pkbf *f)
{
	struct sigaction sa = { .sa_sigaction = replace_lost_page,
		.sa_flags = SA_SIGINFO };
	const off_t bytes = kv_pkbf_file_bytes(f->header.length);
	size_t i = 0;
	void *p;

	/* With 32 bits there is no room for the largest. */
	if (bytes != (off_t)(size_t)bytes)
		return false;
	m->fd = f->fd;
	m->header = f->header;
	m->bytes = (size_t)bytes;
	p = mmap(NULL, m->bytes, PROT_READ, MAP_SHARED, f->fd, 0);
	if (p == MAP_FAILED)
		return false;
	m->map = p;
	m->file = p;
	m->lost = false;
	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	sigemptyset(&sa.sa_mask);
	while (i < KV_CONFIG_MAX_FILTERS && mapped[i] != NULL)
		i++;
	if (i < KV_CONFIG_MAX_FILTERS) {
		mapped[i] = m;
		if (sigaction(SIGBUS, &sa, NULL) == 0)
			return true;
	}
	pkbf_map_close(m);
	return false;
}

void
pkbf_map_close(struct pkbf_map *m)
{
	for (size_t i = 0; i < KV_CONFIG_MAX_FILTERS; i++) {
		if (mapped[i] == m)
			mapped[i] = NULL;
	}
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
 * The last page of a truncated file reads as zeros, which would make keys
 * clean. So the size is checked after the lookup; by lseek(2), which a process
 * behind a wall may call, where fstat(2) of some systems takes a path. Nothing
 * else reads at the offset of the descriptor.
 */
static bool
is_whole(const struct pkbf_map *m)
{
	return !m->lost && lseek(m->fd, 0, SEEK_END) == (off_t)m->bytes;
}

/*
 * Tests the first bit of all hashes, then the second bit of those that are
 * left, and so on: so the memory fetches many at a time.
 */
void
pkbf_map_lookup(const struct pkbf_map *m, const struct kv_pkbf_hash *h,
    size_t n, bool *listed)
{
	uint16_t left[PKBF_MAP_BATCH];
	uint64_t bit[PKBF_MAP_BATCH];
	size_t n_left = n;

	/* Nothing was asked: the size need not be, either. */
	if (n == 0)
		return;
	for (size_t j = 0; j < n; j++)
		left[j] = (uint16_t)j;
	memset(listed, 0, n * sizeof(*listed));
	for (unsigned int i = 0; i < m->header.hashes && n_left > 0; i++) {
		size_t kept = 0;

		for (size_t j = 0; j < n_left; j++) {
			bit[j] = kv_pkbf_position(&h[left[j]], i,
			    m->header.length);
			__builtin_prefetch(byte_at(m, bit[j]));
		}
		for (size_t j = 0; j < n_left; j++) {
			bool set = *byte_at(m, bit[j]) & 0x80U >> (bit[j] % 8);

			/* No branch: it would be mispredicted. */
			left[kept] = left[j];
			kept += set;
		}
		n_left = kept;
	}
	for (size_t j = 0; j < n_left; j++)
		listed[left[j]] = true;
	if (is_whole(m))
		return;
	for (size_t i = 0; i < n; i++)
		listed[i] = true;
}

enum kv_err
pkbf_map_lookup_one(const struct kv_filter *f, const struct kv_pkbf_hash *h,
    bool *listedp)
{
	pkbf_map_lookup(f->arg, h, 1, listedp);
	return !*listedp || is_whole(f->arg) ?
	    KV_OK :
	    kv_pkbf_lookup(&f->pkbf, h, listedp);
}
