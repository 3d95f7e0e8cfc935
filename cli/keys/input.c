/* SPDX-License-Identifier: ISC */
#include "keys/input.h"

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "keys/pem.h"

/* Also the longest line: room for the longest key of sshd, with options. */
#define BUFFER_BYTES (1024 * 1024)
/*
 * How much is read at a time: little enough for the cache. If other threads
 * read it, their findings stay in memory until printed.
 */
#define READ_BYTES (128 * 1024)
/* A NUL in this many first bytes means that the file is not text. */
#define BINARY_BYTES 4096
#define DEPTH_MAX 64

/* The state of reading one text. */
struct reader {
	const struct input_sink *sink;
	const char *path;
	bool walked;
	uint64_t line; /* number of the line being read */
	/* The PEM block being collected; NULL if there is none. */
	uint8_t *pem;
	size_t pem_len;
	uint64_t pem_line;
	bool pem_too_long;
	uint8_t *blob; /* KV_BLOB_MAX_BYTES, for decoded keys */
	int fd;
	bool eof;
	uint8_t *buf; /* BUFFER_BYTES, of which len hold unread text */
	size_t len;
};

static void
give_problem(const struct reader *r, uint64_t line, const char *reason)
{
	const struct input_problem p = {
		.path = r->path,
		.line = line,
		.reason = reason,
	};

	r->sink->problem(&p, r->sink->arg);
}

/* Passes on a key, and the CA's key if it is a certificate. */
static void
give_sshkey(const struct reader *r, uint64_t line, const struct kv_sshkey *key,
    struct kv_span comment)
{
	const struct kv_pubkey *part[] = {
		[KV_PART_KEY] = &key->key,
		[KV_PART_CA] = &key->ca,
	};

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		const struct input_key k = {
			.path = r->path,
			.line = line,
			.part = (enum kv_part)i,
			.key = *part[i],
			.type = kv_keytype_name(part[i]->type),
			.bits = kv_pubkey_bits(part[i]),
			.comment = comment,
		};

		if (part[i]->type != KV_KEY_NONE)
			r->sink->key(&k, r->sink->arg);
	}
}

static void
give_pem_key(const struct reader *r, uint64_t line, const struct pem_key *key)
{
	const struct kv_span comment = {
		(const uint8_t *)key->comment,
		strlen(key->comment),
	};
	const struct input_key k = {
		.path = r->path,
		.line = line,
		.spki = { key->spki, key->spki_len },
		.hash = key->has_hash ? &key->hash : NULL,
		.type = key->type,
		.bits = key->bits,
		.comment = comment,
	};

	if (key->ssh.key.type != KV_KEY_NONE)
		give_sshkey(r, line, &key->ssh, comment);
	else
		r->sink->key(&k, r->sink->arg);
}

/* Erases the block: it may be a private key. */
static void
drop_pem(struct reader *r)
{
	if (r->pem != NULL)
		explicit_bzero(r->pem, r->pem_len);
	free(r->pem);
	r->pem = NULL;
}

/*
 * Adds a line to the PEM block, of which the first is its BEGIN line, and reads
 * the block at its END line.
 */
static void
collect_pem(struct reader *r, struct kv_span text)
{
	struct pem_key key;
	char why[256];

	if (r->pem != NULL && pem_is_begin(text)) {
		give_problem(r, r->pem_line, "PEM block has no end");
		drop_pem(r);
	}
	if (r->pem == NULL) {
		if ((r->pem = malloc(PEM_MAX_BYTES)) == NULL) {
			give_problem(r, r->line, strerror(errno));
			return;
		}
		r->pem_len = 0;
		r->pem_line = r->line;
		r->pem_too_long = false;
	}
	if (text.len + 1 > PEM_MAX_BYTES - r->pem_len) {
		r->pem_too_long = true;
	} else {
		if (text.len > 0)
			memcpy(r->pem + r->pem_len, text.p, text.len);
		r->pem_len += text.len;
		r->pem[r->pem_len++] = '\n';
	}
	if (!pem_is_end(text))
		return;
	if (r->pem_too_long)
		give_problem(r, r->pem_line, "PEM block is too long");
	else if (pem_read((struct kv_span){ r->pem, r->pem_len }, &key, why,
		     sizeof(why))) {
		give_pem_key(r, r->pem_line, &key);
		pem_key_free(&key);
	} else if (!key.keyless)
		give_problem(r, r->pem_line, why);
	drop_pem(r);
}

static bool
is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

/*
 * Skips the marker that may start a known_hosts line. The rest is like any
 * other line. False for a marker that ssh does not know.
 */
