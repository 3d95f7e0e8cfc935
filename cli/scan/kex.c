/* SPDX-License-Identifier: ISC */
#include "scan/kex.h"

#include <sys/socket.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kv_bytes.h"

#define BANNER "SSH-2.0-keyveto_" KEYVETO_VERSION "\r\n"
#define LINE_BYTES 512		/* a banner has 255 at most */
#define LINES_MAX 1024		/* before the banner, as OpenSSH has it */
#define PACKETS_MAX 16		/* before KEXINIT */
#define COOKIE_BYTES 16
#define PADDING_MIN 4
#define BLOCK_BYTES 8

enum message {
	MSG_DISCONNECT = 1,
	MSG_KEXINIT = 20,
};

struct packet {
	uint8_t buf[SCAN_KEX_PACKET_BYTES];
	size_t len;
};

static void
add_u32(struct packet *p, size_t n)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		p->buf[p->len++] = (uint8_t)(n >> shift);
}

static void
add_list(struct packet *p, const char *list)
{
	size_t len = strlen(list);

	add_u32(p, len);
	memcpy(p->buf + p->len, list, len);
	p->len += len;
}

/*
 * Length, padding length, message, cookie, ten lists, first_kex_packet_follows
 * and a number for the future, padding. Nothing is secret here: the cookie and
 * the padding are zeroes.
 */
static void
make_kexinit(struct packet *p)
{
	static const char *const lists[] = {
		SCAN_KEX, SCAN_HOST_KEYS, SCAN_CIPHERS, SCAN_CIPHERS,
		SCAN_MACS, SCAN_MACS, "none", "none", "", ""
	};
	size_t padding, total;

	*p = (struct packet){ .len = 5 };
	p->buf[p->len++] = MSG_KEXINIT;
	p->len += COOKIE_BYTES;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		add_list(p, lists[i]);
	p->len += 1 + 4;
	padding = BLOCK_BYTES - p->len % BLOCK_BYTES;
	if (padding < PADDING_MIN)
		padding += BLOCK_BYTES;
	total = p->len + padding;
	p->len = 0;
	add_u32(p, total - 4);
	p->buf[4] = (uint8_t)padding;
	p->len = total;
}

/* False with errno. */
static bool
send_all(int fd, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len > 0) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

/* False with errno: ECONNRESET when the server is gone. */
static bool
receive(int fd, void *data, size_t len)
{
	uint8_t *p = data;

	while (len > 0) {
		ssize_t n = recv(fd, p, len, 0);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == 0)
			errno = ECONNRESET;
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

/* A line without its end, cut to fit. */
static bool
receive_line(int fd, char line[static LINE_BYTES])
{
	size_t len = 0;
	char c;

	for (;;) {
		if (!receive(fd, &c, 1))
			return false;
		if (c == '\n')
			break;
		if (len < LINE_BYTES - 1)
			line[len++] = c;
	}
	while (len > 0 && line[len - 1] == '\r')
		len--;
	line[len] = '\0';
	return true;
}

/* Other lines may come first, and may tell why it does not come at all. */
static bool
receive_banner(int fd, char *why, size_t cap)
{
	char line[LINE_BYTES], first[LINE_BYTES] = "";

	for (int i = 0; i < LINES_MAX; i++) {
		if (!receive_line(fd, line)) {
			snprintf(why, cap, "before it said that it speaks "
			    "SSH: %s%s%s", strerror(errno),
			    *first != '\0' ? "; it said: " : "", first);
			return false;
		}
		if (strncmp(line, "SSH-2.", 6) == 0 ||
		    strncmp(line, "SSH-1.99-", 9) == 0)
			return true;
		if (strncmp(line, "SSH-", 4) == 0) {
			snprintf(why, cap, "it does not speak SSH 2 but %s",
			    line);
			return false;
		}
		if (i == 0)
			memcpy(first, line, sizeof(first));
	}
	snprintf(why, cap, "it does not speak SSH but says: %s", first);
	return false;
}

/* One packet before there is any encryption; *b is its payload. */
static bool
receive_packet(int fd, struct packet *p, struct kv_bytes *b, char *why,
    size_t cap)
{
	struct kv_bytes head = { p->buf, 5 };
	uint32_t len;

	if (!receive(fd, p->buf, 5))
		goto broken;
	if (kv_bytes_get_u32(&head, &len) != KV_OK ||
	    len < 2 + (uint32_t)PADDING_MIN || len > sizeof(p->buf) ||
	    p->buf[4] > len - 2) {
		snprintf(why, cap, "it sent a packet that is none");
		return false;
	}
	*b = (struct kv_bytes){ p->buf, len - 1 - p->buf[4] };
	if (receive(fd, p->buf, len - 1))
		return true;
broken:
	snprintf(why, cap, "before it said what it offers: %s",
	    strerror(errno));
	return false;
}

/* A server's last words: u32 reason, string description. */
static void
explain_disconnect(struct kv_bytes b, char *why, size_t cap)
{
	struct kv_span text = { NULL, 0 };

	if (kv_bytes_skip(&b, 4) != KV_OK ||
	    kv_bytes_get_string(&b, &text) != KV_OK || text.len == 0)
		snprintf(why, cap, "it disconnected");
	else
		snprintf(why, cap, "it disconnected: %.*s",
		    text.len < 200 ? (int)text.len : 200,
		    (const char *)text.p);
}

/* The second list, after the message number, the cookie and the first one. */
static bool
read_kexinit(struct kv_bytes b, char list[static SCAN_KEX_PACKET_BYTES])
{
	struct kv_span kex, host_keys;

	if (kv_bytes_skip(&b, COOKIE_BYTES) != KV_OK ||
	    kv_bytes_get_string(&b, &kex) != KV_OK ||
	    kv_bytes_get_string(&b, &host_keys) != KV_OK)
		return false;
	snprintf(list, SCAN_KEX_PACKET_BYTES, "%.*s", (int)host_keys.len,
	    host_keys.len > 0 ? (const char *)host_keys.p : "");
	return true;
}

bool
scan_kex_read(int fd, char list[static SCAN_KEX_PACKET_BYTES], char *why,
    size_t cap)
{
	static struct packet packet;
	struct kv_bytes b;

	/* A server that will not take this may still say why. */
	(void)send_all(fd, BANNER, sizeof(BANNER) - 1);
	if (!receive_banner(fd, why, cap))
		return false;
	/* Some servers wait for this before they say what they offer. */
	make_kexinit(&packet);
	(void)send_all(fd, packet.buf, packet.len);
	for (int i = 0; i < PACKETS_MAX; i++) {
		uint8_t message;

		if (!receive_packet(fd, &packet, &b, why, cap))
			return false;
		message = *b.p;
		if (kv_bytes_skip(&b, 1) != KV_OK)
			break;
		if (message == MSG_DISCONNECT) {
			explain_disconnect(b, why, cap);
			return false;
		}
		if (message == MSG_KEXINIT) {
			if (read_kexinit(b, list))
				return true;
			break;
		}
	}
	snprintf(why, cap, "it does not say what it offers");
	return false;
}
