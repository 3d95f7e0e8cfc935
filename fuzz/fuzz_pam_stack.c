/* SPDX-License-Identifier: ISC */
/* Any file, read as a PAM service, is read or refused with its path. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "ways/pam_stack.h"

static char root[] = "/tmp/keyveto-fuzz.XXXXXX";
static char path[256];

#define OWN_ROOT root
#include "../tests/unit/own_root.h"

static void
remove_root(void)
{
	unlink(path);
	while (strcmp(path, root) != 0) {
		*strrchr(path, '/') = '\0';
		rmdir(path);
	}
}

static void
make_root(void)
{
	FUZZ_CHECK(mkdtemp(root) != NULL);
	snprintf(path, sizeof(path), "%s/etc", root);
	FUZZ_CHECK(mkdir(path, 0755) == 0);
	strcat(path, "/pam.d");
	FUZZ_CHECK(mkdir(path, 0755) == 0);
	strcat(path, "/sshd");
	atexit(remove_root);
}

static void
check_line(const struct pam_stack *stack, const struct pam_line *line,
    size_t size)
{
	char config[PAM_STACK_LINE_BYTES];

	FUZZ_CHECK(line->line > 0 && line->module[0] != '\0');
	FUZZ_CHECK(strlen(line->args) <= size);
	FUZZ_CHECK(strchr(pam_line_module(line), '/') == NULL);
	FUZZ_CHECK(
	    pam_stack_find(stack, line->type, pam_line_module(line)) <= line);
	pam_stack_config(line, config, sizeof(config));
	FUZZ_CHECK(config[0] == '/');
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pam_stack stack;
	char why[1024] = "";
	FILE *f;
	bool ok;

	if (path[0] == '\0')
		make_root();
	FUZZ_CHECK((f = fopen(path, "w")) != NULL);
	FUZZ_CHECK(fwrite(data, 1, size, f) == size);
	FUZZ_CHECK(fclose(f) == 0);
	ok = pam_stack_read("sshd", &stack, why, sizeof(why));
	FUZZ_CHECK(ok == (why[0] == '\0'));
	FUZZ_CHECK(ok || strncmp(why, "/etc/pam.d/", 11) == 0);
	for (size_t i = 0; i < stack.n; i++)
		check_line(&stack, &stack.line[i], size);
	pam_stack_free(&stack);
	return 0;
}
