/* SPDX-License-Identifier: ISC */
/* keyveto sshd status: which ways in are guarded, and by what. */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "guard_command.h"
#include "pam_stack.h"
#include "sshd_command.h"
#include "sshd_escape.h"
#include "sshd_overview.h"
#include "sshd_plan.h"
#include "sshd_words.h"

enum way {
	WAY_FILES = 0, WAY_COMMAND, WAY_CA_LINE, WAY_USER_CA, WAY_HOSTBASED,
	WAYS
};

static const char *const way_names[WAYS] = {
	"authorized_keys", "AuthorizedKeysCommand", "cert-authority line",
	"TrustedUserCAKeys", "hostbased"
};

/* How an account, or many, can be entered. */
struct cover {
	bool open[WAYS], guard[WAYS], pam[WAYS];
	char **account;		/* names that belong to the accounts */
	size_t n;
};

struct status {
	const struct sshd_options *o;
	struct sshd_tree tree;
	struct accounts accounts;
	struct cover *v;	/* each differs from the others */
	size_t n;
	bool pam;		/* the module is in place */
	bool unguarded, unknown;
};

/* What stands before the guard's own way: "--" and another command. */
static bool
is_chained(const char *args)
{
	return strstr(args, " -- ") != NULL;
}

/* What sshd says for an account, as ways in. */
static void
read_cover(const struct status *s, const char *dump, struct cover *c)
{
	char files[SSHD_VALUE_BYTES], command[SSHD_VALUE_BYTES];
	char principals[SSHD_VALUE_BYTES];
	const char *args = "";
	bool keys = !sshd_text_is(dump, "pubkeyauthentication", "no");
	bool guard, guards_files, guards_command;

	*c = (struct cover){ .n = 0 };
	sshd_text_value(dump, "authorizedkeysfile", files, SSHD_VALUE_BYTES);
	sshd_text_value(dump, "authorizedkeyscommand", command, SSHD_VALUE_BYTES);
	sshd_text_value(dump, "authorizedprincipalscommand", principals, SSHD_VALUE_BYTES);
	guard = !sshd_words_none(command) && guard_command(command, &args);
	guards_command = guard && is_chained(args);
	guards_files = guard && !guards_command && sshd_words_none(files);
	c->open[WAY_FILES] = keys && (!sshd_words_none(files) ||
	    (guard && !guards_command));
	c->guard[WAY_FILES] = guards_files;
	c->open[WAY_COMMAND] = keys && !sshd_words_none(command) &&
	    (!guard || guards_command);
	c->guard[WAY_COMMAND] = guards_command;
	c->open[WAY_CA_LINE] = c->open[WAY_FILES] || c->open[WAY_COMMAND];
	c->guard[WAY_CA_LINE] = (!c->open[WAY_FILES] || guards_files) &&
	    (!c->open[WAY_COMMAND] || guards_command);
	c->open[WAY_USER_CA] = keys &&
	    !sshd_text_is(dump, "trustedusercakeys", "none");
	c->guard[WAY_USER_CA] =
	    sshd_text_is(dump, "authorizedprincipalsfile", "none") &&
	    !sshd_words_none(principals) && guard_command(principals, &args);
	c->open[WAY_HOSTBASED] =
	    sshd_text_is(dump, "hostbasedauthentication", "yes");
	for (int w = 0; w < WAYS; w++)
		c->pam[w] = s->pam;
}

static bool
is_guarded(const struct cover *c, int w)
{
	return !c->open[w] || c->guard[w] || c->pam[w];
}

/* The cover like c, which becomes one of s's; NULL without memory. */
static struct cover *
find_cover(struct status *s, const struct cover *c)
{
	struct cover *v;

	for (size_t i = 0; i < s->n; i++)
		if (memcmp(s->v[i].open, c->open, sizeof(c->open)) == 0 &&
		    memcmp(s->v[i].guard, c->guard, sizeof(c->guard)) == 0)
			return &s->v[i];
	if ((v = realloc(s->v, (s->n + 1) * sizeof(*v))) == NULL)
		return NULL;
	s->v = v;
	v[s->n] = *c;
	return &v[s->n++];
}

static bool
add_account(struct status *s, size_t cover, char *name)
{
	struct cover *c = &s->v[cover];
	char **v = realloc(c->account, (c->n + 1) * sizeof(*v));

	if (v == NULL)
		return false;
	c->account = v;
	v[c->n++] = name;
	return true;
}

/* What an account that was asked about, and those like it, have. */
struct asked {
	char *signature;
	size_t cover;
};

