/* SPDX-License-Identifier: ISC */
/*
 * Whose keys are whose, the hosts that should have an audit, and an audit of
 * another host, with NULs between them, as keyveto report reads them. Whatever
 * it is, the host is in the report once; no text of it has a control character;
 * nothing changed since the same audit; the forms are written, and those of
 * JSON can be read.
 */
#include <sys/mman.h>

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "kv_bytes.h"
#include "report/forms.h"
#include "report/intake.h"
#include "report/owners.h"
#include "report/page/page.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Nothing but the data. */
const struct page_piece page_pieces[] = {
	{ (const unsigned char *)"", 0, "data" },
	{ (const unsigned char *)"", 0, NULL },
};

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	FUZZ_CHECK(freopen("/dev/null", "w", stdout) != NULL);
	return 0;
}

static void
check_text(const char *text)
{
	if (text == NULL)
		return;
	for (; *text != '\0'; text++)
		FUZZ_CHECK((unsigned char)*text >= 0x20 && *text != 0x7f);
}

static bool
check_row(const struct fleet_row *row, void *arg)
{
	const char *const texts[] = { row->host, row->account, row->file,
		row->fp, row->type, row->verdict, row->sources, row->comment,
		row->part, row->from, row->message, row->owner, row->team };

	(void)arg;
	FUZZ_CHECK(row->host != NULL);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		check_text(texts[i]);
	return true;
}

static void
check_json(struct fleet *f, bool page)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	json_t *value;

	FUZZ_CHECK(out != NULL);
	FUZZ_CHECK(
	    page ? report_html(f, true, out) : report_sarif(f, true, out));
	FUZZ_CHECK(fclose(out) == 0);
	value = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	FUZZ_CHECK(json_is_object(value));
	FUZZ_CHECK(!page || strpbrk(text, "<>&") == NULL);
	json_decref(value);
	free(text);
}

/* Cuts off the part of the input up to a NUL, if there is one, as a file. */
static int
cut_file(struct kv_span *rest)
{
	const uint8_t *nul = rest->len > 0 ?
	    memchr(rest->p, '\0', rest->len) :
	    NULL;
	const size_t len = nul != NULL ? (size_t)(nul - rest->p) : 0;
	int fd = memfd_create("audit", MFD_CLOEXEC);

	FUZZ_CHECK(fd != -1 && write(fd, rest->p, len) == (ssize_t)len);
	if (nul != NULL) {
		rest->p = nul + 1;
		rest->len -= len + 1;
	}
	return fd;
}

/* Reads a file, and closes it. */
static bool
read_file(struct fleet *f, bool (*read)(struct fleet *f, const char *path),
    int fd)
{
	char path[32];
	bool ok;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ok = read(f, path);
	close(fd);
	return ok;
}

static void
read_audit(struct fleet *f, struct kv_span audit)
{
	int fd = memfd_create("audit", MFD_CLOEXEC);

	FUZZ_CHECK(
	    fd != -1 && write(fd, audit.p, audit.len) == (ssize_t)audit.len);
	FUZZ_CHECK(read_file(f, intake_audits, fd));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fleet f = { .now = 1795440000, .max_age = 30 };
	struct kv_span rest = { data, size };
	struct fleet_totals totals;

	FUZZ_CHECK(fleet_open(&f));
	(void)read_file(&f, intake_owners, cut_file(&rest));
	(void)read_file(&f, intake_hosts, cut_file(&rest));
	/* The same audit as an older one, of another time. */
	if (size % 2 != 0) {
		read_audit(&f, rest);
		FUZZ_CHECK(fleet_keep_old(&f));
	}
	read_audit(&f, rest);
	FUZZ_CHECK(fleet_expect(&f, "missing") && fleet_join(&f));
	FUZZ_CHECK(fleet_count(&f, &totals) && totals.hosts > 0);
	FUZZ_CHECK(totals.hosts ==
	    totals.answered + totals.unanswered + totals.missing);
	FUZZ_CHECK(totals.changes == 0);
	for (enum fleet_kind kind = 0; kind < FLEET_KINDS; kind++)
		FUZZ_CHECK(fleet_each(&f, kind, check_row, NULL));
	FUZZ_CHECK(report_csv(&f) && report_text(&f, &totals));
	check_json(&f, false);
	check_json(&f, true);
	fleet_close(&f);
	return 0;
}
