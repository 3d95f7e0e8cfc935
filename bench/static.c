/* SPDX-License-Identifier: ISC */
/* The smallest process. */
int
main(void)
{
	return 0;
}
