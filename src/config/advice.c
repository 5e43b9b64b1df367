/*
 * What to do about an error of a server.
 */
#include <stdio.h>
#include <string.h>

#include "config/advice.h"

char *
advice_password(
    char buf[ADVICE_PASSWORD], const char *config_path, const char *error)
{
	buf[0] = '\0';
	if (strstr(error, "NOAUTH") != NULL)
		snprintf(buf, ADVICE_PASSWORD,
		    "; a password is missing: REDISCLI_AUTH, --password-file "
		    "or %s gives it",
		    config_path);
	else if (strstr(error, "WRONGPASS") != NULL ||
	    strstr(error, "ERR invalid password") != NULL)
		snprintf(buf, ADVICE_PASSWORD,
		    "; set the right user and password, in the URL, by "
		    "--password-file, in REDISCLI_AUTH or in %s",
		    config_path);
	else if (strstr(error, "without any password") != NULL)
		snprintf(buf, ADVICE_PASSWORD,
		    "; set that password there, or send none");
	return buf;
}
