/* SPDX-License-Identifier: ISC */
/* working/weak: has keyveto-worker test RSA keys. */
#ifndef CLI_WORKING_WEAK_H
#define CLI_WORKING_WEAK_H

#include "weak/tests.h"

/* The same as weak_tests_run, but for that no lack of memory ends the process. */
bool working_weak(struct weak_tests *t);

#endif
