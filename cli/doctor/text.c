/* SPDX-License-Identifier: ISC */
/* Prints the findings of keyveto status as text: a line that sums up first. */
#include "doctor/doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/color.h"

#define COLUMN (8 + 1 + 12 + 1) /* where the sentences start */
#define COLUMNS 100

/* Counts the open ways in, and those of them that keyveto guards. */
static void
count_ways(const struct doctor *d, size_t *openp, size_t *guardedp)
{
	*openp = *guardedp = 0;
	for (size_t i = 0; i < d->n_groups; i++)
		for (enum way w = 0; w < WAYS; w++) {
			const struct ways *ways = &d->group[i].ways;

			*openp += ways->open[w];
			*guardedp += ways->open[w] && ways_is_guarded(ways, w);
		}
}

/* What keeps sshd or PAM from asking, so that they refuse. NULL: nothing. */
static const char *
find_unasked(const struct doctor *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->finding[i].refuses)
			return d->finding[i].found;
	return NULL;
}

/* The line of keyveto.conf that has the mistake. 0: it is none of a line. */
static unsigned long
find_mistake(const struct doctor *d)
{
	const size_t len = strlen(d->config);
	const char *p = d->judging.judge.broken;
	unsigned long line;
	char *end;

	if (strncmp(p, d->config, len) != 0 || p[len] != ':')
		return 0;
	line = strtoul(p + len + 1, &end, 10);
	return *end == ':' ? line : 0;
}

static bool
has_exceptions(const struct doctor *d)
{
	const struct kv_key_line *v = d->judging.judge.config.allowed.v;

	for (size_t i = 0; i < d->judging.judge.config.allowed.n; i++)
		if (v[i].day >= d->now / DOCTOR_DAY_SECONDS)
			return true;
	return false;
}

/*
 * Prints, before all else, that logins get no verdict: OnError deny locks
 * everybody out. Where sshd does not ask keyveto, nothing comes of it.
 */
static void
print_no_verdict(const struct doctor *d, bool in_part)
{
	const struct kv_judge *j = &d->judging.judge;
	const bool named = d->o->judge.n_filters + d->o->judge.n_blocklists > 0;
	const bool broken = j->broken[0] != '\0';
	const char *unasked = find_unasked(d), *cause = unasked;
	const unsigned long line = find_mistake(d);
	char text[128];

	if (cause == NULL && d->is_read && !named)
		cause = broken ? j->broken : judging_find_unopened(j);
	if (cause == NULL)
		return;
	if (unasked == NULL && j->config.on_error != KV_ACTION_DENY)
		snprintf(text, sizeof(text), "%s",
		    broken ? "no key but those of DenyKey and the built-in "
			     "ones is judged; everybody else gets in" :
			     "a list is not consulted, and the keys that only "
			     "it has get in");
	else
		snprintf(text, sizeof(text),
		    "every login by key%s%s is refused",
		    in_part ? " that keyveto guards" : "",
		    unasked == NULL && !broken && has_exceptions(d) ?
			", but those of AllowKey," :
			"");
	color_print(stdout, COLOR_BAD, text);
	fputs(": ", stdout);
	if (unasked == NULL && line > 0)
		printf("keyveto.conf line %lu; type keyveto config edit\n",
		    line);
	else
		cli_printf(stdout, "%s\n", cause);
}

static void
print_guarded(const struct doctor *d)
{
	const bool match = doctor_status(d, "match") != DOCTOR_OK;
	size_t open, guarded;

	count_ways(d, &open, &guarded);
	if (guarded > 0)
		print_no_verdict(d, guarded < open || match);
	if (d->settings == NULL)
		color_print(stdout, COLOR_WARNING, "sshd was not asked");
	else if (guarded == 0 && open > 0)
		color_print(stdout, COLOR_BAD, "not guarded");
	else if (guarded < open || match)
		color_print(stdout, COLOR_BAD, "guarded in part");
	else if (d->judging.judge.config.on_hit == KV_ACTION_WARN)
		color_print(stdout, COLOR_WARNING, "guarded, and only logged");
	else
		color_print(stdout, COLOR_GOOD, "guarded");
}

/* Prints "; 2 lists, the oldest 3 days old". age: of the oldest; -1: unknown. */
static void
print_count(size_t n, const char *one, const char *many, int64_t age)
{
	const int64_t days = age / DOCTOR_DAY_SECONDS;

	if (n == 0)
		return;
	printf("; %zu %s", n, cli_plural(n, one, many));
	if (age >= 0)
		printf(", %s%" PRId64 " %s old", n > 1 ? "the oldest " : "",
		    days, cli_plural((uint64_t)days, "day", "days"));
}

