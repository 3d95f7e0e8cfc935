/* SPDX-License-Identifier: ISC */
/*
 * keyveto report --sarif: SARIF 2.1.0 (OASIS), for programs that collect the
 * findings of many scanners. A file of a host is file://HOST/PATH (RFC 8089).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/forms.h"

#define SCHEMA \
	"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/" \
	"sarif-schema-2.1.0.json"

/*
 * In the order of the output. What several accounts share, and what is seen
 * nowhere else, is no result: nothing is wrong with it.
 */
static const struct rule {
	enum fleet_kind kind;
	const char *level, *text;
} rules[] = {
	{ FLEET_KIND_UNGUARDED, "error",
	    "Compromised SSH keys get into an account now" },
	{ FLEET_KIND_LISTED, "error", "A compromised SSH key is in use" },
	{ FLEET_KIND_LOCKED, "error", "The last key of an account is listed" },
	{ FLEET_KIND_GONE, "warning",
	    "A compromised SSH key came in, and is in no file of the account" },
	{ FLEET_KIND_DISPUTED, "warning", "Audits disagree about a key" },
	{ FLEET_KIND_OLD, "warning", "The lists of a host are old" },
	{ FLEET_KIND_DOCTOR, "warning", "keyveto doctor is not content" },
	{ FLEET_KIND_UNANSWERED, "error", "A host did not answer" },
	{ FLEET_KIND_MISSING, "error", "A host has no audit" },
	{ FLEET_KIND_CUT, "error", "An audit was cut off" },
	{ FLEET_KIND_TWICE, "warning", "Several hosts have the same name" },
	{ FLEET_KIND_PROBLEM, "warning",
	    "Something could not be read or judged" },
	{ FLEET_KIND_UNCOVERED, "warning", "No list in use could know a key" },
};

#define RULES (sizeof(rules) / sizeof(*rules))

struct sarif {
	FILE *out;
	const struct rule *rule;
	bool any; /* results so far */
};

/* --- texts -------------------------------------------------------------- */

/*
 * Writes text as a part of a message: brackets would be a link, and braces a
 * place for an argument (3.11.5 and 3.11.6 of the standard).
 */
static void
add_text(FILE *out, const char *text)
{
	for (; text != NULL && *text != '\0'; text++) {
		if (strchr("[]\\", *text) != NULL)
			putc('\\', out);
		else if (strchr("{}", *text) != NULL)
			putc(*text, out);
		putc(*text, out);
	}
}

/* Writes text as a part of a URI. */
static void
add_escaped(FILE *out, const char *text, const char *as_is)
{
	for (; text != NULL && *text != '\0'; text++) {
		const unsigned char c = (unsigned char)*text;

		if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		    (c >= 'A' && c <= 'Z') || strchr(as_is, c) != NULL)
			putc(c, out);
		else
			fprintf(out, "%%%02X", c);
	}
}

/* What of a row is in its message. */
static void
add_message(FILE *out, const struct sarif *s, const struct fleet_row *row)
{
	add_text(out, s->rule->text);
	if (row->fp != NULL) {
		fputs(": ", out);
		add_text(out, row->type);
		putc(' ', out);
		add_text(out, row->fp);
	}
	if (row->account != NULL) {
		fputs(", account ", out);
		add_text(out, row->account);
	}
	fputs(", host ", out);
	add_text(out, row->host);
	if (row->sources != NULL && *row->sources != '\0') {
		fputs(", listed by ", out);
		add_text(out, row->sources);
	}
	if (row->message != NULL && *row->message != '\0') {
		fputs(": ", out);
		add_text(out, row->message);
	}
}

/* The path of a row on its host; the host alone if it is no such path. */
static void
add_uri(FILE *out, const struct fleet_row *row)
{
	fputs("file://", out);
	add_escaped(out, row->host, "-._~");
	if (row->file == NULL || *row->file != '/')
		putc('/', out);
	else
		add_escaped(out, row->file, "-._~/");
}

/* What stays the same from one report to the next, for a baseline. */
static void
add_identity(FILE *out, const struct fleet_row *row)
{
	const char *const part[] = { fleet_kind_name(row->kind), row->host,
		row->account, row->file, row->fp };

	for (size_t i = 0; i < sizeof(part) / sizeof(*part); i++) {
		if (i > 0)
			putc('|', out);
		add_escaped(out, part[i], "-._~/:+");
	}
}