/* The cover of an account as a number; false after a message. */
static bool
ask_about(struct status *s, const char *user, size_t *coverp)
{
	char *dump = sshd_ask_tree(s->o, &s->tree, user);
	struct cover c, *mine;

	if (dump == NULL)
		return false;
	read_cover(s, dump, &c);
	free(dump);
	if ((mine = find_cover(s, &c)) == NULL) {
		cli_error("%s", strerror(errno));
		return false;
	}
	*coverp = (size_t)(mine - s->v);
	return true;
}

/* Accounts that no Match line tells apart are asked about once. */
static bool
ask_about_each(struct status *s, const struct sshd_match *match)
{
	struct asked *asked = calloc(s->accounts.n + 1, sizeof(*asked));
	bool ok = asked != NULL;
	size_t n = 0;

	if (ok && s->accounts.n == 0) {
		s->unknown |= match->user.n + match->group.n > 0;
		ok = ask_about(s, NULL, &n);
		n = 0;
	}
	for (size_t i = 0; ok && i < s->accounts.n; i++) {
		char *signature = match->unknown ? NULL :
		    sshd_match_signature(match, &s->accounts.v[i]);
		size_t k = 0;

		while (k < n && (signature == NULL ||
		    asked[k].signature == NULL ||
		    strcmp(asked[k].signature, signature) != 0))
			k++;
		if (k < n)
			free(signature);
		else {
			asked[k].signature = signature;
			n++;
			ok = ask_about(s, s->accounts.v[i].name,
			    &asked[k].cover);
		}
		ok = ok && add_account(s, asked[k].cover,
		    s->accounts.v[i].name);
	}
	for (size_t k = 0; k < n; k++)
		free(asked[k].signature);
	free(asked);
	return ok;
}

/*
 * What holds for clients from elsewhere is not asked, since there is no end of
 * addresses: each setting that a block for them makes counts by itself.
 */
static void
look_at_origins(struct status *s)
{
	const struct sshd_tree *t = &s->tree;

	for (size_t i = 0; i < t->n_lines; i++) {
		const struct sshd_line *l = &t->line[i];

		if (s->pam || !sshd_escape_opens(t, l) ||
		    !sshd_escape_by_origin(t, l))
			continue;
		cli_error("%s%s:%zu: not guarded: Match %s sets %s",
		    s->o->root, t->file[l->file], l->number,
		    t->line[l->match - 1].value, l->keyword);
		s->unguarded = true;
	}
}

/* Whether the module is where it sees every key, and its no counts. */
static void
look_at_pam(struct status *s, const char *dump)
{
	char service[SSHD_VALUE_BYTES], why[SSHD_WHY_BYTES];
	const struct pam_line *l;
	struct pam_stack stack;
	size_t i = 0, first = 0;

	if (!sshd_text_is(dump, "usepam", "yes"))
		return;
	sshd_pam_service(dump, service);
	if (!pam_stack_read(s->o->root, service, &stack, why, sizeof(why))) {
		cli_error("%s", why);
		s->unknown = true;
		pam_stack_free(&stack);
		return;
	}
	while (first < stack.n &&
	    strcmp(stack.line[first].type, "session") != 0)
		first++;
	l = pam_stack_find(&stack, "session", SSHD_MODULE, &i);
	if (l != NULL && i != first)
		cli_error("note: %s%s:%u: pam_keyveto.so is not the first "
		    "session line; what comes before it may hide the key from "
		    "it", s->o->root, l->file, l->line);
	else if (l != NULL && strcmp(l->control, "requisite") != 0)
		cli_error("note: %s%s:%u: pam_keyveto.so is not requisite",
		    s->o->root, l->file, l->line);
	else if (l != NULL && sshd_require_module(s->o))
		s->pam = true;
	pam_stack_free(&stack);
}

/* Guarded only in name, if keyveto.conf lets listed keys in. */
static void
look_at_config(struct status *s)
{
	struct kv_judge judge;
	bool in_place = s->pam, guard = false;

	for (size_t i = 0; i < s->n; i++)
		for (int w = 0; w < WAYS; w++)
			guard |= s->v[i].open[w] && s->v[i].guard[w];
	if (!in_place && !guard)
		return;
	if (guard && !sshd_require_guard(s->o))
		s->unknown = true;
	if (!sshd_require_filters(s->o, "", &s->accounts) ||
	    !sshd_judge_open(s->o, &judge)) {
		s->unknown = true;
		return;
	}
	if (judge.config.on_hit != KV_ACTION_DENY) {
		cli_error("%s" KV_CONFIG_PATH ": OnHit warn: listed keys are "
		    "let in, and logged", s->o->root);
		s->unguarded = true;
	}
	kv_judge_close(&judge);
}

static const char *
yes_or_no(bool yes)
{
	return yes ? "yes" : "no";
}

