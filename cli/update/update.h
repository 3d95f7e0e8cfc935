/* SPDX-License-Identifier: ISC */
/*
 * update/update: the steps of keyveto update. The new filter is fetched into a
 * hidden file beside the old one, verified there, and then replaces the old one
 * in one step.
 */
#ifndef CLI_UPDATE_UPDATE_H
#define CLI_UPDATE_UPDATE_H

#include "update/installed.h"
#include "update/notes.h"
#include "update/received.h"
#include "update/source.h"

struct update {
	struct update_options options;
	struct update_source source;
	struct update_installed installed;
	struct update_received received;
	struct update_notes notes;
	bool unwanted;	/* the server's filter was rolled back */
	bool keep_part; /* the next run can resume it */
	bool replaced;	/* the new filter is in place */
	/* The new filter, if UPDATE_REPLACED. */
	struct filter_facts fresh;
};

/* The result. The zero value is failure. */
enum update_outcome {
	UPDATE_FAILED = 0,
	UPDATE_REPLACED,
	UPDATE_CURRENT,
};

/*
 * update/install.c: fetches, verifies and installs. installed and received must
 * be open. UPDATE_FAILED comes after a message.
 */
enum update_outcome update_install(struct update *u);

/* update/signature.c: SSH signatures of files, checked by ssh-keygen -Y. */

#define SIGNATURE_MAX_BYTES (64 * 1024)

/*
 * Whether signature, of len bytes, is a good signature of the whole file fd by
 * a key that the file allowed_signers lists for identity. The caller closes
 * both descriptors; their offsets stay. False after a message; shown is the
 * signature's source.
 */
bool signature_verify(int fd, const void *signature, size_t len,
    int allowed_signers, const char *identity, const char *shown);

#endif
