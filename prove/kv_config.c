/* SPDX-License-Identifier: ISC */
/*
 * keyveto.conf. Each function is proved alone; those that it calls answer
 * anything that their own proofs, and the headers, allow. kv_words.c has proofs
 * of its own.
 *
 * shrink lib/kv_config.h: KV_CONFIG_MAX_BYTES (1024 * 1024) -> KV_CONFIG_MAX_BYTES 8
 * shrink lib/kv_config.h: KV_CONFIG_MAX_FILTERS 64 -> KV_CONFIG_MAX_FILTERS 2
 * shrink lib/kv_config.h: KV_CONFIG_MAX_BLOCKLISTS 64 -> KV_CONFIG_MAX_BLOCKLISTS 2
 * shrink lib/kv_config.h: KV_CONFIG_MAX_PATTERNS 256 -> KV_CONFIG_MAX_PATTERNS 2
 * shrink lib/kv_config.h: KV_CONFIG_WHY_BYTES 1024 -> KV_CONFIG_WHY_BYTES 8
 * shrink lib/kv_words.h: KV_WORDS_MAX 512 -> KV_WORDS_MAX 4
 * shrink lib/kv_config.c: cap += 4096 -> cap += 4
 * proof  keyword --replace kv_words_split:any_words --replace note_mistake:any_mistake --replace set_word:any_set --replace add_path:any_add --replace set_patterns:any_patterns --replace add_key:any_key_line --replace set_message:any_message --unwind NAME+3: a line of up to 4 words, the first of up to NAME characters: what it is handed to
 * proof  action --replace note_mistake:any_mistake --unwind NAME+2: a word of up to NAME characters, for OnHit, OnProbable, OnError and OnUnsupported
 * proof  modes [quick] --unwind NAME+2: a word of up to NAME characters
 * proof  path [quick] --replace note_mistake:any_mistake --unwind 5: a line of 1 to 4 words, KV_CONFIG_MAX_FILTERS paths or fewer before it
 * proof  patterns [quick] --replace note_mistake:any_mistake --unwind NONE+2: a line of 1 to 4 words of up to NONE characters
 * proof  join --unwind LINE+2: the words of a line of up to LINE characters
 * proof  allow --replace note_mistake:any_mistake --replace join_words:any_join --replace kv_config_read_date:any_date --unwind 33: a line of 1 to 4 words, KEYS keys or fewer before it
 * proof  text [quick] --replace note_mistake:any_mistake --replace join_words:any_join --unwind 5: a Message of 1 to 4 words
 * proof  lines --replace parse_line:any_parse_line --replace note_mistake:any_mistake --unwind KV_CONFIG_MAX_BYTES+2: files of up to KV_CONFIG_MAX_BYTES bytes
 * proof  copy --replace parse_owned:any_parse --unwind KV_CONFIG_MAX_BYTES+3: files of up to KV_CONFIG_MAX_BYTES + 1 bytes
 * proof  read_file --replace parse_owned:any_parse --unwind 14: files of up to KV_CONFIG_MAX_BYTES + 1 bytes, reads that are short, fail, or are interrupted BAD times
 * proof  date --unwind 14: every text of up to 11 characters
 * proof  first_day [quick] --unwind 14: 1970-01-01
 * proof  next_day --unwind 14: every date up to 9999-12-30, and the day after it in its year
 * proof  next_year --unwind 14: every last day of a year up to 9998, and the day after it
 * proof  mistake [quick] --unwind 9: two mistakes, messages of any length
 * proof  find_allowed [quick] --z3 --unwind 34: LINES AllowKey lines, every key and time
 * proof  find_denied [quick] --z3 --unwind 34: LINES DenyKey lines, every key and time
 * proof  message [quick] --unwind 12: messages of up to TEXT characters, any room
 */
#define NAME 28
#define LINES 2
#define TEXT 4
#define ROOM 7
#define NONE 5
#define LINE 5
#define KEYS 3
#define BAD 2

#include "lib/kv_config.c"

#include "libc.h"
#include "prove.h"

#define PATH "/c"

static struct kv_config c;
static char why[KV_CONFIG_WHY_BYTES];
static struct parser ps;
static char *word[KV_WORDS_MAX];
static char first[NAME + 1], second[NAME + 1], third[2], fourth[2];
static int n_words;

static char
lower(char ch)
{
	return ch >= 'A' && ch <= 'Z' ? ch - 'A' + 'a' : ch;
}

