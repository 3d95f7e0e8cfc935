/* SPDX-License-Identifier: ISC */
#include "update/notes.h"

#include <sys/types.h> /* sha2.h of libmd needs u_int types */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "command.h"
#include "host/read.h"
#include "host/write.h"

#define NOTES_MAX_BYTES (64 * 1024)

struct names {
	char notes[NAME_MAX + 1], fresh[NAME_MAX + 1];
};

static struct names
names_for(const char *name)
{
	struct names n = { "", "" };

	snprintf(n.notes, sizeof(n.notes), ".%.230s.keyveto-update", name);
	snprintf(n.fresh, sizeof(n.fresh), ".%.230s.keyveto-update-new", name);
	return n;
}

void
update_notes_forget_installed(struct update_notes *s)
{
	s->source[0] = s->etag[0] = s->last_modified[0] = '\0';
	s->signers[0] = '\0';
	s->size = s->mtime = s->mtime_ns = -1;
}

void
update_notes_forget_part(struct update_notes *s)
{
	s->part_etag[0] = s->part_source[0] = s->part_boot[0] = '\0';
}

void
update_notes_clear(struct update_notes *s)
{
	update_notes_forget_installed(s);
	update_notes_forget_part(s);
	s->unwanted = -1;
}

/* Sets out to a string that is safe to send in a header; else "". */
static void
get_text(const json_t *object, const char *key, char *out, size_t cap)
{
	const char *text = json_string_value(json_object_get(object, key));

	out[0] = '\0';
	if (text != NULL && strlen(text) < cap && http_value_is_safe(text))
		memcpy(out, text, strlen(text) + 1);
}

static int64_t
get_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

static void
read_object(const json_t *o, struct update_notes *s)
{
	get_text(o, "source", s->source, sizeof(s->source));
	get_text(o, "etag", s->etag, sizeof(s->etag));
	get_text(o, "last_modified", s->last_modified,
	    sizeof(s->last_modified));
	get_text(o, "signers", s->signers, sizeof(s->signers));
	s->size = get_number(o, "size");
	s->mtime = get_number(o, "mtime");
	s->mtime_ns = get_number(o, "mtime_ns");
	s->unwanted = get_number(o, "unwanted_revision");
	get_text(o, "part_etag", s->part_etag, sizeof(s->part_etag));
	get_text(o, "part_source", s->part_source, sizeof(s->part_source));
	get_text(o, "part_boot", s->part_boot, sizeof(s->part_boot));
}

void
update_notes_load(int dir, const char *name, struct update_notes *s)
{
	struct names names = names_for(name);
	struct stat st;
	json_t *object;
	ssize_t len;
	char *buf;
	int fd;

	update_notes_clear(s);
	fd = openat(dir, names.notes,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd == -1)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid() && (st.st_mode & 022) == 0 &&
	    (buf = malloc(NOTES_MAX_BYTES)) != NULL) {
		len = read_all(fd, buf, NOTES_MAX_BYTES);
		object = json_loadb(buf, len > 0 ? (size_t)len : 0, 0, NULL);
		read_object(object, s);
		json_decref(object);
		free(buf);
	}
	close(fd);
}

static json_t *
make_object(const struct update_notes *s)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:s, "
			 "s:s}",
	    "source", s->source, "etag", s->etag, "last_modified",
	    s->last_modified, "signers", s->signers, "size",
	    (json_int_t)s->size, "mtime", (json_int_t)s->mtime, "mtime_ns",
	    (json_int_t)s->mtime_ns, "unwanted_revision",
	    (json_int_t)s->unwanted, "part_etag", s->part_etag, "part_source",
	    s->part_source, "part_boot", s->part_boot);
}

static bool
write_object(int fd, const json_t *object)
{
	return object != NULL && json_dumpfd(object, fd, JSON_INDENT(2)) == 0 &&
	    write_all(fd, "\n", 1) && fsync(fd) == 0;
}

bool
update_notes_save(int dir, const char *name, const struct update_notes *s)
{
	json_t *object = make_object(s);
	struct names names = names_for(name);
	int fd, saved;
	bool ok;

	/* Left by a killed run: we hold the lock. */
	(void)unlinkat(dir, names.fresh, 0);
	fd = openat(dir, names.fresh,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	ok = fd != -1 && write_object(fd, object) &&
	    renameat(dir, names.fresh, dir, names.notes) == 0;
	saved = errno;
	if (!ok && fd != -1)
		(void)unlinkat(dir, names.fresh, 0);
	if (fd != -1)
		close(fd);
	json_decref(object);
	errno = saved;
	return ok;
}

void
update_notes_keep(int dir, const char *name, const struct update_notes *s)
{
	if (!update_notes_save(dir, name, s))
		cli_error("warning: cannot write .%s.keyveto-update beside the "
			  "filter (%s); the next update fetches all of it",
		    name, strerror(errno));
}

bool
update_notes_fits(const struct update_notes *s, const struct stat *st)
{
	return s->size == st->st_size && s->mtime == st->st_mtim.tv_sec &&
	    s->mtime_ns == st->st_mtim.tv_nsec;
}

void
update_notes_fit(struct update_notes *s, const struct stat *st)
{
	s->size = st->st_size;
	s->mtime = st->st_mtim.tv_sec;
	s->mtime_ns = st->st_mtim.tv_nsec;
}

void
update_notes_source(const char *url, char source[UPDATE_DIGEST_CHARS])
{
	(void)SHA256Data((const uint8_t *)url, strlen(url), source);
}

bool
update_notes_signers(int allowed_signers, const char *identity,
    char signers[UPDATE_DIGEST_CHARS])
{
	uint8_t buf[4096];
	SHA2_CTX ctx;
	off_t at = 0;
	ssize_t n;

	SHA256Init(&ctx);
	/* With its NUL, to separate it from the file. */
	SHA256Update(&ctx, (const uint8_t *)identity, strlen(identity) + 1);
	while ((n = pread(allowed_signers, buf, sizeof(buf), at)) != 0) {
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return false;
		SHA256Update(&ctx, buf, (size_t)n);
		at += n;
	}
	(void)SHA256End(&ctx, signers);
	return true;
}

void
update_notes_boot(char boot[UPDATE_BOOT_CHARS])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t len = -1;

	if (fd != -1) {
		len = read_all(fd, boot, UPDATE_BOOT_CHARS - 1);
		close(fd);
	}
	boot[len > 0 ? len : 0] = '\0';
	boot[strcspn(boot, "\n")] = '\0';
}
