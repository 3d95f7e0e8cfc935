/* SPDX-License-Identifier: ISC */
/* Prints the findings of keyveto status: as JSON, or metrics. */
#include "doctor/doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"

/* Whether filter i has figures, and is the first with its path. */
static bool
shows_filter(const struct doctor *d, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (strcmp(d->judging.judge.filter[j].path,
			d->judging.judge.filter[i].path) == 0)
			return false;
	return d->has_facts[i];
}

/* The same of list i. */
static bool
shows_list(const struct doctor *d, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (strcmp(d->judging.judge.list[j].path,
			d->judging.judge.list[i].path) == 0)
			return false;
	return d->list[i].has_facts;
}

static json_t *
filter_to_json(const struct doctor *d, const struct filter_facts *f)
{
	const bool dated = f->header.time <= INT64_MAX;
	const int64_t time = dated ? (int64_t)f->header.time : 0;

	return json_pack("{s:o, s:I, s:o, s:o, s:I, s:f, s:f}", "file",
	    json_text(f->path), "revision", (json_int_t)f->header.revision,
	    "time_seconds", dated ? json_integer(time) : json_null(),
	    "age_seconds", dated ? json_integer(d->now - time) : json_null(),
	    "entries", (json_int_t)f->header.entries, "fill", f->share,
	    "fpr_by_bits", f->rate_by_bits);
}

static json_t *
list_to_json(const struct doctor *d, const struct list_facts *f)
{
	return json_pack("{s:o, s:o, s:o, s:I}", "file", json_text(f->path),
	    "time_seconds", f->dated ? json_integer(f->time) : json_null(),
	    "age_seconds",
	    f->dated ? json_integer(d->now - f->time) : json_null(), "records",
	    (json_int_t)f->records);
}

/* The ways in of a group's accounts; "accounts" is null if it has them all. */
static bool
add_ways(json_t *ways, const struct doctor *d, const struct doctor_group *g)
{
	bool ok = true;

	for (enum way w = 0; w < WAYS; w++) {
		json_t *names = d->n_groups > 1 ? json_array() : json_null();

		for (size_t i = 0; d->n_groups > 1 && i < g->n; i++)
			ok &= json_array_append_new(names,
				  json_text(g->account[i])) == 0;
		ok &= json_array_append_new(ways,
			  json_pack("{s:o, s:s, s:b, s:b, s:b, s:b}",
			      "accounts", names, "way", ways_name(w), "open",
			      g->ways.open[w], "guard",
			      g->ways.open[w] && g->ways.guard[w], "pam",
			      g->ways.open[w] && g->ways.pam, "guarded",
			      ways_is_guarded(&g->ways, w))) == 0;
	}
	return ok;
}

json_t *
doctor_guarded_to_json(const struct doctor *d)
{
	static const char *const checks[] = { "guard", "match", "user-ca",
		"hostbased", "service" };
	const struct kv_config *c = &d->judging.judge.config;
	enum doctor_status worst = DOCTOR_OK;

	if (d->settings == NULL)
		return json_null();
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
		if (doctor_status(d, checks[i]) > worst)
			worst = doctor_status(d, checks[i]);
	if (worst >= DOCTOR_BROKEN)
		return json_false();
	if (d->judging.judge.broken[0] != '\0')
		return json_null();
	if (c->on_hit != KV_ACTION_DENY ||
	    (c->on_probable != KV_ACTION_DENY &&
		d->judging.judge.n_filters > 0))
		return json_false();
	return worst == DOCTOR_OK ? json_true() : json_null();
}

json_t *
doctor_to_json(const struct doctor *d)
{
	json_t *checks = json_array(), *filters = json_array();
	json_t *lists = json_array(), *ways = json_array();
	bool ok = true;

	for (size_t i = 0; i < d->n; i++) {
		const struct doctor_finding *f = &d->finding[i];

		ok &= json_array_append_new(checks,
			  json_pack("{s:s, s:s, s:o, s:o}", "check", f->check,
			      "status", doctor_status_name(f->status), "found",
			      json_text(f->found), "remedy",
			      f->remedy != NULL ? json_text(f->remedy) :
						  json_null())) == 0;
	}
	for (size_t i = 0; i < d->judging.judge.n_filters; i++)
		if (shows_filter(d, i))
			ok &= json_array_append_new(filters,
				  filter_to_json(d, &d->facts[i])) == 0;
	for (size_t i = 0; i < d->judging.judge.n_lists; i++)
		if (shows_list(d, i))
			ok &= json_array_append_new(lists,
				  list_to_json(d, &d->list[i].facts)) == 0;
	for (size_t i = 0; i < d->n_groups; i++)
		ok &= add_ways(ways, d, &d->group[i]);
	if (ok)
		return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "status",
		    doctor_status_name(doctor_status(d, NULL)), "guarded",
		    doctor_guarded_to_json(d), "checks", checks, "filters",
		    filters, "lists", lists, "ways", ways);
	json_decref(ways);
	json_decref(lists);
	json_decref(checks);
	json_decref(filters);
	return NULL;
}

