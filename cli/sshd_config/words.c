/* SPDX-License-Identifier: ISC */
#include "sshd_config/words.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* misc.c: WHITESPACE. */
#define BLANKS " \t\r\n"

/*
 * misc.c:strdelim: a word ends at a blank, at an equals sign, or at the second
 * quote; the first quote may stand anywhere. NULL without a second quote.
 */
static char *
cut_word(char **sp)
{
	char *word = *sp, *end = word + strcspn(word, BLANKS "\"=");
	bool equals = *end == '=';

	if (*end == '"') {
		memmove(end, end + 1, strlen(end));
		end += strcspn(end, "\"");
		if (*end == '\0')
			return NULL;
		*end++ = '\0';
		*sp = end + strspn(end, BLANKS);
		return word;
	}
	if (*end != '\0')
		*end++ = '\0';
	end += strspn(end, BLANKS);
	if (*end == '=' && !equals) {
		end++;
		end += strspn(end, BLANKS);
	}
	*sp = end;
	return word;
}

char *
sshd_words_keyword(char *line, char **restp)
{
	size_t len = strlen(line);
	char *word;

	/* servconf.c takes a form feed for a blank only here. */
	while (len > 0 && strchr(BLANKS "\f", line[len - 1]) != NULL)
		line[--len] = '\0';
	*restp = line;
	word = cut_word(restp);
	/* servconf.c skips one empty word, as before leading blanks. */
	if (word != NULL && *word == '\0')
		word = cut_word(restp);
	return word == NULL || *word == '\0' || *word == '#' ? NULL : word;
}

unsigned int
sshd_keyword(const char *line)
{
	enum {
		D = SSHD_KEYWORD_DECIDES,
		G = SSHD_KEYWORD_GUARD,
		S = SSHD_KEYWORD_SWITCH,
		W = SSHD_KEYWORD_WORDS,
	};
	static const struct {
		const char *keyword;
		unsigned int is;
	} keywords[] = {
		{ "AuthenticationMethods", D },
		{ "AuthorizedKeysCommand", D | G | W },
		{ "AuthorizedKeysCommandUser", D | G },
		{ "AuthorizedKeysFile", D | G },
		{ "AuthorizedPrincipalsCommand", D | G | W },
		{ "AuthorizedPrincipalsCommandUser", D | G },
		{ "AuthorizedPrincipalsFile", D },
		{ "ForceCommand", W },
		{ "HostbasedAuthentication", D | S },
		{ "Include", D },
		{ "PAMServiceName", D },
		{ "PubkeyAuthentication", D | S },
		{ "SetEnv", W },
		{ "StrictModes", D | S },
		{ "Subsystem", W },
		{ "TrustedUserCAKeys", D },
		{ "UsePAM", D | S },
		{ "VersionAddendum", W },
	};
	const size_t len = strcspn(line, BLANKS "\"=");

	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
		if (strlen(keywords[i].keyword) == len &&
		    strncasecmp(line, keywords[i].keyword, len) == 0)
			return keywords[i].is;
	return 0;
}

/*
 * misc.c:argv_split: both kinds of quotes; backslashes before quotes,
 * backslashes and blanks; a word that starts with # ends the line.
 */
char *
sshd_words_next(char **sp)
{
	char *p = *sp + strspn(*sp, " \t"), *word = p, *out = p;
	char quote = '\0';

	if (*p == '\0' || *p == '#')
		return NULL;
	for (; *p != '\0'; p++) {
		if (*p == '\\' &&
		    (p[1] == '\'' || p[1] == '"' || p[1] == '\\' ||
			(quote == '\0' && p[1] == ' ')))
			*out++ = *++p;
		else if (quote == '\0' && (*p == ' ' || *p == '\t'))
			break;
		else if (quote == '\0' && (*p == '"' || *p == '\''))
			quote = *p;
		else if (quote != '\0' && *p == quote)
			quote = '\0';
		else
			*out++ = *p;
	}
	*sp = p + (*p != '\0');
	*out = '\0';
	return word;
}

bool
sshd_words_is(const char *value, const char *word)
{
	char *copy = strdup(value), *rest = copy, *first;
	bool same = copy != NULL && (first = sshd_words_next(&rest)) != NULL &&
	    strcasecmp(first, word) == 0 && sshd_words_next(&rest) == NULL;

	free(copy);
	return same;
}

bool
sshd_words_none(const char *value)
{
	char *copy = strdup(value), *rest = copy, *word;
	bool none = *value == '\0';

	/* Up to OpenSSH 10.0, AuthorizedKeysFile may have it several times. */
	while (copy != NULL && (word = sshd_words_next(&rest)) != NULL &&
	    (none = strcasecmp(word, "none") == 0))
		;
	free(copy);
	return none;
}
