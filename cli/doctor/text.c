/* SPDX-License-Identifier: ISC */
/* Prints the findings of keyveto doctor as text: a line that sums up first. */
#include "doctor/doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/color.h"

#define COLUMN (8 + 1 + 12 + 1) /* where the sentences start */

static void
print_guarded(const struct doctor *d)
{
	const struct ways *w = &d->ways;
	size_t open = 0, guarded = 0;

	for (size_t i = 0; i < WAYS; i++) {
		open += w->open[i];
		guarded += w->open[i] && ways_is_guarded(w, (enum way)i);
	}
	if (d->settings == NULL)
		color_print(stdout, COLOR_WARNING, "sshd was not asked");
	else if (guarded == 0 && open > 0)
		color_print(stdout, COLOR_BAD, "not guarded");
	else if (guarded < open || doctor_status(d, "match") != DOCTOR_OK)
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
