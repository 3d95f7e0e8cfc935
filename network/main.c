/* SPDX-License-Identifier: ISC */
/*
 * keyveto-network: speaks to servers, for the keyveto command, which starts it
 * (wire/network.h). Before it does, it gives up all else (wall/wall.h), but for
 * what finding the addresses of hosts needs.
 */
#include <dlfcn.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "get.h"
#include "scan.h"
#include "url.h"
#include "wall/enter.h"
#include "wall/orders.h"
#include "wire/network.h"

#define MEMORY_BYTES ((uint64_t)512 * 1024 * 1024)

/*
 * What reading alone does not need. wall/enter adds sockets and files. recv and
 * send are calls of some 32-bit systems alone.
 */
static const int calls[] = {
	SCMP_SYS(access),
	SCMP_SYS(alarm),
#ifndef __GLIBC__
	/* musl's resolver binds the socket from which it asks. */
	SCMP_SYS(bind),
#endif
	SCMP_SYS(close),
	SCMP_SYS(connect),
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(eventfd2),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(fstatat64),
	SCMP_SYS(getdents64),
	SCMP_SYS(getegid),
	SCMP_SYS(getegid32),
	SCMP_SYS(geteuid),
	SCMP_SYS(geteuid32),
	SCMP_SYS(getgid),
	SCMP_SYS(getgid32),
	SCMP_SYS(getpeername),
	SCMP_SYS(getsockname),
	SCMP_SYS(getsockopt),
	SCMP_SYS(getuid),
	SCMP_SYS(getuid32),
	SCMP_SYS(lstat),
	SCMP_SYS(lstat64),
	SCMP_SYS(newfstatat),
	SCMP_SYS(pipe),
	SCMP_SYS(pipe2),
	SCMP_SYS(pselect6),
	SCMP_SYS(pselect6_time64),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(recv),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmmsg),
	SCMP_SYS(recvmmsg_time64),
	SCMP_SYS(select),
	SCMP_SYS(send),
	SCMP_SYS(sendmmsg),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(setitimer),
	SCMP_SYS(setsockopt),
	SCMP_SYS(shutdown),
	SCMP_SYS(socketpair),
	SCMP_SYS(stat),
	SCMP_SYS(stat64),
	SCMP_SYS(statx),
	SCMP_SYS(uname),
	SCMP_SYS(write),
	SCMP_SYS(writev),
};

/*
 * What it reads behind the wall: of the system, to find the addresses of hosts,
 * and CAs.
 */
static const char *const paths[] = {
	"/etc/gai.conf",
	"/etc/host.conf",
	"/etc/hostname",
	"/etc/hosts",
	"/etc/mdns.allow",
	"/etc/nsswitch.conf",
	"/etc/resolv.conf",
	"/etc/services",
	"/run/systemd/resolve",
	/* Public certificates: keys are in folders beside these. */
	"/etc/ca-certificates",
	"/etc/pki/ca-trust",
	"/etc/pki/tls/cert.pem",
	"/etc/pki/tls/certs",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
	"/etc/ssl/certs",
	"/usr/local/share/ca-certificates",
	"/usr/share/ca-certificates",
	"/usr/share/pki",
	"/var/lib/ca-certificates",
};

static struct record_out out = { .fd = STDOUT_FILENO };

static void
send_hello(unsigned int walls)
{
	record_send(&out, NETWORK_HELLO, R_VALUE(NETWORK_VERSION),
	    R_VALUE(walls));
	record_flush(&out);
}

static bool
set_variable(struct kv_bytes b)
{
	static char name[64], value[READING_PACKET_BYTES];

	return record_get(&b, R_TEXT(name), R_TEXT(value)) &&
	    setenv(name, value, 1) == 0;
}

/* Takes the orders before the wall. */
static bool
receive_start(struct orders *o)
{
	struct kv_bytes b;
	uint64_t version;
	uint8_t tag;

	for (;;) {
		if (!orders_next(o, &tag, &b))
			return false;
		if (tag == NETWORK_START)
			break;
		if (tag != NETWORK_VARIABLE || !set_variable(b))
			return false;
	}
	return record_get_number(&b, &version) && version == NETWORK_VERSION;
}

