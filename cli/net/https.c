/* SPDX-License-Identifier: ISC */
#include "net/https.h"

const char *
https_hint(enum network_cause cause)
{
	switch (cause) {
	case NETWORK_STOPPED:
	case NETWORK_BROKEN:
	case NETWORK_UNABLE:
		return "";
	case NETWORK_UNREACHABLE:
		return "; check the network, URL and Proxy";
	case NETWORK_UNPROVEN:
		return "; the server is not who it claims to be, or CAFile "
		       "lacks its CA";
	case NETWORK_NOT_HTTPS:
		return "; it redirects to another protocol than https: name "
		       "the https URL that it leads to, if there is one";
	case NETWORK_REDIRECTS:
		return "; correct URL";
	case NETWORK_DONE:
	case NETWORK_TOO_LONG:
	case NETWORK_TRANSFER:
		break;
	}
	return "; try again later";
}
