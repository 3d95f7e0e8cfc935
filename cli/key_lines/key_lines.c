/* SPDX-License-Identifier: ISC */
#include "key_lines/key_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/room.h"
#include "command.h"
#include "config/config.h"
#include "config/findings.h"
#include "reading/keys.h"
#include "sshd_config/block.h"

#define DAY_SECONDS 86400

static const char *
keyword_of(const struct key_lines *q)
{
	return q->denies ? "DenyKey" : "AllowKey";
}

static const char *
date_word(const struct key_lines *q)
{
	return q->denies ? "since=" : "until=";
}

/* --- the keys ------------------------------------------------------------ */

static int
compare_keys(const void *a, const void *b)
{
	const struct key_line *x = a, *y = b;

	return memcmp(x->digest, y->digest, sizeof(x->digest));
}

static struct key_line *
find_key(const struct key_lines *q,
    const uint8_t digest[static KV_SHA256_BYTES])
{
	struct key_line wanted = { .found = 0 };

	memcpy(wanted.digest, digest, sizeof(wanted.digest));
	return q->n == 0 ?
	    NULL :
	    bsearch(&wanted, q->key, q->n, sizeof(wanted), compare_keys);
}

bool
key_lines_add(struct key_lines *q, const uint8_t digest[static KV_SHA256_BYTES])
{
	struct key_line *key;

	if (find_key(q, digest) != NULL)
		return true;
	if (q->n == KEY_LINES_MAX)
		return cli_error("more than %d keys: put them into an exact "
				 "list, with keyveto list create",
		    KEY_LINES_MAX);
	if (!room_for_one(&q->key, q->n, sizeof(*q->key)))
		return cli_error("%s", strerror(errno));
	key = &q->key[q->n];
	while (key > q->key &&
	    memcmp(key[-1].digest, digest, sizeof(key->digest)) > 0)
		key--;
	memmove(key + 1, key, (size_t)(&q->key[q->n] - key) * sizeof(*key));
	*key = (struct key_line){ .found = 0 };
	memcpy(key->digest, digest, sizeof(key->digest));
	kv_fingerprint_format(digest, key->fingerprint);
	q->n++;
	return true;
}

bool
key_lines_add_fingerprint(struct key_lines *q, const char *text)
{
	const struct kv_span s = { (const uint8_t *)text, strlen(text) };
	uint8_t digest[KV_SHA256_BYTES];

	if (kv_fingerprint_parse(s, digest) != KV_OK)
		return cli_error("%s: not a fingerprint; it is SHA256: and 43 "
				 "characters, as ssh-keygen -l prints it",
		    text);
	return key_lines_add(q, digest);
}

/* Whether logins find the RSA key by the same modulus with any exponent. */
static bool
is_own_kin(const struct kv_pubkey *key,
    const uint8_t digest[static KV_SHA256_BYTES])
{
	const size_t count = kv_fingerprint_kin_count(key);
	uint8_t kin[KV_SHA256_BYTES];

	for (size_t i = 0; i < count; i++) {
		kv_fingerprint_kin(key, i, kin);
		if (memcmp(kin, digest, sizeof(kin)) == 0)
			return true;
	}
	return false;
}

static void
add_key(const struct input_key *key, void *arg)
{
	struct key_lines *q = arg;
	uint8_t digest[KV_SHA256_BYTES];

	/* Of a certificate only the key inside counts. */
	if (key->part == KV_PART_CA || key->key.type == KV_KEY_NONE)
		return;
	kv_fingerprint_digest(&key->key, digest);
	if (q->denies && !q->remove && key->key.type == KV_KEY_RSA &&
	    !is_own_kin(&key->key, digest))
		cli_error("note: %s:%" PRIu64 ": a rare exponent: the same "
			  "modulus with another one is not refused; keyveto "
			  "list add covers every exponent",
		    key->path, key->line);
	q->failed |= !q->failed && !key_lines_add(q, digest);
}

static void
print_problem(const struct input_problem *problem, void *arg)
{
	struct key_lines *q = arg;

	cli_error_at(problem->path, problem->line, problem->reason);
	q->failed = true;
}

