/* SPDX-License-Identifier: ISC */
/* keyveto proof: verifies proofs, and says what they prove. */
#include <inttypes.h>

#include "command.h"
#include "proof/reader.h"

/* The exit status. */
enum {
	PROVED = 0,
	NOT_PROVED = 1,
	UNREADABLE = 2,
};

struct counts {
	uint64_t proved, refused, problems;
};

static void
print_proved(const struct proof_found *proof, void *arg)
{
	struct counts *n = arg;
	const struct kv_pubkey *key = &proof->key->pem.ssh.key;
	uint8_t digest[KV_SHA256_BYTES];
	char fingerprint[KV_FINGERPRINT_BYTES];

	n->proved++;
	kv_fingerprint_digest(key, digest);
	kv_fingerprint_format(digest, fingerprint);
	cli_printf(stdout,
	    "%s:%" PRIu64 ": proved compromised: %s %u %s (%s, SPKI SHA-256 "
	    "%s)\n",
	    proof->path, proof->line, kv_keytype_name(key->type),
	    kv_pubkey_bits(key), fingerprint, proof->form, proof->key->id[0]);
}

static void
print_refused(const struct input_problem *problem, void *arg)
{
	struct counts *n = arg;

	n->refused++;
	cli_error_at(problem->path, problem->line, problem->reason);
}

static void
print_problem(const struct input_problem *problem, void *arg)
{
	struct counts *n = arg;

	n->problems++;
	cli_error_at(problem->path, problem->line, problem->reason);
}

static int
run_verify(const struct cli_command *cmd, int argc, char **argv)
{
	static const struct cli_option none = { .name = NULL };
	struct counts n = { 0, 0, 0 };
	const struct proof_sink sink = {
		.proved = print_proved,
		.refused = print_refused,
		.problem = print_problem,
		.arg = &n,
	};
	const int status = cli_read_options(cmd, argc, argv, &none, NULL);

	if (status != -1)
		return status;
	if (optind == argc)
		return cli_wrong_usage(cmd, "give a file with a proof");
	proof_read(argv + optind, true, &sink);
	if (!cli_stdout_ok())
		return UNREADABLE;
	if (n.refused > 0)
		return NOT_PROVED;
	return n.proved > 0 && n.problems == 0 ? PROVED : UNREADABLE;
}

static const struct cli_command proof_verify = {
	.name = "proof verify",
	.synopsis = "FILE|DIRECTORY|-... [KEY]",
	.help = "Verify proofs that a key is compromised",
	.details = CLI_PROOFS_HELP,
	.run = run_verify,
};

static const struct cli_command *const commands[] = {
	&proof_verify,
};

static int
run_proof(const struct cli_command *cmd, int argc, char **argv)
{
	return cli_run_subcommand(cmd, commands,
	    sizeof(commands) / sizeof(commands[0]), argc, argv);
}

const struct cli_command cli_proof = {
	.name = "proof",
	.synopsis = "COMMAND [OPTION...] [ARGUMENT...]",
	.help = CLI_PROOF_HELP,
	.details = "",
	.run = run_proof,
};
