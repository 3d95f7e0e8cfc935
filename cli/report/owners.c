/* SPDX-License-Identifier: ISC */
#include "report/owners.h"

#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "kv_words.h"
#include "report/clean.h"
#include "sshd_config/match.h"

/* Each key is compared with all of them. */
#define OWNERS_MAX 10000
#define NAME_BYTES 256

enum owner_kind { OWNER_KEY = 0, OWNER_COMMENT, OWNER_ACCOUNT, OWNER_KINDS };

struct fleet_owner {
	enum owner_kind kind;
	char *pattern;
};

static const char *
text(sqlite3_value *v)
{
	return (const char *)sqlite3_value_text(v);
}

/* An account pattern with an @ is of one at a host. */
static bool
matches_account(const char *pattern, const char *account, const char *host)
{
	const char *at = strrchr(pattern, '@');
	char name[NAME_BYTES];

	if (at == NULL)
		return sshd_match_pattern(account, pattern);
	if ((size_t)(at - pattern) >= sizeof(name))
		return false;
	memcpy(name, pattern, (size_t)(at - pattern));
	name[at - pattern] = '\0';
	return sshd_match_pattern(account, name) &&
	    sshd_match_pattern(host, at + 1);
}

static bool
owns(const struct fleet_owner *o, sqlite3_value **v)
{
	const char *fp = text(v[0]), *comment = text(v[1]);
	const char *account = text(v[2]), *host = text(v[3]);

	if (o->kind == OWNER_KEY)
		return fp != NULL && strcmp(fp, o->pattern) == 0;
	if (o->kind == OWNER_COMMENT)
		return comment != NULL &&
		    sshd_match_pattern(comment, o->pattern);
	return account != NULL && host != NULL &&
	    matches_account(o->pattern, account, host);
}

/* Is owner_id of SQL. */
static void
find_owner(sqlite3_context *context, int n, sqlite3_value **v)
{
	const struct fleet *f = sqlite3_user_data(context);

	(void)n;
	for (size_t i = 0; i < f->owners; i++)
		if (owns(&f->owner[i], v)) {
			sqlite3_result_int64(context, (sqlite3_int64)i + 1);
			return;
		}
}

int
fleet_owners_register(struct fleet *f)
{
	return sqlite3_create_function(f->db, "owner_id", 4,
	    SQLITE_UTF8 | SQLITE_DETERMINISTIC, f, find_owner, NULL, NULL);
}

void
fleet_owners_free(struct fleet *f)
{
	for (size_t i = 0; i < f->owners; i++)
		free(f->owner[i].pattern);
	free(f->owner);
	f->owner = NULL;
	f->owners = 0;
}

static bool
find_kind(const char *word, enum owner_kind *kindp)
{
	static const char *const names[OWNER_KINDS] = {
		[OWNER_KEY] = "key",
		[OWNER_COMMENT] = "comment",
		[OWNER_ACCOUNT] = "account",
	};

	for (*kindp = 0; *kindp < OWNER_KINDS; ++*kindp)
		if (strcmp(word, names[*kindp]) == 0)
			return true;
	return false;
}

bool
fleet_owners_add(struct fleet *f, char *line, const char **whyp)
{
	char *word[KV_WORDS_MAX], pattern[512];
	char person[NAME_BYTES], team[NAME_BYTES] = "";
	struct fleet_owner *o;
	const int n = kv_words_split(line, word, whyp);
	enum owner_kind kind;

	if (n <= 0)
		return n == 0;
	*whyp = "not KIND PATTERN PERSON [TEAM], where KIND is key, comment or "
		"account";
	if (n < 3 || n > 4 || !find_kind(word[0], &kind))
		return false;
	*whyp = "more than 10000 lines";
	if (f->owners == OWNERS_MAX)
		return false;
	/* The texts of audits, which they are compared with, are clean. */
	clean_text(word[1], strlen(word[1]), pattern, sizeof(pattern));
	clean_text(word[2], strlen(word[2]), person, sizeof(person));
	if (n == 4)
		clean_text(word[3], strlen(word[3]), team, sizeof(team));
	*whyp = "out of memory";
	if (!room_for_one(&f->owner, f->owners, sizeof(*o)))
		return false;
	o = &f->owner[f->owners];
	*o = (struct fleet_owner){ kind, strdup(pattern) };
	if (o->pattern == NULL)
		return false;
	f->owners++;
	*whyp = "the temporary database failed";
	return fleet_add_owner(f, (int64_t)f->owners, person,
	    n == 4 ? team : NULL);
}
