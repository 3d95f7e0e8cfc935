/* SPDX-License-Identifier: ISC */
#include "filter/pkbf_writer.h"

#include <sys/mman.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "filter/filter.h"
#include "host/io.h"

#define COPY_BYTES (1024 * 1024)

/* The handler's message, made before the first map. */
static char bus_error[4 * PATH_MAX + 256];
static size_t bus_error_len;

/*
 * Handles SIGBUS: a mapped page could not be read or written, since there is no
 * space left, after an I/O error, or since the old file was truncated.
 */
static void
report_bus_error(int sig)
{
	(void)sig;
	(void)!write(STDERR_FILENO, bus_error, bus_error_len);
	replace_abandon();
	_exit(CLI_UNCHECKED);
}

static void
unmap_file(struct pkbf_writer *w)
{
	if (w->map != NULL)
		munmap(w->map, w->map_bytes);
	w->map = NULL;
}

/* Maps the new file; if there is none yet, the old one. */
static bool
map_file(struct pkbf_writer *w)
{
	bool is_new = w->file.fd != -1;
	off_t bytes = kv_pkbf_file_bytes(w->header.length);
	void *p;

	unmap_file(w);
	if ((uintmax_t)bytes > SIZE_MAX) {
		cli_error("%s: too large for this machine", w->file.path);
		return false;
	}
	w->map_bytes = (size_t)bytes;
	p = mmap(NULL, w->map_bytes,
	    is_new ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
	    is_new ? w->file.fd : w->file.old, 0);
	if (p == MAP_FAILED) {
		cli_failed(w->file.path, "cannot be mapped");
		return false;
	}
	w->map = p;
	return true;
}

bool
pkbf_writer_open(struct pkbf_writer *w, const char *path)
{
	*w = (struct pkbf_writer){ .map = NULL };
	if (!replace_open(&w->file, path))
		return false;
	w->file.root_only = true;
	return true;
}

bool
pkbf_writer_may_replace(struct pkbf_writer *w, bool force, const char *why)
{
	struct kv_pkbf f;
	enum kv_err r;

	if (w->file.old == -1)
		return true;
	if ((r = kv_pkbf_open_fd(w->file.old, &f)) == KV_ERR_SYSTEM)
		return cli_failed(w->file.path, "cannot be read; move it away");
	if (!force && r != KV_OK)
		cli_error("%s: is not a filter (%s); --force keeps it beside "
			  "under another name, and makes a filter here",
		    w->file.path, kv_strerror(r));
	else if (!force && why != NULL)
		cli_error("%s: %s", w->file.path, why);
	else {
		w->file.keep_beside = r != KV_OK;
		return true;
	}
	return false;
}

bool
pkbf_writer_load(struct pkbf_writer *w)
{
	struct sigaction sa = { .sa_handler = report_bus_error };
	const char *path = w->file.path;
	struct kv_pkbf f;
	FILE *text;
	long len;

	if (w->file.old == -1) {
		cli_error("%s: no such file; 'keyveto filter create' makes one",
		    path);
		return false;
	}
	if (!filter_adopt(path, w->file.old, &f))
		return false;
	w->header = f.header;
	text = fmemopen(bus_error, sizeof(bus_error), "w");
	if (text == NULL) {
		cli_error("%s: %s", path, strerror(errno));
		return false;
	}
	fputs("keyveto: ", text);
	cli_print_safe(text, path, strlen(path));
	fputs(": no space left on the device, an I/O error, or a file cut "
	      "short meanwhile; nothing was written\n",
	    text);
	fflush(text);
	len = ftell(text);
	fclose(text);
	bus_error_len = len > 0 ? (size_t)len : 0;
	sigemptyset(&sa.sa_mask);
	sigaction(SIGBUS, &sa, NULL);
	/*
	 * In a tmpfs, even reading through a map fills holes. Without holes, it
	 * is worth it: to find 300,000 keys that are all there already takes
	 * 0.07 s through a map, and 1.3 s by positioned reads.
	 */
	return w->file.old_st.st_blocks < w->file.old_st.st_size / 512 ||
	    map_file(w);
}

bool
pkbf_writer_start(struct pkbf_writer *w, const struct kv_pkbf_header *h)
{
	w->header = *h;
	if (!replace_begin(&w->file))
		return false;
	if (ftruncate(w->file.fd, kv_pkbf_file_bytes(h->length)) == -1)
		return cli_failed(w->file.path, "cannot be made that large");
	return true;
}

