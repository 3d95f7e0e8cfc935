/* SPDX-License-Identifier: ISC */
#include "keys/found.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "command.h"

void
found_problem(struct found *f, uint64_t line, const char *reason)
{
	const struct input_problem p = { f->path, line, .reason = reason,
		.archive = f->archive };

	f->n++;
	f->sink->problem(&p, f->sink->arg);
}

void
found_unknown_type(struct found *f, struct kv_span type)
{
	char name[KV_KEYTYPE_NAME_BYTES];
	const struct input_problem unknown = { f->path, f->line, true, name,
		kv_strerror(KV_ERR_TYPE_UNKNOWN), false };

	snprintf(name, sizeof(name), "%.*s", (int)type.len,
	    (const char *)type.p);
	f->n++;
	f->sink->problem(&unknown, f->sink->arg);
}

void
found_key(struct found *f, uint64_t line, const struct kv_sshkey *key,
    struct kv_span comment)
{
	const struct kv_pubkey *part[] = {
		[KV_PART_KEY] = &key->key,
		[KV_PART_CA] = &key->ca,
	};

	f->n++;
	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		const struct input_key k = {
			.path = f->path,
			.line = line,
			.part = (enum kv_part)i,
			.key = *part[i],
			.type = kv_keytype_name(part[i]->type),
			.bits = kv_pubkey_bits(part[i]),
			.comment = comment,
		};

		if (part[i]->type != KV_KEY_NONE)
			f->sink->key(&k, f->sink->arg);
	}
}

void
found_pem_key(struct found *f, uint64_t line, const struct pem_key *key)
{
	const struct kv_span comment = { (const uint8_t *)key->comment,
		strlen(key->comment) };
	const struct input_key k = {
		.path = f->path,
		.line = line,
		.spki = { key->spki, key->spki_len },
		.hash = key->has_hash ? &key->hash : NULL,
		.type = key->type,
		.bits = key->bits,
		.comment = comment,
	};

	if (key->ssh.key.type != KV_KEY_NONE) {
		found_key(f, line, &key->ssh, comment);
		return;
	}
	f->n++;
	f->sink->key(&k, f->sink->arg);
}

void
input_judge(const struct kv_judge *j, const struct input_key *key, int64_t now,
    struct kv_decision *d)
{
	if (key->key.type != KV_KEY_NONE)
		kv_judge_pubkey(j, &key->key, now, d);
	else
		kv_judge_spki(j, key->spki.p, key->spki.len, key->hash, d);
}

void
input_print_key(FILE *out, const struct input_key *key)
{
	uint8_t digest[KV_SHA256_BYTES];
	char fingerprint[KV_FINGERPRINT_BYTES];

	cli_print_safe(out, key->path, strlen(key->path));
	fprintf(out, ":%" PRIu64 ": ", key->line);
	cli_print_safe(out, key->type, strlen(key->type));
	if (key->bits > 0)
		fprintf(out, " %u", key->bits);
	if (key->key.type != KV_KEY_NONE) {
		kv_fingerprint_digest(&key->key, digest);
		kv_fingerprint_format(digest, fingerprint);
		fprintf(out, " %s", fingerprint);
	}
	fprintf(out, "%s\n",
	    key->part == KV_PART_CA ? " (the certificate's CA)" : "");
}

size_t
input_hashes(const struct input_key *key,
    struct kv_blocklist_hash hash[static INPUT_HASHES_MAX])
{
	size_t n = kv_blocklist_hash_count(&key->key);

	if (key->key.type == KV_KEY_NONE) {
		if (key->hash != NULL)
			hash[n++] = *key->hash;
		return n;
	}
	for (size_t i = 0; i < n; i++)
		kv_blocklist_hash_key(&key->key, i, &hash[i]);
	return n;
}

void
input_describe_file(struct input_file *file, int fd, const char *path,
    bool walked)
{
	struct stat st;

	*file = (struct input_file){
		.fd = fd,
		.path = path,
		.walked = walked,
	};
	if (fstat(fd, &st) == -1)
		return;
	file->regular = S_ISREG(st.st_mode);
	file->size = (uint64_t)st.st_size;
	file->fifo = S_ISFIFO(st.st_mode) &&
	    ((unsigned int)fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;
}
