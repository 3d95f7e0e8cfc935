/* SPDX-License-Identifier: ISC */
/*
 * audit/deny_weak: puts the keys that only the command's tests find into an
 * exact list, so that logins refuse them.
 */
#ifndef CLI_AUDIT_DENY_WEAK_H
#define CLI_AUDIT_DENY_WEAK_H

#include "sets/list_batch.h"
#include "sets/list_consulted.h"
#include "reading/report.h"

#define DENY_WEAK_PATH LIST_WEAK_PATH

/* All zeroes: no key yet. Freed by deny_weak_free. */
struct deny_weak {
	struct list_batch batch;
	bool failed; /* after a message */
};

/* For the report's on_weak, with a struct deny_weak. */
void deny_weak_add(const struct input_key *key, enum weak_class class,
    void *arg);

/*
 * Puts the keys into DENY_WEAK_PATH, each with its class as the source, unless
 * the brake keeps the list as it is: yes is for struct change. Prints what was
 * done, and which line is missing in the configuration. False after a message.
 */
bool deny_weak_write(struct deny_weak *d, const struct kv_config *config,
    const char *config_path, bool yes);

void deny_weak_free(struct deny_weak *d);

#endif
