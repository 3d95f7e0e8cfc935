/* SPDX-License-Identifier: ISC */
/*
 * A record of keyveto-reader, as the command reads it. What is taken for a finding
 * is sent again with the same bytes, and printed without a control character.
 */
#include <sys/mman.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "reading/facts.h"
#include "reading/finding.h"
#include "reading/keys.h"
#include "reading/lines.h"
#include "reading/log_records.h"
#include "wire/reading.h"

/* What is printed: lines of printable ASCII. */
static char *printed;
static size_t printed_len;

static FILE *
open_printed(void)
{
	FILE *out = open_memstream(&printed, &printed_len);

	FUZZ_CHECK(out != NULL);
	return out;
}

static void
close_printed(FILE *out)
{
	FUZZ_CHECK(fclose(out) == 0 && printed_len > 0);
	FUZZ_CHECK(printed[printed_len - 1] == '\n');
	for (size_t i = 0; i < printed_len; i++)
		FUZZ_CHECK(printed[i] == '\n' ||
		    (printed[i] >= 0x20 && printed[i] < 0x7f));
	free(printed);
}

static void
check_printed(const struct kv_judge *judge, const struct finding *f)
{
	FILE *out = open_printed();

	finding_print_text(out, judge, f);
	finding_print_json(out, judge, f->bits == 0 ? "a" : NULL, f);
	close_printed(out);
}

static void
check_finding(const uint8_t *data, size_t size)
{
	struct kv_filter filter[2] = { { .path = "a" }, { .path = "b" } };
	struct kv_list list[2] = { { .path = "c" }, { .path = "d" } };
	const struct kv_judge judge = { .filter = filter,
		.n_filters = 2,
		.list = list,
		.n_lists = 2 };
	struct record_out again = { .fd = -1 };
	struct kv_bytes b = { data, size };
	struct finding f;

	if (!finding_receive(b, 2, 2, &f))
		return;
	check_printed(&judge, &f);
	finding_send(&again, 1, &f);
	FUZZ_CHECK(
	    again.len == size + 5 && memcmp(again.buf + 5, data, size) == 0);
	record_out_free(&again);
}

/* A problem that was taken, and sent again, is the same. */
static void
check_problem(const uint8_t *data, size_t size)
{
	struct record_out first = { .fd = -1 }, second = { .fd = -1 };
	struct kv_bytes b = { data, size };
	struct input_problem problem;
	char text[256];
	FILE *out;

	if (!finding_receive_problem(b, text, sizeof(text), &problem))
		return;
	FUZZ_CHECK(strlen(problem.path) + strlen(problem.type) +
		strlen(problem.reason) + 3 <=
	    sizeof(text));
	out = open_printed();
	finding_print_problem(out, out, true, NULL, &problem);
	finding_print_note(out, &problem);
	close_printed(out);
	finding_send_problem(&first, 1, &problem);
	b = (struct kv_bytes){ first.buf + 5, first.len - 5 };
	FUZZ_CHECK(finding_receive_problem(b, text, sizeof(text), &problem));
	finding_send_problem(&second, 1, &problem);
	FUZZ_CHECK(first.len == second.len &&
	    memcmp(first.buf, second.buf, first.len) == 0);
	record_out_free(&first);
	record_out_free(&second);
}

/* A key is described by any decision. */
static void
check_described(const struct input_key *key)
{
	struct kv_list list = { .path = "c", .sources = -1 };
	const struct kv_judge judge = { .list = &list, .n_lists = 1 };
	const struct kv_decision d = {
		.verdict = KV_VERDICT_LISTED,
		.list = key->line % 2 == 0 ? &kv_denied : &list,
		.list_hits = key->line % 3,
		.source_id = { (uint8_t)key->line },
	};
	struct finding f;

	finding_describe(&f, &judge, finding_name_source, key, &d, true);
	check_printed(&judge, &f);
}

static void
check_key_again(const struct input_key *key, void *arg)
{
	struct record_out *again = arg;

	FUZZ_CHECK(key->key.type != KV_KEY_NONE || key->spki.len > 0);
	FUZZ_CHECK(strlen(key->type) > 0 || key->key.type == KV_KEY_NONE);
	check_described(key);
	reading_send_key(again, key);
}

static void
keep_key(const struct input_key *key, void *arg)
{
	reading_send_key(arg, key);
}

/* A key that was taken, and sent again, is taken again, and is the same. */
static void
check_key(const uint8_t *data, size_t size)
{
	struct record_out first = { .fd = -1 }, second = { .fd = -1 };
	const struct input_sink sink = { .key = check_key_again,
		.arg = &first };
	const struct input_sink same = { .key = keep_key, .arg = &second };
	struct kv_bytes b = { data, size };

	if (!reading_receive_key(b, &sink))
		return;
	b = (struct kv_bytes){ first.buf + 5, first.len - 5 };
	FUZZ_CHECK(reading_receive_key(b, &same));
	FUZZ_CHECK(first.len == second.len &&
	    memcmp(first.buf, second.buf, first.len) == 0);
	record_out_free(&first);
	record_out_free(&second);
}

/*
 * What is taken of the files of a judge leaves each with a header, or with why,
 * and is sent again with the same bytes but for the dates, of which these lists
 * have none.
 */
