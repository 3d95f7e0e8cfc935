/* SPDX-License-Identifier: ISC */
/*
 * A source gives the bytes of a file as they are, and those of a packed file as
 * they were, in pieces of any size. Bytes that are taken for a packed form come
 * to an end: none of them, or a sentence. The first bytes say which form it is,
 * and how much is read at a time.
 */
#include <sys/mman.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "fuzz.h"
#include "keys/source.h"

#define HEAD_BYTES 3
#define START_BYTES 8
#define TEXT_MAX (64 * 1024)
/* What a file of TEXT_MAX may unpack to is not read further. */
#define READ_MAX (8 * 1024 * 1024)

static uint8_t stored[2 * TEXT_MAX + 1024], buf[TEXT_MAX + 64];

static size_t
pack(struct kv_span text)
{
	z_stream z = { 0 };
	size_t used;

	FUZZ_CHECK(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8,
		       Z_DEFAULT_STRATEGY) == Z_OK);
	z.next_in = (uint8_t *)(uintptr_t)text.p;
	z.avail_in = (uInt)text.len;
	z.next_out = stored;
	z.avail_out = sizeof(stored);
	FUZZ_CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
	used = sizeof(stored) - z.avail_out;
	deflateEnd(&z);
	return used;
}

static struct source
open_source(const uint8_t *p, size_t len)
{
	struct source s = { .regular = true, .size = len };

	FUZZ_CHECK((s.fd = memfd_create("fuzz", MFD_CLOEXEC)) != -1);
	FUZZ_CHECK(write(s.fd, p, len) == (ssize_t)len);
	FUZZ_CHECK(lseek(s.fd, 0, SEEK_SET) == 0);
	return s;
}

/* False if the source gave a reason. */
static bool
read_piece(struct source *s, size_t len, size_t cap, size_t *np)
{
	const struct source_yield none = { 0 };
	const size_t room = sizeof(buf) - len;

	source_poll(s);
	FUZZ_CHECK(s->ready);
	cap = cap < source_room(s) ? source_room(s) : cap;
	if (!source_read(s, &none, buf + len, cap < room ? cap : room, np)) {
		FUZZ_CHECK(s->why != NULL && s->why[0] != '\0');
		return false;
	}
	FUZZ_CHECK(*np > 0 || s->eof);
	return true;
}

static void
expect(struct source *s, struct kv_span want, size_t cap)
{
	size_t len = 0, n;

	while (!s->eof) {
		FUZZ_CHECK(read_piece(s, len, cap, &n));
		len += n;
	}
	FUZZ_CHECK(len == want.len);
	FUZZ_CHECK(len == 0 || memcmp(buf, want.p, len) == 0);
}

/* Takes the first bytes for the start of a form. False if it is refused. */
static bool
enter(struct source *s, enum unpack_form form)
{
	uint8_t start[START_BYTES];
	size_t n;

	if (!read_piece(s, 0, START_BYTES, &n))
		return false;
	memcpy(start, buf, n);
	return source_unpack(s, form, (struct kv_span){ start, n });
}

/*
 * A pipe that has nothing to read. It ends if it is a FIFO that a program
 * closed; else somebody may still write to it.
 */
static void
check_quiet(bool fifo)
{
	const struct source_yield none = { 0 };
	struct source s = { .fifo = fifo };
	int fd[2];
	size_t n;

	FUZZ_CHECK(pipe2(fd, O_CLOEXEC | O_NONBLOCK) == 0);
	s.fd = fd[0];
	if (fifo)
		close(fd[1]);
	FUZZ_CHECK(source_read(&s, &none, buf, sizeof(buf), &n) == fifo);
	FUZZ_CHECK(s.eof == fifo && (s.why == NULL) == fifo);
	if (!fifo)
		close(fd[1]);
	close(fd[0]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum unpack_form forms[] = { UNPACK_NONE, UNPACK_GZIP,
		UNPACK_XZ, UNPACK_UTF16LE, UNPACK_UTF16BE };
	struct kv_span text = { data + HEAD_BYTES, size - HEAD_BYTES };
	size_t cap, n, total = 0;
	struct source s;

	if (size < HEAD_BYTES || size - HEAD_BYTES > TEXT_MAX)
		return 0;
	check_quiet(data[2] % 2 == 0);
	cap = 1 + (size_t)data[1] * data[1];
	s = open_source(text.p, text.len);
	if (data[0] % 8 < 5) {
		for (size_t i = 0; i <= data[2] % 3u; i++) {
			if (!enter(&s, forms[(data[0] + i) % 5]))
				break;
		}
		while (s.why == NULL && !s.eof && total < READ_MAX &&
		    read_piece(&s, 0, cap, &n))
			total += n;
	} else if (data[0] % 8 == 5) {
		expect(&s, text, cap);
	} else {
		close(s.fd);
		s = open_source(stored, pack(text));
		FUZZ_CHECK(enter(&s, UNPACK_GZIP));
		expect(&s, text, cap);
	}
	source_free(&s);
	close(s.fd);
	return 0;
}
