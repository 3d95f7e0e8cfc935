/* SPDX-License-Identifier: ISC */
#include "keys/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "keys/lines.h"
#include "keys/source.h"

/* Also the longest line: room for the longest key of sshd, with options. */
#define BUFFER_BYTES (1024 * 1024)
/* How much is read at a time: little enough for the cache. */
#define READ_BYTES (128 * 1024)

/* One file, between the first stage and the last. */
struct reader {
	struct source source;
	struct lines lines;
	struct input_room *room;
	uint8_t *buf; /* BUFFER_BYTES, len are unread; of room */
	size_t len;
	bool raw; /* do not unpack, nor read UTF-16 */
};

/* Returns what *p points to, which is allocated if it is NULL, or NULL. */
static uint8_t *
get_room(uint8_t **p, size_t bytes)
{
	if (*p == NULL)
		*p = malloc(bytes);
	return *p;
}

void
input_room_free(struct input_room *room)
{
	free(room->buf);
	free(room->blob);
	free(room->pem);
	*room = (struct input_room){ 0 };
}

/* Reads with room of its own, if the sink has none. */
static struct input_room *
choose_room(const struct input_sink *sink, struct input_room *own)
{
	return sink->room != NULL ? sink->room : own;
}

static struct lines
start_lines(const struct input_sink *sink, const char *path, bool walked,
    struct input_room *room)
{
	return (struct lines){
		.found = { .sink = sink, .path = path },
		.kind = { .is = sink->plain ? KIND_LINES : KIND_UNKNOWN },
		.block = { .room = &room->pem },
		.blob = get_room(&room->blob, KV_BLOB_MAX_BYTES),
		.plain = sink->plain,
		.walked = walked,
	};
}

/* Tells if the data in r->buf is read only as a whole. */
static bool
is_read_whole(const struct reader *r)
{
	return pem_looks_like_der((struct kv_span){ r->buf, r->len });
}

/* Tells if r->buf has no room for more. */
static bool
is_full(const struct reader *r)
{
	return BUFFER_BYTES - r->len < source_room(&r->source);
}

/*
 * Reads into r->buf, behind the text that is there. Stops when it has enough,
 * or when a pipe has nothing more for now, so that a slow writer's keys are
 * judged as they come. DER is read on, up to BUFFER_BYTES. False with
 * r->source.why, or errno.
 */
static bool
fill_buffer(struct reader *r)
{
	const struct source_yield yield = { r->lines.found.n,
		r->lines.keyless };
	struct source *s = &r->source;
	size_t had = r->len, cap, n;

	while (!is_full(r) && !s->eof) {
		source_poll(s);
		if (r->len > had && (!s->ready || r->len >= READ_BYTES) &&
		    !is_read_whole(r))
			break;
		cap = BUFFER_BYTES - r->len;
		if (cap > READ_BYTES)
			cap = READ_BYTES;
		if (!source_read(s, &yield, r->buf + r->len, cap, &n))
			return false;
		r->len += n;
	}
	return true;
}

/*
 * Reads a line that fills the buffer, without its end. False as fill_buffer.
 */
static bool
read_long_line(struct reader *r)
{
	struct long_line line = { 0 };
	const uint8_t *nl = NULL;
	bool more, ends_in_nul;
	size_t used;

	for (;;) {
		more = nl == NULL && !r->source.eof;
		used = lines_read_part(&r->lines, &line,
		    (struct kv_span){ r->buf,
			nl != NULL ? (size_t)(nl - r->buf) : r->len },
		    more);
		ends_in_nul = used > 0 && r->buf[used - 1] == '\0';
		used += nl != NULL;
		r->len -= used;
		memmove(r->buf, r->buf + used, r->len);
		if (nl != NULL || (r->source.eof && r->len == 0))
			break;
		/*
		 * The NULs of a hole end no line and are in no key. What
		 * follows is cut into the same parts as if they were read.
		 */
		if (ends_in_nul && r->len == 0 &&
		    !source_skip_hole(&r->source, READ_BYTES))
			return false;
		if (!fill_buffer(r))
			return false;
		nl = memchr(r->buf, '\n', r->len);
	}
	lines_finish_part(&r->lines, &line);
	return true;
}

static void
read_der(struct reader *r, struct kv_span data)
{
	struct pem_key key;
	char why[256];

	if (pem_read_der(data, &key, why, sizeof(why))) {
		found_pem_key(&r->lines.found, 1, &key);
		pem_key_free(&key);
	} else if (!r->lines.walked || pem_der_names_key(data)) {
		found_problem(&r->lines.found, 1, why);
	}
	/*
	 * sshd reads any file as text: keys on lines in it count, too. Other
	 * lines get no message.
	 */
	r->lines.walked = true;
	lines_read(&r->lines, data);
}

