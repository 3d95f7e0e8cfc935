/* SPDX-License-Identifier: ISC */
#include "confirm/output.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "base/json_text.h"

#define DATE_BYTES 16
#define SECONDS_A_DAY 86400

static void
format_date(int64_t now, int days, char date[static DATE_BYTES])
{
	const time_t when = (time_t)(now + (int64_t)days * SECONDS_A_DAY);
	struct tm tm;

	if (gmtime_r(&when, &tm) == NULL ||
	    strftime(date, DATE_BYTES, "%Y-%m-%d", &tm) == 0)
		snprintf(date, DATE_BYTES, "1970-01-01");
}

/*
 * Returns the AllowKey line to copy into keyveto.conf, to be freed. NULL for a
 * key that needs none.
 */
static char *
make_allow_line(const struct output *o, const struct hit *hit)
{
	/* Words that keyveto.conf would read as something else. */
	const bool plain = strpbrk(o->asked, "\"\\# ") == NULL;
	char today[DATE_BYTES], until[DATE_BYTES], *line;

	if (hit->verdict != API_NOT_CONFIRMED || hit->allowed ||
	    hit->fingerprint[0] == '\0')
		return NULL;
	format_date(o->now, 0, today);
	format_date(o->now, OUTPUT_ALLOW_DAYS, until);
	if (asprintf(&line, "AllowKey %s until=%s not confirmed%s%s on %s",
		hit->fingerprint, until, plain ? " by " : "",
		plain ? o->asked : "", today) == -1)
		return NULL;
	return line;
}

static void
print_text(const struct hit *hit, const struct hit_place *place,
    const char *proof)
{
	cli_printf(stdout, "%s", place->path);
	if (place->line > 0)
		printf(":%" PRIu64, place->line);
	cli_printf(stdout, ": %s: %s %u %s", api_verdict_name(hit->verdict),
	    hit->type, hit->bits,
	    hit->fingerprint[0] != '\0' ? hit->fingerprint : "-");
	if (place->comment[0] != '\0')
		cli_printf(stdout, " %s", place->comment);
	if (proof != NULL)
		cli_printf(stdout, " (proof: %s)", proof);
	if (hit->why != NULL)
		cli_printf(stdout, " (%s)", hit->why);
	if (hit->allowed)
		fputs(" (AllowKey in keyveto.conf lets it in)", stdout);
	putchar('\n');
}

static bool
print_json(const struct hit *hit, const struct hit_place *place,
    const char *proof, const char *allow)
{
	return json_print(json_pack("{so sI ss so sI so ss so so so sb so}",
	    "file", json_text(place->path), "line", (json_int_t)place->line,
	    "verdict", api_verdict_name(hit->verdict), "type",
	    json_text(hit->type), "bits", (json_int_t)hit->bits, "fingerprint",
	    hit->fingerprint[0] != '\0' ? json_string(hit->fingerprint) :
					  json_null(),
	    "spki_sha256", hit->id, "comment", json_text(place->comment),
	    "proof", json_text(proof), "allow_line", json_text(allow),
	    "allowed", hit->allowed, "reason", json_text(hit->why)));
}

bool
output_hit(const struct output *o, const struct hit *hit)
{
	char *proof = hit->has_proof ? keep_proof_path(o->keep, hit) : NULL;
	char *allow = make_allow_line(o, hit);
	bool ok = true;

	for (size_t i = 0; ok && !o->quiet && i < hit->n_places; i++) {
		if (o->json)
			ok = print_json(hit, &hit->place[i], proof, allow);
		else
			print_text(hit, &hit->place[i], proof);
	}
	if (allow != NULL && !o->json && !o->quiet)
		cli_printf(stdout, "%s\n", allow);
	free(allow);
	free(proof);
	return ok && cli_stdout_ok();
}
