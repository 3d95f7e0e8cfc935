/* SPDX-License-Identifier: ISC */
#include "log_lines/syslog_line.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kv_bytes.h"

#define DAYS 366 /* of a leap year: February 29 has a place, too */
#define DAY_SECONDS 86400
#define YEAR_MIN 1970
#define YEAR_MAX 9999
/* Between two leap years lie eight years, if a century is between them. */
#define LEAP_YEARS_APART 8

/* Reads exactly n digits. -1 if they are not there. */
static int
read_digits(const char **pp, int n)
{
	int value = 0;

	for (; n > 0; n--, (*pp)++) {
		if (!isdigit((unsigned char)**pp))
			return -1;
		value = 10 * value + (**pp - '0');
	}
	return value;
}

static bool
skip(const char **pp, char c)
{
	if (**pp != c)
		return false;
	(*pp)++;
	return true;
}

static bool
is_leap(int64_t year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int
days_of_month(int month)
{
	static const int days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30,
		31 };

	return days[month - 1];
}

static bool
is_day(const struct syslog_line *l, int64_t year)
{
	return l->month != 2 || l->day <= (is_leap(year) ? 29 : 28);
}

/* "13:20:00" */
static bool
read_time(const char **pp, struct syslog_line *l)
{
	return (l->hour = read_digits(pp, 2)) != -1 && skip(pp, ':') &&
	    (l->minute = read_digits(pp, 2)) != -1 && skip(pp, ':') &&
	    (l->second = read_digits(pp, 2)) != -1 && l->hour < 24 &&
	    l->minute < 60 && l->second <= 60;
}

/* "Nov 23 13:20:00", with a blank before a day of one digit. */
static bool
read_traditional(const char **pp, struct syslog_line *l)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	l->month = 0;
	for (int i = 0; i < 12; i++)
		if (strncmp(*pp, names + (size_t)3 * (size_t)i, 3) == 0)
			l->month = i + 1;
	if (l->month == 0)
		return false;
	*pp += 3;
	if (!skip(pp, ' '))
		return false;
	l->day = skip(pp, ' ') ? read_digits(pp, 1) : read_digits(pp, 2);
	return l->day >= 1 && l->day <= days_of_month(l->month) &&
	    skip(pp, ' ') && read_time(pp, l);
}

/* "Z", "+01:00", "+0100", or nothing. */
static bool
read_offset(const char **pp, struct syslog_line *l)
{
	const int sign = **pp == '-' ? -1 : 1;
	int hours, minutes;

	l->has_offset = true;
	if (skip(pp, 'Z') || skip(pp, 'z'))
		return true;
	if (!skip(pp, '+') && !skip(pp, '-')) {
		l->has_offset = false;
		return true;
	}
	if ((hours = read_digits(pp, 2)) == -1)
		return false;
	(void)skip(pp, ':');
	if ((minutes = read_digits(pp, 2)) == -1 || hours > 23 || minutes > 59)
		return false;
	l->offset = sign * 60 * (60 * hours + minutes);
	return true;
}

/* "2026-11-23T13:20:00.123456+00:00" */
static bool
read_rfc3339(const char **pp, struct syslog_line *l)
{
	if ((l->year = read_digits(pp, 4)) == -1 || !skip(pp, '-') ||
	    (l->month = read_digits(pp, 2)) == -1 || !skip(pp, '-') ||
	    (l->day = read_digits(pp, 2)) == -1 ||
	    (!skip(pp, 'T') && !skip(pp, ' ')) || !read_time(pp, l))
		return false;
	if (**pp == '.' || **pp == ',') {
		(*pp)++;
		while (isdigit((unsigned char)**pp))
			(*pp)++;
	}
	l->has_year = true;
	return l->year >= YEAR_MIN && l->month >= 1 && l->month <= 12 &&
	    l->day >= 1 && l->day <= days_of_month(l->month) &&
	    is_day(l, l->year) && read_offset(pp, l);
}

/* " HOST PROGRAM[PID]: " */
static void
read_program(const char *p, struct syslog_line *l)
{
	const char *name;
	size_t n;

	l->program = l->message = "";
	l->program_len = 0;
	p++;
	if ((n = strcspn(p, " ")) == 0 || p[n] != ' ')
		return;
	p += n + 1;
	name = p;
	n = strcspn(p, " [:");
	p += n;
	if (n > 0 && *p == '[') {
		l->process = strtoull(p + 1, NULL, 10);
		p += 1 + strspn(p + 1, "0123456789");
		if (!skip(&p, ']'))
			return;
	}
	if (n == 0 || !skip(&p, ':') || !skip(&p, ' '))
		return;
	l->program = name;
	l->program_len = n;
	l->message = p;
}

