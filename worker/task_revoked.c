/* SPDX-License-Identifier: ISC */
/* The task "revoked": whether RevokedKeys have a key, for cli/accounts/revoked.h. */
#include <sys/mman.h>
#include <sys/wait.h>

#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kv_base64.h"
#include "kv_fingerprint.h"
#include "kv_line.h"
#include "kv_lines.h"
#include "keys/krl.h"
#include "system.h"
#include "tasks/keygen.h"
#include "tasks.h"

#define LINE_BYTES (256 * 1024)
#define SECONDS 600

/* The key, and what ssh-keygen reads: both in memory; -1: there is none. */
static struct kv_sshkey key;
static int key_file = -1, krl_file = -1;

/* Writes a line with the key into a file in memory. -1 if that fails. */
static int
write_key(struct kv_span blob)
{
	/* Four characters for three bytes, and a padding. */
	char *text = malloc(blob.len * 4 / 3 + 8);
	int fd = memfd_create("key", MFD_CLOEXEC);
	size_t len;
	bool ok = text != NULL && fd != -1;

	if (ok) {
		kv_base64_encode_unpadded(blob.p, blob.len, text);
		for (len = strlen(text); len % 4 != 0; len++)
			text[len] = '=';
		text[len] = '\0';
		ok = dprintf(fd, "%s %s\n", kv_keytype_name(key.key.type),
			 text) > 0;
	}
	free(text);
	if (!ok && fd != -1)
		close(fd);
	return ok ? fd : -1;
}

/* Takes the blob of the key, which stays in args. */
unsigned int
task_revoked_enter(struct task_work *t, uint64_t memory)
{
	struct kv_span blob;

	if (record_get(&t->args, R_SPAN(blob)) &&
	    kv_sshkey_parse(blob.p, blob.len, &key) == KV_OK)
		key_file = write_key(blob);
	krl_file = system_copy(t->fd[0], KRL_MAX_BYTES);
	return system_enter(&(struct system){
	    .program = KEYGEN_PATH,
	    .has_more = !system_has_account(),
	    .memory = memory,
	});
}

/* Asks ssh-keygen whether a KRL has the key. */
static enum working_revoked
ask_keygen(void)
{
	const char *const argv[] = { KEYGEN_PATH, "-Q", "-f", "/proc/self/fd/3",
		"/proc/self/fd/4", NULL };
	struct program keygen = { .argv = argv };
	char output[2];
	int status = 0;

	program_fds(&keygen, PROGRAM_NULL, SYSTEM_PIPE, SYSTEM_PIPE);
	keygen.fd[3] = krl_file;
	keygen.fd[4] = key_file;
	if (krl_file == -1 ||
	    system_run(&keygen, SECONDS, output, sizeof(output), &status) !=
		0 ||
	    !WIFEXITED(status) || WEXITSTATUS(status) > 1)
		return WORKING_REVOKED_UNKNOWN;
	return WEXITSTATUS(status) == 1 ? WORKING_REVOKED : WORKING_NOT_REVOKED;
}

/* Whether a line is about the key, or about its CA: of the same key. */
static bool
line_has(struct kv_span text, const uint8_t digest[static KV_SHA256_BYTES])
{
	static uint8_t blob[KV_BLOB_MAX_BYTES];
	uint8_t its[KV_SHA256_BYTES];
	struct kv_line line;

	if (kv_line_parse(text, blob, sizeof(blob), &line) != KV_OK ||
	    line.is_blank)
		return false;
	kv_fingerprint_digest(&line.key.key, its);
	return memcmp(its, digest, sizeof(its)) == 0;
}

/* ssh-keygen is not needed any more: to read and to answer is enough. */
static void
refuse_calls(void)
{
	static const int answers[] = { SCMP_SYS(sendmsg) };

	(void)wall_refuse_calls(&(struct wall_kept){
	    .call = answers,
	    .n_calls = sizeof(answers) / sizeof(answers[0]),
	});
}

/* Whether a file of keys has the key. A read error counts as a yes. */
static enum working_revoked
read_lines(int fd)
{
	static uint8_t buf[LINE_BYTES];
	uint8_t digest[KV_SHA256_BYTES];
	struct kv_lines lines;
	struct kv_span text;
	bool more = true;

	refuse_calls();
	kv_fingerprint_digest(&key.key, digest);
	kv_lines_init(&lines, fd, buf, sizeof(buf));
	while (more) {
		enum kv_err err = kv_lines_next(&lines, &text, &more);

		if (err == KV_ERR_SYSTEM ||
		    (err == KV_OK && more && line_has(text, digest)))
			return WORKING_REVOKED;
	}
	return WORKING_NOT_REVOKED;
}

bool
task_revoked(struct task_work *t)
{
	char start[KRL_MAGIC_BYTES] = "";
	enum working_revoked answer = WORKING_REVOKED;

	if (key_file == -1)
		answer = WORKING_REVOKED_UNKNOWN;
	else if (pread(t->fd[0], start, sizeof(start), 0) != -1)
		answer = memcmp(start, KRL_MAGIC, sizeof(start)) == 0 ?
		    ask_keygen() :
		    read_lines(t->fd[0]);
	return task_tell(R_VALUE(answer));
}
