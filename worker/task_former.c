/* SPDX-License-Identifier: ISC */
/* The task "former": which keys an audit judged that keyveto audit --json printed. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "kv_fingerprint.h"
#include "kv_lines.h"
#include "kv_verdict.h"
#include "log_lines/former_records.h"
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
tell_problem(uint64_t line, const char *reason)
{
	struct record_out *o = task_result();

	record_add_number(o, FORMER_PROBLEM);
	record_add_number(o, line);
	record_add_text(o, reason);
	ask_tell();
}

/* Returns what is wrong with the object, or NULL. */
static const char *
read_key(const json_t *o, bool all)
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
	if (v > KV_VERDICT_CLEAN || (v != KV_VERDICT_LISTED && !all))
		return NULL;
	if (kv_fingerprint_parse((struct kv_span){ (const uint8_t *)text,
				     strlen(text) },
		digest) != KV_OK)
		return "fingerprint is not SHA256: and 43 characters";
	tell_key(digest, get_text(o, "type"), v, ca);
	return NULL;
}

/* Returns what is wrong with the line, or NULL. */
static const char *
read_line(struct kv_span line, bool all)
{
	const char *wrong = NULL;
	json_t *o;

	if (line.len == 0)
		return NULL;
	o = json_loadb((const char *)line.p, line.len,
	    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	wrong = json_is_object(o) ?
	    read_key(o, all) :
	    "no JSON object, as keyveto audit --json prints them";
	json_decref(o);
	return wrong;
}

/* Whether keys of all verdicts are told, or the listed ones alone. */
bool
task_former(struct task_work *t)
{
	static uint8_t buf[LINE_BYTES];
	struct kv_lines lines;
	struct kv_span line;
	uint64_t all;
	const char *wrong;
	int problems = 0;
	bool more = true;

	if (!record_get_number(&t->args, &all) || t->args.left != 0)
		return false;
	kv_lines_init(&lines, t->fd[0], buf, sizeof(buf));
	while (more && problems < FORMER_PROBLEMS_MAX) {
		enum kv_err err = kv_lines_next(&lines, &line, &more);

		wrong = err == KV_OK ? NULL : kv_strerror(err);
		if (err == KV_ERR_SYSTEM) {
			wrong = strerror(errno);
			more = false;
		} else if (err == KV_OK && more)
			wrong = read_line(line, all != 0);
		if (wrong == NULL)
			continue;
		tell_problem(lines.number, wrong);
		problems++;
	}
	record_add_number(task_result(), FORMER_END);
	ask_tell();
	return true;
}
