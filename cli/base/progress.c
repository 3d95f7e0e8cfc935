/* SPDX-License-Identifier: ISC */
#include "base/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MIB (1024.0 * 1024.0)

static void (
    *listener)(const char *what, bool things, uint64_t done, uint64_t total);

void
progress_tell(
    void (*show)(const char *what, bool things, uint64_t done, uint64_t total))
{
	listener = show;
}

static double
seconds_between(const struct timespec *a, const struct timespec *b)
{
	return (double)(b->tv_sec - a->tv_sec) +
	    (double)(b->tv_nsec - a->tv_nsec) / 1e9;
}

void
progress_start(struct progress *p, const char *what, uint64_t total)
{
	*p = (struct progress){ .what = what, .total = total };
	p->shown = listener != NULL || isatty(STDERR_FILENO) == 1;
	if (p->shown)
		clock_gettime(CLOCK_MONOTONIC, &p->start);
	p->last = p->start;
}

void
progress_start_things(struct progress *p, const char *what, uint64_t total)
{
	progress_start(p, what, total);
	p->things = true;
}

void
progress_add(struct progress *p, uint64_t done)
{
	const char *unit = p->things ? "" : " MiB";
	const int digits = p->things ? 0 : 1;
	const double size = p->things ? 1 : MIB;
	struct timespec now;
	double elapsed, rate;

	p->done += done;
	if (!p->shown)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (p->drawn && seconds_between(&p->last, &now) < 0.1)
		return;
	p->last = now;
	p->drawn = true;
	if (listener != NULL) {
		listener(p->what, p->things, p->done, p->total);
		return;
	}
	elapsed = seconds_between(&p->start, &now);
	rate = elapsed > 0 ? (double)p->done / elapsed : 0;
	fprintf(stderr, "\r\033[K%s %.*f%s", p->what, digits,
	    (double)p->done / size, unit);
	if (p->total > 0) {
		double share = (double)p->done / (double)p->total;

		fprintf(stderr, " of %.*f%s %3.0f%%", digits,
		    (double)p->total / size, unit,
		    share > 1 ? 100 : share * 100);
	}
	fprintf(stderr, " %.1f%s/s", rate / size, unit);
	if (p->total > p->done && rate > 0) {
		unsigned long left =
		    (unsigned long)((double)(p->total - p->done) / rate);

		fprintf(stderr, " %lu:%02lu left", left / 60, left % 60);
	}
	fflush(stderr);
}

bool
progress_receive(struct progress *p, struct kv_bytes b, bool shown)
{
	char what[sizeof(p->told)];
	uint64_t done, total;
	bool things;

	if (!record_get_all(&b, R_TEXT(what), R_FLAG(things), R_ANY(done),
		R_ANY(total)) ||
	    what[strspn(what, "abcdefghijklmnopqrstuvwxyz ")] != '\0')
		return false;
	if (p->what == NULL || strcmp(what, p->what) != 0 || done < p->done) {
		progress_clear(p);
		progress_start(p, p->told, total);
		memcpy(p->told, what, sizeof(what));
		p->things = things;
		p->shown &= shown;
	}
	progress_add(p, done - p->done);
	return true;
}

void
progress_clear(struct progress *p)
{
	if (p->drawn && listener == NULL) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
	}
	p->drawn = false;
}
