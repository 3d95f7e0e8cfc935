/* SPDX-License-Identifier: ISC */
/*
 * published/unxz: unpacks xz while it arrives. What does not begin like xz is
 * passed on as it is. Memory does not grow with the file; the size of what is
 * unpacked is left to the data callback.
 */
#ifndef CLI_PUBLISHED_UNXZ_H
#define CLI_PUBLISHED_UNXZ_H

#include <lzma.h>
#include <stdbool.h>

struct unxz {
	lzma_stream xz;
	bool decided, is_xz;
	/* Takes what is unpacked. If it returns false, unxz_add does, too. */
	bool (*data)(const void *p, size_t len, void *arg);
	void *arg;
	const char *why; /* a sentence if it is no good xz; NULL so far */
};

/* Sets data and arg. Always call unxz_free. */
void unxz_begin(struct unxz *u,
    bool (*data)(const void *p, size_t len, void *arg), void *arg);
/*
 * False with u->why, or without if data returned false. The first bytes, at
 * least six of a file that has as many, tell whether it is xz.
 */
bool unxz_add(struct unxz *u, const void *p, size_t len);
/* Call after the last byte. The same. */
bool unxz_end(struct unxz *u);
void unxz_free(struct unxz *u);

#endif
