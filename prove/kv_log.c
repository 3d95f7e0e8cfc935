/* SPDX-License-Identifier: ISC */
/*
 * source lib/kv_log.c
 * proof  priority [quick] --unwind 2: every decision
 */
#include "kv_log.h"

#include <syslog.h>

#include "prove.h"

void
priority(void)
{
	struct kv_log_context ctx = { .authorized = nondet_int() };
	struct kv_decision d;
	int p = kv_log_priority(&ctx, &d);

	PROVE((p == LOG_DEBUG) == (d.verdict == KV_VERDICT_CLEAN),
	    "only clean keys are for debug");
	PROVE(d.verdict != KV_VERDICT_ERROR || p == LOG_ERR, "an error is one");
	PROVE(d.verdict != KV_VERDICT_LISTED || p == LOG_WARNING ||
		(p == LOG_NOTICE && ctx.authorized == KV_AUTHORIZED_NO),
	    "a listed key is a warning, or a scanner's");
}
