/* SPDX-License-Identifier: ISC */
/* Prints the findings of keyveto status as text: a line that sums up first. */
#include "doctor/doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/color.h"

#define COLUMN (8 + 1 + 12 + 1) /* where the sentences start */

/* Counts root's open ways in, and those of them that keyveto guards. */
static void
count_ways(const struct doctor *d, size_t *openp, size_t *guardedp)
{
	const struct ways *w = &d->ways;

	*openp = *guardedp = 0;
	for (size_t i = 0; i < WAYS; i++) {
		*openp += w->open[i];
		*guardedp += w->open[i] && ways_is_guarded(w, (enum way)i);
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
	size_t n[DOCTOR_BROKEN + 1] = { 0 };
	char text[64];

	for (size_t i = 0; i < d->n; i++)
		n[d->finding[i].status]++;
	fputs("; ", stdout);
	if (n[DOCTOR_BROKEN] > 0) {
		snprintf(text, sizeof(text), "%zu broken", n[DOCTOR_BROKEN]);
		color_print(stdout, COLOR_BAD, text);
	}
	if (n[DOCTOR_BROKEN] > 0 && n[DOCTOR_WARNING] > 0)
		fputs(", ", stdout);
	if (n[DOCTOR_WARNING] > 0) {
		snprintf(text, sizeof(text), "%zu %s", n[DOCTOR_WARNING],
		    cli_plural(n[DOCTOR_WARNING], "warning", "warnings"));
		color_print(stdout, COLOR_WARNING, text);
	}
	if (n[DOCTOR_BROKEN] + n[DOCTOR_WARNING] == 0)
		color_print(stdout, COLOR_GOOD, "all is well");
	putchar('\n');
}

static void
print_finding(const struct doctor_finding *f)
{
	static const enum color colors[] = { COLOR_GOOD, COLOR_WARNING,
		COLOR_BAD };
	char state[16];

	snprintf(state, sizeof(state), "%-8s", doctor_status_name(f->status));
	color_print(stdout, colors[f->status], state);
	printf(" %-12s ", f->check);
	cli_print_safe(stdout, f->found, strlen(f->found));
	putchar('\n');
	if (f->remedy == NULL)
		return;
	printf("%*s-> ", COLUMN, "");
	cli_print_safe(stdout, f->remedy, strlen(f->remedy));
	putchar('\n');
}

bool
doctor_print_text(const struct doctor *d)
{
	print_guarded(d);
	print_lists(d);
	print_states(d);
	for (size_t i = 0; i < d->n; i++)
		if (d->finding[i].status != DOCTOR_OK ||
		    (d->o->all && !d->finding[i].unused))
			print_finding(&d->finding[i]);
	return cli_stdout_ok();
}