bool
key_lines_add_file(struct key_lines *q, const char *shown, int fd)
{
	const struct input_sink sink = {
		.key = add_key,
		.problem = print_problem,
		.arg = q,
	};

	if (fd == -1)
		reading_keys(shown, &sink);
	else
		reading_keys_fd(fd, shown, &sink);
	return !q->failed;
}

bool
key_lines_set_reason(struct key_lines *q, char **word, int n)
{
	size_t len = 0;

	for (int i = 0; i < n; i++) {
		const size_t more = strlen(word[i]) + (i > 0);

		if (len + more > KEY_LINES_REASON_MAX)
			return cli_error("a reason of more than %d bytes",
			    KEY_LINES_REASON_MAX);
		len += (size_t)sprintf(q->reason + len, "%s%s",
		    i > 0 ? " " : "", word[i]);
	}
	for (const char *p = q->reason; *p != '\0'; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return cli_error("a control character in the reason");
	}
	/* keyveto.conf would read it as a date. */
	if (strncmp(q->reason, date_word(q), strlen(date_word(q))) == 0)
		return cli_error(
		    "a reason cannot begin with %s; the date is given by "
		    "--%.*s",
		    date_word(q), (int)strlen(date_word(q)) - 1, date_word(q));
	if (q->reason[strspn(q->reason, " ")] == '\0')
		q->reason[0] = '\0';
	return true;
}

/* --- the file ------------------------------------------------------------ */

/* Sets words to what a command in a message needs for this file; "" if nothing. */
static const char *
config_words(const struct key_lines *q, char words[static PATH_MAX + 16])
{
	words[0] = '\0';
	if (strcmp(q->config, KV_CONFIG_PATH) != 0)
		snprintf(words, PATH_MAX + 16, " --config %s", q->config);
	return words;
}

bool
key_lines_begin_later(const struct key_lines *q)
{
	int64_t since;

	return q->denies && q->date != NULL &&
	    kv_config_read_date(q->date, &since) &&
	    since > (int64_t)time(NULL) / DAY_SECONDS;
}

/* Parses t. False after a message. Call kv_config_free in any case. */
static bool
parse(const struct key_lines *q, const struct config_text *t,
    struct kv_config *c)
{
	char why[KV_CONFIG_WHY_BYTES];

	return kv_config_parse(t->text, t->len, q->config, c, why) == KV_OK ||
	    cli_error("%s", why);
}

/*
 * Finds the keys that a DenyKey line refuses today. With a later date they
 * would be let in until then, although nobody asked for that: their lines stay.
 * False after a message.
 */
static bool
keep_denied(struct key_lines *q, const struct config_text *t)
{
	const int64_t now = (int64_t)time(NULL);
	char words[PATH_MAX + 16];
	struct kv_config c;
	bool ok;

	if (q->remove || !key_lines_begin_later(q))
		return true;
	ok = parse(q, t, &c);
	for (size_t i = 0; ok && i < q->n; i++) {
		struct key_line *key = &q->key[i];

		key->stays = kv_config_find_denied(&c, key->digest, now) !=
		    NULL;
		q->stay += key->stays;
		if (key->stays)
			cli_error("note: %s: a DenyKey line of %s counts now, "
				  "and stays as it is: for a later date, type "
				  "keyveto deny --remove %s%s first",
			    q->config, key->fingerprint, key->fingerprint,
			    config_words(q, words));
	}
	kv_config_free(&c);
	return ok;
}

/*
 * Prints what stands behind the fingerprint in a line: the date and the reason,
 * quoted if its words alone would be read as something else.
 */
static void
print_rest(FILE *out, const struct key_lines *q)
{
	const char *reason = q->reason;
	const size_t len = strlen(reason);
	const bool quoted = strpbrk(reason, "\"\\#") != NULL ||
	    strstr(reason, "  ") != NULL || reason[0] == ' ' ||
	    (len > 0 && reason[len - 1] == ' ');

	if (q->date != NULL)
		fprintf(out, " %s%s", date_word(q), q->date);
	if (len == 0)
		return;
	fputs(quoted ? " \"" : " ", out);
	for (const char *p = reason; *p != '\0'; p++) {
		if (*p == '"' || *p == '\\')
			putc('\\', out);
		putc(*p, out);
	}
	if (quoted)
		putc('"', out);
}