bool
doctor_print_json(const struct doctor *d)
{
	return json_print(doctor_to_json(d));
}

/*
 * Prints the value of a label: makes untrusted bytes printable, then escapes
 * backslashes and quotes, as Prometheus' text format demands.
 */
static void
print_label_value(const char *text)
{
	char *safe = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&safe, &len);

	if (out == NULL)
		return;
	cli_print_safe(out, text, strlen(text));
	if (fclose(out) == 0) {
		for (size_t i = 0; i < len; i++) {
			if (safe[i] == '\\' || safe[i] == '"')
				putchar('\\');
			putchar(safe[i]);
		}
	}
	free(safe);
}

static void
print_head(const char *name, const char *help)
{
	printf("# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static void
print_filters(const struct doctor *d)
{
	/* In the order of figure below. */
	static const struct {
		const char *name, *help;
	} metrics[] = {
		{ "keyveto_filter_revision", "Revision of the filter." },
		{ "keyveto_filter_timestamp_seconds",
		    "When the filter was last changed, by its header." },
		{ "keyveto_filter_age_seconds",
		    "Seconds from keyveto_filter_timestamp_seconds to "
		    "keyveto_checked_timestamp_seconds." },
		{ "keyveto_filter_entries",
		    "Entries of the filter, by its header." },
		{ "keyveto_filter_fill_ratio",
		    "Share of the filter's bits that are set." },
		{ "keyveto_filter_false_positive_rate",
		    "Share of clean keys that the filter lists, by its bits." },
	};

	for (size_t m = 0; m < sizeof(metrics) / sizeof(*metrics); m++) {
		print_head(metrics[m].name, metrics[m].help);
		for (size_t i = 0; i < d->judging.judge.n_filters; i++) {
			const struct filter_facts *f = &d->facts[i];
			const double figure[] = {
				f->header.revision,
				(double)f->header.time,
				(double)d->now - (double)f->header.time,
				f->header.entries,
				f->share,
				f->rate_by_bits,
			};

			if (!shows_filter(d, i))
				continue;
			printf("%s{filter=\"", metrics[m].name);
			print_label_value(f->path);
			printf("\"} %.17g\n", figure[m]);
		}
	}
}

static void
print_lists(const struct doctor *d)
{
	/* In the order of figure below. Only the first needs no date. */
	static const struct {
		const char *name, *help;
	} metrics[] = {
		{ "keyveto_list_records", "Records of the exact list." },
		{ "keyveto_list_timestamp_seconds",
		    "When the list was made, by the date beside it." },
		{ "keyveto_list_age_seconds",
		    "Seconds from keyveto_list_timestamp_seconds to "
		    "keyveto_checked_timestamp_seconds." },
	};

	for (size_t m = 0; m < sizeof(metrics) / sizeof(*metrics); m++) {
		print_head(metrics[m].name, metrics[m].help);
		for (size_t i = 0; i < d->judging.judge.n_lists; i++) {
			const struct list_facts *f = &d->list[i].facts;
			const double figure[] = {
				(double)f->records,
				(double)f->time,
				(double)(d->now - f->time),
			};

			if (!shows_list(d, i) || (m > 0 && !f->dated))
				continue;
			printf("%s{list=\"", metrics[m].name);
			print_label_value(f->path);
			printf("\"} %.17g\n", figure[m]);
		}
	}
}

static void
print_update(const char *name, const char *path, int64_t value)
{
	printf("%s{file=\"", name);
	print_label_value(path);
	printf("\"} %" PRId64 "\n", value);
}

/* The metrics of each filter and list, held or in_use. */
static void
print_updates(const struct doctor *d, bool held)
{
	const char *name = held ? "keyveto_update_held" :
				  "keyveto_update_keys_in_use";
	struct update_notes notes;
	const char *path;

	print_head(name,
	    held ? "Accounts for which HoldIfRefused keeps a newer file away." :
		   "Keys in use that the file listed newly when it came.");
	for (size_t i = 0; doctor_next_notes(d, &i, &path, &notes);)
		print_update(name, path, held ? notes.held : notes.in_use);
}

bool
doctor_print_prometheus(const struct doctor *d)
{
	print_head("keyveto_status",
	    "The worst of all checks: 0 ok, 1 warning, 2 broken.");
	printf("keyveto_status %d\n",
	    doctor_status_number(doctor_status(d, NULL)));
	print_head("keyveto_check_status",
	    "What each check found: 0 ok, 1 warning, 2 broken.");
	for (size_t i = 0; i < d->n; i++)
		if (i == 0 || d->finding[i - 1].check != d->finding[i].check)
			printf("keyveto_check_status{check=\"%s\"} %d\n",
			    d->finding[i].check,
			    doctor_status_number(
				doctor_status(d, d->finding[i].check)));
	print_filters(d);
	print_lists(d);
	print_updates(d, false);
	print_updates(d, true);
	print_head("keyveto_checked_timestamp_seconds",
	    "When this was written.");
	printf("keyveto_checked_timestamp_seconds %" PRId64 "\n", d->now);
	return cli_stdout_ok();
}
