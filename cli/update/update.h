/* SPDX-License-Identifier: ISC */
/*
 * update/update: the steps of keyveto update. The new file is fetched into a
 * file without a name beside the old one, verified there, and then replaces the
 * old one in one step.
 */
#ifndef CLI_UPDATE_UPDATE_H
#define CLI_UPDATE_UPDATE_H

#include "published/manifest.h"
#include "published/records.h"
#include "sets/filter_judge.h"
#include "update/installed.h"
#include "update/never_listed.h"
#include "update/part.h"
#include "update/patch.h"
#include "update/seen.h"
#include "update/source.h"
#include "update/sources.h"
#include "upkeep/notes.h"
#include "working/working.h"

/* The result. The zero value is failure. */
enum update_outcome {
	UPDATE_FAILED = 0,
	UPDATE_REPLACED,
	UPDATE_CURRENT,
};

struct update;

/* What differs between filters and exact lists. */
struct update_kind {
	const char *what;      /* "filter" */
	const char *time_name; /* where its time comes from, for messages */
	/*
	 * Reads what is installed, if installed.fd is not -1. False after a
	 * message if it must not be replaced.
	 */
	bool (*read_installed)(struct update *u);
	/* Names what is installed: "revision 12". */
	void (*describe_installed)(const struct update *u, char *text,
	    size_t cap);
	/*
	 * When the installed one was made, or with fresh the new one; false if
	 * that is not known.
	 */
	bool (*find_time)(const struct update *u, bool fresh, uint64_t *timep);
	/*
	 * Fetches, verifies and installs. installed and part are open.
	 * UPDATE_FAILED comes after a message.
	 */
	enum update_outcome (*install)(struct update *u);
	/*
	 * Fetches what goes with it, after install or if it was current. False
	 * after a message. NULL: nothing does.
	 */
	bool (*complete)(struct update *u);
	/* Whether the previous one, open as fd, may be rolled back to. */
	bool (*read_previous)(struct update *u, int fd);
	/* Notes what else of the installed one no longer holds. NULL: nothing. */
	void (*note_rollback)(struct update *u);
	/* Rolls back what goes with it. NULL: nothing does. */
	bool (*complete_rollback)(struct update *u);
	/* Prints the rest of the line about the outcome, behind the path. */
	void (*print_outcome)(const struct update *u,
	    enum update_outcome outcome);
};

extern const struct update_kind update_filter_kind, update_list_kind;

/* A filter. */
struct update_filter {
	struct kv_pkbf_header header; /* of the installed one */
	off_t expected; /* bytes of the new one, by its header; 0: not known */
	struct filter_judged judged; /* the new one */
	/* What the server has, which the notes get when it is installed. */
	struct fetch there;
	char signature[UPDATE_DIGEST_CHARS]; /* its SHA-256; "": none needed */
};

/* An exact list. */
struct update_list {
	struct update_records old;   /* the installed one */
	struct update_sources known; /* what is known of that one */
	int text;		     /* the manifest; -1 */
	struct manifest manifest;
	struct update_records fresh; /* the new one, if UPDATE_REPLACED */
	uint64_t lost;		     /* records of the old one, not in fresh */
	int64_t fresh_time;	     /* -1: not known */
};

struct update {
	const struct update_options *options;
	const struct update_kind *kind;
	struct update_source source;
	struct update_installed installed;
	struct update_notes notes;
	struct update_part part;
	struct progress progress;
	bool replaced; /* the new one is in place */
	bool told;     /* it lists keys that are in use here */
	char
	    fresh_sha256[UPDATE_DIGEST_CHARS]; /* of the new one; "": unknown */
	uint64_t patch_bytes;		       /* 0: it came whole */
	struct update_filter filter;
	struct update_list list;
};

/* Saves u->notes, as well as it can. */
void update_keep_notes(const struct update *u);
/* The same, unless nothing may change. False after a message. */
bool update_save_notes(struct update *u);

/*
 * Puts the verified part into the place of the installed file, whose stat *st
 * becomes, unless nothing may change. UPDATE_FAILED comes after a message;
 * u->replaced tells whether it is in place.
 */
enum update_outcome update_put_in_place(struct update *u, struct stat *st);

/* "updated", or whatever was done to the file: for print_outcome. */
const char *update_verb(const struct update *u);

/*
 * Asks (host/change) whether the new file, which is open as fd,
 * may take effect; false after a message. What was found is noted in u->notes,
 * which the caller saves. sources is the text of LIST.sources, or NULL.
 */
bool update_brake_allows(struct update *u, int fd, const char *sources);

/* --- update/signature.c: texts, and SSH signatures of them. -------------- */

/*
 * As fetch_run, all of a text of at most max bytes, into a file without a name;
 * too_long is the message about a longer one. *fdp is the caller's to close, and
 * -1 but for FETCH_DONE.
 */
enum fetch_end update_text_fetch(struct fetch *f, size_t max,
    const char *too_long, int *fdp);

/* The zero value is failure. */
enum update_signature {
	UPDATE_SIGNATURE_FAILED = 0, /* after a message */
	UPDATE_SIGNATURE_BAD,	     /* it is no good one of the file */
	UPDATE_SIGNATURE_GOOD,
};

/*
 * Fetches the signature at u->source.signature into a file that the caller
 * closes, unless it still has this ETag. *there is what the server has. -1 for
 * FETCH_NOT_MODIFIED, and after a message.
 */
enum fetch_end update_signature_fetch(struct update *u, const char *etag,
    struct fetch *there, int *fdp);

/*
 * Whether the whole file fd has the signature by a key that AllowedSigners
 * lists. what ("filter"), or NULL if a bad one is no matter for a message, and
 * shown, where it is from, are for messages.
 */
enum update_signature update_signature_verify(const struct update *u, int fd,
    const char *namespace, const char *what, const char *shown, int signature);

/* How long to wait before what does not fit is fetched again. */
#define UPDATE_AGAIN_SECONDS 2

/* Waits so long. False after a message if that is interrupted. */
bool update_wait_before_again(const struct update *u);

#endif
