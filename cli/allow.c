/* SPDX-License-Identifier: ISC */
/* keyveto allow: adds, changes or removes an AllowKey line of keyveto.conf. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "config/config.h"
#include "config/findings.h"
#include "keys/input.h"
#include "reading/keys.h"
#include "sshd_config/block.h"

#define DAY_SECONDS 86400
#define REASON_MAX 512

struct request {
	const char *config; /* keyveto.conf, as given */
	uint8_t digest[KV_SHA256_BYTES];
	char fingerprint[KV_FINGERPRINT_BYTES];
	const char *until; /* NULL: no end */
	char reason[REASON_MAX + 1];
	int forever, remove, yes;
	char *line; /* the line to write, without line end */
};

/* The key of a file. n counts different keys: it must be 1. */
struct found_key {
	uint8_t digest[KV_SHA256_BYTES];
	size_t n;
	bool failed;
};

static void
count_key(const struct input_key *key, void *arg)
{
	struct found_key *f = arg;
	uint8_t digest[KV_SHA256_BYTES];

	/* Of a certificate only the key inside counts. */
	if (key->part == KV_PART_CA || key->key.type == KV_KEY_NONE)
		return;
	kv_fingerprint_digest(&key->key, digest);
	if (f->n > 0 && memcmp(digest, f->digest, sizeof(digest)) == 0)
		return;
	memcpy(f->digest, digest, sizeof(digest));
	f->n++;
}

static void
print_problem(const struct input_problem *problem, void *arg)
{
	struct found_key *f = arg;

	cli_error_at(problem->path, problem->line, problem->reason);
	f->failed = true;
}

/* Sets q's key: KEY is a fingerprint, or a file. False after a message. */
static bool
set_key(struct request *q, const char *key)
{
	struct found_key f = { .n = 0 };
	const struct input_sink sink = {
		.key = count_key,
		.problem = print_problem,
		.arg = &f,
	};

	if (strncmp(key, "SHA256:", 7) == 0) {
		if (kv_fingerprint_parse((struct kv_span){ (const uint8_t *)key,
					     strlen(key) },
			q->digest) != KV_OK) {
			return cli_error(
			    "%s: not a fingerprint; it is SHA256: and 43 "
			    "characters, as ssh-keygen -l prints it",
			    key);
		}
	} else {
		reading_keys(key, &sink);
		if (f.failed || f.n != 1) {
			if (!f.failed)
				cli_error(
				    "%s: %zu SSH keys in it; give the "
				    "fingerprint of one, as ssh-keygen -l "
				    "prints it",
				    key, f.n);
			return false;
		}
		memcpy(q->digest, f.digest, sizeof(q->digest));
	}
	kv_fingerprint_format(q->digest, q->fingerprint);
	return true;
}

/* Parses the date as keyveto.conf's parser does. False after a message. */
static bool
set_date(struct request *q, const char *date)
{
	const int64_t today = (int64_t)time(NULL) / DAY_SECONDS;
	struct kv_key_line key;
	char line[KV_FINGERPRINT_BYTES + 64];
	int n;

	q->until = date;
	n = snprintf(line, sizeof(line), "AllowKey %s until=%s", q->fingerprint,
	    date);
	if (strlen(date) != 10 || date[strspn(date, "0123456789-")] != '\0' ||
	    !config_line_names(line, (size_t)n, false, &key))
		return cli_error("--until takes a date, YYYY-MM-DD, not %s",
		    date);
	if (key.day >= today)
		return true;
	return cli_error("--until %s: that day is past", date);
}

static bool
set_reason(struct request *q, char **word, int n)
{
	size_t len = 0;

	for (int i = 0; i < n; i++) {
		const size_t more = strlen(word[i]) + (i > 0);

		if (len + more > REASON_MAX)
			return cli_error("a reason of more than %d bytes",
			    REASON_MAX);
		len += (size_t)sprintf(q->reason + len, "%s%s",
		    i > 0 ? " " : "", word[i]);
	}
	for (const char *p = q->reason; *p != '\0'; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return cli_error("a control character in the reason");
	}
	/* keyveto.conf would read it as a date. */
	if (strncmp(q->reason, "until=", 6) == 0)
		return cli_error(
		    "a reason cannot begin with until=; the date is "
		    "given by --until");
	if (q->reason[strspn(q->reason, " ")] != '\0')
		return true;
	return cli_error(
	    "give a reason: it is written beside the key, and to the log "
	    "whenever the key is used");
}

/*
 * Sets q->line. The reason is quoted if its words alone would be read as
 * something else. False after a message.
 */