static bool
find_place(struct kv_bytes b)
{
	static char base[READING_PACKET_BYTES], text[READING_PACKET_BYTES],
	    suffix[READING_PACKET_BYTES];
	struct network_place place;
	bool other_hosts;

	if (!record_get(&b, R_TEXT(base), R_TEXT(text), R_TEXT(suffix),
		R_FLAG(other_hosts)))
		return false;
	if (base[0] == '\0')
		url_parse(text, suffix, &place);
	else
		url_resolve(base, text, other_hosts, &place);
	record_send(&out, NETWORK_PLACE_FOUND, R_VALUE(place.kind),
	    R_STRING(place.where != NULL ? place.where : ""),
	    R_STRING(place.shown != NULL ? place.shown : ""),
	    R_STRING(place.scheme != NULL ? place.scheme : ""));
	record_flush(&out);
	url_free(&place);
	return true;
}

static bool
obey_order(struct orders *o, uint8_t tag, struct kv_bytes b)
{
	switch (tag) {
	case NETWORK_CA:
		get_set_ca(orders_next_descriptor(o));
		return true;
	case NETWORK_PLACE:
		return find_place(b);
	case NETWORK_GET:
		return get_obey(b, orders_next_descriptor(o), &out);
	case NETWORK_SCAN:
		return scan_obey(b, &out);
	default:
		return false;
	}
}

/* The libraries that nsswitch.conf(5) names: behind the wall no code is loaded. */
#ifdef __GLIBC__

/* A service is a word; actions are in brackets. */
static void
load_services(char *line)
{
	char library[64], *rest;

	for (char *word = strtok_r(line, " \t\n", &rest); word != NULL;
	     word = strtok_r(NULL, " \t\n", &rest)) {
		if (*word == '#')
			return;
		/* No folder may be in it: glibc takes none, either. */
		if (*word == '[' || strchr(word, '/') != NULL)
			continue;
		snprintf(library, sizeof(library), "libnss_%.40s.so.2", word);
		(void)dlopen(library, RTLD_NOW | RTLD_GLOBAL);
	}
}

static void
load_name_services(void)
{
	static const char start[] = "hosts:";
	FILE *f = fopen("/etc/nsswitch.conf", "re");
	char line[1024];

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		const char *p = line + strspn(line, " \t");

		if (strncmp(p, start, sizeof(start) - 1) == 0)
			load_services(line + (p - line) + sizeof(start) - 1);
	}
	if (f != NULL)
		fclose(f);
}

#else

/* musl has no such libraries, and glibc's would not work in it. */
static void
load_name_services(void)
{
}

#endif

/*
 * The front is told by such signals, too, and ends this program. Beyond the
 * limit of a file, write(2) shall fail with EFBIG.
 */
static void
ignore_signals(void)
{
	static const int ignored[] = { SIGHUP, SIGINT, SIGQUIT, SIGPIPE,
		SIGTERM, SIGXFSZ };

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
}

int
main(void)
{
	static struct orders orders = { .socket = STDIN_FILENO };
	const struct wall_kept kept = {
		.memory = MEMORY_BYTES,
		.connects = true,
		.path = paths,
		.n_paths = sizeof(paths) / sizeof(paths[0]),
		.call = calls,
		.n_calls = sizeof(calls) / sizeof(calls[0]),
	};
	struct kv_bytes b;
	unsigned int walls;
	uint8_t tag;

	ignore_signals();
	/* libcurl readies libcrypto for libssh, too. */
	if (!receive_start(&orders) || !get_start())
		return CLI_UNCHECKED;
	load_name_services();
	walls = wall_enter(&kept);
	walls |= wall_refuse_calls(&kept);
	send_hello(walls);
	while (orders_next(&orders, &tag, &b))
		if (!obey_order(&orders, tag, b))
			return CLI_UNCHECKED;
	return 0;
}