static bool
skip_marker(struct kv_span *text)
{
	static const char *const markers[] = { "@cert-authority", "@revoked" };
	struct kv_span rest = *text;

	while (rest.len > 0 && is_blank(rest.p[0])) {
		rest.p++;
		rest.len--;
	}
	for (size_t i = 0; i < 2; i++) {
		size_t len = strlen(markers[i]);

		if (rest.len < len || memcmp(rest.p, markers[i], len) != 0 ||
		    (rest.len > len && !is_blank(rest.p[len])))
			continue;
		text->p = rest.p + len;
		text->len = rest.len - len;
		return true;
	}
	return rest.len == 0 || rest.p[0] != '@';
}

/*
 * A protocol 1 key has a modulus of hundreds of digits. A shorter line of
 * numbers is just a table.
 */
#define SSH1_LINE_BYTES 128

/*
 * Whether err means that the line does not look like a key at all. Every SSH
 * blob starts with the length of a short name, so its base64 starts with AAAA.
 * Prose about ssh-rsa keys does not.
 */
static bool
is_no_key(enum kv_err err, struct kv_span text, const struct kv_line *line)
{
	if (err == KV_ERR_LINE_SSH1)
		return text.len < SSH1_LINE_BYTES;
	if (err == KV_ERR_LINE_NO_KEY || err == KV_ERR_LINE_QUOTE ||
	    err == KV_ERR_LINE_MARKER)
		return true;
	return line->base64.len < 4 || memcmp(line->base64.p, "AAAA", 4) != 0;
}

/*
 * Whether a key follows a byte order mark. Neither sshd nor kv_line_parse reads
 * such a line.
 */
static bool
has_key_after_bom(const struct reader *r, struct kv_span text)
{
	struct kv_line line;

	if (text.len < 3 || memcmp(text.p, "\xef\xbb\xbf", 3) != 0)
		return false;
	text.p += 3;
	text.len -= 3;
	return kv_line_parse(text, r->blob, KV_BLOB_MAX_BYTES, &line) ==
	    KV_OK &&
	    !line.is_blank;
}

static void
read_line(struct reader *r, struct kv_span text)
{
	struct kv_line line = { 0 };
	char name[KV_KEYTYPE_NAME_BYTES] = "";
	const struct input_problem unknown = {
		.path = r->path,
		.line = r->line,
		.unknown_type = true,
		.type = name,
		.reason = kv_strerror(KV_ERR_TYPE_UNKNOWN),
	};
	bool marked;
	enum kv_err err;

	if (r->pem != NULL || pem_is_begin(text)) {
		collect_pem(r, text);
		/* sshd ignores PEM: a key on a line inside a block counts. */
		if (kv_line_parse(text, r->blob, KV_BLOB_MAX_BYTES, &line) ==
			KV_OK &&
		    !line.is_blank)
			give_sshkey(r, r->line, &line.key, line.comment);
		return;
	}
	marked = !skip_marker(&text);
	err = kv_line_parse(text, r->blob, KV_BLOB_MAX_BYTES, &line);
	/* If a key follows, the word may be options, so the key counts. */
	if (marked && err != KV_OK)
		err = KV_ERR_LINE_MARKER;
	if (err == KV_OK) {
		if (!line.is_blank)
			give_sshkey(r, r->line, &line.key, line.comment);
	} else if (err == KV_ERR_TYPE_UNKNOWN && line.type.len > 0 &&
	    kv_keyname_find(line.type) == NULL) {
		memcpy(name, line.type.p,
		    line.type.len < sizeof(name) ? line.type.len :
						   sizeof(name) - 1);
		r->sink->problem(&unknown, r->sink->arg);
	} else if (has_key_after_bom(r, text)) {
		give_problem(r, r->line,
		    "byte order mark before the key: "
		    "sshd does not read this line");
	} else if (!r->walked || !is_no_key(err, text, &line)) {
		give_problem(r, r->line, kv_strerror(err));
	}
}

static void
read_lines(struct reader *r, struct kv_span text)
{
	const struct input_sink *sink = r->sink;
	struct quick_line line[QUICK_LINES];

	while (text.len > 0) {
		size_t n = 1;

		/* quick does not know PEM. */
		if (sink->quick != NULL && r->pem == NULL) {
			n = sink->quick(text, line, sink->arg);
		} else {
			const uint8_t *nl = memchr(text.p, '\n', text.len);

			line[0].len = nl != NULL ? (size_t)(nl - text.p) + 1 :
						   text.len;
			line[0].done = false;
		}
		for (size_t i = 0; i < n; i++) {
			size_t len = line[i].len;

			r->line++;
			if (!line[i].done)
				read_line(r,
				    (struct kv_span){ text.p,
					len - (text.p[len - 1] == '\n') });
			text.p += len;
			text.len -= len;
		}
	}
}

