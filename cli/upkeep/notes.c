/* SPDX-License-Identifier: ISC */
#include "upkeep/notes.h"

#include <sys/types.h> /* sha2.h of libmd needs u_int types */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sha2.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "command.h"
#include "base/io.h"

#define NOTES_MAX_BYTES (64 * 1024)
#define NOTES_NAME ".%.230s.keyveto-update"

/* The members of struct update_notes in the file. */
static const struct member {
	const char *key;
	size_t offset;
	size_t cap; /* of a text; 0: an int64_t */
} members[] = {
#define AT(name) offsetof(struct update_notes, name)
	{ "source", AT(source), UPDATE_DIGEST_CHARS },
	{ "etag", AT(etag), HTTP_VALUE_BYTES },
	{ "last_modified", AT(last_modified), HTTP_VALUE_BYTES },
	{ "signature", AT(signature), UPDATE_DIGEST_CHARS },
	{ "signers", AT(signers), UPDATE_DIGEST_CHARS },
	{ "size", AT(size), 0 },
	{ "mtime", AT(mtime), 0 },
	{ "mtime_ns", AT(mtime_ns), 0 },
	{ "unwanted_revision", AT(unwanted), 0 },
	{ "unwanted_sha256", AT(unwanted_file), UPDATE_DIGEST_CHARS },
	{ "rolled_back", AT(rolled_back), 0 },
	{ "highest", AT(highest), 0 },
	{ "expires", AT(expires), 0 },
	{ "in_use", AT(in_use), 0 },
	{ "held", AT(held), 0 },
	{ "failed_since", AT(failed_since), 0 },
	{ "asked", AT(asked), 0 },
};
#define COUNT (sizeof(members) / sizeof(members[0]))

void
update_notes_forget_installed(struct update_notes *s)
{
	s->source[0] = s->etag[0] = s->last_modified[0] = '\0';
	s->signature[0] = s->signers[0] = '\0';
	s->size = s->mtime = s->mtime_ns = -1;
}

bool
update_notes_load(int dir, const char *name, const struct stat *filter,
    struct update_notes *s)
{
	static char text[NOTES_MAX_BYTES];
	char path[NAME_MAX + 1];
	struct stat st;
	json_t *object = NULL;
	bool found;
	ssize_t len;
	int fd;

	*s = (struct update_notes){ .unwanted = -1, .highest = -1 };
	update_notes_forget_installed(s);
	snprintf(path, sizeof(path), NOTES_NAME, name);
	fd = openat(dir, path,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd == -1)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid() && (st.st_mode & 022) == 0) {
		len = io_read(fd, text, sizeof(text));
		object = json_loadb(text, len > 0 ? (size_t)len : 0, 0, NULL);
	}
	close(fd);
	found = object != NULL;
	for (size_t i = 0; i < COUNT; i++) {
		const json_t *value = json_object_get(object, members[i].key);
		const char *string = json_string_value(value);
		void *at = (char *)s + members[i].offset;

		/* Of several files that an older keyveto noted, the last. */
		if (string != NULL && at == s->unwanted_file &&
		    strrchr(string, ' ') != NULL)
			string = strrchr(string, ' ') + 1;
		if (members[i].cap == 0 && json_is_integer(value))
			*(int64_t *)at = json_integer_value(value);
		/* A short one may be sent in a header. */
		else if (string != NULL && strlen(string) < members[i].cap &&
		    (members[i].cap > HTTP_VALUE_BYTES ||
			http_value_is_safe(string)))
			memcpy(at, string, strlen(string) + 1);
	}
	/* An older keyveto noted the revision that was rolled back alone. */
	if (s->unwanted >= 0 && json_object_get(object, "rolled_back") == NULL)
		s->rolled_back = 1;
	json_decref(object);
	if (filter == NULL || s->size != filter->st_size ||
	    s->mtime != filter->st_mtim.tv_sec ||
	    s->mtime_ns != filter->st_mtim.tv_nsec)
		update_notes_forget_installed(s);
	return found;
}

bool
update_notes_save(int dir, const char *name, const struct update_notes *s)
{
	char path[NAME_MAX + 1], temporary[NAME_MAX + 1];
	json_t *object = json_object();
	int fd, saved;
	bool ok = true;

	for (size_t i = 0; i < COUNT; i++) {
		const void *at = (const char *)s + members[i].offset;

		ok = json_object_set_new(object, members[i].key,
			 members[i].cap == 0 ?
			     json_integer(*(const int64_t *)at) :
			     json_string(at)) == 0 &&
		    ok;
	}
	snprintf(path, sizeof(path), NOTES_NAME, name);
	snprintf(temporary, sizeof(temporary), NOTES_NAME "-new", name);
	/* Left by a killed run: we hold the lock. */
	(void)unlinkat(dir, temporary, 0);
	fd = openat(dir, temporary,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	ok = ok && fd != -1 && json_dumpfd(object, fd, JSON_INDENT(2)) == 0 &&
	    io_write(fd, "\n", 1) && fsync(fd) == 0 &&
	    renameat(dir, temporary, dir, path) == 0;
	saved = errno;
	if (!ok && fd != -1)
		(void)unlinkat(dir, temporary, 0);
	io_close(fd);
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
	ssize_t n;

	SHA256Init(&ctx);
	/* With its NUL, to separate it from the file. */
	SHA256Update(&ctx, (const uint8_t *)identity, strlen(identity) + 1);
	while ((n = io_read(allowed_signers, buf, sizeof(buf))) > 0)
		SHA256Update(&ctx, buf, (size_t)n);
	(void)SHA256End(&ctx, signers);
	return n == 0;
}