int
strcasecmp(const char *a, const char *b)
{
	PROVE(__CPROVER_r_ok(a, 1) && __CPROVER_r_ok(b, 1), "words");
	while (*a != '\0' && lower(*a) == lower(*b)) {
		a++;
		b++;
	}
	return lower(*a) - lower(*b);
}

/* Whether text is name, which has no capitals, in any case. */
static bool
is_word(const char *text, const char *name)
{
	for (; *name != '\0'; text++, name++)
		if (*text != *name &&
		    (*name < 'a' || *text != *name - 'a' + 'A'))
			return false;
	return *text == '\0';
}

static void
any_content(char text[static NAME + 1])
{
	for (size_t i = 0; i < NAME; i++)
		text[i] = nondet_char();
	text[NAME] = '\0';
}

static void
any_parser(void)
{
	word[0] = first;
	word[1] = second;
	word[2] = third;
	word[3] = fourth;
	third[0] = nondet_char();
	fourth[0] = nondet_char();
	ps = (struct parser){ .c = &c, .path = PATH, .why = why };
}

/* Instead of note_mistake: proof mistake. */
void
any_mistake(struct parser *p, const char *format, ...)
{
	p->failed = true;
}

static enum { NOTHING, SET, ADD, PATTERNS, KEY_LINE, MESSAGE } handed;
static bool *handed_seen;
static const struct word_value *handed_table;
static const char **handed_path;
static size_t handed_max;
static int set_to;
static const size_t *handed_n;
static const struct kv_key_lines *handed_lines;

int
any_words(char *line, char *out[static KV_WORDS_MAX], const char **whyp)
{
	for (int i = 0; i < KV_WORDS_MAX; i++)
		out[i] = word[i];
	*whyp = "a mistake";
	return n_words;
}

static void
hand(int to, const struct parser *p, char *w[], int n)
{
	PROVE(handed == NOTHING, "to one function");
	PROVE(p == &ps && n == n_words && n > 0, "the line");
	PROVE(w[0] == first && w[KV_WORDS_MAX - 1] == fourth, "its words");
	handed = to;
}

void
any_set(struct parser *p, char *w[], int n, const struct word_value *table,
    bool *seen, int *valuep)
{
	hand(SET, p, w, n);
	handed_table = table;
	handed_seen = seen;
	*valuep = set_to;
}

void
any_add(struct parser *p, char *w[], int n, const char *path[], size_t *np,
    size_t max)
{
	hand(ADD, p, w, n);
	handed_path = path;
	handed_n = np;
	handed_max = max;
}

void
any_patterns(struct parser *p, char *w[], int n)
{
	hand(PATTERNS, p, w, n);
}

void
any_key_line(struct parser *p, char *w[], int n, const char *date,
    int64_t without_date, struct kv_key_lines *lines)
{
	const bool allows = lines == &ps.allowed;

	hand(KEY_LINE, p, w, n);
	handed_lines = lines;
	PROVE(is_word(date, allows ? "until=" : "since="), "its date");
	PROVE(without_date == (allows ? INT64_MAX : INT64_MIN),
	    "every day without one");
}

void
any_message(struct parser *p, char *w[], int n)
{
	hand(MESSAGE, p, w, n);
}

/* Whether the value stays, or the keyword sets it by these words and this flag. */
static bool
only(int value, const char *name, const struct word_value *table,
    const bool *seen)
{
	return value == 201 ||
	    (value == set_to && is_word(first, name) && handed_table == table &&
		handed_seen == seen);
}

