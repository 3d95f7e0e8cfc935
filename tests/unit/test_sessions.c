/* SPDX-License-Identifier: ISC */
#include "sessions/processes.h"
#include "sessions/session.h"
#include "sessions/sockets.h"

#include "testlib.h"

#include <arpa/inet.h>

#include <stdlib.h>
#include <string.h>

#define NOW 1795440000

/* Lines of the kernel's; on a machine of the other byte order they differ. */
static const char listed[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n"
    "   0: 0100007F:08FB 00000000:0000 0A 00000000:00000000 00:00000000 "
    "00000000     0        0 11 1 0 100 0 0 10 0\n"
    "   1: 0100007F:08FB 070200C0:C356 01 00000000:00000000 02:000AFB4A "
    "00000000     0        0 9 2 0 20 4 16 18 -1\n"
    "   2: 0100007F:9418 0100007F:08FB 06 00000000:00000000 03:0000169C "
    "00000000     0        0 0 3 0\n"
    "   3: B80D0120000000000000000001000000:0016 "
    "B80D0120000000000000000007000000:C357 01 00000000:00000000 "
    "00:00000000 00000000     0        0 10 1 0\n";

static void
sockets_are_read_as_the_kernel_lists_them(void **state)
{
	FILE *file = fmemopen((char *)listed, strlen(listed), "r");
	struct sockets s = { .n = 0 };
	struct in6_addr wanted;

	(void)state;
	(void)wanted;
	assert_true(sockets_add_file(&s, file));
	fclose(file);
	assert_int_equal(s.n, 3);
	assert_true(sockets_find(&s, 11)->listens);
	assert_int_equal(sockets_find(&s, 9)->remote_port, 50006);
	assert_null(sockets_find(&s, 0));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	inet_pton(AF_INET6, "2001:db8::7", &wanted);
	assert_memory_equal(&sockets_find(&s, 10)->remote, &wanted,
	    sizeof(wanted));
	inet_pton(AF_INET6, "::ffff:192.0.2.7", &wanted);
	assert_memory_equal(&sockets_find(&s, 9)->remote, &wanted,
	    sizeof(wanted));
#endif
	sockets_free(&s);
}

static bool
fits(const char *peer, const char *from)
{
	struct session_peer p = { .port = 50022 };
	const struct session s = {
		.pid = 7,
		.started = NOW,
		.peer = &p,
		.n_peers = 1,
	};
	struct reading_login l = {
		.process = 7,
		.seconds = NOW,
		.a = { .port = 50022 },
	};

	inet_pton(AF_INET6, peer, &p.address);
	snprintf(l.a.from, sizeof(l.a.from), "%s", from);
	return session_fits(&s, &l, NOW);
}

static void
addresses_are_compared_as_sshd_logs_them(void **state)
{
	(void)state;
	assert_true(fits("::ffff:192.0.2.7", "192.0.2.7"));
	assert_true(fits("2001:db8::7", "2001:db8::7"));
	assert_true(fits("fe80::1", "fe80::1%eth0"));
	assert_false(fits("::ffff:192.0.2.7", "192.0.2.8"));
	assert_false(fits("::192.0.2.7", "192.0.2.7"));
	assert_false(fits("::", "UNKNOWN"));
	assert_false(fits("::", "0.0.0.0"));
}

/* As an account can start them; one stands above itself, by a used number. */
static void
a_long_line_of_processes_is_found(void **state)
{
	enum { N = 100000 };
	struct process *v = calloc(N, sizeof(*v));
	struct processes all = { .v = v, .n = N }, below = { .n = 0 };

	(void)state;
	assert_non_null(v);
	for (int i = 0; i < N; i++)
		v[i] = (struct process){ .pid = N - i, .parent = N - i - 1 };
	v[N - 7].parent = N;
	assert_true(processes_find_below(&all, 7, &below));
	assert_int_equal(below.n, N - 7);
	assert_int_equal(below.v[0].pid, 8);
	assert_int_equal(below.v[below.n - 1].pid, N);
	free(below.v);
	below = (struct processes){ .n = 0 };
	assert_true(processes_find_below(&all, 6, &below));
	assert_int_equal(below.n, 0);
	free(v);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(sockets_are_read_as_the_kernel_lists_them),
		TEST(addresses_are_compared_as_sshd_logs_them),
		TEST(a_long_line_of_processes_is_found),
	};

	return cmocka_run_group_tests(tests, test_begin, NULL);
}