void
input_read_block(const struct input_block *block, const struct input_sink *sink)
{
	static _Thread_local uint8_t blob[KV_BLOB_MAX_BYTES];
	struct reader r = {
		.sink = sink,
		.path = block->path,
		.walked = block->walked,
		.line = block->first_line - 1,
		.blob = blob,
	};

	read_lines(&r, block->text);
	free(r.pem);
}

/*
 * Reads into r->buf, behind the text that is there; sets r->eof at the end.
 * Stops when it has READ_BYTES, or when a pipe has nothing more for now, so
 * that a slow writer's keys are judged as they come. Data that looks like DER
 * is read on, up to BUFFER_BYTES. False with errno.
 */
static bool
fill_buffer(struct reader *r)
{
	const struct input_sink *sink = r->sink;
	bool got = false;

	while (r->len < BUFFER_BYTES && !r->eof) {
		struct pollfd p = { .fd = r->fd, .events = POLLIN };
		bool ready = poll(&p, 1, 0) == 1;
		size_t room = BUFFER_BYTES - r->len;
		ssize_t n;

		if (got && (!ready || r->len >= READ_BYTES) &&
		    !pem_looks_like_der((struct kv_span){ r->buf, r->len }))
			break;
		/* Show what was found before waiting for more. */
		if (!ready && sink->progress != NULL)
			sink->progress(0, sink->arg);
		got = true;
		n = read(r->fd, r->buf + r->len,
		    room < READ_BYTES ? room : READ_BYTES);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return false;
		r->eof = n == 0;
		if (n > 0 && sink->progress != NULL)
			sink->progress((uint64_t)n, sink->arg);
		r->len += (size_t)n;
	}
	return true;
}

/*
 * Passes the lines in the first use bytes of r->buf to the sink's block
 * function, up to a PEM block, which may go on in the next buffer. The rest of
 * the text moves to a new buffer. False with errno.
 */
static bool
share_lines(struct reader *r, size_t use)
{
	struct input_block block = {
		.path = r->path,
		.first_line = r->line + 1,
		.walked = r->walked,
		.text = { r->buf, 0 },
		.buffer = r->buf,
	};
	uint64_t lines = 0;
	size_t len = 0;
	uint8_t *next;

	while (len < use) {
		const uint8_t *p = r->buf + len;
		const uint8_t *nl = memchr(p, '\n', use - len);
		size_t n = nl != NULL ? (size_t)(nl - p) : use - len;

		if (pem_is_begin((struct kv_span){ p, n }))
			break;
		lines++;
		len += n + (nl != NULL);
	}
	if (len == 0)
		return true;
	if ((next = malloc(BUFFER_BYTES)) == NULL)
		return false;
	memcpy(next, r->buf + len, r->len - len);
	block.text.len = len;
	r->sink->block(&block, r->sink->arg);
	r->line += lines;
	r->buf = next;
	r->len -= len;
	return true;
}

/*
 * Reads the start of a line longer than the buffer. sshd reads lines of any
 * length, so a key before a long comment counts. A key behind the start cannot
 * be read: that is a problem to report.
 */
static void
give_long_line(struct reader *r, struct kv_span start)
{
	const struct kv_span no_comment = { start.p, 0 };
	struct kv_line line;
	size_t blanks = 0;

	/* sshd takes any number of blanks before a key. */
	while (blanks < start.len && is_blank(start.p[blanks]))
		blanks++;
	if (kv_line_parse(start, r->blob, KV_BLOB_MAX_BYTES, &line) == KV_OK) {
		if (!line.is_blank)
			give_sshkey(r, r->line, &line.key, no_comment);
		if (blanks < start.len)
			return;
	}
	/* In a directory it may be binary data: no message. */
	if (!r->walked || memchr(start.p, '\0', BINARY_BYTES) == NULL)
		give_problem(r, r->line, kv_strerror(KV_ERR_LINE_TOO_LONG));
}

/* Reads a line that fills the buffer, without its end. False with errno. */
static bool
skip_line(struct reader *r)
{
	const uint8_t *nl;
	size_t used;

	r->line++;
	give_long_line(r, (struct kv_span){ r->buf, r->len });
	do {
		r->len = 0;
		if (!fill_buffer(r))
			return false;
		nl = memchr(r->buf, '\n', r->len);
	} while (nl == NULL && !r->eof);
	used = nl != NULL ? (size_t)(nl - r->buf) + 1 : r->len;
	r->len -= used;
	memmove(r->buf, r->buf + used, r->len);
	return true;
}

static void
read_der(struct reader *r, struct kv_span data)
{
	struct pem_key key;
	char why[256];

	if (pem_read_der(data, &key, why, sizeof(why))) {
		give_pem_key(r, 1, &key);
		pem_key_free(&key);
	} else if (!r->walked)
		give_problem(r, 1, why);
	/*
	 * sshd reads any file as text: keys on lines in it count, too. Other
	 * lines get no message.
	 */
	r->walked = true;
	read_lines(r, data);
}