/* The key that the line names; NULL if it names none of them. */
static struct key_line *
key_of_line(const struct key_lines *q, const char *line, size_t len)
{
	struct kv_key_line named;

	return config_line_names(line, len, q->denies, &named) ?
	    find_key(q, named.digest) :
	    NULL;
}

/* The length of the line at p, without its line end. */
static size_t
line_length(const char *p, const char *end)
{
	const char *nl = memchr(p, '\n', (size_t)(end - p));

	return (size_t)((nl != NULL ? nl : end) - p);
}

/*
 * Whether no line of a key is between the marks of "keyveto enable", whose lines
 * must not be changed. False after a message.
 */
static bool
marks_allow(const struct key_lines *q, const struct config_text *t)
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
		inside |= key_of_line(q, p, line_length(p, end)) != NULL;
	free(lines);
	if (inside)
		cli_error("%s: the %s line of this key stands between "
			  "keyveto's marks; move it below them "
			  "with " CONFIG_EDIT_COMMAND,
		    q->config, keyword_of(q));
	return !inside;
}

/*
 * Sets now: the first line of each key is replaced, or with q->remove removed,
 * and its other lines are removed. A key without a line gets one at the end. The
 * lines of a key that stays are left alone. False after a message.
 */
static bool
build_change(struct key_lines *q, const struct config_text *t,
    struct config_text *now)
{
	const char *end = t->text + t->len;
	FILE *out = open_memstream(&now->text, &now->len);
	bool ends_line = true;

	if (out == NULL)
		return cli_error("%s", strerror(errno));
	for (const char *p = t->text; p < end;) {
		const size_t len = line_length(p, end);
		const size_t whole = len + (p + len < end);
		struct key_line *key = key_of_line(q, p, len);

		if (key == NULL || key->stays) {
			fwrite(p, 1, whole, out);
			ends_line = whole > len;
		} else if (key->found++ == 0) {
			if (q->found++ == 0)
				q->was = strndup(p, len);
			if (!q->remove) {
				fprintf(out, "%s %s", keyword_of(q),
				    key->fingerprint);
				print_rest(out, q);
				putc('\n', out);
				ends_line = true;
			}
		}
		p += whole;
	}
	for (size_t i = 0; i < q->n && !q->remove; i++) {
		if (q->key[i].found > 0 || q->key[i].stays)
			continue;
		fprintf(out, "%s%s %s", ends_line ? "" : "\n", keyword_of(q),
		    q->key[i].fingerprint);
		print_rest(out, q);
		putc('\n', out);
		ends_line = true;
	}
	if (fclose(out) == 0)
		return true;
	return cli_error("%s", strerror(errno));
}

static bool
has_mistakes(const struct key_lines *q, const struct config_text *t,
    bool silent)
{
	const struct config_subject s = {
		.name = q->config,
		.text = t->text,
		.len = t->len,
		.text_alone = true,
		.found = silent ? NULL : config_findings_tell,
	};
	struct config_findings f;
	bool has;

	has = !config_findings_make(&f, &s) || f.mistakes > 0;
	config_findings_free(&f);
	return has;
}

static bool
is_as_asked(const struct key_lines *q, const struct kv_config *c,
    const struct key_line *key)
{
	/* A time at which every line counts. */
	const int64_t then = q->denies ? INT64_MAX : 0;
	const struct kv_key_line *line = q->denies ?
	    kv_config_find_denied(c, key->digest, then) :
	    kv_config_find_allowed(c, key->digest, then);

	if (q->remove || line == NULL)
		return q->remove && line == NULL;
	return key->stays || strcmp(line->reason, q->reason) == 0;
}

/* Whether no DenyKey line wins over the line. False after a message. */
static bool
is_not_denied(const struct key_lines *q, const struct kv_config *c,
    const struct key_line *key)
{
	char words[PATH_MAX + 16];

	if (q->denies || q->remove ||
	    kv_config_find_denied(c, key->digest, (int64_t)time(NULL)) == NULL)
		return true;
	return cli_error("%s: a DenyKey line names this key, and wins: type "
			 "keyveto deny --remove %s%s first",
	    q->config, key->fingerprint, config_words(q, words));
}

