/* SPDX-License-Identifier: ISC */
#include "report/forms.h"

#include <time.h>

const char *
report_time(int64_t seconds, char text[static REPORT_TIME_BYTES])
{
	const time_t when = (time_t)seconds;
	struct tm tm;

	*text = '\0';
	if (gmtime_r(&when, &tm) == NULL ||
	    strftime(text, REPORT_TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		*text = '\0';
	return text;
}
