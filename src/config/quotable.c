#include "redis/address.h"

#include "config/quotable.h"

const char *
quotable(const char *word)
{
	static char text[ADDRESS_TEXT];

	return address_mask(text, sizeof(text), word);
}