static void
check_facts(const uint8_t *data, size_t size)
{
	struct record_out again = { .fd = -1 };
	uint8_t *same;
	struct kv_filter filter[2] = { { .path = "a" }, { .path = "b" } };
	struct kv_list list[2] = { { .path = "c", .sources = -1 },
		{ .path = "d", .sources = -1 } };
	struct facts_date date[2] = { { .known = false } };
	struct kv_judge judge = { .filter = filter,
		.n_filters = 2,
		.list = list,
		.n_lists = 2 };

	if (!facts_receive((struct kv_bytes){ data, size }, &judge, date))
		return;
	FUZZ_CHECK(strlen(judge.broken) < sizeof(judge.broken));
	for (size_t i = 0; i < 2; i++) {
		const uint8_t length = filter[i].pkbf.header.length;

		FUZZ_CHECK(filter[i].pkbf.fd == -1 ||
		    (length >= KV_PKBF_LENGTH_MIN &&
			length <= KV_PKBF_LENGTH_MAX));
		FUZZ_CHECK(strlen(filter[i].why) < sizeof(filter[i].why));
		FUZZ_CHECK(
		    list[i].blocklist.records <= KV_BLOCKLIST_RECORDS_MAX);
	}
	again.fd = memfd_create("fuzz", MFD_CLOEXEC);
	facts_send(&again, &judge);
	same = fuzz_alloc(size + 6);
	FUZZ_CHECK(pread(again.fd, same, size + 6, 0) == (ssize_t)size + 5);
	if (!date[0].known && !date[1].known && date[0].seconds == 0 &&
	    date[1].seconds == 0)
		FUZZ_CHECK(memcmp(same + 5, data, size) == 0);
	free(same);
	close(again.fd);
	record_out_free(&again);
}

/* A line that is taken has what report and audit ask for. */
static void
check_line(const uint8_t *data, size_t size, const struct kv_judge *judge)
{
	static const uint8_t tags[] = { READING_LINE_KEY, READING_LINE_UNKNOWN,
		READING_LINE_PROBLEM };
	static struct reading_line line;
	struct record_out again = { .fd = -1 };

	for (size_t i = 0; i < sizeof(tags); i++) {
		if (!reading_receive_line(tags[i],
			(struct kv_bytes){ data, size }, judge, &line))
			continue;
		FUZZ_CHECK((line.key.type != KV_KEY_NONE) ==
		    (tags[i] == READING_LINE_KEY));
		FUZZ_CHECK(!line.is_ca || tags[i] == READING_LINE_KEY);
		FUZZ_CHECK(
		    (line.reason != NULL) == (tags[i] == READING_LINE_PROBLEM));
		FUZZ_CHECK(strlen(line.type) < sizeof(line.type));
		FUZZ_CHECK(judge == NULL ||
		    line.key_found.filters < 1u << judge->n_filters);
		reading_add_blob(&again, &line.key);
	}
	record_out_free(&again);
}

/* What is said of a log: as a finding, but for the texts that are printed. */
static void
check_log(const uint8_t *data, size_t size)
{
	const struct kv_bytes b = { data, size };
	struct record_out again = { .fd = -1 };
	struct reading_log_end end;
	struct reading_login login;
	struct log_decision decision;
	int64_t since;

	if (reading_receive_login(b, &login)) {
		FUZZ_CHECK(login.seconds >= 0 && *login.a.from > ' ');
		record_send(&again, 1, READING_LOGIN_FIELDS(&login));
	} else if (reading_receive_outcome(b, &login)) {
		record_send(&again, 1, READING_OUTCOME_FIELDS(&login));
	} else if (reading_receive_log_key(b, &decision)) {
		record_send(&again, 1, READING_LOG_KEY_FIELDS(&decision));
	} else if (reading_receive_log_end(b, &end)) {
		record_send(&again, 1, READING_LOG_END_FIELDS(&end));
	} else if (reading_receive_log_since(b, &since)) {
		record_send(&again, 1, READING_SINCE_FIELDS(since));
	} else {
		return;
	}
	FUZZ_CHECK(
	    again.len == size + 5 && memcmp(again.buf + 5, data, size) == 0);
	record_out_free(&again);
}

/* A text that is copied is that which fits into a buffer. */
static void
check_text(const uint8_t *data, size_t size)
{
	struct kv_bytes b = { data, size }, same = b;
	char text[256], *copy = record_copy_text(&b);

	if (record_get_text(&same, text, sizeof(text)))
		FUZZ_CHECK(copy != NULL && strcmp(copy, text) == 0);
	free(copy);
}

/* The same bytes as a stream of records: each is whole, and none is read twice. */
static void
check_stream(const uint8_t *data, size_t size)
{
	struct kv_bytes rest = { data, size }, payload;
	size_t left = size;
	uint8_t tag;
	bool bad;

	while (record_cut(&rest, &tag, &payload, &bad)) {
		FUZZ_CHECK(!bad && rest.left < left);
		FUZZ_CHECK(payload.left + 5 == left - rest.left);
		left = rest.left;
		check_finding(payload.p, payload.left);
		check_problem(payload.p, payload.left);
		check_key(payload.p, payload.left);
		check_line(payload.p, payload.left, NULL);
		check_log(payload.p, payload.left);
	}
	FUZZ_CHECK(rest.left == left);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_finding(data, size);
	check_problem(data, size);
	check_key(data, size);
	check_facts(data, size);
	check_line(data, size, NULL);
	check_line(data, size,
	    &(const struct kv_judge){ .n_filters = 2, .n_lists = 2 });
	check_log(data, size);
	check_text(data, size);
	check_stream(data, size);
	return 0;
}