/* Each keyword has its own value, its own words and its own flag. */
void
keyword(void)
{
	char text[1] = "";

	any_parser();
	any_content(first);
	n_words = (int)any_size_up_to(KV_WORDS_MAX + 1) - 1;
	set_to = (int)any_size_up_to(200);
	c.on_hit = c.on_probable = c.on_error = c.on_unsupported =
	    (enum kv_action)201;
	c.strictmodes = (enum kv_strictmodes)201;
	c.wildcards = (enum kv_wildcards)201;
	c.syslog_facility = 201;
	parse_line(&ps, text);
	if (n_words < 1) {
		PROVE(handed == NOTHING, "no word, no value");
		PROVE(ps.failed == (n_words == -1), "no line is a mistake");
	}
	PROVE(n_words < 1 || ps.failed == (handed == NOTHING),
	    "another keyword is a mistake");
	PROVE(only((int)c.on_hit, "onhit", deny_warn, &ps.seen_on_hit),
	    "only OnHit, deny or warn");
	PROVE(only((int)c.on_probable, "onprobable", deny_warn,
		  &ps.seen_on_probable),
	    "only OnProbable, deny or warn");
	PROVE(only((int)c.on_error, "onerror", deny_allow, &ps.seen_on_error),
	    "only OnError, deny or allow");
	PROVE(only((int)c.on_unsupported, "onunsupported", deny_allow,
		  &ps.seen_on_unsupported),
	    "only OnUnsupported, deny or allow");
	PROVE(only((int)c.strictmodes, "strictmodes", strictmodes,
		  &ps.seen_strictmodes),
	    "only StrictModes");
	PROVE(only((int)c.wildcards, "authorizedkeysfilewildcards", wildcards,
		  &ps.seen_wildcards),
	    "only AuthorizedKeysFileWildcards");
	PROVE(only(c.syslog_facility, "syslogfacility", facilities,
		  &ps.seen_facility),
	    "only SyslogFacility");
	if (handed == ADD) {
		bool filter = handed_path == c.filter;

		PROVE(is_word(first, filter ? "filter" : "blocklist"),
		    "only Filter and Blocklist");
		PROVE(filter || handed_path == c.blocklist, "their paths");
		PROVE(handed_n == (filter ? &c.n_filters : &c.n_blocklists),
		    "their number");
		PROVE(handed_max == 2, "their room");
	}
	PROVE(handed != PATTERNS || is_word(first, "authorizedkeysfile"),
	    "only AuthorizedKeysFile");
	PROVE(handed != KEY_LINE ||
		(handed_lines == &ps.allowed ? is_word(first, "allowkey") :
					       handed_lines == &ps.denied &&
			    is_word(first, "denykey")),
	    "only AllowKey and DenyKey");
	PROVE(handed != MESSAGE || is_word(first, "message"), "only Message");
	/* The other way round, for what keeps a login closed. */
	PROVE(n_words < 1 || !is_word(first, "onhit") || c.on_hit != 201,
	    "OnHit is read");
	PROVE(n_words < 1 || !is_word(first, "onprobable") ||
		c.on_probable != 201,
	    "OnProbable is read");
	PROVE(n_words < 1 || !is_word(first, "onerror") || c.on_error != 201,
	    "OnError is read");
	PROVE(n_words < 1 || !is_word(first, "filter") || handed == ADD,
	    "Filter is read");
	PROVE(n_words < 1 || !is_word(first, "blocklist") || handed == ADD,
	    "Blocklist is read");
	PROVE(n_words < 1 || !is_word(first, "denykey") || handed == KEY_LINE,
	    "DenyKey is read");
}

/* One of the two tables. */
static void
set_one(const struct word_value *table, const char *other, int other_value)
{
	bool seen = nondet_bool(), had_seen = seen;
	bool deny, good;
	int value = 201;

	n_words = 1 + (int)any_size_up_to(KV_WORDS_MAX - 1);
	any_parser();
	any_content(second);
	set_word(&ps, word, n_words, table, &seen, &value);
	deny = is_word(second, "deny");
	good = n_words == 2 && (deny || is_word(second, other));
	PROVE(ps.failed == !good, "any other word is a mistake");
	PROVE(seen == (had_seen || good), "a mistake sets nothing");
	if (had_seen || !good)
		PROVE(value == 201, "the first line counts");
	else
		PROVE(value == (deny ? KV_ACTION_DENY : other_value),
		    "what the word says");
}

void
action(void)
{
	if (nondet_bool())
		set_one(deny_warn, "warn", KV_ACTION_WARN);
	else
		set_one(deny_allow, "allow", KV_ACTION_ALLOW);
}

/* StrictModes and AuthorizedKeysFileWildcards; the guard's options, too. */
void
modes(void)
{
	enum kv_strictmodes strict = (enum kv_strictmodes)201;
	enum kv_wildcards wild = (enum kv_wildcards)201;
	bool yes, no, group;

	any_content(second);
	yes = is_word(second, "yes");
	no = is_word(second, "no");
	group = is_word(second, "private-group");
	PROVE(kv_config_read_strictmodes(second, &strict) ==
		(yes || no || group),
	    "a mode");
	PROVE((strict == KV_STRICTMODES_YES) == yes, "yes");
	PROVE((strict == KV_STRICTMODES_NO) == no, "no");
	PROVE((strict == KV_STRICTMODES_PRIVATE_GROUP) == group, "between");
	PROVE(yes || no || group || strict == 201, "else left alone");
	PROVE(kv_config_read_wildcards(second, &wild) == (yes || no), "or not");
	PROVE((wild == KV_WILDCARDS_YES) == yes, "wildcards");
	PROVE((wild == KV_WILDCARDS_NO) == no, "no wildcards");
	PROVE(yes || no || wild == 201, "else left alone");
}

