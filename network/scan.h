/* SPDX-License-Identifier: ISC */
/* scan: asks one server for all its host keys. */
#ifndef NETWORK_SCAN_H
#define NETWORK_SCAN_H

#include "base/record.h"

/*
 * Obeys NETWORK_SCAN, and sends what it finds. If a phase takes longer than
 * the timeout, the process ends by SIGALRM: the last NETWORK_PHASE says what it
 * was. False if it is no such order.
 */
bool scan_obey(struct kv_bytes b, struct record_out *out);

#endif