/* Reads on until the form of the file is known, and as that form. */
static bool
enter_form(struct reader *r)
{
	/* KRL_MAGIC of krl.h in OpenSSH */
	static const char krl_magic[8] = "SSHKRL\n";
	enum unpack_form form;
	struct kv_span start;
	const char *name;

	for (;;) {
		if (!fill_buffer(r))
			return false;
		start = (struct kv_span){ r->buf, r->len };
		if (r->raw)
			return true;
		form = unpack_recognise(start);
		if (form == UNPACK_SHORT && !r->source.eof)
			continue;
		if (form == UNPACK_NONE || form == UNPACK_SHORT)
			break;
		if (!source_unpack(&r->source, form, start))
			return false;
		r->len = 0;
	}
	/* sshd reads any file as text: keys on lines in it count, too. */
	if ((name = unpack_foreign(start)) != NULL) {
		r->lines.found.archive = r->lines.walked &&
		    strstr(name, "unpack") != NULL;
		found_problem(&r->lines.found, 0, name);
		r->lines.found.archive = false;
		r->lines.walked = true;
	} else if (!r->lines.walked && start.len >= sizeof(krl_magic) &&
	    memcmp(start.p, krl_magic, sizeof(krl_magic)) == 0) {
		found_problem(&r->lines.found, 0,
		    "KRL of OpenSSH: keyveto does not look into it: type "
		    "ssh-keygen -Ql -f FILE | grep ^hash: | keyveto deny -");
		r->lines.walked = true;
	}
	return true;
}

/* Reads r->source.fd to its end. False with r->source.why, or errno. */
static bool
read_stream(struct reader *r)
{
	bool first = true;

	for (; !r->source.eof || first; first = false) {
		const uint8_t *nl;
		size_t use;

		if (first ? !enter_form(r) : !fill_buffer(r))
			return false;
		if (first && r->source.eof &&
		    pem_looks_like_der((struct kv_span){ r->buf, r->len })) {
			read_der(r, (struct kv_span){ r->buf, r->len });
			return true;
		}
		if (is_full(r) && memchr(r->buf, '\n', r->len) == NULL &&
		    !read_long_line(r))
			return false;
		nl = memrchr(r->buf, '\n', r->len);
		use = nl != NULL ? (size_t)(nl - r->buf) + 1 : 0;
		if (r->source.eof)
			use = r->len;
		lines_read(&r->lines, (struct kv_span){ r->buf, use });
		r->len -= use;
		memmove(r->buf, r->buf + use, r->len);
	}
	return true;
}

/*
 * Reads a file, from where it stands, to its end. Returns the form that it was
 * unpacked from.
 */
static enum unpack_form
read_to_end(const struct input_file *file, const struct input_sink *sink,
    struct input_room *room, bool raw)
{
	struct reader r = {
		.source = {
			.fd = file->fd,
			.regular = file->regular,
			.fifo = file->fifo,
			.wary = sink->wary,
			.size = file->size,
			.progress = sink->progress,
			.arg = sink->arg,
		},
		.lines = start_lines(sink, file->path, file->walked, room),
		.room = room,
		.buf = get_room(&room->buf, BUFFER_BYTES),
		.raw = raw || sink->plain,
	};
	enum unpack_form form;

	if (raw) {
		r.lines.kind.is = KIND_LINES;
		r.lines.mention.ascii = true;
	}
	if (r.buf == NULL || r.lines.blob == NULL || !read_stream(&r))
		found_problem(&r.lines.found, 0,
		    r.source.why != NULL ? r.source.why : strerror(errno));
	lines_finish(&r.lines);
	form = unpack_form(&r.source.unpack);
	lines_free(&r.lines);
	source_free(&r.source);
	return form;
}

void
input_read_file(const struct input_file *file, const struct input_sink *sink)
{
	struct input_room own = { 0 }, *room = choose_room(sink, &own);
	struct input_file walked = *file;
	struct input_sink raw = *sink;
	enum unpack_form form;

	if (sink->file != NULL)
		sink->file(file->path, sink->arg);
	form = read_to_end(file, sink, room, false);
	/*
	 * sshd reads any file as text, also one that is gzip or UTF-16: keys on
	 * lines in it count, too. A file that begins in UTF-16 may go on in
	 * ASCII, if another program appended to it.
	 */
	if (form != UNPACK_NONE && file->regular &&
	    lseek(file->fd, 0, SEEK_SET) == 0) {
		walked.walked = true;
		raw.progress = NULL;
		raw.plain = form == UNPACK_GZIP || form == UNPACK_XZ;
		(void)read_to_end(&walked, &raw, room, true);
	}
	input_room_free(&own);
}

static void
read_walked(int fd, const char *path, bool walked, void *arg)
{
	struct input_file file;

	input_describe_file(&file, fd, path, walked);
	input_read_file(&file, arg);
}

void
input_read_fd(int fd, const char *path, const struct input_sink *sink)
{
	read_walked(fd, path, false, (void *)sink);
}

static void
on_walk_problem(const struct input_problem *problem, void *arg)
{
	const struct input_sink *sink = arg;

	sink->problem(problem, sink->arg);
}

void
input_read(const char *path, const struct input_sink *sink)
{
	struct input_room own = { 0 };
	struct input_sink roomy = *sink;
	const struct input_walk w = {
		.file = read_walked,
		.problem = on_walk_problem,
		.arg = &roomy,
	};

	roomy.room = choose_room(sink, &own);
	input_walk(path, &w);
	input_room_free(&own);
}
