/* SPDX-License-Identifier: ISC */
/* account_lines: reads authorized_keys of accounts line by line, as sshd does. */
#ifndef READER_ACCOUNT_LINES_H
#define READER_ACCOUNT_LINES_H

#include "base/record.h"
#include "kv_verdict.h"

/*
 * Sends what is in the file behind fd, whatever form it seems to have, and
 * READING_LINES_END. All of it is sent when this returns: if the next file ends
 * this process, nobody thinks that it was this one. With each key comes what
 * judge says of its use at that time; NULL: it is not judged.
 */
void account_lines_read(struct record_out *out, int fd,
    const struct kv_judge *judge, int64_t used);

#endif