/* Filter and Blocklist. */
void
path(void)
{
	static const char *paths[2 + 1], *old[2 + 1];
	size_t n, had, i = any_size_up_to(2);
	bool good;

	any_parser();
	second[0] = nondet_char();
	second[1] = nondet_char();
	n_words = 1 + (int)any_size_up_to(KV_WORDS_MAX - 1);
	n = had = any_size_up_to(2);
	for (size_t k = 0; k < 3; k++)
		old[k] = paths[k] = k % 2 == 0 ? PATH : why;
	add_path(&ps, word, n_words, paths, &n, 2);
	good = n_words == 2 && second[0] == '/' && had < 2;
	PROVE(ps.failed == !good, "all else is a mistake");
	PROVE(n == had + good, "a mistake adds nothing");
	PROVE(!good || paths[had] == second, "the path");
	PROVE((good && i == had) || paths[i] == old[i], "all others stay");
}

static bool pattern_bad[KV_WORDS_MAX];

enum kv_err
kv_userfile_expand(const char *pattern, const struct kv_account *account,
    char *to, size_t cap)
{
	int i = 1;

	PROVE(__CPROVER_w_ok(to, cap), "room for a path");
	while (i < KV_WORDS_MAX - 1 && pattern != word[i])
		i++;
	PROVE(pattern == word[i], "a word of the line");
	return pattern_bad[i] ? KV_ERR_CONFIG : KV_OK;
}

void
patterns(void)
{
	static char name[KV_WORDS_MAX][NONE + 1];
	bool good, had_seen;
	size_t n = 0;

	any_parser();
	for (int i = 1; i < KV_WORDS_MAX; i++) {
		word[i] = name[i];
		for (size_t k = 0; k < NONE; k++)
			name[i][k] = nondet_char();
		pattern_bad[i] = nondet_bool();
	}
	n_words = 1 + (int)any_size_up_to(KV_WORDS_MAX - 1);
	ps.seen_patterns = had_seen = nondet_bool();
	kv_config_defaults(&c);
	set_patterns(&ps, word, n_words);
	good = n_words > 1 && n_words - 1 <= KV_CONFIG_MAX_PATTERNS &&
	    !pattern_bad[1] && (n_words == 2 || !pattern_bad[2]);
	PROVE(ps.failed == !good, "all else is a mistake");
	PROVE(ps.seen_patterns == (had_seen || good), "the first line counts");
	if (had_seen || !good) {
		PROVE(c.n_patterns == 2 &&
			c.pattern[0] == default_patterns[0] &&
			c.pattern[1] == default_patterns[1],
		    "a mistake sets nothing");
		return;
	}
	for (int i = 1; i < n_words; i++) {
		if (is_word(word[i], "none"))
			continue;
		PROVE(n < c.n_patterns && c.pattern[n] == word[i],
		    "each pattern");
		n++;
	}
	PROVE(n == c.n_patterns, "no others");
}

/* join_words moves words to the left. */
void *
memmove(void *to, const void *from, size_t n)
{
	PROVE(to <= from && __CPROVER_r_ok(from, n), "to the left");
	for (size_t i = 0; i < n; i++)
		((char *)to)[i] = ((const char *)from)[i];
	return to;
}

/* The words are as proof split of kv_words.c shows: one behind the other. */
void
join(void)
{
	static char line[LINE + 1], was_line[LINE + 1];
	size_t start[KV_WORDS_MAX], at = 0, out = 0;
	int from = (int)any_size_up_to(KV_WORDS_MAX + 1);
	const char *joined;

	for (size_t i = 0; i < LINE; i++)
		was_line[i] = line[i] = nondet_char();
	n_words = (int)any_size_up_to(KV_WORDS_MAX);
	for (int i = 0; i < n_words; i++) {
		at += any_size_up_to(LINE);
		GIVEN(at <= LINE);
		start[i] = at;
		word[i] = line + at;
		while (line[at] != '\0')
			at++;
		at++;
	}
	joined = join_words(word, n_words, from);
	for (int i = from; i < n_words; i++) {
		if (i > from)
			PROVE(joined[out++] == ' ', "a blank between them");
		for (size_t k = start[i]; was_line[k] != '\0'; k++)
			PROVE(joined[out++] == was_line[k], "each word");
	}
	PROVE(joined[out] == '\0', "no more");
	PROVE(from >= n_words || joined == line + start[from], "in place");
}

