/* SPDX-License-Identifier: ISC */
/*
 * publish/item: a file that is given to be published: what it is, whether it is
 * good, and what goes with it.
 */
#ifndef CLI_PUBLISH_ITEM_H
#define CLI_PUBLISH_ITEM_H

#include "publish/folder.h"
#include "published/index.h"

struct item {
	const char *given; /* on the command line */
	char *shown;	   /* the list or filter, for messages */
	int fd;		   /* the same, unpacked */
	/* All but packed_size and deltas. */
	struct index_file file;
	int companion; /* a copy of file.manifest or file.sources, or -1 */
};

/*
 * Has workers read all of a filter, an exact list, or a manifest of badkeys with the list
 * beside it, and checks what those who follow check. False after a message.
 * Always call item_free. folder is for the unpacked list.
 */
bool item_read(struct item *it, const char *path, const struct folder *folder);
void item_free(struct item *it);

#endif
