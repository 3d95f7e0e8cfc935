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

static void
tell_key(const uint8_t digest[static KV_SHA256_BYTES], const char *type,
    enum kv_verdict verdict, bool ca)
{
	struct record_out *o = task_result();

	record_add_number(o, FORMER_KEY);
	record_add_bytes(o, digest, KV_SHA256_BYTES);
	record_add_bytes(o, type, strnlen(type, FORMER_TYPE_BYTES - 1));
	record_add_number(o, verdict);
	record_add_number(o, ca);
	ask_tell();
}

static void
tell_account(const uint8_t digest[static KV_SHA256_BYTES], const char *account)
{
	struct record_out *o = task_result();

	record_add_number(o, FORMER_ACCOUNT);
	record_add_bytes(o, digest, KV_SHA256_BYTES);
	record_add_bytes(o, account,
	    strnlen(account, FORMER_ACCOUNT_BYTES - 1));
	ask_tell();
}

static void
tell_header(const char *host, json_int_t seconds, bool whole)
{
	struct record_out *o = task_result();

	record_add_number(o, FORMER_HEADER);
	record_add_bytes(o, host, strnlen(host, FORMER_HOST_BYTES - 1));
	record_add_number(o, (uint64_t)seconds);
	record_add_number(o, whole);
	ask_tell();
}

static void
tell_problem(uint64_t line, const char *reason)
{
	struct record_out *o = task_result();

	record_add_number(o, FORMER_PROBLEM);
	record_add_number(o, line);
	record_add_text(o, reason);
	ask_tell();
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
	if (a->wanted == FORMER_ACCOUNTS)
		tell_account(digest, get_text(o, "account"));
	else
		tell_key(digest, get_text(o, "type"), v, ca);
	return NULL;
}

static const char *
read_header(struct audit *a, const json_t *o)
{
	const json_t *time = json_object_get(o, "time_seconds");
	const json_int_t seconds = json_integer_value(time);

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
	tell_header(get_text(o, "host"), seconds,
	    json_is_true(json_object_get(o, "whole")));
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

	if (!record_get_limited(&t->args, FORMER_ACCOUNTS, &a.wanted) ||
	    t->args.left != 0)
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
		tell_problem(lines.number, wrong);
		problems++;
	}
	record_add_number(task_result(), FORMER_END);
	ask_tell();
	return true;
}