static bool
build_line(struct request *q)
{
	const bool quoted = strpbrk(q->reason, "\"\\#") != NULL ||
	    strstr(q->reason, "  ") != NULL || q->reason[0] == ' ' ||
	    q->reason[strlen(q->reason) - 1] == ' ';
	char reason[2 * REASON_MAX + 3], *out = reason;

	if (quoted)
		*out++ = '"';
	for (const char *p = q->reason; *p != '\0'; p++) {
		if (*p == '"' || *p == '\\')
			*out++ = '\\';
		*out++ = *p;
	}
	if (quoted)
		*out++ = '"';
	*out = '\0';
	if (asprintf(&q->line, "AllowKey %s%s%s %s", q->fingerprint,
		q->until != NULL ? " until=" : "",
		q->until != NULL ? q->until : "", reason) != -1)
		return true;
	q->line = NULL;
	return cli_error("%s", strerror(errno));
}

/* Whether line is an AllowKey line of the key. */
static bool
is_line_of_key(const struct request *q, const char *line, size_t len)
{
	struct kv_key_line key;

	return config_line_names(line, len, false, &key) &&
	    memcmp(key.digest, q->digest, sizeof(key.digest)) == 0;
}

/* The length of the line at p, without its line end. */
static size_t
line_length(const char *p, const char *end)
{
	const char *nl = memchr(p, '\n', (size_t)(end - p));

	return (size_t)((nl != NULL ? nl : end) - p);
}

/*
 * Whether no AllowKey line of the key is between the marks of "keyveto sshd",
 * whose lines must not be changed. False after a message.
 */
static bool
marks_allow(const struct request *q, const struct config_text *t)
{
	char why[256], *lines;
	size_t len, blocks;
	bool inside = false;

	lines = sshd_block_lines(t->text, t->len, &len, &blocks, why,
	    sizeof(why));
	if (lines == NULL)
		return cli_error("%s:%s", q->config, why);
	for (const char *p = lines, *end = lines + len; p < end;
	     p += line_length(p, end) + 1)
		inside |= is_line_of_key(q, p, line_length(p, end));
	free(lines);
	if (inside)
		cli_error(
		    "%s: an AllowKey line of this key stands between "
		    "keyveto's marks; move it below them with " CONFIG_EDIT_COMMAND,
		    q->config);
	return !inside;
}

/* A text, changed. */
struct edited {
	struct config_text now;
	size_t n;  /* how many lines were of the key */
	char *was; /* the first of them */
};

/*
 * Sets c->now: the first line of the key is replaced by q->line, or removed;
 * its other lines are removed. If there is none, q->line is added at the end.
 * False after a message.
 */
static bool
build_change(const struct request *q, const struct config_text *t,
    struct edited *c)
{
	const size_t more = q->line != NULL ? strlen(q->line) + 2 : 0;
	const char *end = t->text + t->len;
	char *out = malloc(t->len + more + 1);

	*c = (struct edited){ .now.text = out };
	if (out == NULL)
		return cli_error("%s", strerror(errno));
	for (const char *p = t->text; p < end;) {
		const size_t len = line_length(p, end);
		const size_t whole = len + (p + len < end);

		if (!is_line_of_key(q, p, len)) {
			memcpy(out, p, whole);
			out += whole;
		} else if (c->n++ == 0) {
			c->was = strndup(p, len);
			if (q->line != NULL)
				out += sprintf(out, "%s\n", q->line);
		}
		p += whole;
	}
	if (q->line != NULL && c->n == 0)
		out += sprintf(out, "%s%s\n",
		    out > c->now.text && out[-1] != '\n' ? "\n" : "", q->line);
	*out = '\0';
	c->now.len = (size_t)(out - c->now.text);
	return true;
}

static bool
has_mistakes(const struct request *q, const struct config_text *t, bool silent)
{
	const struct config_subject s = {
		.name = q->config,
		.text = t->text,
		.len = t->len,
		.silent = silent,
	};
	struct config_findings f;
	bool has;

	has = !config_findings_make(&f, &s) || f.mistakes > 0;
	config_findings_free(&f);
	return has;
}

/*
 * Whether t, parsed, allows the key as asked for (or does not, with --remove).
 * False after a message.
 */
static bool
check_result(const struct request *q, const struct config_text *t)
{
	char why[KV_CONFIG_WHY_BYTES];
	const struct kv_key_line *key;
	struct kv_config c;
	bool ok;

	ok = kv_config_parse(t->text, t->len, q->config, &c, why) == KV_OK;
	if (!ok)
		cli_error("%s", why);
	key = kv_config_find_allowed(&c, q->digest,
	    q->remove ? 0 : (int64_t)time(NULL));
	if (ok &&
	    (q->remove ? key != NULL :
			 key == NULL || strcmp(key->reason, q->reason) != 0))
		ok = cli_error(
		    "%s: keyveto.conf's parser would misread this line: %s",
		    q->config, q->line != NULL ? q->line : q->fingerprint);
	kv_config_free(&c);
	return ok;
}