static struct kv_key_line keys[KEYS + 1], any_key;
static struct kv_key_lines into;
static bool good_fingerprint, good_date, no_memory;
static int64_t a_date;
static int joined_from;
static const char joined_text[] = "a reason";

enum kv_err
kv_fingerprint_parse(struct kv_span text,
    uint8_t digest[static KV_SHA256_BYTES])
{
	PROVE((const char *)text.p == second && text.len == strlen(second),
	    "the word behind the keyword");
	for (size_t i = 0; i < KV_SHA256_BYTES; i++)
		digest[i] = any_key.digest[i];
	return good_fingerprint ? KV_OK : KV_ERR_BASE64;
}

bool
any_date(const char *text, int64_t *daysp)
{
	PROVE(text == word[2] + 6, "what is behind until=");
	if (good_date)
		*daysp = a_date;
	return good_date;
}

const char *
any_join(char *w[], int n, int i)
{
	for (int k = 0; k < KV_WORDS_MAX; k++)
		PROVE(w[k] == word[k], "the line");
	PROVE(n == n_words, "the whole line");
	joined_from = i;
	return joined_text;
}

/* The array is as long as it was made before: a power of two. */
void *
reallocarray(void *old, size_t n, size_t size)
{
	PROVE(old == (into.n == 0 ? NULL : keys), "the array");
	PROVE(size == sizeof(any_key), "of keys");
	PROVE(n > into.n && (n & (n - 1)) == 0 && (into.n & (into.n - 1)) == 0,
	    "where it is full, to the next power of two");
	return no_memory ? NULL : keys;
}

void
allow(void)
{
	static char until[8];
	bool good, dated;
	size_t had = any_size_up_to(KEYS), i = any_size_up_to(KEYS);
	size_t at = any_size_up_to(KV_SHA256_BYTES - 1);
	struct kv_key_line old;

	any_parser();
	second[0] = nondet_char();
	word[2] = until;
	for (size_t k = 0; k < 7; k++)
		until[k] = nondet_char();
	n_words = 1 + (int)any_size_up_to(KV_WORDS_MAX - 1);
	for (size_t k = 0; k <= KEYS; k++)
		keys[k].day = nondet_i64();
	old = keys[i];
	for (size_t k = 0; k < KV_SHA256_BYTES; k++)
		any_key.digest[k] = nondet_byte();
	good_fingerprint = nondet_bool();
	good_date = nondet_bool();
	no_memory = nondet_bool();
	a_date = nondet_i64();
	into.n = had;
	into.v = had == 0 ? NULL : keys;
	add_key(&ps, word, n_words, "until=", INT64_MAX, &into);
	dated = n_words > 2 && until[0] == 'u' && until[1] == 'n' &&
	    until[2] == 't' && until[3] == 'i' && until[4] == 'l' &&
	    until[5] == '=';
	good = n_words > 1 && good_fingerprint && (!dated || good_date) &&
	    (!no_memory || had == 3);
	PROVE(ps.failed == !good, "all else is a mistake");
	PROVE(into.n == had + good, "a mistake adds nothing");
	PROVE((good && i == had) || keys[i].day == old.day, "all others stay");
	if (!good)
		return;
	PROVE(into.v[had].digest[at] == any_key.digest[at], "its key");
	PROVE(into.v[had].day == (dated ? a_date : INT64_MAX), "until its day");
	PROVE(into.v[had].reason == joined_text && joined_from == 2 + dated,
	    "its reason");
}

void
text(void)
{
	bool had_seen = nondet_bool();

	any_parser();
	n_words = 1 + (int)any_size_up_to(KV_WORDS_MAX - 1);
	c.message = had_seen ? why : NULL;
	set_message(&ps, word, n_words);
	PROVE(ps.failed == (n_words == 1), "no text is a mistake");
	if (had_seen || n_words == 1)
		PROVE(c.message == (had_seen ? why : NULL),
		    "the first one counts");
	else
		PROVE(c.message == joined_text && joined_from == 1, "the text");
}

