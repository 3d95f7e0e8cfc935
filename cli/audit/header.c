/* SPDX-License-Identifier: ISC */
#include "audit/header.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "doctor/doctor.h"
#include "base/io.h"
#include "base/json_text.h"
#include "logs/logins.h"
#include "reading/talk.h"
#include "working/working.h"

#define OS_RELEASE_BYTES 16384
#define VERSION_BYTES 256

/* The SHA-256 of a file as hexadecimal digits; JSON's null after a message. */
static json_t *
hash_file(const char *path, int fd)
{
	char sha256[WORKING_HASH_CHARS];

	return working_hash(fd, path, sha256) ?
	    json_string(sha256) :
	    json_null();
}

static json_t *
filter_to_json(const struct kv_filter *f)
{
	const struct kv_pkbf_header *h = &f->pkbf.header;

	return json_pack("{s:s, s:o, s:I, s:o, s:I, s:o}", "kind", "filter",
	    "file", json_text(f->path), "revision", (json_int_t)h->revision,
	    "time_seconds",
	    h->time <= INT64_MAX ? json_integer((json_int_t)h->time) :
				   json_null(),
	    "entries", (json_int_t)h->entries, "sha256",
	    hash_file(f->path, f->pkbf.fd));
}

static json_t *
list_to_json(const struct kv_list *l, const struct facts_date *date)
{
	return json_pack("{s:s, s:o, s:n, s:o, s:I, s:o}", "kind", "list",
	    "file", json_text(l->path), "revision", "time_seconds",
	    date->known ? json_integer(date->seconds) : json_null(), "entries",
	    (json_int_t)l->blocklist.records, "sha256",
	    hash_file(l->path, l->blocklist.fd));
}

static json_t *
lists_to_json(const struct judging *j)
{
	json_t *lists = json_array();

	for (size_t i = 0; j != NULL && i < j->judge.n_filters; i++)
		json_array_append_new(lists,
		    filter_to_json(&j->judge.filter[i]));
	for (size_t i = 0; j != NULL && i < j->judge.n_lists; i++)
		json_array_append_new(lists,
		    list_to_json(&j->judge.list[i], &j->date[i]));
	return lists;
}

