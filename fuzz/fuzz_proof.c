/* SPDX-License-Identifier: ISC */
/*
 * A file with proofs, keys and anything else: each proof is verified, refused
 * or a problem, and has a line of the file.
 */
#include <sys/mman.h>

#include <stdio.h>
#include <unistd.h>

#include "fuzz.h"
#include "base/io.h"
#include "keys/unpack.h"
#include "proof/reader.h"

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
take_problem(const struct input_problem *problem, void *arg)
{
	uint64_t *n = arg;

	FUZZ_CHECK(problem->line <= lines && problem->reason[0] != '\0');
	++*n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t n = 0;
	const struct proof_sink sink = {
		.proved = take_proved,
		.refused = take_problem,
		.problem = take_problem,
		.arg = &n,
	};
	int fd = memfd_create("proof", MFD_CLOEXEC);
	char path[64];
	char *const inputs[] = { path, NULL };

	lines = 1;
	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	if (unpack_recognise((struct kv_span){ data, size }) >= UNPACK_GZIP)
		lines = UINT64_MAX;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	FUZZ_CHECK(fd != -1 && io_write(fd, data, size));
	proof_read(inputs, &sink);
	FUZZ_CHECK(n > 0);
	close(fd);
	return 0;
}