bool
syslog_line_parse(const char *line, struct syslog_line *l)
{
	*l = (struct syslog_line){ .has_year = false };
	if (!(isdigit((unsigned char)*line) ? read_rfc3339(&line, l) :
					      read_traditional(&line, l)) ||
	    *line != ' ')
		return false;
	read_program(line, l);
	return true;
}

bool
syslog_line_is_sshds(const struct syslog_line *l)
{
	const struct kv_span program = { (const uint8_t *)l->program,
		l->program_len };

	return kv_span_is(program, "sshd") ||
	    kv_span_is(program, "sshd-session");
}

bool
syslog_line_seconds(const struct syslog_line *l, int year, int64_t *secondsp)
{
	struct tm t = { .tm_isdst = -1 };
	time_t seconds;

	if (l->has_year)
		year = l->year;
	if (year < YEAR_MIN || year > YEAR_MAX || !is_day(l, year))
		return false;
	t.tm_year = year - 1900;
	t.tm_mon = l->month - 1;
	t.tm_mday = l->day;
	t.tm_hour = l->hour;
	t.tm_min = l->minute;
	t.tm_sec = l->second;
	seconds = l->has_offset ? timegm(&t) - l->offset : mktime(&t);
	*secondsp = seconds;
	return seconds >= 0;
}

/* From 0, in a leap year. */
static int
day_of_year(const struct syslog_line *l)
{
	int day = l->day - 1;

	for (int month = 1; month < l->month; month++)
		day += days_of_month(month);
	return day;
}

/*
 * A clock that is set back, or a line that is late, takes a line back over a
 * year's end, too. So the shorter way counts, in either direction.
 */
void
syslog_years_add(struct syslog_years *y, const struct syslog_line *l)
{
	const int day = day_of_year(l), ahead = y->any ? day - y->day : 0;
	int64_t seconds;

	if (ahead > DAYS / 2)
		y->turns--;
	else if (ahead < -DAYS / 2)
		y->turns++;
	y->any = true;
	y->day = day;
	if (!l->has_year) {
		y->last = *l;
		return;
	}
	y->first = l->year - y->turns;
	if (syslog_line_seconds(l, 0, &seconds) &&
	    (!y->dated || seconds > y->last_time))
		y->last_time = seconds;
	y->dated = true;
}

/*
 * Sets *secondsp to the time in the given year, or in the latest year before it
 * in which there is such a day, and the line is not too late.
 */
static bool
find_time(const struct syslog_line *l, int64_t *yearp, int64_t latest,
    int64_t *secondsp)
{
	struct tm t;
	const time_t bound = (time_t)latest;

	if (localtime_r(&bound, &t) == NULL)
		return false;
	if (*yearp > t.tm_year + 1900)
		*yearp = t.tm_year + 1900;
	for (int i = 0; i <= LEAP_YEARS_APART + 1; i++, (*yearp)--)
		if (*yearp >= YEAR_MIN &&
		    syslog_line_seconds(l, (int)*yearp, secondsp) &&
		    *secondsp <= latest)
			return true;
	return false;
}

void
syslog_years_end(struct syslog_years *y, int64_t modified)
{
	int64_t year = YEAR_MAX, seconds;

	if (y->dated || y->last.month == 0)
		return;
	if (find_time(&y->last, &year, modified + DAY_SECONDS, &seconds))
		y->first = year - y->turns;
}

void
syslog_years_begin(struct syslog_years *y)
{
	y->any = false;
	y->turns = 0;
}

bool
syslog_years_find(struct syslog_years *y, const struct syslog_line *l,
    int64_t modified, int64_t *secondsp)
{
	const int64_t first = y->first, last_time = y->last_time;
	const bool dated = y->dated;
	int64_t year, latest = modified;

	syslog_years_add(y, l);
	y->first = first;
	y->dated = dated;
	y->last_time = last_time;
	if (l->has_year)
		return syslog_line_seconds(l, l->year, secondsp);
	if (dated && last_time > latest)
		latest = last_time;
	year = first + y->turns;
	return find_time(l, &year, latest + DAY_SECONDS, secondsp);
}
