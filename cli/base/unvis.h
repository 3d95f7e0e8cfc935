/* SPDX-License-Identifier: ISC */
/*
 * base/unvis: undoes what sshd's strnvis(3) does to a line of its log
 * (VIS_SAFE | VIS_OCTAL) and to its title (VIS_CSTYLE | VIS_OCTAL).
 */
#ifndef CLI_BASE_UNVIS_H
#define CLI_BASE_UNVIS_H

/* The byte that stands at *pp; moves *pp past it. */
char unvis_next(const char **pp);

/* Undoes it in text, which gets no longer. */
void unvis(char *text);

#endif