static char file[KV_CONFIG_MAX_BYTES + 2], owned[KV_CONFIG_MAX_BYTES + 1];
static size_t file_len, cut;

static bool noted, probable_seen;
static enum kv_action probable;

/* Instead of parse_line: any line may add a filter, a list or a mistake. */
void
any_parse_line(struct parser *p, char *line)
{
	size_t at = (size_t)(line - owned), end = at;

	PROVE(at >= cut && at < file_len, "behind the line before");
	PROVE(at == cut || p->failed, "only a mistake is left out");
	PROVE(at == 0 || file[at - 1] == '\n', "from the start of a line");
	while (end < file_len && file[end] != '\n') {
		PROVE(file[end] != '\0', "without a NUL");
		PROVE(owned[end] == file[end], "as it is written");
		end++;
	}
	PROVE(owned[end] == '\0', "to its end");
	cut = end + 1;
	p->c->n_filters = any_size_up_to(KV_CONFIG_MAX_FILTERS);
	p->c->n_blocklists = any_size_up_to(KV_CONFIG_MAX_BLOCKLISTS);
	p->seen_on_probable = probable_seen = nondet_bool();
	p->c->on_hit = nondet_bool() ? KV_ACTION_DENY : KV_ACTION_WARN;
	if (probable_seen)
		p->c->on_probable = probable;
	p->failed = noted = p->failed || nondet_bool();
}

void
lines(void)
{
	size_t at = any_size_up_to(KV_CONFIG_MAX_BYTES - 1);
	enum kv_err r;

	file_len = any_size_up_to(KV_CONFIG_MAX_BYTES);
	for (size_t i = 0; i < KV_CONFIG_MAX_BYTES; i++)
		file[i] = owned[i] = nondet_char();
	probable = nondet_bool() ? KV_ACTION_DENY : KV_ACTION_WARN;
	kv_config_defaults(&c);
	r = parse_owned(&c, owned, file_len, PATH, why);
	PROVE(r == KV_OK || r == KV_ERR_CONFIG, "no other error");
	PROVE(!noted || r == KV_ERR_CONFIG, "no mistake is forgotten");
	PROVE(c.text == owned, "the text is kept");
	PROVE(c.n_filters + c.n_blocklists > 0, "never without a list");
	PROVE(c.n_filters <= 2 && c.n_blocklists <= 2, "no more than fit");
	PROVE(r != KV_OK || at >= file_len || file[at] != '\0',
	    "a NUL is a mistake");
	PROVE(r != KV_OK || cut >= file_len, "no line is left out");
	PROVE(c.on_probable == (probable_seen ? probable : c.on_hit),
	    "OnProbable, else OnHit");
}

static char room[KV_CONFIG_MAX_BYTES * 2];
static size_t room_cap, got, parsed_len;
static const char *parsed;
static int bad, read_error;
static bool whole, freed;

static void
prove_defaults(void)
{
	PROVE(c.text == NULL && c.allowed.n == 0 && c.denied.n == 0,
	    "nothing of the file");
	PROVE(c.on_hit == KV_ACTION_DENY && c.on_error == KV_ACTION_DENY &&
		c.on_probable == KV_ACTION_DENY,
	    "what is closed stays closed");
	PROVE(c.n_filters == 1 && c.n_blocklists == 0, "the default filter");
	PROVE(why[0] != '\0', "a mistake is told");
}

/* Instead of parse_owned: proof lines. */
enum kv_err
any_parse(struct kv_config *to, char *text, size_t len, const char *path,
    char said_why[static KV_CONFIG_WHY_BYTES])
{
	PROVE(to == &c && said_why == why, "the caller's");
	PROVE(why[0] == '\0', "no mistake yet");
	PROVE(__CPROVER_w_ok(text, len + 1), "a byte more than the text");
	PROVE(len <= KV_CONFIG_MAX_BYTES, "not too large");
	parsed = text;
	parsed_len = len;
	return nondet_bool() ? KV_OK : KV_ERR_CONFIG;
}

