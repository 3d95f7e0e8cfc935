/* SPDX-License-Identifier: ISC */
/*
 * reading/judging: judges keys by a configuration, filters and lists, of which
 * this process reads the configuration alone. It opens the others, and
 * keyveto-reader looks the keys up in them.
 */
#ifndef CLI_READING_JUDGING_H
#define CLI_READING_JUDGING_H

#include "keys/input.h"
#include "wall/wall.h"

struct judging {
	/*
	 * The configuration, and the paths of the filters and lists, none of
	 * which is open here. It stands for the whole: judging_key gets it.
	 */
	struct kv_judge judge;
	struct judging_reader *reader; /* of judging.c */
};

/*
 * As kv_judge_open_with; the arrays of paths must live as long as j, too. Always
 * call judging_close.
 */
void judging_open(struct judging *j, const char *config,
    const struct kv_paths *paths, kv_open_fn open, void *arg);

/*
 * For such an open, of a file that is open as fd: gives it another descriptor,
 * by which it cannot be written.
 */
enum kv_err judging_reopen(int fd, const char *path, int *fdp,
    char why[static KV_TRUSTED_WHY_BYTES]);

/*
 * As input_judge, for the judge of a struct judging. The first call starts the
 * reader. Once that has failed, no key has a verdict. A reader in somebody else's
 * hands can lie about each key, as the files may, and no more.
 */
void judging_key(const struct kv_judge *judge, const struct input_key *key,
    int64_t now, struct kv_decision *d);

/* Whether the reader never failed, with a sentence if it did. */
bool judging_close(struct judging *j, char why[static WALL_WHY_BYTES]);

#endif
