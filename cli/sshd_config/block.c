/* SPDX-License-Identifier: ISC */
#include "sshd_config/block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BEGIN_LINE \
	SSHD_BLOCK_BEGIN ": written by \"keyveto enable\", taken out " \
			 "by \"keyveto disable\"\n"
#define END_LINE SSHD_BLOCK_END "\n"

const char *const sshd_block_keywords[] = {
	"AuthorizedKeysFile",
	"AuthorizedKeysCommand",
	"AuthorizedKeysCommandUser",
	"AuthorizedPrincipalsCommand",
	"AuthorizedPrincipalsCommandUser",
	"OnError",
	"OnHit",
	"OnProbable",
	"OnUnsupported",
};

static bool
starts_with(const char *line, size_t len, const char *mark)
{
	size_t n = strlen(mark);

	return len >= n && memcmp(line, mark, n) == 0;
}

/* The length of the line at p, with its newline. */
static size_t
line_length(const char *p, const char *end)
{
	const char *nl = memchr(p, '\n', (size_t)(end - p));

	return (size_t)((nl != NULL ? nl + 1 : end) - p);
}

/* The same, with the lines that PAM joins to it because it ends with '\'. */
static size_t
whole_length(const char *p, const char *end)
{
	size_t n = 0, last;

	do {
		n += line_length(p + n, end);
		for (last = n;
		     last > 0 && strchr(" \t\r\n", p[last - 1]) != NULL; last--)
			;
	} while (p + n < end && last > 0 && p[last - 1] == '\\' &&
	    !starts_with(p + n, (size_t)(end - p) - n, SSHD_BLOCK_BEGIN) &&
	    !starts_with(p + n, (size_t)(end - p) - n, SSHD_BLOCK_END));
	return n;
}

/*
 * Whether enable may have written this line of a block. Any other line is the
 * administrator's: removing it could let somebody in.
 */
static bool
is_of_our_kind(const char *line, size_t len)
{
	static const char module[] = "pam_keyveto.so";
	size_t n = 0;

	while (len > 0 && strchr(" \t\r\n", *line) != NULL) {
		line++;
		len--;
	}
	if (len == 0 || *line == '#' ||
	    memmem(line, len, module, sizeof(module) - 1) != NULL)
		return true;
	while (n < len && strchr(" \t\r\n=\"", line[n]) == NULL)
		n++;
	for (size_t i = 0; i < SSHD_BLOCK_ALL_KEYWORDS; i++)
		if (n == strlen(sshd_block_keywords[i]) &&
		    strncasecmp(line, sshd_block_keywords[i], n) == 0)
			return true;
	return false;
}

/*
 * If inside is true, copies the lines of all blocks; otherwise all other lines,
 * and the lines in a block that are not keyveto's.
 */
static char *
copy_lines(const char *text, size_t len, bool inside, size_t *out_lenp,
    size_t *np, char *why, size_t cap)
{
	char *out = malloc(len + 1);
	size_t begun = 0, number = 0, kept = 0;

	*np = 0;
	if (out == NULL) {
		snprintf(why, cap, "out of memory");
		return NULL;
	}
	for (const char *p = text, *end = text + len; p < end;) {
		size_t n = line_length(p, end);
		bool is_mark = true, wanted;

		number++;
		if (starts_with(p, n, SSHD_BLOCK_BEGIN)) {
			if (begun != 0)
				break;
			begun = number;
			++*np;
		} else if (starts_with(p, n, SSHD_BLOCK_END)) {
			if (begun == 0) {
				begun = number;
				break;
			}
			begun = 0;
		} else
			is_mark = false;
		wanted = (begun != 0) == inside;
		if (!is_mark && begun != 0 && !inside) {
			size_t whole = whole_length(p, end);

			wanted = !is_of_our_kind(p, whole);
			for (; n < whole; number++)
				n += line_length(p + n, end);
		}
		if (!is_mark && wanted) {
			memcpy(out + kept, p, n);
			kept += n;
		}
		p += n;
	}
	if (begun != 0) {
		snprintf(why, cap,
		    "%zu: a mark of keyveto's without the other one; take "
		    "out keyveto's lines, and the marks, by hand",
		    begun);
		free(out);
		return NULL;
	}
	out[kept] = '\0';
	*out_lenp = kept;
	return out;
}

char *
sshd_block_remove(const char *text, size_t len, size_t *out_lenp, size_t *np,
    char *why, size_t cap)
{
	return copy_lines(text, len, false, out_lenp, np, why, cap);
}

char *
sshd_block_lines(const char *text, size_t len, size_t *out_lenp, size_t *np,
    char *why, size_t cap)
{
	return copy_lines(text, len, true, out_lenp, np, why, cap);
}

size_t
sshd_block_line_outside(const char *text, size_t len, size_t line)
{
	char why[128], *base;
	size_t end = 0, base_len, blocks, n = 1;

	while (line-- > 0)
		end += line_length(text + end, text + len);
	/* If the line is in a block, text up to here lacks the END mark. */
	base = sshd_block_remove(text, end, &base_len, &blocks, why,
	    sizeof(why));
	if (base == NULL)
		return 0;
	for (size_t i = 0; i + 1 < base_len; i++)
		n += base[i] == '\n';
	free(base);
	return n;
}

char *
sshd_block_insert(const char *text, size_t len, size_t line, const char *lines,
    size_t *out_lenp)
{
	const size_t head = sizeof(BEGIN_LINE) - 1, tail = sizeof(END_LINE) - 1;
	const size_t body = strlen(lines);
	char *out = malloc(len + head + body + tail + 1), *p = out;
	size_t at = 0;

	if (out == NULL)
		return NULL;
	while (line-- > 1 && memchr(text + at, '\n', len - at) != NULL)
		at += line_length(text + at, text + len);
	p = mempcpy(p, text, at);
	p = mempcpy(p, BEGIN_LINE, head);
	p = mempcpy(p, lines, body);
	p = mempcpy(p, END_LINE, tail);
	p = mempcpy(p, text + at, len - at);
	*p = '\0';
	*out_lenp = (size_t)(p - out);
	return out;
}
