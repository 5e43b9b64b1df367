/*
 * Any password file: either a line of it is refused, and its password is not
 * shown, or it has one password, or lines whose hosts are found again.
 */
#include <stdint.h>

#include "../../src/redis/passwords.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
insist(bool claim)
{
	if (!claim)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct passwords p;
	const char *wrong;

	if (text == NULL)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	wrong = passwords_parse(&p, text, size);
	insist(p.line >= 1 && (size_t)p.line <= size + 1);
	if (wrong == NULL)
		insist(p.single == NULL || p.n == 0);
	for (int i = 0; wrong == NULL && i < p.n; i++) {
		const struct password *of = &p.of[i];

		insist(passwords_find(&p, of->host, of->port) == of->word);
		insist(strlen(of->word) > 0 &&
		    strlen(of->word) < ADDRESS_SECRET);
		insist(of->port >= 0 && of->port < 65536);
	}
	passwords_release(&p);
	secret_release();
	free(text);
	return 0;
}
