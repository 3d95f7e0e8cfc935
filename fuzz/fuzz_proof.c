/* SPDX-License-Identifier: ISC */
/*
 * A file with proofs, keys and anything else: each proof is verified, refused
 * or a problem, and has a line of the file. The first byte says for whom it is
 * read, and whether it comes by a pipe (enum how). The keys that the proofs
 * must be of come last; before them the proofs stand in another file: the input
 * up to a NUL.
 */
#include <sys/mman.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "fuzz.h"
#include "keys/unpack.h"
#include "proof/reader.h"

enum how { OF_KEY = 1, KEYS = 2, PIPE = 4 };
#define PIPE_MAX (32 * 1024)

static uint64_t lines;

static void
take_proved(const struct proof_found *proof, void *arg)
{
	uint64_t *n = arg;

	FUZZ_CHECK(proof->line >= 1 && proof->line <= lines);
	FUZZ_CHECK(proof->key->pem.ssh.key.type != KV_KEY_NONE);
	++*n;
}

static void
take_key(const struct input_key *key, void *arg)
{
	uint64_t *n = arg;

	FUZZ_CHECK(key->line >= 1 && key->line <= lines);
	FUZZ_CHECK(key->key.type != KV_KEY_NONE && key->bits > 0);
	++*n;
}

static void
take_problem(const struct input_problem *problem, void *arg)
{
	uint64_t *n = arg;

	FUZZ_CHECK(problem->line <= lines && problem->reason[0] != '\0');
	++*n;
}

static int
make_file(struct kv_span text)
{
	int fd = memfd_create("proof", MFD_CLOEXEC);

	FUZZ_CHECK(fd != -1 && io_write(fd, text.p, text.len));
	FUZZ_CHECK(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

/* Standard input, which is named "-", becomes the text. */
static void
open_input(struct kv_span text, bool pipe)
{
	int fd[2] = { -1, -1 };

	if (!pipe || text.len > PIPE_MAX) {
		fd[0] = make_file(text);
	} else {
		FUZZ_CHECK(pipe2(fd, O_CLOEXEC) == 0);
		FUZZ_CHECK(io_write(fd[1], text.p, text.len));
		close(fd[1]);
	}
	FUZZ_CHECK(dup2(fd[0], STDIN_FILENO) == STDIN_FILENO);
	close(fd[0]);
}

static void
read_for_key(char **inputs, struct kv_span proofs,
    const struct proof_sink *sink)
{
	const int fd = make_file(proofs);
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* Of two the one with the keys comes last. */
	inputs[1] = inputs[0];
	inputs[0] = path;
	proof_read(inputs, true, sink);
	close(fd);
}

static uint64_t
count_lines(struct kv_span text)
{
	uint64_t n = 1;

	for (size_t i = 0; i < text.len; i++)
		n += text.p[i] == '\n';
	return unpack_recognise(text) >= UNPACK_GZIP ? UINT64_MAX : n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kv_span text = { data + 1, size - 1 }, others = { data, 0 };
	uint64_t n = 0;
	const struct proof_sink sink = { .proved = take_proved,
		.refused = take_problem,
		.problem = take_problem,
		.arg = &n };
	const struct input_sink keys = { .key = take_key,
		.problem = take_problem,
		.arg = &n };
	char path[] = "/proc/self/fd/0", dash[] = "-";
	char *inputs[] = { path, NULL, NULL };
	const uint8_t *nul;

	if (size == 0)
		return 0;
	if ((data[0] & OF_KEY) != 0 &&
	    (nul = memchr(text.p, '\0', text.len)) != NULL) {
		others = (struct kv_span){ text.p, (size_t)(nul - text.p) };
		text.p = nul + 1;
		text.len -= others.len + 1;
	}
	if ((data[0] & PIPE) != 0)
		inputs[0] = dash;
	lines = count_lines(text);
	if (lines < count_lines(others))
		lines = count_lines(others);
	open_input(text, (data[0] & PIPE) != 0);
	if ((data[0] & OF_KEY) != 0)
		read_for_key(inputs, others, &sink);
	else if ((data[0] & KEYS) != 0)
		proof_read_keys(inputs, &keys);
	else
		proof_read(inputs, false, &sink);
	FUZZ_CHECK(n > 0 || others.len > 0);
	return 0;
}