static void
print_lists(const struct doctor *d)
{
	int64_t lists = -1, filters = -1, age;

	for (size_t i = 0; i < d->judging.judge.n_lists; i++) {
		age = d->now - d->list[i].facts.time;
		if (d->list[i].has_facts && d->list[i].facts.dated &&
		    age > lists)
			lists = age;
	}
	for (size_t i = 0; i < d->judging.judge.n_filters; i++) {
		age = d->now - (int64_t)d->facts[i].header.time;
		if (d->has_facts[i] && d->facts[i].header.time > 0 &&
		    d->facts[i].header.time <= (uint64_t)d->now &&
		    age > filters)
			filters = age;
	}
	print_count(d->judging.judge.n_lists, "list", "lists", lists);
	print_count(d->judging.judge.n_filters, "filter", "filters", filters);
	if (d->judging.judge.n_lists + d->judging.judge.n_filters == 0)
		fputs("; no list", stdout);
}

/* Prints "; 1 broken, 2 warnings". */
static void
print_states(const struct doctor *d)
{
	size_t n[3] = { 0 };
	char text[64];

	for (size_t i = 0; i < d->n; i++)
		n[doctor_status_number(d->finding[i].status)]++;
	fputs("; ", stdout);
	if (n[2] > 0) {
		snprintf(text, sizeof(text), "%zu broken", n[2]);
		color_print(stdout, COLOR_BAD, text);
	}
	if (n[2] > 0 && n[1] > 0)
		fputs(", ", stdout);
	if (n[1] > 0) {
		snprintf(text, sizeof(text), "%zu %s", n[1],
		    cli_plural(n[1], "warning", "warnings"));
		color_print(stdout, COLOR_WARNING, text);
	}
	if (n[2] + n[1] == 0)
		color_print(stdout, COLOR_GOOD, "all is well");
	putchar('\n');
}

/* Prints words, and begins a line at this column where they would be too long. */
static void
print_words(const char *text, size_t column)
{
	size_t at = column, n;

	for (const char *p = text; *p != '\0'; p += n + (p[n] == ' ')) {
		n = strcspn(p, " ");
		if (p > text && at + 1 + n > COLUMNS) {
			printf("\n%*s", (int)column, "");
			at = column;
		} else if (p > text) {
			putchar(' ');
			at++;
		}
		cli_print_safe(stdout, p, n);
		at += n;
	}
	putchar('\n');
}

static void
print_finding(const struct doctor_finding *f)
{
	static const enum color colors[] = { COLOR_GOOD, COLOR_WARNING,
		COLOR_BAD };
	char state[16];

	snprintf(state, sizeof(state), "%-8s", doctor_status_name(f->status));
	color_print(stdout, colors[doctor_status_number(f->status)], state);
	printf(" %-12s ", f->check);
	print_words(f->found, COLUMN);
	if (f->remedy == NULL)
		return;
	printf("%*s-> ", COLUMN, "");
	print_words(f->remedy, COLUMN + 3);
}

/* Prints what each account's ways in are, and what judges their keys. */
static void
print_ways(const struct doctor *d, const struct doctor_group *g)
{
	const char *pam = g->ways.pam ? "yes" : "no";

	putchar('\n');
	if (d->n_groups > 1) {
		size_t at = (size_t)printf("accounts:");

		for (size_t i = 0; i < g->n; i++) {
			const size_t n = strlen(g->account[i]) + 1;

			if (at + n > COLUMNS)
				at = (size_t)printf("\n         ") - 1;
			cli_printf(stdout, " %s", g->account[i]);
			at += n;
		}
		putchar('\n');
	}
	printf("%-22s %-5s %-6s %-4s %s\n", "way in", "open", "guard", "PAM",
	    "guarded");
	for (enum way w = 0; w < WAYS; w++) {
		if (g->ways.open[w])
			printf("%-22s %-5s %-6s %-4s %s\n", ways_name(w), "yes",
			    g->ways.guard[w] ? "yes" : "no", pam,
			    ways_is_guarded(&g->ways, w) ? "yes" : "NO");
		else
			printf("%-22s no\n", ways_name(w));
	}
}

bool
doctor_print_text(const struct doctor *d)
{
	print_guarded(d);
	print_lists(d);
	print_states(d);
	for (int status = 2; status >= (d->o->all ? 0 : 1); status--)
		for (size_t i = 0; i < d->n; i++)
			if (doctor_status_number(d->finding[i].status) ==
				status &&
			    !d->finding[i].unused)
				print_finding(&d->finding[i]);
	for (size_t i = 0; d->o->all && i < d->n_groups; i++)
		print_ways(d, &d->group[i]);
	return cli_stdout_ok();
}
