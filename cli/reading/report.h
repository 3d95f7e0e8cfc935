/* SPDX-License-Identifier: ISC */
/* reading/report: prints findings as text or as JSON, and counts them. */
#ifndef CLI_READING_REPORT_H
#define CLI_READING_REPORT_H

#include "command.h"
#include "keys/input.h"
#include "reading/finding.h"
#include "weak/weak.h"

/* Of what keyveto audit --json prints. keyveto-report refuses any other. */
#define AUDIT_FORMAT 1

/* Options of commands that print findings, and their entries for cli_read_options. */
struct report_options {
	struct cli_judge_options judge;
	bool json, all, quiet;
};

#define REPORT_OPTIONS(o) \
	{ .name = "json", .flag = &(o).json }, \
	    { .name = "all", .flag = &(o).all }, \
	{ \
		.name = "quiet", .flag = &(o).quiet \
	}
#define REPORT_HELP \
	"  --json           one JSON object a line\n" \
	"  --all            every key with its verdict, not only listed " \
	"ones\n" \
	"  --quiet          print nothing but errors; the exit status " \
	"tells\n"
#define REPORT_STATUS_HELP \
	"\nExit status: 0 nothing listed, 1 something listed, 2 something " \
	"not checked.\n"

struct report {
	const struct kv_judge *judge;
	/*
	 * Judges by judge and by known, and names a source of judge's lists:
	 * judging_report sets both, if another process has their files. NULL:
	 * input_judge and finding_name_source.
	 */
	void (*decide)(const struct kv_judge *judge,
	    const struct input_key *key, int64_t now, struct kv_decision *d);
	finding_name_fn name_source;
	bool json;
	bool all;     /* print clean and allowed keys too */
	bool quiet;   /* print only errors */
	bool servers; /* files counts servers (scan) */
	bool partly; /* why there is no verdict is known: print no key for it */
	FILE *out, *err;	      /* findings; messages */
	const char *account;	      /* audit: the file is of it; else NULL */
	const struct kv_judge *known; /* of by_action; or NULL */
	/*
	 * Counts by the action: a key that judge refuses as listed, or for its
	 * unknown type, is listed. One that it lets in is not counted, nor one
	 * that known refuses already, nor one of which both reach no verdict.
	 */
	bool by_action;
	/*
	 * Keeps the RSA keys of which report_weak finds those that anybody
	 * factors. NULL: it does not.
	 */
	struct weak *weak;
	const size_t *row; /* audit: which row its table gets next; or NULL */
	/* With by_action, is given listed keys. NULL: nobody is. */
	void (*on_listed)(const struct report *r, const struct input_key *key,
	    const struct kv_decision *d);
	/*
	 * Is given what is counted in unjudged. Then no problem is printed.
	 * NULL: none.
	 */
	void (*on_unjudged)(const struct input_problem *problem);
	/*
	 * Is told of each key with its verdict, besides what is done with it.
	 * NULL: none.
	 */
	void (*judged)(const struct report *r, const struct input_key *key,
	    const struct kv_decision *d);
	void *judged_arg;
	/*
	 * Are given what would be printed on out and err. Set all or none.
	 * NULL: it is printed.
	 */
	void (*found)(const struct report *r, const struct finding *f);
	void (*found_problem)(const struct report *r,
	    const struct input_problem *problem);
	void (*found_note)(const struct report *r,
	    const struct input_problem *note);
	struct record_out *records; /* of these functions */
	int64_t now;
	/*
	 * If not NULL, it gets each key, which is not judged; problems are
	 * counted and not printed.
	 */
	void (*on_key)(const struct input_key *key, void *arg);
	void *on_key_arg;
	/* Totals so far. */
	uint64_t files, keys, listed, allowed, clean, unsupported, problems;
	/* Keys that are refused as listed, or for their type. */
	uint64_t refused;
	/*
	 * Of the problems: keys without a verdict, and whatever is no single
	 * line, such as a file that cannot be read. A line that is no key is
	 * not counted here, because sshd ignores it, too.
	 */
	uint64_t unjudged;
	bool
	    broken_off; /* a reader failed once it had said all: counted, too */
	/*
	 * Keys that are not listed, and that the configuration lets in. A
	 * certificate counts once, if both of its keys do.
	 */
	uint64_t usable;
	uint64_t archives; /* of the problems: they are not printed */
};

/* Its totals in a record, on both sides. */
#define REPORT_TOTALS(r) \
	R_ANY((r)->files), R_ANY((r)->keys), R_ANY((r)->listed), \
	    R_ANY((r)->refused), R_ANY((r)->allowed), R_ANY((r)->clean), \
	    R_ANY((r)->unsupported), R_ANY((r)->problems), \
	    R_ANY((r)->unjudged), R_ANY((r)->usable), R_ANY((r)->archives)

/* Starts a report on standard output and standard error, as of now. */
void report_init(struct report *r, const struct kv_judge *judge,
    const struct report_options *o);

/*
 * Judges a key and prints what is asked for:
 *   PATH:LINE: listed: TYPE BITS SHA256:... COMMENT [FILTER] [LIST SOURCE]
 * or one JSON object a line: file line verdict type bits fingerprint
 * spki_sha256 part comment filters lists source sources reason.
 */
void report_key(struct report *r, const struct input_key *key);

/* The same, of a key that was judged by judge. */
void report_decided(struct report *r, const struct input_key *key,
    const struct kv_decision *d);

/*
 * Counts a problem, and prints "keyveto: PATH:LINE: reason" on r->err. With
 * r->json also prints an object.
 */
void report_problem(struct report *r, const struct input_problem *problem);

/* The same, of what has no more to it than a path, a line (0: none) and why. */
void report_problem_at(struct report *r, const char *path, uint64_t line,
    const char *reason);

/*
 * Has r->weak test the keys that it kept, by so many threads (0: as many as
 * there are processors), and frees it. What is found is printed and counted as
 * listed. With r->all, clean keys, which were not printed yet, are printed,
 * too. moved is told of each key that is found, unless it is NULL. progress: is
 * shown on a terminal. False after a message.
 */
bool report_weak(struct report *r, size_t threads, bool progress,
    void (
	*moved)(const struct weak_found *f, enum kv_verdict verdict, void *arg),
    void *arg);

/* Counts a key that report_weak found as listed or allowed. */
void report_move(struct report *r, const struct weak_found *f,
    enum kv_verdict verdict);

/* Prints the totals, in one line on r->err. */
void report_summary(const struct report *r);

/* The exit status for the totals: an enum cli_status. */
int report_status(const struct report *r);

#endif