static void
print_cover(const struct status *s, const struct cover *c)
{
	if (s->n > 1) {
		fputs("accounts:", stdout);
		for (size_t i = 0; i < c->n; i++) {
			putchar(' ');
			cli_print_safe(stdout, c->account[i],
			    strlen(c->account[i]));
		}
		putchar('\n');
	}
	printf("%-22s %-5s %-6s %-4s %s\n", "way in", "open", "guard", "PAM",
	    "guarded");
	for (int w = 0; w < WAYS; w++) {
		if (c->open[w])
			printf("%-22s %-5s %-6s %-4s %s\n", way_names[w],
			    "yes", yes_or_no(c->guard[w]),
			    yes_or_no(c->pam[w]),
			    is_guarded(c, w) ? "yes" : "NO");
		else
			printf("%-22s no\n", way_names[w]);
	}
}

/* JSON wants UTF-8: what is not becomes \xNN. */
static json_t *
to_json(const char *text)
{
	json_t *s = json_string(text);
	char *safe = NULL;
	size_t len;
	FILE *out;

	if (s != NULL || (out = open_memstream(&safe, &len)) == NULL)
		return s;
	cli_print_safe(out, text, strlen(text));
	fclose(out);
	s = json_string(safe);
	free(safe);
	return s;
}

/* null: all accounts there are. */
static json_t *
accounts_to_json(const struct status *s, const struct cover *c)
{
	json_t *list;

	if (s->n == 1)
		return json_null();
	list = json_array();
	for (size_t i = 0; i < c->n; i++)
		json_array_append_new(list, to_json(c->account[i]));
	return list;
}

static void
print_json(const struct status *s, const struct cover *c)
{
	for (int w = 0; w < WAYS; w++) {
		json_t *one = json_pack("{s:o, s:s, s:b, s:b, s:b, s:b}",
		    "accounts", accounts_to_json(s, c), "way", way_names[w],
		    "open", c->open[w], "guard", c->open[w] && c->guard[w],
		    "pam", c->open[w] && c->pam[w], "guarded",
		    is_guarded(c, w));

		json_dumpf(one, stdout, JSON_COMPACT);
		putchar('\n');
		json_decref(one);
	}
}

static bool
look(struct status *s)
{
	struct sshd sshd = { .path = s->o->sshd };
	struct sshd_overview overview;
	char *dump;
	bool ok;

	if (!sshd_open_tree(s->o, &s->tree, NULL, 0) ||
	    !sshd_copy_is_faithful(s->o, &s->tree) ||
	    !sshd_find_accounts(s->o, &s->accounts) ||
	    (dump = sshd_ask_tree(s->o, &s->tree, NULL)) == NULL)
		return false;
	look_at_pam(s, dump);
	free(dump);
	sshd.config = s->tree.top;
	sshd_overview(&sshd, &overview);
	s->unknown |= sshd_plan_tell_groups(s->o, &s->tree) > 0;
	ok = ask_about_each(s, &overview.match);
	sshd_overview_free(&overview);
	if (!ok)
		return false;
	look_at_origins(s);
	look_at_config(s);
	return true;
}

static int
print(struct status *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct cover *c = &s->v[i];

		if (s->o->json)
			print_json(s, c);
		else {
			if (i > 0)
				putchar('\n');
			print_cover(s, c);
		}
		for (int w = 0; w < WAYS; w++)
			s->unguarded |= !is_guarded(c, w);
	}
	if (!cli_stdout_ok())
		return CLI_UNCHECKED;
	if (s->unguarded)
		return 1;
	return s->unknown ? CLI_UNCHECKED : 0;
}

static int
run(const struct cli_command *cmd, int argc, char **argv)
{
	struct sshd_options o;
	struct status s = { .o = &o };
	int status;

	if (sshd_read_options(cmd, argc, argv, &o, &status) != 0)
		return status;
	status = look(&s) ? print(&s) : CLI_UNCHECKED;
	for (size_t i = 0; i < s.n; i++)
		free(s.v[i].account);
	free(s.v);
	accounts_free(&s.accounts);
	sshd_tree_close(&s.tree);
	return status;
}

const struct cli_command sshd_status = {
	.name = "sshd status",
	.synopsis = "[--json] [--root DIR] [--sshd PATH]",
	.help = "Tell which ways in are guarded",
	.details =
	    "As root. Asks sshd about every account that Match blocks may tell "
	    "from the\nothers, and reads PAM's lines.\n\n"
	    "  --json           one JSON object a line, for each way in\n"
	    "  --root DIR       the machine whose file system is below DIR, "
	    "not this one\n"
	    "  --sshd PATH      ask this sshd (default " SSHD_PATH ")\n"
	    "\nExit status: 0 every open way in is guarded, 1 one is not, 2 it "
	    "could not be\ntold.\n",
	.run = run,
};
