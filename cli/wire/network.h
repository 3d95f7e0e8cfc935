/* SPDX-License-Identifier: ISC */
/*
 * wire/network: what a command (the front) and keyveto-network say to each
 * other.
 *
 * The front sends records over a SOCK_SEQPACKET socket, which is descriptor 0
 * of the program. The program answers with a stream of records over a pipe, its
 * descriptor 1: first NETWORK_HELLO, then what belongs to each order. It speaks
 * to servers, so it may be in somebody else's hands: the front checks each
 * answer as hostile.
 */
#ifndef CLI_WIRE_NETWORK_H
#define CLI_WIRE_NETWORK_H

/* It changes with the records. The two programs are of one build. */
#define NETWORK_VERSION 4

/* The most bytes of one NETWORK_ARRIVED. */
#define NETWORK_DATA_BYTES (256 * 1024)

#define NETWORK_HOST_BYTES 256 /* DNS allows 253 */

/* What the front sends. NETWORK_START is before the other orders. */
enum network_order {
	NETWORK_VARIABLE = 1, /* name, value: of the environment */
	NETWORK_START,	      /* version */
	/* A descriptor: the CAs of later requests. None: the system's. */
	NETWORK_CA,
	/*
	 * base or "", text, suffix, whether other hosts are followed. Answered
	 * by NETWORK_PLACE_FOUND.
	 */
	NETWORK_PLACE,
	/*
	 * URL, timeout, stall timeout (seconds), redirects, whether the
	 * connection is kept, whether the head alone is asked for, whether a
	 * proxy is named, proxy, then lines of headers. A descriptor: the pipe
	 * that the body goes into. Answered by NETWORK_HEAD, NETWORK_ARRIVED...
	 * and NETWORK_END; by NETWORK_END alone if there is no answer of a
	 * server.
	 */
	NETWORK_GET,
	/*
	 * host, port, timeout of each connection. Answered by NETWORK_PHASE,
	 * NETWORK_KEY, NETWORK_PROBLEM and NETWORK_UNKNOWN, then
	 * NETWORK_SCANNED.
	 */
	NETWORK_SCAN,
};

/* What the program answers. */
enum network_answer {
	NETWORK_HELLO = 1, /* version, the walls that stand (wall/wall.h) */
	/* enum network_place_kind, URL, the URL without secrets, scheme */
	NETWORK_PLACE_FOUND,
	/*
	 * status, seconds of Retry-After, ETag, Last-Modified, Content-Encoding,
	 * Content-Type
	 */
	NETWORK_HEAD,
	NETWORK_ARRIVED, /* how many bytes follow in the pipe */
	NETWORK_END,	 /* enum network_cause, why */
	NETWORK_PHASE,	 /* what it does next */
	NETWORK_KEY,	 /* the blob of a key that the server proved to own */
	NETWORK_PROBLEM, /* what failed, and why */
	NETWORK_UNKNOWN, /* an unknown algorithm */
	NETWORK_SCANNED,
};

enum network_place_kind {
	NETWORK_NO_PLACE = 0, /* not a URL, or one that is not followed */
	NETWORK_HTTPS,
	NETWORK_OTHER_SCHEME,
};

/* Why a request ended. */
enum network_cause {
	NETWORK_DONE = 0,
	NETWORK_UNREACHABLE, /* no name, no connection */
	NETWORK_UNPROVEN,    /* the certificate of the server */
	NETWORK_NOT_HTTPS,   /* it redirects to another protocol */
	NETWORK_REDIRECTS,   /* it redirects too often */
	NETWORK_TOO_LONG,    /* the headers */
	NETWORK_UNABLE,	     /* libcurl lacks what is needed */
	NETWORK_TRANSFER,    /* anything else between us and the server */
	/* The front's own. */
	NETWORK_STOPPED, /* by the caller, or by a signal */
	NETWORK_BROKEN,	 /* the program failed */
};

#endif