void
copy(void)
{
	size_t i = any_size_up_to(KV_CONFIG_MAX_BYTES - 1);
	enum kv_err r;

	file_len = any_size_up_to(KV_CONFIG_MAX_BYTES + 1);
	for (size_t k = 0; k < sizeof(file); k++)
		file[k] = nondet_char();
	r = kv_config_parse(file, file_len, PATH, &c, why);
	if (parsed != NULL) {
		PROVE(parsed_len == file_len, "the whole text");
		PROVE(i >= file_len || parsed[i] == file[i], "its bytes");
		PROVE(r == KV_OK || r == KV_ERR_CONFIG, "what it says");
		return;
	}
	prove_defaults();
	PROVE(r ==
		(file_len > KV_CONFIG_MAX_BYTES ? KV_ERR_CONFIG :
						  KV_ERR_MEMORY),
	    "too large, or no memory");
}

/* Memory that grows in place. */
void *
realloc(void *old, size_t n)
{
	PROVE(old == (room_cap == 0 ? NULL : room), "the memory");
	PROVE(n > room_cap && n <= sizeof(room), "more of it");
	if (nondet_bool())
		return NULL;
	room_cap = n;
	return room;
}

void
free(void *p)
{
	PROVE(p == (room_cap == 0 ? NULL : room) && !freed, "freed once");
	freed = true;
}

char *
strerror(int error)
{
	errno = nondet_int();
	return "an error";
}

ssize_t
read(int fd, void *to, size_t len)
{
	size_t n = any_size_up_to(sizeof(room));

	PROVE(fd == 7 && len > 0, "something to read");
	PROVE(to == room + got, "behind what was read");
	PROVE(len < room_cap - got, "a byte is left");
	PROVE(!whole && read_error == 0, "the end is the end");
	if (nondet_bool()) {
		errno = nondet_int();
		GIVEN(errno > 0 && (errno != EINTR || ++bad <= BAD));
		read_error = errno == EINTR ? 0 : errno;
		return -1;
	}
	GIVEN(n <= len);
	whole = n == 0;
	got += n;
	return (ssize_t)n;
}

void
read_file(void)
{
	enum kv_err r = kv_config_read(7, PATH, &c, why);

	PROVE(whole == (parsed != NULL), "the whole file, or nothing");
	if (parsed != NULL) {
		PROVE(parsed == room && parsed_len == got, "all that was read");
		PROVE(!freed, "the text is kept");
		PROVE(r == KV_OK || r == KV_ERR_CONFIG, "what it says");
		return;
	}
	prove_defaults();
	PROVE(freed, "the memory is freed");
	if (read_error != 0)
		PROVE(r == KV_ERR_SYSTEM && errno == read_error, "errno");
	else
		PROVE(r ==
			(got > KV_CONFIG_MAX_BYTES ? KV_ERR_CONFIG :
						     KV_ERR_MEMORY),
		    "too large, or no memory");
}

static int
digits(const char *s, int n)
{
	int value = 0;

	for (int i = 0; i < n; i++)
		value = value * 10 + s[i] - '0';
	return value;
}

static void
put_digits(char *s, int n)
{
	s[0] = (char)('0' + n / 10);
	s[1] = (char)('0' + n % 10);
}

/* The calendar again, without division of the year. */
static int
days_of_month(const char *s)
{
	int m = digits(s + 5, 2), century = digits(s, 2), y = digits(s + 2, 2);
	bool leap = y != 0 ? y % 4 == 0 : century % 4 == 0;

	if (m == 2)
		return 28 + leap;
	return m == 4 || m == 6 || m == 9 || m == 11 ? 30 : 31;
}

static bool
is_date(const char s[static 12])
{
	for (int i = 0; i < 10; i++)
		if (i == 4 || i == 7 ? s[i] != '-' : s[i] < '0' || s[i] > '9')
			return false;
	return s[10] == '\0' && digits(s, 4) >= 1970 && digits(s + 5, 2) >= 1 &&
	    digits(s + 5, 2) <= 12 && digits(s + 8, 2) >= 1 &&
	    digits(s + 8, 2) <= days_of_month(s);
}

static char day[12], next[12];

void
date(void)
{
	int64_t days;

	for (int i = 0; i < 11; i++)
		day[i] = nondet_char();
	PROVE(kv_config_read_date(day, &days) == is_date(day), "only dates");
}

