/* SPDX-License-Identifier: ISC */
/* The task "former": which keys an audit judged that keyveto audit --json printed. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "kv_fingerprint.h"
#include "kv_lines.h"
#include "kv_verdict.h"
#include "log_lines/former_records.h"
#include "reading/report.h"
#include "tasks.h"

/*
 * A longer line is a problem. The longest comment of a key has 256 KiB, of which
 * each byte may take six in JSON.
 */
#define LINE_BYTES (2 * 1024 * 1024)

/* "" for what is missing, or no text, or has a NUL. */
static const char *
text_of(const json_t *value)
{
	const char *text = json_string_value(value);

	return text != NULL && strlen(text) == json_string_length(value) ?
	    text :
	    "";
}

/* That of a member. */
static const char *
get_text(const json_t *o, const char *name)
{
	return text_of(json_object_get(o, name));
}

/* A text, of which no more is told than the front has room for. */
static struct kv_span
cut_text(const char *text, size_t cap)
{
	return (
	    struct kv_span){ (const uint8_t *)text, strnlen(text, cap - 1) };
}

/* An audit that is read. */
struct audit {
	uint64_t wanted;    /* enum former_wanted */
	json_int_t keys;    /* so far */
	bool headed, ended; /* its first and its last line were read */
	char why[256];	    /* memory for a reason */
};

/* Returns what is wrong with the object, or NULL. */
static const char *
read_key(struct audit *a, const json_t *o)
{
	const char *verdict = get_text(o, "verdict");
	const char *text = get_text(o, "fingerprint");
	const bool ca = strcmp(get_text(o, "part"), "ca") == 0 ||
	    json_is_true(json_object_get(o, "ca"));
	uint8_t digest[KV_SHA256_BYTES];
	struct kv_span name;
	enum kv_verdict v;

	/* Other objects, and keys without a fingerprint. */
	if (*verdict == '\0' || *text == '\0')
		return NULL;
	for (v = KV_VERDICT_LISTED; v <= KV_VERDICT_CLEAN; v++)
		if (strcmp(verdict, kv_verdict_name(v)) == 0)
			break;
	if (a->wanted != FORMER_ACCOUNTS &&
	    (v > KV_VERDICT_CLEAN ||
		(v != KV_VERDICT_LISTED && a->wanted != FORMER_ALL)))
		return NULL;
	if (kv_fingerprint_parse((struct kv_span){ (const uint8_t *)text,
				     strlen(text) },
		digest) != KV_OK)
		return "fingerprint is not SHA256: and 43 characters";
	if (a->wanted == FORMER_ACCOUNTS) {
		name = cut_text(get_text(o, "account"), FORMER_ACCOUNT_BYTES);
		task_tell(R_VALUE(FORMER_ACCOUNT), R_BYTES(digest),
		    R_SPAN(name), R_FLAG(ca));
	} else {
		name = cut_text(get_text(o, "type"), FORMER_TYPE_BYTES);
		task_tell(R_VALUE(FORMER_KEY), R_BYTES(digest), R_SPAN(name),
		    R_VALUE(v), R_FLAG(ca));
	}
	return NULL;
}

static const char *
read_header(struct audit *a, const json_t *o)
{
	const json_t *time = json_object_get(o, "time_seconds");
	const json_int_t seconds = json_integer_value(time);
	const json_t *users = json_object_get(o, "users");
	struct kv_span host, user;

	if (a->headed)
		return "a second header: a file is the audit of one host";
	if (json_integer_value(json_object_get(o, "format")) != AUDIT_FORMAT)
		return "its format is unknown here: use the keyveto that made "
		       "it";
	if (json_is_false(json_object_get(o, "answered")))
		return "the host did not answer: it has no keys";
	if (!json_is_integer(time) || seconds < 0)
		return "does not tell when the audit was made";
	if (!json_is_true(json_object_get(o, "all")))
		return "was made without --all: it does not tell which keys "
		       "were there";
	a->headed = true;
	host = cut_text(get_text(o, "host"), FORMER_HOST_BYTES);
	task_tell(R_VALUE(FORMER_HEADER), R_SPAN(host), R_VALUE(seconds),
	    R_VALUE(json_is_true(json_object_get(o, "whole"))));
	for (size_t i = 0; i < json_array_size(users); i++) {
		user = cut_text(text_of(json_array_get(users, i)),
		    FORMER_ACCOUNT_BYTES);
		task_tell(R_VALUE(FORMER_USER), R_SPAN(user));
	}
	return NULL;
}

static const char *
read_end(struct audit *a, const json_t *o)
{
	const char *reason = get_text(o, "reason");

	a->ended = true;
	if (*reason != '\0') {
		snprintf(a->why, sizeof(a->why), "judged no key: %s", reason);
		return a->why;
	}
	return json_integer_value(json_object_get(o, "keys")) == a->keys ?
	    NULL :
	    "counts another number of keys than the audit has: it was "
	    "changed, or a part is lost";
}

/* A line of an audit that must be whole. */
static const char *
read_object(struct audit *a, const json_t *o)
{
	if (json_is_true(json_object_get(o, "header")))
		return read_header(a, o);
	if (!a->headed)
		return "is no first line of keyveto audit --json";
	if (a->ended)
		return "follows the last line of an audit";
	if (json_is_true(json_object_get(o, "end")))
		return read_end(a, o);
	/* A key that came in need not be in any file. */
	if (json_is_true(json_object_get(o, "login")) ||
	    json_is_true(json_object_get(o, "new")))
		return NULL;
	a->keys += json_is_string(json_object_get(o, "fingerprint"));
	return read_key(a, o);
}

/* Returns what is wrong with the line, or NULL. */
static const char *
read_line(struct audit *a, struct kv_span line)
{
	const char *wrong = NULL;
	json_t *o;

	if (line.len == 0)
		return NULL;
	o = json_loadb((const char *)line.p, line.len,
	    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	if (!json_is_object(o))
		wrong = "no JSON object, as keyveto audit --json prints them";
	else
		wrong = a->wanted == FORMER_ACCOUNTS ?
		    read_object(a, o) :
		    read_key(a, o);
	json_decref(o);
	return wrong;
}

bool
task_former(struct task_work *t)
{
	static uint8_t buf[LINE_BYTES];
	struct audit a = { .keys = 0 };
	struct kv_lines lines;
	struct kv_span line;
	const char *wrong;
	int problems = 0, max = FORMER_PROBLEMS_MAX;
	bool more = true;

	if (!record_get_all(&t->args, R_NUMBER(a.wanted, FORMER_ACCOUNTS)))
		return false;
	if (a.wanted == FORMER_ACCOUNTS)
		max = 1;
	kv_lines_init(&lines, t->fd[0], buf, sizeof(buf));
	while (more && problems < max) {
		enum kv_err err = kv_lines_next(&lines, &line, &more);

		wrong = err == KV_OK ? NULL : kv_strerror(err);
		if (err == KV_ERR_SYSTEM) {
			wrong = strerror(errno);
			more = false;
		} else if (err == KV_OK && more)
			wrong = read_line(&a, line);
		else if (err == KV_OK && a.wanted == FORMER_ACCOUNTS &&
		    !a.ended)
			wrong = "has no last line: it was cut off";
		if (wrong == NULL)
			continue;
		task_tell(R_VALUE(FORMER_PROBLEM), R_ANY(lines.number),
		    R_STRING(wrong));
		problems++;
	}
	return task_tell(R_VALUE(FORMER_END));
}