static void
print_done(const struct request *q, const struct edited *c)
{
	const bool other = strcmp(q->config, KV_CONFIG_PATH) != 0;

	if (c->was != NULL) {
		fputs(q->remove ? "taken out: " : "before: ", stdout);
		cli_print_safe(stdout, c->was, strlen(c->was));
		putchar('\n');
	}
	if (q->remove) {
		printf("%s is judged as any other key, from the next login "
		       "on\n",
		    q->fingerprint);
		return;
	}
	printf("%s is let in from the next login on, %s%s%s; each use is "
	       "logged\n",
	    q->fingerprint, q->until != NULL ? "through " : "for ever",
	    q->until != NULL ? q->until : "", q->until != NULL ? " (UTC)" : "");
	printf("to take this back: keyveto allow --remove %s%s", q->fingerprint,
	    other ? " --config " : "");
	if (other)
		cli_print_safe(stdout, q->config, strlen(q->config));
	putchar('\n');
}

static bool
change_config(const struct request *q, struct config_swap *s)
{
	struct edited c;
	bool ok, same;

	if (s->r.old == -1)
		return cli_error(
		    "%s: does not exist; make one with " CONFIG_EDIT_COMMAND,
		    q->config);
	if (has_mistakes(q, &s->was, true)) {
		(void)has_mistakes(q, &s->was, false);
		return cli_error(
		    "%s: has a mistake, and no AllowKey line counts until "
		    "it is corrected: correct it with " CONFIG_EDIT_COMMAND,
		    q->config);
	}
	if (!marks_allow(q, &s->was) || !build_change(q, &s->was, &c))
		return false;
	same = c.now.len == s->was.len &&
	    memcmp(c.now.text, s->was.text, c.now.len) == 0;
	if (q->remove && c.n == 0) {
		ok = cli_error("%s: no AllowKey line of %s", q->config,
		    q->fingerprint);
	} else if (same) {
		printf("%s is let in already: the line is there\n",
		    q->fingerprint);
		ok = true;
	} else {
		/* Without its line, the key may be refused. */
		s->r.change = q->remove ? CHANGE_CONFIG : CHANGE_NONE;
		s->r.via = "allow";
		s->r.yes = q->yes;
		ok = check_result(q, &c.now) &&
		    config_swap_commit(s, c.now.text, c.now.len);
		if (ok)
			print_done(q, &c);
	}
	free(c.now.text);
	free(c.was);
	return ok;
}

/* Reads the arguments after the options. False after a message. */
static bool
read_arguments(struct request *q, const char *date, int n, char **word)
{
	if (n == 0)
		cli_error("allow needs a fingerprint, or a file with a key");
	else if (q->remove && (date != NULL || q->forever || n > 1))
		cli_error("--remove takes a fingerprint, and nothing else");
	else if (!q->remove && q->yes)
		cli_error("--yes goes with --remove");
	else if (!q->remove && (date != NULL) == q->forever)
		cli_error("say until when: --until YYYY-MM-DD, or --forever");
	else
		return set_key(q, word[0]) &&
		    (q->remove ||
			((date == NULL || set_date(q, date)) &&
			    set_reason(q, word + 1, n - 1)));
	return false;
}

static int
run_allow(const struct cli_command *cmd, int argc, char **argv)
{
	struct request q = { .config = KV_CONFIG_PATH };
	const char *date = NULL;
	const struct cli_option options[] = {
		{ .name = "until", .text = &date },
		{ .name = "forever", .flag = &q.forever, .value = true },
		{ .name = "remove", .flag = &q.remove, .value = true },
		{ .name = "yes", .flag = &q.yes, .value = true },
		{ .name = "config", .text = &q.config },
		{ .name = NULL },
	};
	const int status = cli_read_options(cmd, argc, argv, options, NULL);
	char place[PATH_MAX];
	struct config_swap s;
	bool ok;

	if (status != -1)
		return status;
	if (!read_arguments(&q, date, argc - optind, argv + optind))
		return cli_usage_error(cmd);
	if (!config_absolute(q.config, place, sizeof(place)) ||
	    !config_may_be_changed(place) || (!q.remove && !build_line(&q)))
		return CLI_UNCHECKED;
	ok = config_swap_open(&s, q.config) && change_config(&q, &s);
	config_swap_close(&s);
	free(q.line);
	return cli_stdout_ok() && ok ? 0 : CLI_UNCHECKED;
}

const struct cli_command cli_allow = {
	.name = "allow",
	.synopsis = "(--until DATE | --forever | --remove [--yes]) "
		    "[--config FILE] "
		    "KEY [REASON...]",
	.help = "Let a key in although it is listed, until a date",
	.details = "  --until DATE     through that day, YYYY-MM-DD (UTC)\n"
		   "  --forever        without an end\n"
		   "  --remove         take the line of KEY out again\n"
		   "  --yes            although it may lock out root or an "
		   "administrator\n"
		   "  --config FILE    change FILE (default " KV_CONFIG_PATH
		   ")\n",
	.run = run_allow,
};