/* By induction from 1970-01-01: each day is one more than the day before. */
static void
step(bool new_year)
{
	int64_t days = -1, days_next = -1;
	int m, d;

	for (int i = 0; i < 10; i++)
		next[i] = day[i] = nondet_char();
	GIVEN(is_date(day) && strncmp(day, "9999-12-31", 10) != 0);
	m = digits(day + 5, 2);
	d = digits(day + 8, 2);
	GIVEN((m == 12 && d == 31) == new_year);
	put_digits(next + 8, d + 1);
	if (d == days_of_month(day)) {
		put_digits(next + 8, 1);
		put_digits(next + 5, m + 1);
	}
	if (new_year) {
		put_digits(next + 5, 1);
		for (int i = 3; ++next[i] > '9'; i--)
			next[i] = '0';
	}
	(void)kv_config_read_date(day, &days);
	(void)kv_config_read_date(next, &days_next);
	PROVE(days_next == days + 1, "a day later");
}

void
first_day(void)
{
	int64_t days;

	PROVE(!kv_config_read_date("1969-12-31", &days), "none before 1970");
	PROVE(kv_config_read_date("1970-01-01", &days) && days == 0, "0");
}

PROOF(next_day, step(false))
PROOF(next_year, step(true))

static int says_first, says_second;
static size_t said;

/* Of messages only their length counts. */
int
snprintf(char *to, size_t cap, const char *format, ...)
{
	PROVE(cap > 1 && __CPROVER_w_ok(to, cap), "room for a message");
	to[0] = '?';
	to[1] = '\0';
	return says_first;
}

int
vsnprintf(char *to, size_t cap, const char *format, va_list ap)
{
	PROVE(cap > 0 && __CPROVER_w_ok(to, cap), "room for a message");
	PROVE(lies_in(to, cap, why, sizeof(why)), "in why");
	PROVE(to == why + says_first, "behind the place");
	said++;
	return says_second;
}

void
mistake(void)
{
	any_parser();
	says_first = nondet_int();
	says_second = nondet_int();
	note_mistake(&ps, "%s", "a mistake");
	PROVE(ps.failed && why[0] != '\0', "a mistake is told");
	PROVE(said <= 1, "once");
	why[0] = '!';
	said = 0;
	note_mistake(&ps, "%s", "another mistake");
	PROVE(ps.failed && why[0] == '!' && said == 0, "the first one stays");
}

static struct kv_key_line some_lines[LINES];

/* Whether an AllowKey line, or a DenyKey line, counts at time now. */
static bool
counts_today(const struct kv_key_line *line, int64_t now, bool allows)
{
	return allows ? now / 86400 <= line->day : now / 86400 >= line->day;
}

static void
find(bool allows)
{
	uint8_t digest[KV_SHA256_BYTES];
	int64_t now = nondet_i64();
	const struct kv_key_line *found;
	struct kv_key_lines all = { some_lines, any_size_up_to(LINES) };
	bool counts;
	size_t i = any_size_up_to(LINES - 1);
	size_t at = any_size_up_to(KV_SHA256_BYTES - 1);

	for (size_t n = 0; n < LINES; n++) {
		some_lines[n].day = nondet_i64();
		for (size_t i = 0; i < KV_SHA256_BYTES; i++)
			some_lines[n].digest[i] = nondet_byte();
	}
	for (size_t i = 0; i < KV_SHA256_BYTES; i++)
		digest[i] = nondet_byte();
	*(allows ? &c.allowed : &c.denied) = all;
	found = allows ? kv_config_find_allowed(&c, digest, now) :
			 kv_config_find_denied(&c, digest, now);
	counts = i < all.n && counts_today(&some_lines[i], now, allows) &&
	    memcmp(some_lines[i].digest, digest, KV_SHA256_BYTES) == 0;
	if (found == NULL) {
		PROVE(!counts, "passes over no line that counts");
		return;
	}
	PROVE(found == &some_lines[0] || found == &some_lines[1], "a line");
	PROVE(found < some_lines + all.n, "that is there");
	PROVE(found->digest[at] == digest[at], "of this key");
	PROVE(counts_today(found, now, allows), "that counts today");
	PROVE(!counts || found <= &some_lines[i], "the first one");
}

PROOF(find_allowed, find(true))
PROOF(find_denied, find(false))

void
message(void)
{
	const char *text = any_text(TEXT);
	size_t cap = 1 + any_size_up_to(ROOM - 1);
	char *out = (char *)any_end(ROOM, cap);

	kv_config_message(text, any_text(3), any_text(3), out, cap);
	PROVE(memchr(out, '\0', cap) != NULL, "ends inside out");
}
