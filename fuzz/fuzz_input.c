/* SPDX-License-Identifier: ISC */
/*
 * Any file, as keyveto check reads it. Each key can be judged, looked up and
 * printed, and each problem says why. The first two bytes say how it is read
 * (enum how), and how often the rest is in the file: all of it, or what stands
 * behind the last byte 0xff.
 */
#include <sys/mman.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "keys/input.h"

#define HEAD_BYTES 2
/* More than the longest line that is read as a whole. */
#define FILE_MAX (1152 * 1024)
/* How many keys of a file are judged and printed: more would take seconds. */
#define CHECKED_MAX 256
#define HOLE_BYTES (8 * 1024 * 1024)
#define PIPE_MAX (32 * 1024)
/* Below it the rest is there once. */
#define COPIES 240

enum how {
	WALKED = 1,
	PLAIN = 2,
	WARY = 4,
	PIPE = 64,
	HOLE = 128,
};

/* A sum of all that the sink was given, so that all of it is read. */
struct seen {
	struct input_sink sink;
	uint64_t sum;
	size_t keys;
};

static void
add(struct seen *s, const void *p, size_t len)
{
	for (const uint8_t *byte = p; len > 0; byte++, len--)
		s->sum = (s->sum ^ *byte) * 1099511628211u;
}

static void
check_key(const struct input_key *key, struct seen *s)
{
	static const struct kv_judge nothing = { .n_filters = 0 };
	struct kv_blocklist_hash hash[INPUT_HASHES_MAX];
	struct kv_decision d;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	FUZZ_CHECK(out != NULL);
	input_print_key(out, key);
	FUZZ_CHECK(fclose(out) == 0 && len > 0 && text[len - 1] == '\n');
	for (size_t i = 0; i + 1 < len; i++)
		FUZZ_CHECK(text[i] >= 0x20 && text[i] < 0x7f);
	add(s, text, len);
	free(text);
	add(s, hash, input_hashes(key, hash) * sizeof(*hash));
	input_judge(&nothing, key, 0, &d);
	FUZZ_CHECK(d.verdict != KV_VERDICT_ALLOWED);
}

static void
on_key(const struct input_key *key, void *arg)
{
	struct seen *s = arg;

	FUZZ_CHECK(key->key.type != KV_KEY_NONE || key->spki.len > 0);
	add(s, &key->line, sizeof(key->line));
	if (s->keys++ < CHECKED_MAX)
		check_key(key, s);
}

static void
on_problem(const struct input_problem *problem, void *arg)
{
	FUZZ_CHECK(problem->reason[0] != '\0');
	add(arg, &problem->line, sizeof(problem->line));
	add(arg, problem->reason, strlen(problem->reason));
}

static void
on_progress(uint64_t bytes, void *arg)
{
	(void)arg;
	FUZZ_CHECK(bytes <= FILE_MAX + HOLE_BYTES + PIPE_MAX);
}

static int
open_pipe(struct kv_span text)
{
	int fd[2];

	FUZZ_CHECK(pipe2(fd, O_CLOEXEC) == 0);
	FUZZ_CHECK(write(fd[1], text.p, text.len) == (ssize_t)text.len);
	close(fd[1]);
	return fd[0];
}

static int
open_file(struct kv_span text, size_t copies, bool has_hole)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	const uint8_t *end = copies > 1 ?
	    memrchr(text.p, 0xff, text.len) :
	    NULL;
	const size_t head = end != NULL ? (size_t)(end - text.p) : 0;

	FUZZ_CHECK(fd != -1 && write(fd, text.p, head) == (ssize_t)head);
	if (end != NULL) {
		text.p += head + 1;
		text.len -= head + 1;
	}
	for (size_t i = 0; i < copies && i * text.len < FILE_MAX; i++)
		FUZZ_CHECK(write(fd, text.p, text.len) == (ssize_t)text.len);
	if (has_hole) {
		FUZZ_CHECK(lseek(fd, HOLE_BYTES, SEEK_CUR) != -1);
		FUZZ_CHECK(write(fd, text.p, text.len) == (ssize_t)text.len);
	}
	FUZZ_CHECK(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

static void
read_file(struct kv_span text, size_t copies, unsigned int how)
{
	struct seen s = {
		.sink = {
			.key = on_key,
			.problem = on_problem,
			.progress = on_progress,
			.plain = (how & PLAIN) != 0,
			.wary = (how & WARY) != 0,
		},
	};
	struct input_file file;
	int fd = how & PIPE && text.len < PIPE_MAX ?
	    open_pipe(text) :
	    open_file(text, copies, (how & HOLE) != 0);

	s.sink.arg = &s;
	input_describe_file(&file, fd, "fuzz", (how & WALKED) != 0);
	input_read_file(&file, &s.sink);
	close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct kv_span text = { data + HEAD_BYTES, size - HEAD_BYTES };
	size_t copies;

	if (size < HEAD_BYTES)
		return 0;
	copies = data[1] < COPIES ? 1 : (size_t)1 << (data[1] - COPIES);
	read_file(text, copies, data[0]);
	return 0;
}
