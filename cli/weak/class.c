/* SPDX-License-Identifier: ISC */
#include "weak/class.h"

const char *weak_class_name(enum weak_class class)
{
	static const char *const name[WEAK_CLASSES] = {
		[WEAK_NONE] = "",
		[WEAK_FACTOR] = "rsa-factor",
		[WEAK_PRIME] = "rsa-prime",
		[WEAK_SQUARE] = "rsa-square",
		[WEAK_FERMAT] = "rsa-fermat",
		[WEAK_ROCA] = "rsa-roca",
		[WEAK_SMALL_D] = "rsa-small-d",
	};

	return name[class];
}
