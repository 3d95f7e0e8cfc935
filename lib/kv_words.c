/* SPDX-License-Identifier: ISC */
#include "kv_words.h"

#include <stdbool.h>
#include <string.h>

#define BLANKS " \t\r"
/* A number as text. */
#define TEXT(n) TEXT_OF(n)
#define TEXT_OF(n) #n

int
kv_words_split(char *line, char *word[static KV_WORDS_MAX], const char **whyp)
{
	char *in = line;
	bool equals = false;
	int n = 0;

	for (;;) {
		bool quoted = false;
		char *out, stop;

		in += strspn(in, BLANKS);
		if (n == 1 && !equals && *in == '=') {
			equals = true;
			in += 1 + strspn(in + 1, BLANKS);
		}
		if (*in == '\0' || *in == '#')
			return n;
		if (n == KV_WORDS_MAX) {
			*whyp = "more than " TEXT(KV_WORDS_MAX) " words";
			return -1;
		}
		word[n++] = out = in;
		for (; *in != '\0'; in++) {
			if (*in == '"') {
				quoted = !quoted;
				continue;
			}
			if (!quoted &&
			    (strchr(BLANKS, *in) != NULL ||
				(n == 1 && *in == '=')))
				break;
			if (quoted && in[0] == '\\' &&
			    (in[1] == '"' || in[1] == '\\'))
				in++;
			*out++ = *in;
		}
		if (quoted) {
			*whyp = "unterminated quote";
			return -1;
		}
		/* stop keeps what ended the word: the NUL may overwrite it. */
		if ((stop = *in) != '\0')
			in++;
		*out = '\0';
		equals = equals || stop == '=';
	}
}
