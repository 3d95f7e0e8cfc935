/* SPDX-License-Identifier: ISC */
/*
 * What qemu-user refuses: it knows no seccomp, and keyveto's programs would
 * warn of the missing wall in each test. They find this in libseccomp.so.2,
 * and all else of it in Debian's, so that they do make their filters.
 */
int seccomp_load(const void *filter);

int
seccomp_load(const void *filter)
{
	return filter == (void *)0 ? -1 : 0;
}
