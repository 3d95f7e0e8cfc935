/* SPDX-License-Identifier: ISC */
/* scan/target: parses HOST, HOST:PORT, ADDRESS and [ADDRESS]:PORT. */
#ifndef CLI_SCAN_TARGET_H
#define CLI_SCAN_TARGET_H

#include <stdbool.h>

#define SCAN_DEFAULT_PORT "22"
#define SCAN_HOST_BYTES 256 /* DNS allows 253 */

struct scan_target {
	char host[SCAN_HOST_BYTES];
	char port[6];
	/* HOST:PORT or [ADDRESS]:PORT, as printed */
	char name[SCAN_HOST_BYTES + sizeof("[]:65535")];
};

/* Returns NULL, or what is wrong with text. */
const char *scan_target_parse(const char *text, struct scan_target *t);

#endif