/* PRETTY_NAME of os-release(5); JSON's null without one. */
static json_t *
os_to_json(void)
{
	static const char name[] = "PRETTY_NAME=";
	char text[OS_RELEASE_BYTES], *line, *rest = text;
	int fd = open("/etc/os-release", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd != -1 ? io_read(fd, text, sizeof(text) - 1) : -1;

	io_close(fd);
	text[n > 0 ? n : 0] = '\0';
	while ((line = strsep(&rest, "\n")) != NULL) {
		if (strncmp(line, name, sizeof(name) - 1) != 0)
			continue;
		line += sizeof(name) - 1;
		/* A name with blanks is quoted. */
		line += strspn(line, "\"'");
		return json_bytes(line, strcspn(line, "\"'"));
	}
	return json_null();
}

/* The walls that do not stand around the reader; JSON's null if none starts. */
static json_t *
missing_walls_to_json(void)
{
	char why[WALL_WHY_BYTES];
	unsigned int standing;
	json_t *missing;

	if (!reading_find_walls(&standing, why)) {
		cli_error("%s", why);
		return json_null();
	}
	missing = json_array();
	for (unsigned int w = WALL_ACCOUNT; w <= WALL_LANDLOCK; w *= 2)
		if ((standing & w) == 0)
			json_array_append_new(missing,
			    json_string(wall_name((enum wall)w)));
	return missing;
}

static json_t *
versions_to_json(const struct sshd *sshd)
{
	char version[VERSION_BYTES];
	const bool known = access(sshd->path, X_OK) == 0 &&
	    sshd_version(sshd->path, version, sizeof(version));

	return json_pack("{s:s, s:o, s:o}", "keyveto", KEYVETO_VERSION, "sshd",
	    json_text(known ? version : NULL), "os", os_to_json());
}

/* Root's ways in. */
static json_t *
ways_to_json(const struct doctor *d)
{
	json_t *ways = json_array();

	for (enum way w = 0; d->settings != NULL && w < WAYS; w++)
		json_array_append_new(ways,
		    json_pack("{s:s, s:b, s:b, s:b, s:b}", "way", ways_name(w),
			"open", d->ways.open[w], "guard",
			d->ways.open[w] && d->ways.guard[w], "pam",
			d->ways.open[w] && d->ways.pam, "guarded",
			ways_is_guarded(&d->ways, w)));
	return ways;
}

/* Only root can ask sshd, and most of what the doctor looks at. */
static bool
add_doctor(const struct audit_options *o, json_t *header)
{
	const struct doctor_options options = {
		.judge = o->report.judge,
		.sshd = o->sshd,
		.max_age = DOCTOR_MAX_AGE_DEFAULT,
		.list_max_age = DOCTOR_LIST_MAX_AGE_DEFAULT,
	};
	const bool root = geteuid() == 0;
	struct doctor d = { 0 };
	bool ok = !root || doctor_run(&d, &options);

	if (ok)
		ok = json_object_set_new(header, "sshd",
			 json_pack("{s:o, s:b, s:o, s:o}", "path",
			     json_text(o->sshd.path), "answered",
			     d.settings != NULL, "guarded",
			     doctor_guarded_to_json(&d), "ways",
			     ways_to_json(&d))) == 0 &&
		    json_object_set_new(header, "doctor",
			root ? doctor_to_json(&d) : json_null()) == 0;
	if (root)
		doctor_free(&d);
	return ok;
}

/*
 * Prints an object as a line in the form of the others, and frees it. NULL is
 * reported as out of memory. False after a message.
 */
static bool
print_object(json_t *o)
{
	const bool ok = o != NULL &&
	    json_dumpf(o, stdout, JSON_COMPACT | JSON_ENSURE_ASCII) == 0;

	if (o == NULL)
		cli_error("%s", strerror(ENOMEM));
	else
		putchar('\n');
	json_decref(o);
	return cli_stdout_ok() && ok;
}

/* JSON's null without --user. */
static json_t *
users_to_json(const struct audit_options *o)
{
	json_t *users = o->n_users > 0 ? json_array() : json_null();

	for (size_t i = 0; i < o->n_users; i++)
		json_array_append_new(users, json_text(o->user[i]));
	return users;
}

bool
audit_header_print(const struct audit_options *o, const struct judging *judging,
    int64_t now)
{
	char host[HOST_NAME_MAX + 1] = "", when[LOGINS_TIME_BYTES];
	json_t *header;

	if (gethostname(host, sizeof(host)) == -1)
		*host = '\0';
	logins_format_time(now, when);
	header = json_pack(
	    "{s:b, s:i, s:o, s:s, s:I, s:b, s:o, s:b, s:o, s:o, s:o}", "header",
	    1, "format", AUDIT_FORMAT, "host", json_text(host), "time", when,
	    "time_seconds", (json_int_t)now, "whole", o->n_users == 0, "users",
	    users_to_json(o), "all", o->report.all, "versions",
	    versions_to_json(&o->sshd), "lists", lists_to_json(judging),
	    "walls_missing", missing_walls_to_json());
	if (header != NULL && !add_doctor(o, header)) {
		json_decref(header);
		header = NULL;
	}
	return print_object(header);
}

bool
audit_end_print(const struct report *r, size_t accounts, int status,
    const char *reason)
{
	return print_object(
	    json_pack("{s:b, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}",
		"end", 1, "status", status, "accounts", (json_int_t)accounts,
		"files", (json_int_t)r->files, "keys", (json_int_t)r->keys,
		"listed", (json_int_t)r->listed, "allowed",
		(json_int_t)r->allowed, "clean", (json_int_t)r->clean,
		"unsupported", (json_int_t)r->unsupported, "problems",
		(json_int_t)r->problems, "reason", json_text(reason)));
}
