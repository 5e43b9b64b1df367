/* The parameters behind the '?' of a URL, which other programs know. */
#ifndef ADDRESS_PARAMETER_H
#define ADDRESS_PARAMETER_H

/*
 * Returns what is wrong with the parameters, behind "The URL ": the first one, if
 * other programs know it, and what takes its place here.  Quotes nothing else,
 * which may be a secret.
 */
const char *address_parameter(const char *query);

#endif