/* Whether t, parsed, is as asked for. False after a message. */
static bool
check_result(struct key_lines *q, const struct config_text *t)
{
	struct kv_config c;
	bool ok;

	ok = parse(q, t, &c);
	q->warns = c.on_hit != KV_ACTION_DENY;
	for (size_t i = 0; ok && i < q->n; i++) {
		ok = is_not_denied(q, &c, &q->key[i]);
		if (ok && !is_as_asked(q, &c, &q->key[i]))
			ok = cli_error("%s: keyveto.conf's parser would "
				       "misread the line of %s",
			    q->config, q->key[i].fingerprint);
	}
	kv_config_free(&c);
	return ok;
}

/* Whether the text lets a key in after the new end of its AllowKey line. */
static bool
ends_earlier(const struct key_lines *q, const struct config_text *t)
{
	char why[KV_CONFIG_WHY_BYTES];
	struct kv_config c;
	int64_t until;
	bool earlier;

	if (q->denies || q->date == NULL ||
	    !kv_config_read_date(q->date, &until))
		return false;
	earlier = kv_config_parse(t->text, t->len, q->config, &c, why) != KV_OK;
	for (size_t i = 0; i < q->n; i++)
		earlier |= kv_config_find_allowed(&c, q->key[i].digest,
			       (until + 1) * DAY_SECONDS) != NULL;
	kv_config_free(&c);
	return earlier;
}

static bool
change_config(struct key_lines *q, struct config_swap *s)
{
	struct config_text now = { .text = NULL };
	bool ok;

	if (s->r.old == -1 && !config_may_be_made(q->config))
		return false;
	if (has_mistakes(q, &s->was, true)) {
		(void)has_mistakes(q, &s->was, false);
		return cli_error(
		    "%s: has a mistake, and AllowKey lines do not count "
		    "until it is corrected: correct it "
		    "with " CONFIG_EDIT_COMMAND,
		    q->config);
	}
	ok = marks_allow(q, &s->was) && keep_denied(q, &s->was) &&
	    build_change(q, &s->was, &now);
	if (ok && q->remove && q->found == 0)
		ok = cli_error("%s: no %s line of %s", q->config, keyword_of(q),
		    q->n == 1 ? q->key[0].fingerprint : "these keys");
	q->same = ok && now.len == s->was.len &&
	    memcmp(now.text, s->was.text, now.len) == 0;
	ok = ok && check_result(q, &now);
	if (ok && !q->same) {
		/*
		 * A DenyKey line that comes, or an AllowKey line that goes, now
		 * or earlier than before.
		 */
		s->r.change = q->denies != q->remove ||
			ends_earlier(q, &s->was) ?
		    CHANGE_CONFIG :
		    CHANGE_JUDGED;
		s->r.via = q->denies ? "deny" : "allow";
		s->r.yes = q->yes;
		ok = config_swap_commit(s, now.text, now.len);
	}
	free(now.text);
	return ok;
}

bool
key_lines_apply(struct key_lines *q)
{
	char place[PATH_MAX];
	struct config_swap s;
	bool ok;

	if (!config_absolute(q->config, place, sizeof(place)) ||
	    !config_may_be_changed(place))
		return false;
	ok = config_swap_open(&s, q->config) && change_config(q, &s);
	config_swap_close(&s);
	return ok;
}

void
key_lines_print_undo(const struct key_lines *q, const char *what)
{
	char words[PATH_MAX + 16];

	cli_printf(stdout, "to take this back: keyveto %s --remove %s%s\n",
	    q->denies ? "deny" : "allow", what, config_words(q, words));
}

void
key_lines_print_before(const struct key_lines *q)
{
	if (q->was != NULL)
		cli_printf(stdout, "%s: %s\n",
		    q->remove ? "taken out" : "before", q->was);
	if (q->found > 1)
		printf("and the lines of %zu other %s\n", q->found - 1,
		    cli_plural(q->found - 1, "key", "keys"));
}

void
key_lines_free(struct key_lines *q)
{
	free(q->key);
	free(q->was);
}
