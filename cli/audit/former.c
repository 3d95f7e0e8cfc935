/* SPDX-License-Identifier: ISC */
#include "audit/former.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "host/files.h"
#include "kv_lines.h"

/* "" for a member that is missing, or no text, or has a NUL. */
static const char *
get_text(const json_t *o, const char *name)
{
	const json_t *value = json_object_get(o, name);
	const char *text = json_string_value(value);

	return text != NULL && strlen(text) == json_string_length(value) ?
	    text :
	    "";
}

/* Returns what is wrong with the object, or NULL. */
static const char *
add_key(struct logins *l, const json_t *o)
{
	const char *verdict = get_text(o, "verdict");
	const char *text = get_text(o, "fingerprint");
	const char *type = get_text(o, "type");
	const bool ca = strcmp(get_text(o, "part"), "ca") == 0 ||
	    json_is_true(json_object_get(o, "ca"));
	uint8_t digest[KV_SHA256_BYTES];
	enum kv_verdict v;

	/* Other objects, and keys without a fingerprint. */
	if (*verdict == '\0' || *text == '\0')
		return NULL;
	for (v = KV_VERDICT_LISTED; v <= KV_VERDICT_CLEAN; v++)
		if (strcmp(verdict, kv_verdict_name(v)) == 0)
			break;
	if (v > KV_VERDICT_CLEAN || (v != KV_VERDICT_LISTED && !l->all))
		return NULL;
	if (kv_fingerprint_parse((struct kv_span){ (const uint8_t *)text,
				     strlen(text) },
		digest) != KV_OK)
		return "fingerprint is not SHA256: and 43 characters";
	return logins_add_former(l, digest, type, v, ca) ?
	    NULL :
	    "too many keys; the rest was not read";
}

/* Returns what is wrong with the line, or NULL. */
static const char *
read_line(struct logins *l, struct kv_span line)
{
	const char *wrong = NULL;
	json_t *o;

	if (line.len == 0)
		return NULL;
	o = json_loadb((const char *)line.p, line.len,
	    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	wrong = json_is_object(o) ?
	    add_key(l, o) :
	    "no JSON object, as keyveto audit --json prints them";
	json_decref(o);
	return wrong;
}

static void
read_lines(struct logins *l, struct report *r, int fd, const char *path)
{
	static uint8_t buf[FORMER_LINE_BYTES];
	struct kv_lines lines;
	struct kv_span line;
	const char *wrong;
	int problems = 0;
	bool more = true;

	kv_lines_init(&lines, fd, buf, sizeof(buf));
	while (more && problems < FORMER_PROBLEMS_MAX) {
		enum kv_err err = kv_lines_next(&lines, &line, &more);

		wrong = err == KV_OK ? NULL : kv_strerror(err);
		if (err == KV_ERR_SYSTEM) {
			wrong = strerror(errno);
			more = false;
		} else if (err == KV_OK && more)
			wrong = read_line(l, line);
		if (wrong == NULL)
			continue;
		report_problem_at(r, path, lines.number, wrong);
		if (++problems == FORMER_PROBLEMS_MAX)
			report_problem_at(r, path, 0,
			    "too many problems; the rest was not read");
	}
}

void
former_read(struct logins *l, struct report *r, const char *path)
{
	const int fd = files_open(path, 0);

	if (fd == -1) {
		report_problem_at(r, path, 0, strerror(errno));
		return;
	}
	read_lines(l, r, fd, path);
	close(fd);
}