/* A JSON string of what write writes. NULL without memory. */
static json_t *
text_of(const struct sarif *s, const struct fleet_row *row, int which)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	json_t *value = NULL;

	if (out == NULL)
		return NULL;
	if (which == 0)
		add_message(out, s, row);
	else if (which == 1)
		add_uri(out, row);
	else
		add_identity(out, row);
	if (fclose(out) == 0)
		value = json_stringn(text, len);
	free(text);
	return value;
}

/* --- the log ------------------------------------------------------------ */

static json_t *
location(const struct sarif *s, const struct fleet_row *row)
{
	json_t *physical = json_pack("{s:{s:o}}", "artifactLocation", "uri",
	    text_of(s, row, 1));
	json_t *logical = json_array();
	char name[600];

	/* Line 0 stands for the whole file, and is no line of SARIF. */
	if (row->line > 0)
		json_object_set_new(physical, "region",
		    json_pack("{s:I}", "startLine", (json_int_t)row->line));
	snprintf(name, sizeof(name), "%s/%s", row->host,
	    row->account != NULL ? row->account : "");
	json_array_append_new(logical,
	    json_pack("{s:s, s:s}", "name",
		row->account != NULL ? row->account : row->host,
		"fullyQualifiedName", row->account != NULL ? name : row->host));
	return json_pack("{s:o, s:o}", "physicalLocation", physical,
	    "logicalLocations", logical);
}

/* What the message does not say: absent where there is nothing to say. */
static json_t *
properties(const struct fleet_row *row)
{
	char when[REPORT_TIME_BYTES];
	json_t *o = json_pack("{s:s}", "host", row->host);
	const struct {
		const char *name, *text;
	} texts[] = {
		{ "account", row->account },
		{ "fingerprint", row->fp },
		{ "type", row->type },
		{ "sources", row->sources },
		{ "comment", row->comment },
		{ "part", row->part },
		{ "lastLoginFrom", row->from },
		{ "owner", row->owner },
		{ "team", row->team },
		{ "guarded",
		    row->guarded != FLEET_UNKNOWN ?
			report_yes_or_no(row->guarded) :
			NULL },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i].text != NULL)
			json_object_set_new(o, texts[i].name,
			    json_string(texts[i].text));
	if (row->last != FLEET_UNKNOWN)
		json_object_set_new(o, "lastLogin",
		    json_string(report_time(row->last, when)));
	return o;
}

static bool
add_result(const struct fleet_row *row, void *arg)
{
	struct sarif *s = arg;

	fputs(s->any ? ",\n" : "\n", s->out);
	s->any = true;
	return report_json(s->out,
	    json_pack("{s:s, s:i, s:s, s:{s:o}, s:[o], s:{s:o}, s:o}", "ruleId",
		fleet_kind_name(row->kind), "ruleIndex", (int)(s->rule - rules),
		"level",
		row->severe && row->kind == FLEET_KIND_DOCTOR ? "error" :
								s->rule->level,
		"message", "text", text_of(s, row, 0), "locations",
		location(s, row), "partialFingerprints", "keyveto/v1",
		text_of(s, row, 2), "properties", properties(row)));
}

static json_t *
driver(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < RULES; i++)
		json_array_append_new(list,
		    json_pack("{s:s, s:{s:s}, s:{s:s}}", "id",
			fleet_kind_name(rules[i].kind), "shortDescription",
			"text", rules[i].text, "defaultConfiguration", "level",
			rules[i].level));
	return json_pack("{s:{s:s, s:s, s:s, s:o}}", "driver", "name",
	    "keyveto", "version", KEYVETO_VERSION, "semanticVersion",
	    KEYVETO_VERSION, "rules", list);
}

bool
report_sarif(struct fleet *f, bool all, FILE *out)
{
	struct sarif s = { .out = out };
	bool ok;

	(void)all;
	fputs("{\"$schema\":\"" SCHEMA "\",\"version\":\"2.1.0\",\"runs\":[{"
	      "\"tool\":",
	    out);
	ok = report_json(out, driver());
	fputs(",\"columnKind\":\"unicodeCodePoints\",\"results\":[", out);
	for (size_t i = 0; ok && i < RULES; i++) {
		s.rule = &rules[i];
		ok = fleet_each(f, rules[i].kind, add_result, &s);
	}
	fputs("\n]}]}\n", out);
	return ok;
}
