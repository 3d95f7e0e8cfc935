/* SPDX-License-Identifier: ISC */
/* get: has libcurl ask servers, by the rules of net/network.h. */
#ifndef NETWORK_GET_H
#define NETWORK_GET_H

#include "base/record.h"

/* Readies libcurl. False if it cannot be used. */
bool get_start(void);

/* Takes NETWORK_CA: later requests trust the CAs in fd; -1: the system's. */
void get_set_ca(int fd);

/*
 * Obeys NETWORK_GET, and sends what it gives; the body to a pipe unless that is
 * -1, which it closes. False if it is no such order.
 */
bool get_obey(struct kv_bytes b, int body, struct record_out *out);

#endif
