/*
 * Any file: either a line of it is refused, or each of its settings lies
 * within it, with a name and no blank at either end of the value.
 */
#include "../../src/config/conffile.c"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conffile c;
	char *text = malloc(size + 1);

	if (text == NULL)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	if (conffile_parse(&c, text, size) != NULL &&
	    (c.line < 1 || (size_t)c.line > size))
		abort();
	for (int i = 0; i < c.n; i++) {
		const char *name = c.settings[i].name;
		const char *value = c.settings[i].value;

		if (name < text || value + strlen(value) > text + size)
			abort();
		if (name[0] == '\0' || strpbrk(name, " \t\r\n") != NULL)
			abort();
		if (strlen(value) > CONFFILE_LINE ||
		    strpbrk(value, "\r\n") != NULL ||
		    (value[0] != '\0' && value[strspn(value, " \t")] == '\0'))
			abort();
	}
	free(text);
	return 0;
}