static bool
write_at(const struct pkbf_writer *w, const uint8_t *p, size_t len, off_t at)
{
	return io_write_at(w->file.fd, p, len, at) ||
	    cli_failed(w->file.path, "cannot be written");
}

bool
pkbf_writer_put(struct pkbf_writer *w, const uint8_t *bits, size_t len,
    off_t at)
{
	return io_write_sparse_at(w->file.fd, bits, len,
		   at + KV_PKBF_HEADER_BYTES) ||
	    cli_failed(w->file.path, "cannot be written");
}

/*
 * Begins the new file as a copy of the old one, but for its holes. So adding to
 * an empty filter of 8 GiB takes 0.2 s and 16 KiB of disk; copying 512 MiB of
 * data takes 4 to 18 s on the same disk.
 */
static bool
copy_old(struct pkbf_writer *w)
{
	static uint8_t buf[COPY_BYTES];
	off_t end = kv_pkbf_file_bytes(w->header.length);

	if (!pkbf_writer_start(w, &w->header))
		return false;
	for (off_t at = KV_PKBF_HEADER_BYTES; at < end; at += COPY_BYTES) {
		size_t len = end - at < COPY_BYTES ?
		    (size_t)(end - at) :
		    COPY_BYTES;

		if (filter_is_hole(w->file.old, at, len))
			continue;
		if (!cli_read_at(w->file.path, w->file.old, buf, len, at) ||
		    !pkbf_writer_put(w, buf, len, at - KV_PKBF_HEADER_BYTES))
			return false;
	}
	return true;
}

/* Sets *knownp to whether the old filter lists h. */
static bool
find_in_old(const struct pkbf_writer *w, const struct kv_pkbf_hash *h,
    bool *knownp)
{
	struct kv_pkbf old = { w->file.old, w->header };
	enum kv_err r;

	if (w->map == NULL) {
		if ((r = kv_pkbf_lookup(&old, h, knownp)) == KV_OK)
			return true;
		cli_error("%s: %s", w->file.path,
		    r == KV_ERR_SYSTEM ? strerror(errno) : kv_strerror(r));
		return false;
	}
	*knownp = true;
	for (unsigned int i = 0; i < w->header.hashes && *knownp; i++) {
		uint64_t bit = kv_pkbf_position(h, i, w->header.length);
		uint8_t byte = w->map[KV_PKBF_HEADER_BYTES + bit / 8];

		*knownp = (byte & 0x80U >> bit % 8) != 0;
	}
	return true;
}

bool
pkbf_writer_add(struct pkbf_writer *w, const struct kv_pkbf_hash *h,
    bool *addedp)
{
	uint8_t *byte[UINT8_MAX], mask[UINT8_MAX];
	unsigned int k = w->header.hashes;
	bool known;

	*addedp = false;
	if (w->file.fd == -1) {
		if (!find_in_old(w, h, &known))
			return false;
		if (known)
			return true;
		if (!copy_old(w) || !map_file(w))
			return false;
	}
	/* All addresses first, so that they are fetched in parallel. */
	for (unsigned int i = 0; i < k; i++) {
		uint64_t bit = kv_pkbf_position(h, i, w->header.length);

		byte[i] = w->map + KV_PKBF_HEADER_BYTES + bit / 8;
		mask[i] = (uint8_t)(0x80U >> bit % 8);
		__builtin_prefetch(byte[i], 1);
	}
	known = true;
	for (unsigned int i = 0; i < k; i++) {
		if ((*byte[i] & mask[i]) != 0)
			continue;
		*byte[i] |= mask[i];
		known = false;
	}
	if (known)
		return true;
	if (w->header.entries == UINT32_MAX) {
		cli_error("%s: has %lu entries, and its header cannot count "
			  "more; nothing was written",
		    w->file.path, (unsigned long)UINT32_MAX);
		return false;
	}
	w->header.entries++;
	*addedp = true;
	return true;
}

bool
pkbf_writer_commit(struct pkbf_writer *w)
{
	uint8_t raw[KV_PKBF_HEADER_BYTES];

	if (w->file.fd == -1)
		return true;
	unmap_file(w);
	kv_pkbf_header_encode(&w->header, raw);
	if (!write_at(w, raw, sizeof(raw), 0) || !replace_commit(&w->file))
		return false;
	cli_warn_if_distrusted(w->file.path);
	return true;
}

void
pkbf_writer_close(struct pkbf_writer *w)
{
	unmap_file(w);
	replace_close(&w->file);
}
