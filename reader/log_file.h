/* SPDX-License-Identifier: ISC */
/* log_file: reads a log, and tells what is in it of logins, or of listed keys. */
#ifndef READER_LOG_FILE_H
#define READER_LOG_FILE_H

#include "base/record.h"

/*
 * Obeys READING_LOG, with this payload and descriptor: sends what is in the log,
 * and READING_LOG_END. False if it is no order of the front's.
 */
bool log_file_read(struct record_out *out, struct kv_bytes payload, int fd);

#endif