/* Reads r->fd to its end. False with errno. */
static bool
read_stream(struct reader *r)
{
	bool first = true, shares = false;

	for (; !r->eof; first = false) {
		const uint8_t *nl;
		size_t use, before;

		if (!fill_buffer(r))
			return false;
		if (first && r->eof &&
		    pem_looks_like_der((struct kv_span){ r->buf, r->len })) {
			read_der(r, (struct kv_span){ r->buf, r->len });
			return true;
		}
		/* A short text is not worth another thread. */
		shares |= r->sink->block != NULL && r->len >= READ_BYTES;
		if (r->len == BUFFER_BYTES &&
		    memchr(r->buf, '\n', r->len) == NULL && !skip_line(r))
			return false;
		nl = memrchr(r->buf, '\n', r->len);
		use = nl != NULL ? (size_t)(nl - r->buf) + 1 : 0;
		if (r->eof)
			use = r->len;
		before = r->len;
		if (shares && r->pem == NULL && !share_lines(r, use))
			return false;
		use -= before - r->len;
		read_lines(r, (struct kv_span){ r->buf, use });
		r->len -= use;
		memmove(r->buf, r->buf + use, r->len);
	}
	return true;
}

static void
read_fd(int fd, const char *path, bool walked, const struct input_sink *sink)
{
	struct reader r = {
		.sink = sink,
		.path = path,
		.walked = walked,
		.fd = fd,
		.blob = malloc(KV_BLOB_MAX_BYTES),
		.buf = malloc(BUFFER_BYTES),
	};

	if (r.buf == NULL || r.blob == NULL) {
		give_problem(&r, 0, strerror(errno));
	} else {
		if (sink->file != NULL)
			sink->file(path, sink->arg);
		if (!read_stream(&r))
			give_problem(&r, 0, strerror(errno));
		if (r.pem != NULL)
			give_problem(&r, r.pem_line, "PEM block has no end");
	}
	free(r.pem);
	free(r.blob);
	free(r.buf);
}

void
input_read_fd(int fd, const char *path, const struct input_sink *sink)
{
	read_fd(fd, path, false, sink);
}

static void
give_path_problem(const char *path, int error, const struct input_sink *sink)
{
	const struct reader r = { .sink = sink, .path = path };

	give_problem(&r, 0, strerror(error));
}

static void walk_directory(int fd, const char *path, int depth,
    const struct input_sink *sink);

/*
 * Reads a file or a directory, and closes fd. depth is 0 for what the caller
 * named, which need not be a regular file.
 */
static void
read_and_close(int fd, const char *path, int depth,
    const struct input_sink *sink)
{
	struct stat st;

	if (fstat(fd, &st) == -1) {
		give_path_problem(path, errno, sink);
	} else if (S_ISDIR(st.st_mode)) {
		walk_directory(fd, path, depth, sink);
		return;
	} else if (depth == 0 || S_ISREG(st.st_mode)) {
		read_fd(fd, path, depth > 0, sink);
	}
	close(fd);
}

/* Reads all entries of a directory, and closes fd. */
static void
walk_directory(int fd, const char *path, int depth,
    const struct input_sink *sink)
{
	const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";
	char below[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	if (depth > DEPTH_MAX || (dir = fdopendir(fd)) == NULL) {
		give_path_problem(path, depth > DEPTH_MAX ? ELOOP : errno,
		    sink);
		close(fd);
		return;
	}
	while (errno = 0, (entry = readdir(dir)) != NULL) {
		const char *name = entry->d_name;
		int n;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		n = snprintf(below, sizeof(below), "%s%s%s", path, slash, name);
		if (n < 0 || (size_t)n >= sizeof(below)) {
			give_path_problem(path, ENAMETOOLONG, sink);
			continue;
		}
		/* Non-blocking: the name may have become a FIFO by now. */
		fd = openat(dirfd(dir), name,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd != -1)
			read_and_close(fd, below, depth + 1, sink);
		/* A symbolic link, a socket, or a file just removed. */
		else if (errno != ELOOP && errno != ENXIO && errno != ENOENT)
			give_path_problem(below, errno, sink);
	}
	if (errno != 0)
		give_path_problem(path, errno, sink);
	closedir(dir);
}

void
input_read(const char *path, const struct input_sink *sink)
{
	int fd;

	if (strcmp(path, "-") == 0)
		read_fd(STDIN_FILENO, path, false, sink);
	else if ((fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC)) != -1)
		read_and_close(fd, path, 0, sink);
	else
		give_path_problem(path, errno, sink);
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

uint64_t
input_size(const char *path)
{
	struct stat st;

	/* The size of a directory's files would need a second walk. */
	if (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &st) == -1 :
				     stat(path, &st) == -1)
		return 0;
	return S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}
