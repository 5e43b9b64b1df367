/*
 * Any URL is either refused, or all of the address is in range and the password
 * is masked wherever the URL is shown.
 */
#include <stdlib.h>

#include "../../src/redis/address.c"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char masked[2048];
	char *url = strndup((const char *)data, size);
	struct address a;

	if (url == NULL)
		abort();
	address_mask(masked, sizeof(masked), url);
	if (address_parse(&a, url) == NULL) {
		if ((a.nat == 0) == (a.path[0] == '\0'))
			abort();
		if (a.text[0] == '\0')
			abort();
		for (int i = 0; i < a.nat; i++)
			if (a.at[i].host[0] == '\0' || a.at[i].port < 1 ||
			    a.at[i].port > 65535)
				abort();
		if (a.db < 0 || a.db > 999999999)
			abort();
		if (a.password != NULL && strstr(masked, "***") == NULL)
			abort();
		address_wipe(url);
		if (address_parse(&a, url) == NULL && a.password != NULL &&
		    a.password[strspn(a.password, "*")] != '\0')
			abort();
	}
	free(url);
	secret_release();
	return 0;
}
