/* SPDX-License-Identifier: ISC */
#include "base/unvis.h"

#include <string.h>

char
unvis_next(const char **pp)
{
	static const char letters[] = "nrbavtf0", bytes[] = "\n\r\b\a\v\t\f";
	const char *p = *pp, *letter;
	unsigned int value = 0;

	if (*p != '\\' || p[1] == '\0') {
		*pp = p + 1;
		return *p;
	}
	if (strspn(p + 1, "01234567") >= 3) {
		for (int i = 1; i <= 3; i++)
			value = value * 8 + (unsigned int)(p[i] - '0');
		*pp = p + 4;
		return (char)value;
	}
	*pp = p + 2;
	letter = strchr(letters, p[1]);
	return letter != NULL ? bytes[letter - letters] : p[1];
}

void
unvis(char *text)
{
	const char *from = text;
	char *to = text;

	/* sshd's titles and lines have no NUL that one could stand for. */
	while (*from != '\0')
		if ((*to = unvis_next(&from)) != '\0')
			to++;
	*to = '\0';
}
